"""Fixtures that many tests share: small pools, a chat server, a clean environment, and the recorded
data if at hand."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import sys
from datetime import date
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from support.chat_server import ChatServer
from support.clock import Clock

from judgeloop.ledger import sqlite
from judgeloop.settings import fields, values
from judgeloop.settings.run_settings import RunSettings

# A thread for each test process, and for the commands it starts: threads that wait for each other
# take the cores from other tests. Set before numpy and scikit-learn are imported.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# What click says comes from no translation: it looks for one of each text.
os.environ["LANGUAGE"] = "C"

# `asyncio.run` asks what handles Ctrl-C. Python up to 3.12 makes a text of the handler for that, and in it of all that
# was returned, which takes as long as a short run.
if sys.version_info < (3, 13):
    of_numbers = vars(signal)["_int_to_enum"]
    vars(signal)["_int_to_enum"] = lambda value, kind: of_numbers(value, kind) if isinstance(value, int) else value

# No deadline: machines are shared. Derandomised: a test that passes here passes there. Where more runs of a simulation
# are asked for (`support/promises.py`), there are more examples, too.
EXAMPLES = 25 * int(os.environ.get("JUDGELOOP_TEST_TIMES", "1"))
settings.register_profile("project", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("project")

TESTS = Path(__file__).parent
ROOT = TESTS.parent
TODAY = date(2026, 2, 7)
KEPT = {"JUDGELOOP_TEST_DATA", "JUDGELOOP_TEST_VLLM_URL", "JUDGELOOP_TEST_VLLM_MODEL"}


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collected tests live until the end: the garbage collector need not look at them each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)  # most of what a test makes is gone by itself
        gc.enable()


def pytest_collection_modifyitems(items):
    """Long tests come first in each process: else one would end minutes after the others.

    Each process gets a part of the list, in its order, and those that are done take from the others.
    """
    first = [item for item in items if item.get_closest_marker("first")]
    rest = [item for item in items if not item.get_closest_marker("first")]
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    size, items[:] = len(items) // processes, []
    for number in range(processes):
        own = first[number::processes]
        others = max(0, size - len(own)) if number < processes - 1 else len(rest)
        items += own + rest[:others]
        rest = rest[others:]


def pytest_ignore_collect(collection_path, config):
    """With `-m smoke` only files that have such a test are read, which takes most of the time."""
    if config.getoption("markexpr") != "smoke" or collection_path.suffix != ".py":
        return None
    return True if "pytest.mark.smoke" not in collection_path.read_text(encoding="utf-8") else None


def pytest_xdist_auto_num_workers(config):
    """One process more than cores for `-n auto`: tests wait for servers, but each process imports and collects."""
    config.option.dist = "worksteal"
    return 1 + (os.cpu_count() or 1)


NUMBERS = count()


@pytest.fixture
def tmp_path(request, tmp_path_factory):
    """A folder of its own, as pytest gives it, which reads the names of all earlier tests' folders for that."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / "each" / f"{name}{next(NUMBERS)}"
    folder.mkdir(mode=0o700, parents=True)
    return folder


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch, tmp_path):
    """No key, flag or settings file of whoever runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith(("JUDGELOOP_", "OPENAI_", "ANTHROPIC_", "TYPESAFE_")) and name not in KEPT:
            monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)  # the width of results
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(20240718)


@pytest.fixture
def chat_server():
    server = ChatServer()
    yield server
    server.close()


@pytest.fixture(scope="session", autouse=True)
def today():
    """The date of today for a night that none is given to: it is a part of the seed, and so of what is drawn.

    A process that is started has the real one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "today", lambda: TODAY)
        yield TODAY


@pytest.fixture(scope="session", autouse=True)
def _nothing_asked_ahead():
    """How many verdicts are asked ahead depends on the clock: none, but where a test says how many."""
    most = property(lambda config: 0 if config.ahead == fields.AUTO else int(config.ahead))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunSettings, "most_ahead", most)
        yield


@pytest.fixture(scope="session", autouse=True)
def _known():
    """What each command finds out anew, and is the same for all, is found out once."""
    from support.known import known

    from judgeloop.methods.stats import betting, confidence_sequence, corrected, levels, with_people
    from judgeloop.methods.stopping import bets, rule
    from judgeloop.providers import pricing
    from judgeloop.runs import description

    lower_bounds = known(confidence_sequence.lower_bounds)
    with pytest.MonkeyPatch.context() as patch:
        for module in (bets, corrected, rule, with_people):
            patch.setattr(module, "lower_bounds", lower_bounds)
        patch.setattr(levels, "bound", known(betting.bound))
        for module in (description, pricing):
            patch.setattr(module, "version", cache(module.version))
        patch.setattr(signal, "valid_signals", cache(signal.valid_signals))
        yield


NEAR = ("api", "cli", "questions", "suite")  # folders of tests whose servers answer in the process


@pytest.fixture
def wire():
    """The calls of a test go over sockets, by the provider's SDK, wherever it stands."""


@pytest.fixture
def near():
    """The calls of a test do not go over sockets, though it stands among tests of the wire."""


@pytest.fixture(autouse=True)
def _near(request, monkeypatch):
    """Where no test is about the wire, calls to a `ChatServer` do not go over one (`support/near.py`)."""
    names, folder = request.fixturenames, request.path.relative_to(TESTS).parts[0]
    if "wire" not in names and (folder in NEAR or "near" in names):
        from support.near import near

        from judgeloop.providers.chat import Clients

        monkeypatch.setattr(Clients, "one", near)


@pytest.fixture(scope="module", autouse=True)
def _nothing_waits_for_the_disk(request):
    """No ledger waits for its disk at each commit, nor makes a file for it: only where power fails or a process dies is
    that lost, as tests/simulation has it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.relative_to(TESTS).parts[0] != "simulation":
            quick = [one.replace("EXTRA", "OFF").replace("DELETE", "MEMORY") for one in sqlite.PRAGMAS]
            patch.setattr(sqlite, "PRAGMAS", quick)
        yield


@pytest.fixture
def clock(monkeypatch):
    """The clock of the event loops of this test, which it sets forward."""
    clock = Clock()
    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda loop: clock.time())
    return clock


@pytest.fixture
def own_modules(monkeypatch):
    """Modules that a test writes, named own_…, are imported from the working folder, and forgotten."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


@pytest.fixture(scope="session")
def recorded_data():
    """The folder of recorded verdicts, which is not part of the project."""
    folder = Path(os.environ.get("JUDGELOOP_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the recorded data is not here (JUDGELOOP_TEST_DATA)")
    return folder


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server of this process's own."""
    from support.postgres import WHY_NOT, binary, memory, running

    if binary("initdb") is None:
        pytest.skip(WHY_NOT)
    with running("autovacuum=off", within=memory()) as server:  # which would look at hundreds of databases
        yield server


@pytest.fixture(params=["file", "server"])
def address(request, tmp_path):
    """The address of a new ledger in each store."""
    if request.param == "file":
        return tmp_path / "deep" / "ledger.sqlite"
    return request.getfixturevalue("postgres").ledger()


@pytest.fixture(scope="session")
def incidents():
    """The example's folder."""
    return ROOT / "examples" / "incidents"

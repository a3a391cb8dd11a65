"""Whatever a provider sends, a run ends: in a verdict, an abstention or a stop, with the bill
covered and no key shown."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
import traceback

import pytest
from support.chat_judges import chat_judge
from support.fault_cases import ABSTAINED, SLOW, STOPPED, VERDICT, cases
from support.fault_server import FaultServer, whole
from support.pools import make_pool, make_session

from judgeloop.core.errors import JudgeError
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Order, Verdict
from judgeloop.engine.loop import drive
from judgeloop.engine.pace import RetryPolicy
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Terms
from judgeloop.ledger.opening import open_ledger
from judgeloop.providers.pricing import price_from_text

KEY = "sk-canary-5f2c9d81ab3e4760"
PRICE = price_from_text("1.00,10.00")
POLICY = RetryPolicy(attempts=2, first_wait_s=0.01, longest_wait_s=0.2, patience_s=0.3)
SLOW_ATTEMPT_S, ATTEMPT_S = 1.0, 30.0  # the first where the server is slow on purpose
DEADLINE_S = 600.0  # of a run, however busy the machine

TABLE = list(cases())
EVERY = [pytest.param(wire, case, id=f"{wire}-{case.name}") for case in TABLE for wire in case.wires]
PASSING = [pytest.param(wire, case, id=f"{wire}-{case.name}") for case in TABLE if case.tries for wire in case.wires]


class Watched:
    """A judge whose errors are noted with all that a traceback of them would say."""

    def __init__(self, judge):
        self._judge = judge
        self.errors = []
        self.tracebacks = ""

    def __getattr__(self, name):
        return getattr(self._judge, name)

    async def judge(self, call):
        try:
            return await self._judge.judge(call)
        except Exception as error:
            self.errors.append(error)
            self.tracebacks += "".join(traceback.format_exception(error)) + repr(error)
            raise


@pytest.fixture(autouse=True, scope="module")
def _sdks():
    """Import the SDKs first: that takes longer than an attempt may."""
    import anthropic  # noqa: F401
    import openai  # noqa: F401


@pytest.fixture(autouse=True)
def _all_is_logged(caplog):
    """Every logger speaks."""
    caplog.set_level(logging.DEBUG)


@pytest.fixture(autouse=True, scope="module")
def _no_task_is_lost():
    """asyncio only logs an exception that nobody looked at, or a task that nobody waited for."""
    lost = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: lost.append(record.getMessage())
    logging.getLogger("asyncio").addHandler(handler)
    yield
    gc.collect()
    logging.getLogger("asyncio").removeHandler(handler)
    assert not lost


def run(wire, url, path, *, timeout_s):
    """One item, one order, so one call; what a run with it comes to."""

    async def story():
        judge = Watched(chat_judge(wire, url, key=KEY, timeout_s=30.0))
        with judge._judge.chat._clients.one():
            pass  # in advance: what an SDK takes to start is no fault of the server
        ledger = open_ledger(path)
        terms = Terms("run", order=Order.FIXED, policy=POLICY, timeout_s=timeout_s, budget_p=10**14)
        limits = Limits(min_judgments=1, max_judgments=1, max_abstentions=1.0)
        try:
            session = make_session(1, limits=limits)
            async with asyncio.timeout(DEADLINE_S):
                finished = await drive(session, make_pool(1), judge, ledger, terms)
        finally:
            await judge.aclose()
            await ledger.aclose()
        return finished, judge

    return asyncio.run(story())


def check_no_key(tmp_path, caplog, capsys, judge, finished):
    shown = [judge.tracebacks, caplog.text, *capsys.readouterr(), repr(finished), repr(judge.identity)]
    assert not any("canary" in text for text in shown)
    assert not any(b"canary" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def attempt_s(case):
    return SLOW_ATTEMPT_S if case.name in {slow.name for slow in SLOW} else ATTEMPT_S


@pytest.mark.parametrize(("wire", "case"), EVERY)
def test_a_run_ends_as_the_table_says_with_the_bill_covered_and_no_key_shown(wire, case, tmp_path, caplog, capsys):
    began = time.monotonic()
    with (
        FaultServer(lambda say: whole(200, say.completion()), price=PRICE) as elsewhere,
        FaultServer(case.reply, price=PRICE, used=case.used, elsewhere=elsewhere.address) as server,
    ):
        path = tmp_path / "ledger.sqlite"
        finished, judge = run(wire, server.url(wire), path, timeout_s=attempt_s(case))
    assert time.monotonic() - began < DEADLINE_S
    stop, answers = finished.ending.stop, [label.answer for label in finished.ending.labels]
    if case.ends == STOPPED:
        assert (stop.kind, answers) == (StopKind.JUDGE_FAILED, [])
        assert case.says in stop.sentence
    elif case.ends == ABSTAINED:
        (answer,) = answers
        assert isinstance(answer, Abstention)
        assert answer.reason.startswith(case.says)
    else:
        assert case.ends == VERDICT
        assert answers == [Verdict(1.0, "because")]
    assert all(isinstance(error, JudgeError) for error in judge.errors)
    assert (server.connections > 1) == case.tries
    assert server.bill_p <= finished.spend.charged_p
    if not case.raced:
        assert (finished.spend.charged_p > 0) == (case.used is not None and case.used.input_tokens > 0)
    assert elsewhere.connections == 0
    check_no_key(tmp_path, caplog, capsys, judge, finished)


@pytest.mark.parametrize(("wire", "case"), PASSING)
def test_a_fault_that_passes_is_mended_by_a_second_attempt_and_both_are_covered(wire, case, tmp_path):
    with FaultServer(case.reply, price=PRICE, used=case.used, faults=1) as server:
        finished, _ = run(wire, server.url(wire), tmp_path / "ledger.sqlite", timeout_s=attempt_s(case))
    assert [label.answer for label in finished.ending.labels] == [Verdict(1.0, "because")]
    assert server.connections == 2
    assert server.bill_p <= finished.spend.charged_p


def test_the_table_names_every_case_once():
    names = [case.name for case in TABLE]
    assert len(names) == len(set(names))

"""A replay on the workers of a Dask cluster: real processes on this machine."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from support.patience import PATIENCE_S
from support.replaying import recorded, replay

from judgeloop.core.errors import InputError, JudgeloopError
from judgeloop.replay import cluster as replay_cluster
from judgeloop.replay.run import replay_compare
from judgeloop.replay.settings import ReplayCompareSettings

pytestmark = pytest.mark.processes
ITEMS, SYSTEMS, PAIRS = 40, 5, 10


@pytest.fixture(scope="module")
def cluster():
    """Two processes of one thread each; dead ones are replaced."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local:
        yield local


@pytest.fixture
def address(cluster):
    """The address of the scheduler, with the workers that an earlier test has ended."""
    cluster.wait_for_workers(2, timeout=PATIENCE_S)
    return cluster.scheduler_address.replace("tcp://", "dask://")


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    return recorded(tmp_path, {f"s{at}": rng.random(ITEMS).round(2) for at in range(SYSTEMS)})


def tables(data, folder, *more):
    result = replay(*data, "--seeds", 2, "-o", folder, *more)
    assert result.exit_code == 0, result.output
    return {path.name: path.read_text() for path in folder.glob("*.csv")}


def config(data, folder, **more):
    outputs, _, items, _, scores = data
    given = {"outputs": outputs, "items": items, "verdicts": scores, "output": folder}
    return ReplayCompareSettings.of(**given, selectors=("random",), seeds=30, **more)


@pytest.mark.parametrize(
    "question",
    [
        ("--selectors", "random,diffuse"),
        ("--job", "select", "--baseline", "s0", "--pool", 30, "--selectors", "race,random"),
        ("--job", "estimate", "--selectors", "random"),
    ],
    ids=["compare", "select", "estimate"],
)
def test_the_figures_are_those_of_one_core(question, data, address, tmp_path):
    alone = tables(data, tmp_path / "alone", *question, "--jobs", 1)
    assert tables(data, tmp_path / "cluster", *question, "--engine", address) == alone
    assert alone


def test_a_worker_that_is_killed_costs_nothing(data, cluster, address, tmp_path):
    from distributed import Client

    finished, killed = [], []
    with Client(cluster.scheduler_address) as client:

        def observe(done, of):
            finished.append((done, of))
            if done == 1:
                killed.extend(client.run(os.getpid).values())
                os.kill(killed[0], signal.SIGKILL)

        rows = replay_compare(config(data, tmp_path / "killed", engine=address), observe)
        client.wait_for_workers(2, timeout=PATIENCE_S)
        assert killed[0] not in client.run(os.getpid).values()
    assert rows == replay_compare(config(data, tmp_path / "alone", jobs=1), lambda *_: None)
    assert finished == [(done, PAIRS) for done in range(PAIRS + 1)]


def test_an_interrupted_replay_goes_on_there(data, address, tmp_path):
    def interrupt(done, of):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay_compare(config(data, tmp_path / "parts", engine=address), interrupt)
    seen = []
    rows = replay_compare(
        config(data, tmp_path / "parts", engine=address, resume=True), lambda done, of: seen.append(done)
    )
    assert seen == list(range(3, PAIRS + 1))
    assert rows == replay_compare(config(data, tmp_path / "alone", jobs=1), lambda *_: None)


def test_a_part_that_ends_its_workers_is_said(address):
    with pytest.raises(JudgeloopError, match=r"gave the replay up: .*continue with `resume`"):
        list(replay_cluster.results(address, [(os.abort,)], ["shared"]))


def test_an_address_without_a_scheduler_is_refused(data, tmp_path, monkeypatch):
    monkeypatch.setattr(replay_cluster, "PATIENCE_S", 0.5)
    with pytest.raises(InputError, match=r"no Dask scheduler answers at dask://127\.0\.0\.1:9 "):
        replay_compare(config(data, tmp_path / "x", engine="dask://127.0.0.1:9"), lambda *_: None)
    assert not list((tmp_path / "x").glob("*"))


def test_a_cluster_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr(replay_cluster, "PATIENCE_S", 0.5)
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        address = empty.scheduler_address.replace("tcp://", "dask://")
        with pytest.raises(InputError, match="has no workers; start some with `dask worker`"):
            list(replay_cluster.results(address, [], []))


def test_workers_with_another_version_are_refused(address, monkeypatch):
    monkeypatch.setattr(replay_cluster, "OWN", "numpy")
    monkeypatch.setattr(replay_cluster, "version", lambda name: "1.0" if os.getpid() == OWN_PID else "0.9")
    with pytest.raises(InputError, match=r"expected numpy 1.0 on each worker, found: tcp://\S+ has"):
        list(replay_cluster.results(address, [], []))


def test_without_the_extra_it_says_what_to_install(data, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    result = replay(*data, "-o", tmp_path / "out", "--engine", "dask://localhost:8786")
    assert result.exit_code == 2
    assert "--engine: a Dask cluster needs an extra: " in result.stderr
    assert "pip install '.[cluster]'" in result.stderr


@pytest.mark.parametrize("wrong", ["ray://a:1", "dask://host", "host:8786", "dask://a:b"])
def test_an_address_of_another_form_is_refused(wrong, data, tmp_path):
    result = replay(*data, "-o", tmp_path / "out", "--engine", wrong)
    assert result.exit_code == 2
    assert "expected dask://HOST:PORT, found" in result.stderr


OWN_PID = os.getpid()

"""Whole runs under faults keep what judgeloop promises, and a planted fault is found.

`docs/development/simulation.md` says how to read a failure.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
from simulation.planted import COMMAND, PLANTED
from simulation.runs import scratch, simulate
from simulation.stores import Fault
from simulation.world import BrokenError, World
from support.promises import TIMES

GROUPS = 10
QUICK, MANY = 1, 15 * TIMES  # seeds of a group: with all tests, and with `-m simulation`
ON_SERVER = 2 * TIMES
PLANTED_WITHIN = 1000  # seeds in which a planted fault is found


def simulate_all(first, count):
    with scratch() as folder:
        for seed in range(first, first + count):
            simulate(seed, folder)


def simulate_on(server, first, count):
    with scratch() as folder:
        for seed in range(first, first + count):
            simulate(seed, folder, address=server.ledger())


@pytest.mark.first
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_promise_holds_in_runs_under_faults(group):
    simulate_all(group * QUICK, QUICK)


@pytest.mark.first
@pytest.mark.simulation
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_promise_holds_in_many_runs_under_faults(group):
    simulate_all(GROUPS * QUICK + group * MANY, MANY)


@pytest.mark.first
@pytest.mark.simulation
@pytest.mark.parametrize("group", range(5))
def test_every_promise_holds_in_many_runs_on_a_server(group, postgres):
    simulate_on(postgres, group * ON_SERVER, ON_SERVER)


@pytest.mark.simulation
@pytest.mark.parametrize(("kind", "first"), [("is killed", 1), ("is cancelled", 2), ("is interrupted twice", 3)])
def test_every_promise_holds_whatever_the_step_at_which_a_run_ends(kind, first):
    """Each step by one of the kinds, and by each where more is asked for."""
    with scratch() as folder:
        for turn in range(first, 60, 3) if TIMES == 1 else range(1, 60):
            simulate(16, folder, Fault(kind, turn))


@pytest.mark.processes
def test_a_seed_is_the_same_simulation_in_every_process():
    def told(hash_seed):
        given = [sys.executable, COMMAND, "--seed", "4", "--requests"]
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        return subprocess.run(given, env=environment, capture_output=True, text=True, check=True).stdout

    first = told("1")
    assert len(first.splitlines()) > 3
    assert told("2") == first


def test_what_waits_for_ever_is_found_in_no_time():
    world = World()
    with pytest.raises(BrokenError, match="waits for ever"):
        world.run_until_complete(asyncio.Event().wait())
    world.end()


@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.what)
def test_a_planted_fault_still_has_its_place(planted):
    assert planted.path().read_text("utf-8").count(planted.text) == 1


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.what)
def test_a_planted_fault_is_found(planted, tmp_path):
    assert planted.found_at(tmp_path, PLANTED_WITHIN) is not None

"""What a run saw before it began is told by the ledger's own numbers, whatever the clock says."""

from __future__ import annotations

import asyncio

import pytest

from judgeloop.core.ledger import Reservation
from judgeloop.core.records import Call, Item, JudgeIdentity, Reply, Verdict
from judgeloop.core.verdict_key import KeyIngredients
from judgeloop.history.verdict_columns import known_runs, remembered_verdicts
from judgeloop.ledger.sqlite import SqliteLedger

HOURS = ("2026-01-01T12:00", "2026-01-01T11:00", "2030-01-01T00:00", "2020-01-01T00:00")
CALL = Call(Item("i", "p"), systems=("a", "b"), outputs=("x", "y"))
INGREDIENTS = KeyIngredients.of(JudgeIdentity("p", "m", {}), CALL, blind=True)
NOTE = {"ingredients": INGREDIENTS.to_note(), "systems": ["a", "b"]}


def judge(path, run, key):
    async def story():
        ledger = SqliteLedger(path)
        wanted = Reservation(key, 1, item_id="i", judge="p/m", note=NOTE)
        ((ticket,),) = await ledger.reserve(run, [[wanted]], None)
        await ledger.settle(ticket, Reply(Verdict(1.0), cost_p=1))
        await ledger.aclose()

    asyncio.run(story())


def seen(path, run):
    return len(remembered_verdicts(path, run, begin=True))


@pytest.mark.parametrize("hour", HOURS)
def test_a_clock_set_back_or_forward_changes_nothing_that_a_run_sees(tmp_path, monkeypatch, hour):
    path = tmp_path / "ledger.sqlite"
    judge(path, "earlier", "k1")
    monkeypatch.setattr("judgeloop.ledger.booking.now", lambda: hour)
    assert seen(path, "this") == 1
    judge(path, "later", "k2")
    monkeypatch.undo()
    assert seen(path, "this") == 1
    assert seen(path, "next") == 2
    assert list(known_runs(path)) == ["earlier", "this", "later", "next"]

"""Decoys in a run: asked first, paid for, and never in the decision."""

from __future__ import annotations

import pytest
from support.driving import AT_ONCE, run, script_from
from support.pools import scores

from judgeloop.core.outcomes import DecoyTally, StopKind
from judgeloop.core.records import Verdict
from judgeloop.engine.decoys import NAME
from judgeloop.engine.terms import Terms
from judgeloop.judges.scripted import ScriptedJudge

pytestmark = pytest.mark.usefixtures("no_task_is_lost")


def content_first(call):
    """Prefers any answer of a system to a decoy, and between systems the first."""
    if NAME in call.systems:
        return Verdict(float(call.systems[1] == NAME))
    return Verdict(float(call.systems[0] == "a"))


def test_decoys_are_asked_first_paid_for_and_never_in_the_decision():
    with_decoys = ScriptedJudge(content_first, cost_p=3)
    finished = run(with_decoys, terms=Terms("run", decoys=6, policy=AT_ONCE))
    kinds = [NAME in call.systems for call in with_decoys.calls]
    assert kinds == [True] * 12 + [False] * 10
    assert finished.decoys == DecoyTally(won=0, tied=0, lost=6, abstained=0)
    assert finished.spend.charged_p == 3 * len(with_decoys.calls)
    assert finished.outcome.asked == 5


@pytest.mark.parametrize("selector", ["random", "diffuse"])
def test_a_run_draws_the_same_items_with_decoys_as_without(selector):
    table = scores(40, 3)
    script = script_from(table)
    one, other = (
        run(ScriptedJudge(lambda call: Verdict(0.5) if NAME in call.systems else script(call)), selector=selector,
            terms=Terms("run", decoys=decoys))
        for decoys in (0, 7)
    )  # fmt: skip
    assert one.outcome == other.outcome
    assert (one.decoys, other.decoys) == (None, DecoyTally(won=0, tied=7, lost=0, abstained=0))


def test_a_judge_that_prefers_whatever_is_a_decoy_is_seen():
    judge = ScriptedJudge(lambda call: Verdict(float(call.systems[0] == NAME)))
    assert run(judge, terms=Terms("run", decoys=4)).decoys.won == 4


def test_decoys_that_the_budget_does_not_cover_halt_the_run():
    judge = ScriptedJudge(content_first, cost_p=3)
    finished = run(judge, terms=Terms("run", decoys=6, budget_p=20, concurrency=1))
    assert finished.outcome.stop.kind is StopKind.BUDGET
    assert finished.outcome.asked == 0
    assert finished.decoys.asked == 3
    assert finished.spend.charged_p == 18

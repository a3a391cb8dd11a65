"""A finished comparison for tests of reports."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import ControlTally, Ending, Estimate, Finished, StopKind, StopReason, Tally
from judgeloop.core.records import UNLIMITED, Choice, Item, Label, Verdict
from judgeloop.core.spend import Spend
from judgeloop.methods.stopping.bets import Bets
from judgeloop.questions.compare.figures import comparison_of
from judgeloop.questions.compare.page import page
from judgeloop.questions.compare.result import CompareOptions, Comparison
from judgeloop.report.records import DataNotes, Setup

SETUP = Setup(
    systems=("small", "large"),
    judges=("openai/gpt-4.1",),
    vote=None,
    rule="tie-aware",
    risk_threshold=0.1,
    guarantee=None,
    selector="random",
    order="both",
    seed=7,
    calls_per_item=2,
    required_winner=None,
    max_abstentions=0.05,
    run="0123abcd",
    version="0.1.0",
)
SPEND = Spend(
    now_p=21 * 10**9,
    run_p=42 * 10**9,
    budget_p=5 * 10**12,
    attempts=12,
    paid_attempts=20,
    answers_p=42 * 10**9,
    answers=20,
    remembered=3,
)


def make_result(
    *,
    winner: int | None = 1,
    tally: Tally | None = None,
    stop: StopReason | None = None,
    labels: tuple[Label, ...] | None = None,
    spend: Spend = SPEND,
    judge_models: tuple[tuple[str, ...], ...] | None = None,
    controls: tuple[ControlTally | None, ...] = (),
    more_judgments: int | None = None,
    asked: int | None = None,
    groups: tuple[str | None, ...] = (None,),
    **changes,
) -> Comparison:
    """A comparison that "large" won with 8 to 1 of 10 judged items, unless told otherwise.

    `groups` are those of the items, over and over.
    """
    if "judge" in changes:
        changes["judges"] = tuple(changes.pop("judge").split(" + "))
    names = (*DataNotes.names(), "usual_empty")
    of_data = {name: changes.pop(name) for name in names if name in changes}
    options = {name: changes.pop(name) for name in CompareOptions.names() if name in changes}
    setup = replace(SETUP, **changes)
    tally = tally or Tally(items=100, wins=(1, 8), ties=1, both=9 if setup.order == "both" else 0)
    asked = tally.judged + tally.abstentions if asked is None else asked
    if labels is None:
        labels = tuple(Label(Choice(n, None), Verdict(0.0, "better")) for n in range(asked))
    outcome = Ending(
        winner=winner,
        estimate=Estimate(tally, risk=0.0423),
        stop=stop or StopReason(StopKind.RISK_MET, "the stated risk fell to the threshold"),
        labels=labels,
        deciding=frozenset(label.choice.key for label in labels),
    )
    result = comparison_of(
        Finished(
            outcome,
            spend,
            models=((),) * len(setup.judges) if judge_models is None else judge_models,
            controls=controls,
        ),
        setup,
        CompareOptions(**options),
        DataNotes(items=tally.items, **of_data),
        items=[Item(f"q{n}", "", group=groups[n % len(groups)]) for n in range(tally.items)],
        more_judgments=more_judgments,
        bounds_by_draw=_bounds(tally, setup, options),
    )
    return replace(result, page=page(result))


def _bounds(tally: Tally, setup: Setup, options: dict[str, Any]) -> NDArray[np.float64] | None:
    """The bounds of the gap, as the rule that bets finds them; None where items were picked."""
    if tally.picked or tally.propensities or not tally.judged or setup.rule == "once":
        return None
    items, limit = UNLIMITED if setup.sampled else tally.items, setup.max_judgments or 200
    asked = (options.get(name) for name in ("min_gap", "not_worse", "near_tie"))
    return _bounds_of(tally, setup.risk_threshold, items, limit, *asked)


@cache
def _bounds_of(tally: Tally, risk: float, items: float, limit: int, *asked: float | None) -> NDArray[np.float64]:
    """Most results of the tests have one tally."""
    min_gap, not_worse, near_tie = asked
    rule = Bets(risk, items, limit, min_gap=min_gap, not_worse=not_worse, near_tie=near_tie)
    return rule.bounds_by_draw(tally, items, limit)


def undecided(kind: StopKind = StopKind.BUDGET, sentence: str = "the budget is used up", **changes) -> Comparison:
    """A comparison that halted before it was decided, with 5 to 4."""
    changes = {"tally": Tally(items=100, wins=(5, 4), ties=1, both=9), "more_judgments": 30} | changes
    return make_result(winner=None, stop=StopReason(kind, sentence), **changes)

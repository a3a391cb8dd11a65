"""The result of a comparison: every figure that any report shows, worked out once.

The same record becomes JSON (`to_json`), text and Markdown. It formats nothing for people and writes no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from judgeloop.core.records import DecoyTally, Outcome, Spend, StopKind, Tally
from judgeloop.estimators.preferences import WeightedDistance, weighted_distance
from judgeloop.report.run_result import RunResult, RunSetup, agreement_of, label_rows


@dataclass(frozen=True, slots=True)
class CompareSetup(RunSetup):
    """What was compared, and how.

    `give_up` is the chance of a decision under which the run was to end undecided. `represent` is None for a selector that looks at no
    vectors, `history` where no earlier comparisons were looked at. `instead` says why it is not the rule that was asked for.
    """

    near_tie: float | None
    give_up: float | None
    variant: str | None
    represent: str | None
    history: str | None
    instead: str | None


@dataclass(frozen=True, slots=True)
class Result(RunResult):
    """A comparison's result.

    `win_distance` is the leader's share of wins minus the other's among the judged items, and `win_distance_biased` says that the items were picked
    and do not stand for the others; `win_distance_interval` holds bounds for that of all items, from the leader's side too (without a leader the first minus the second), each
    of which is wrong with at most the threshold's chance.

    `win_distance_weighted` says that the draws preferred some items: `win_distance` is then an estimate for all items, negative where it speaks
    against the leader (without a leader, the first system minus the second), and the interval an approximate one of 90 %.
    """

    job: ClassVar[str] = "compare"

    setup: CompareSetup
    risk: float
    wins: dict[str, int]
    ties: int
    win_distance: float | None
    win_distance_biased: bool
    win_distance_weighted: bool
    win_distance_interval: tuple[float, float] | None


def result_of(
    outcome: Outcome[Tally],
    spend: Spend,
    setup: CompareSetup,
    *,
    item_ids: Sequence[str],
    judge_models: tuple[tuple[str, ...], ...],
    decoys: DecoyTally | None,
    more_judgments: int | None,
) -> Result:
    """Work out a result from how a run ended; `item_ids` by position."""
    tally, systems = outcome.estimate.tally, setup.systems
    weighted = weighted_distance(tally) if tally.judged < tally.items else None
    return Result(
        setup=setup,
        winner=None if outcome.winner is None else systems[outcome.winner],
        leader=None if tally.leader is None else systems[tally.leader],
        risk=0.0
        if outcome.winner is not None and tally.judged == tally.items
        else outcome.estimate.risk,
        judged=tally.judged,
        asked=outcome.asked,
        ahead=outcome.ahead,
        rounds=outcome.rounds,
        items=tally.items,
        wins=dict(zip(systems, tally.wins, strict=True)),
        ties=tally.ties,
        abstentions=tally.abstentions,
        flips=tally.flips,
        flip_rate=tally.flips / tally.judged if tally.judged and setup.order == "both" else None,
        win_distance=_for_the_leader(tally, weighted),
        win_distance_biased=tally.picked and tally.judged < tally.items,
        win_distance_weighted=weighted is not None,
        win_distance_interval=_seen_from_the_leader(
            tally, weighted.interval if weighted else outcome.estimate.interval
        ),
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=None if outcome.stop.kind is StopKind.NO_DIFFERENCE else more_judgments,
        spend=spend,
        judge_models=judge_models,
        agreement=agreement_of(outcome.labels),
        decoys=decoys,
        labels=label_rows(outcome.labels, systems, item_ids, outcome.deciding),
    )


def _seen_from_the_leader(
    tally: Tally, bounds: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Bounds of the first system minus the second, as those of the leader minus the other."""
    return (0.0 - bounds[1], 0.0 - bounds[0]) if bounds and tally.leader == 1 else bounds


def _for_the_leader(tally: Tally, weighted: WeightedDistance | None) -> float | None:
    """The leader's share of wins minus the other's: as estimated where it can be, else among the judged items."""
    if weighted is not None:
        return 0.0 - weighted.value if tally.leader == 1 else weighted.value
    return None if tally.win_distance is None else abs(tally.win_distance)

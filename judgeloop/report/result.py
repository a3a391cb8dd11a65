"""The result of a comparison: every figure that any report shows, worked out once.

The same record becomes JSON (`to_json`), text and Markdown. It formats nothing for people and writes no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from judgeloop.decoys import DecoyTally
from judgeloop.records import Outcome, Spend, StopKind, Tally
from judgeloop.report.run_result import RunResult, RunSetup, agreement_of, label_rows


@dataclass(frozen=True, slots=True)
class Setup(RunSetup):
    """What was compared, and how.

    `represent` is None for a selector that looks at no vectors, `history` where no earlier comparisons were looked at.
    """

    near_tie: float | None
    variant: str | None
    represent: str | None
    history: str | None


@dataclass(frozen=True, slots=True)
class Result(RunResult):
    """A comparison's result.

    `win_distance` is the leader's share of wins minus the other's among the judged items, and `win_distance_biased` says that the items were picked
    and do not stand for the others; `win_distance_interval` holds bounds for that of all items, the first system minus the second, each
    of which is wrong with at most the threshold's chance.
    """

    job: ClassVar[str] = "compare"

    setup: Setup
    risk: float
    wins: dict[str, int]
    ties: int
    win_distance: float | None
    win_distance_biased: bool
    win_distance_interval: tuple[float, float] | None


def result_of(
    outcome: Outcome[Tally],
    spend: Spend,
    setup: Setup,
    *,
    item_ids: Sequence[str],
    judge_models: tuple[tuple[str, ...], ...],
    decoys: DecoyTally | None,
    more_judgments: int | None,
) -> Result:
    """Work out a result from how a run ended; `item_ids` by position."""
    tally, systems = outcome.estimate.tally, setup.systems
    distance = tally.win_distance
    return Result(
        setup=setup,
        winner=None if outcome.winner is None else systems[outcome.winner],
        leader=None if tally.leader is None else systems[tally.leader],
        risk=outcome.estimate.risk,
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
        win_distance=None if distance is None else abs(distance),
        win_distance_biased=tally.picked and tally.judged < tally.items,
        win_distance_interval=outcome.estimate.interval,
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=None if outcome.stop.kind is StopKind.NO_DIFFERENCE else more_judgments,
        spend=spend,
        judge_models=judge_models,
        agreement=agreement_of(outcome.labels),
        decoys=decoys,
        labels=label_rows(outcome.labels, systems, item_ids, outcome.deciding),
    )

"""The result of a comparison: all figures that the reports show, computed once.

The same record becomes JSON (`to_json`) and text (`text.py`). Formats nothing for people and writes
no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from judgeloop.core.outcomes import ANSWERS, DecoyTally, Outcome, Spend, Tally
from judgeloop.methods.estimators.preferences import WeightedDistance, weighted_distance
from judgeloop.methods.stats.agreement import FEWEST_BOTH, calls_of_one_order
from judgeloop.methods.stats.proportions import p_value, share_interval
from judgeloop.questions.compare import text
from judgeloop.report.page import Page
from judgeloop.report.run_result import RunResult, RunSetup, agreement_of, label_rows


@dataclass(frozen=True, slots=True)
class CompareSetup(RunSetup):
    """What was compared, and with which settings.

    `not_worse` is how much worse the second system may be, None if the question is which is better.
    `give_up` is the probability of a decision below which the run stops undecided. `represent` is
    None if the selector uses no vectors. `history` is None if no earlier comparisons were used.
    `instead` says why the requested rule was not used; None if it was.
    """

    near_tie: float | None
    not_worse: float | None
    give_up: float | None
    variant: str | None
    represent: str | None
    history: str | None
    instead: str | None


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """What recorded scores say beside the test.

    `means` holds each system's mean score, and `mean_difference` the first less the second.
    `win_share` is the first system's share of the items that are no ties; None if all are.
    `win_share_interval` bounds its chance to win such an item, at 1 - `risk_threshold`.
    """

    means: dict[str, float]
    mean_difference: float
    win_share: float | None
    win_share_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Result(RunResult):
    """A comparison's result.

    `win_distance` is the leader's share of wins minus the other system's, among the judged items.
    `win_distance_biased` is True if the items were picked, so that they do not represent the
    others. `win_distance_interval` bounds the win distance over all items, also leader minus other
    system (first minus second without a leader). Each bound is wrong with at most the threshold's
    probability.

    `win_distance_weighted` is True if the draws preferred some items. Then `win_distance` is an
    estimate for all items, negative if it contradicts the leader (without a leader: first system
    minus second). The interval is then approximate, at 90 %.

    `recorded` holds the figures of recorded scores; None if judges were asked. Then `risk` is the
    p-value of the exact sign test.
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
    recorded: ScoreFigures | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is left to chance: all that the decision is about is judged."""
        return self.judged == self.items and not self.setup.sampled

    @property
    def p_value_beyond(self) -> float | None:
        """The p-value of the lead by a sign test, for other items like these; None if not known.

        Known of a winner on these items among draws that prefer no item. A run that stops at a lead
        makes it too small. So a large one says that the lead may be chance on other items, and a
        small one says nothing.
        """
        if self.recorded is not None:
            return self.risk
        preferred = self.win_distance_biased or self.win_distance_weighted
        if self.winner is None or self.setup.sampled or preferred:
            return None
        return p_value(*self.wins.values())

    @property
    def calls_of_one_order(self) -> float | None:
        """What one order would cost in calls, as a multiple of both orders; None if not known."""
        if self.both_orders < FEWEST_BOTH or self.setup.order not in {"both", "audited"}:
            return None
        decisive = sum(self.wins.values()) + (self.flips if self.setup.order == "both" else 0)
        return calls_of_one_order(decisive / self.judged, self.flips / self.both_orders)

    @property
    def winner_fails(self) -> bool:
        """Whether the first system is named only if the second is worse, which must not be."""
        return self.setup.not_worse is not None

    @property
    def page(self) -> Page:
        """The result as text: the headline, and the details."""
        return text.page(self)


def result_of(
    outcome: Outcome[Tally],
    spend: Spend,
    setup: CompareSetup,
    *,
    item_ids: Sequence[str],
    judge_models: tuple[tuple[str, ...], ...],
    decoys: DecoyTally | None,
    more_judgments: int | None,
    scores: Sequence[Sequence[float]] | None = None,
) -> Result:
    """Compute the result from a run's outcome; `item_ids` are in the order of positions.

    `scores` holds each system's recorded scores, by position; None if judges were asked.
    """
    tally, systems = outcome.estimate.tally, setup.systems
    whole = tally.judged == tally.items and not setup.sampled
    weighted = weighted_distance(tally) if tally.judged < tally.items else None
    return Result(
        setup=setup,
        winner=None if outcome.winner is None else systems[outcome.winner],
        leader=None if tally.leader is None else systems[tally.leader],
        risk=outcome.estimate.risk if outcome.winner is None or not whole else 0.0,
        judged=tally.judged,
        asked=outcome.asked,
        ahead=outcome.ahead,
        rounds=outcome.rounds,
        items=tally.items,
        wins=dict(zip(systems, tally.wins, strict=True)),
        ties=tally.ties,
        abstentions=tally.abstentions,
        flips=tally.flips,
        both_orders=tally.both,
        win_distance=_for_the_leader(tally, weighted),
        win_distance_biased=tally.picked and tally.judged < tally.items,
        win_distance_weighted=weighted is not None,
        win_distance_interval=_seen_from_the_leader(
            tally, weighted.interval if weighted else outcome.estimate.interval
        ),
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=None if outcome.stop.kind in ANSWERS else more_judgments,
        spend=spend,
        judge_models=judge_models,
        agreement=agreement_of(outcome.labels),
        decoys=decoys,
        labels=label_rows(outcome.labels, systems, item_ids, outcome.deciding),
        recorded=None if scores is None else _figures(tally, setup, scores),
    )


def _figures(tally: Tally, setup: CompareSetup, scores: Sequence[Sequence[float]]) -> ScoreFigures:
    won, lost = tally.wins
    means = [sum(own) / tally.items for own in scores]
    return ScoreFigures(
        means=dict(zip(setup.systems, means, strict=True)),
        mean_difference=means[0] - means[1],
        win_share=won / (won + lost) if won + lost else None,
        win_share_interval=share_interval(won, lost, setup.risk_threshold),
    )


def _seen_from_the_leader(
    tally: Tally, bounds: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Turn bounds of first system minus second into bounds of leader minus other system."""
    return (0.0 - bounds[1], 0.0 - bounds[0]) if bounds and tally.leader == 1 else bounds


def _for_the_leader(tally: Tally, weighted: WeightedDistance | None) -> float | None:
    """Return the leader's share of wins minus the other system's.

    It is the estimate for all items if there is one, else the figure among the judged items.
    """
    if weighted is not None:
        return 0.0 - weighted.value if tally.leader == 1 else weighted.value
    return None if tally.win_distance is None else abs(tally.win_distance)

"""From the outcome of a comparison to its result: counts, gap with bounds, risk, groups.

Takes what a run ended with, returns a `Comparison`. Judges nothing, and makes no sentence.
"""

import math
from collections.abc import Mapping, Sequence

from judgeloop.core.ledger import RunNote
from judgeloop.core.outcomes import ANSWERS, Finished, StopKind, Tally
from judgeloop.core.pool import UNLIMITED
from judgeloop.core.records import Item
from judgeloop.methods.estimators.preferences import WeightedGap, weighted_gap
from judgeloop.methods.stats.intervals import share_interval
from judgeloop.methods.stats.predictive import ItemsToDecide
from judgeloop.methods.stopping.anytime import gap_bounds, with_seen
from judgeloop.methods.stopping.by_group import GroupFinding
from judgeloop.questions.compare.result import CompareOptions, Comparison, ScoreFigures
from judgeloop.report.groups import group_rows
from judgeloop.report.labels import label_rows
from judgeloop.report.records import DataNotes, Setup, counts_of


def result_of(
    finished: Finished[Tally],
    setup: Setup,
    options: CompareOptions,
    data: DataNotes,
    *,
    items: Sequence[Item],
    more_judgments: int | None,
    more_items: ItemsToDecide | None = None,
    scores: Sequence[Sequence[float]] | None = None,
    risk_beyond: float | None = None,
    before: Sequence[RunNote] = (),
    searched: int = 0,
    findings: Mapping[str | None, GroupFinding] | None = None,
) -> Comparison:
    """Compute the result from a run's outcome; `items` are in the order of positions.

    `scores` holds each system's recorded scores, by position; None if judges were asked.
    `risk_beyond` is the stated risk of what a rule about a gap says beyond its answer. `findings` are what is
    shown of each group; None if no group is tested. `before` is what earlier comparisons with the
    baseline noted, and `searched` is as in the result.
    """
    outcome, systems = finished.outcome, setup.systems
    tally = outcome.estimate.tally
    every = [*outcome.labels, *outcome.further]
    labels = label_rows(every, systems, items, outcome.deciding)
    whole = tally.judged == tally.items and not setup.sampled
    weighted = weighted_gap(tally) if tally.judged < tally.items else None
    better = risk_beyond if options.min_gap is not None else None
    bounds = gap_bounds(tally, UNLIMITED if setup.sampled else tally.items, setup.risk_threshold)
    return Comparison(
        setup=setup,
        options=options,
        data=data,
        counts=counts_of(finished, both_orders=tally.both, flips=tally.flips),
        spend=finished.spend,
        labels=labels,
        winner=None if outcome.winner is None else systems[outcome.winner],
        leader=None if tally.leader is None else systems[tally.leader],
        risk=_risk(finished, setup.risk_threshold, better, whole=whole),
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=None if outcome.stop.kind in ANSWERS else more_judgments,
        wins=dict(zip(systems, tally.wins, strict=True)),
        ties=tally.ties,
        gap=_for_the_leader(tally, weighted),
        gap_biased=tally.picked and tally.judged < tally.items,
        gap_weighted=weighted is not None,
        bounds=_seen_from_the_leader(tally, weighted.interval if weighted else with_seen(bounds, tally.gap)),
        more_items=more_items and more_items.even,
        more_items_likely=more_items and more_items.likely,
        groups=group_rows(labels, items, findings),
        comparison=len(before) + 1,
        risk_before=math.fsum(one.risk for one in before),
        searched=searched,
        groups_cut=outcome.cut.kind if outcome.cut else None,
        groups_cut_sentence=outcome.cut.sentence if outcome.cut else "",
        recorded=None if scores is None else _figures(tally, setup, scores),
        risk_beyond=risk_beyond,
    )


def _risk(finished: Finished[Tally], threshold: float, better: float | None, *, whole: bool) -> float:
    """Return the stated risk: of the claim, of "better" where a rule about a gap says so, or of naming now."""
    outcome = finished.outcome
    if whole and (outcome.winner is not None or outcome.stop.kind in ANSWERS):
        return 0.0
    if outcome.stop.kind is StopKind.NO_DIFFERENCE:
        return threshold
    return outcome.estimate.risk if better is None or outcome.winner is None else better


def _figures(tally: Tally, setup: Setup, scores: Sequence[Sequence[float]]) -> ScoreFigures:
    won, lost = tally.wins
    means = [sum(own) / tally.items for own in scores]
    return ScoreFigures(
        means=dict(zip(setup.systems, means, strict=True)),
        mean_difference=means[0] - means[1],
        win_share=won / (won + lost) if won + lost else None,
        win_share_interval=share_interval(won, lost, setup.risk_threshold),
    )


def _seen_from_the_leader(tally: Tally, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """Turn bounds of first system minus second into bounds of leader minus other system."""
    return (0.0 - bounds[1], 0.0 - bounds[0]) if bounds and tally.leader == 1 else bounds


def _for_the_leader(tally: Tally, weighted: WeightedGap | None) -> float | None:
    """Return the leader's share of wins minus the other system's.

    It is the estimate for all items if there is one, else the figure among the judged items.
    """
    if weighted is not None:
        return 0.0 - weighted.value if tally.leader == 1 else weighted.value
    return None if tally.gap is None else abs(tally.gap)

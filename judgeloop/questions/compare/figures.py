"""The figures of a comparison, computed once from a run that has ended."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import rule_row
from judgeloop.core.outcomes import ANSWERS, Ending, Finished, StopKind, Tally, WithProxy, scores_of
from judgeloop.core.records import Item, Pool, Verdict
from judgeloop.ledger.records import RunNote
from judgeloop.methods.estimators.preferences import WeightedGap, weighted_gap
from judgeloop.methods.stats.drift import Halves, drift
from judgeloop.methods.stats.intervals import share_interval
from judgeloop.methods.stats.predictive import ItemsToDecide
from judgeloop.methods.stopping.by_group import GroupFinding
from judgeloop.methods.stopping.rule import with_seen
from judgeloop.questions.compare.result import BETS, CompareOptions, Comparison, ScoreFigures
from judgeloop.report.groups import criterion_rows, group_rows
from judgeloop.report.labels import label_rows
from judgeloop.report.pictures import Curve, Role
from judgeloop.report.records import DataNotes, Setup, counts_of

FEWEST_LOOKS = 2  # that make a line


def comparison_of(
    finished: Finished[Tally],
    setup: Setup,
    options: CompareOptions,
    data: DataNotes,
    *,
    items: Sequence[Item],
    pool: Pool | None = None,
    more_judgments: int | None,
    more_items: ItemsToDecide | None = None,
    within_reach: bool = False,
    scores: Sequence[Sequence[float]] | None = None,
    bounds_by_draw: NDArray[np.float64] | None = None,
    weights: Mapping[int, float] | None = None,
    before: Sequence[RunNote] = (),
    searched: int = 0,
    findings: Mapping[str | None, GroupFinding] | None = None,
    by_criterion: Mapping[str, GroupFinding] | None = None,
) -> Comparison:
    """Compute the result of a run that has ended; `items` are in the order of positions.

    `scores` holds each system's recorded scores, by position; None if judges were asked.
    `bounds_by_draw` are the lower bounds of the gap, seen from each system, after each draw; None where items were
    picked. `findings` are what is shown of each group, None if no group is tested; `by_criterion` are the same of
    criteria. `weights` say for how many items of its family each position stands, None where items are drawn.
    `before` is what earlier comparisons with the baseline noted, and `searched` is as in the result.
    """
    ending, systems = finished.ending, setup.systems
    tally = ending.estimate.tally
    every = [*ending.labels, *ending.further]
    labels = label_rows(every, systems, items, ending.deciding)
    whole = tally.judged == tally.items and not setup.sampled
    weighted = weighted_gap(tally) if tally.judged < tally.items else None
    bounds = None
    if bounds_by_draw is not None and tally.gap is not None:
        low, high = float(bounds_by_draw[0, -1]), -float(bounds_by_draw[1, -1])
        bounds = (tally.gap, tally.gap) if whole else with_seen((min(low, high), max(low, high)), tally.gap)
    bounds = weighted.interval if weighted else bounds
    if bounds and tally.leader == 1:  # seen from the leader
        bounds = (0.0 - bounds[1], 0.0 - bounds[0])
    return Comparison(
        setup=setup,
        options=options,
        data=data,
        counts=counts_of(finished, both_orders=tally.both, flips=tally.flips, pool=pool, one_order=setup.one_order),
        spend=finished.spend,
        labels=labels,
        winner=None if ending.winner is None else systems[ending.winner],
        leader=None if tally.leader is None else systems[tally.leader],
        risk=_risk(finished, setup, whole=whole),
        stop_reason=ending.stop.kind,
        stop_sentence=ending.stop.sentence,
        more_judgments=None if ending.stop.kind in ANSWERS else more_judgments,
        wins=dict(zip(systems, tally.wins, strict=True)),
        ties=tally.ties,
        gap=_for_the_leader(tally, weighted),
        gap_biased=tally.picked and tally.judged < tally.items,
        gap_weighted=weighted is not None,
        bounds=bounds,
        more_items=more_items and more_items.even,
        more_items_likely=more_items and more_items.likely,
        within_reach=within_reach,
        groups=group_rows(labels, items, findings),
        criteria=criterion_rows(labels, by_criterion),
        comparison=len(before) + 1,
        risk_before=math.fsum(one.risk for one in before),
        searched=searched,
        groups_cut=ending.cut.kind if ending.cut else None,
        groups_cut_sentence=ending.cut.sentence if ending.cut else "",
        drift=_drift(tally, setup.max_judgments),
        recorded=None if scores is None else _figures(tally, setup, scores),
        gap_by_items=None if weights is None else _by_items(ending, weights),
        course=_course(tally, bounds_by_draw),
    )


def _by_items(ending: Ending[Tally], weights: Mapping[int, float]) -> float | None:
    """The gap if each family counts as often as it has items, for the leader; None without a verdict."""
    judged = [
        (weights[label.choice.position], label.answer.preference)
        for label in ending.labels
        if isinstance(label.answer, Verdict) and label.choice.key in ending.deciding
    ]
    items = sum(weight for weight, _ in judged)
    gap = sum(weight * preference for weight, preference in judged) / items if items else None
    return gap and (-gap if ending.estimate.tally.leader == 1 else gap)


def _drift(tally: Tally, limit: int | None) -> Halves | None:
    """Where the verdicts changed on the way, if they were drawn in random order."""
    if tally.picked or tally.propensities or limit is None or tally.total is not None:
        return None
    verdicts = [one.observed if isinstance(one, WithProxy) else one for one in tally.preferences]
    return drift([one for one in verdicts if not isinstance(one, tuple)], min(tally.items, limit))


def _risk(finished: Finished[Tally], setup: Setup, *, whole: bool) -> float | None:
    """The stated risk of the claim; without one, of naming now, which the rule that bets does not state."""
    ending = finished.ending
    answered = ending.winner is not None or ending.stop.kind in ANSWERS
    if whole and answered:
        return 0.0
    if not rule_row("compare", setup.rule).states_risk:
        return None
    if ending.stop.kind is StopKind.NO_DIFFERENCE:
        return setup.risk_threshold
    return ending.estimate.risk if answered or setup.rule != BETS else None


def _course(tally: Tally, bounds: NDArray[np.float64] | None) -> tuple[Curve, ...]:
    """The gap so far, and its bounds, by judgment, in points, seen from the second system."""
    if bounds is None or bounds.shape[1] < FEWEST_LOOKS or len(tally.preferences) != bounds.shape[1]:
        return ()
    observed = [one.observed if isinstance(one, WithProxy) else one for one in tally.preferences]
    verdicts = np.array([np.nan if one is None else scores_of(one)[1] for one in observed])
    known = np.cumsum(~np.isnan(verdicts))
    gaps = np.cumsum(np.nan_to_num(verdicts)) / np.maximum(known, 1)
    # As at the end (`with_seen`): bounds that earlier verdicts had narrowed beyond the gap claim less.
    low, high = np.minimum(bounds[1], gaps), np.maximum(0.0 - bounds[0], gaps)
    lines: list[tuple[Role, NDArray[np.float64]]] = [("lead", gaps), ("bound", low), ("bound", high)]
    return tuple(Curve("", role, tuple(enumerate((100 * values).tolist(), start=1))) for role, values in lines)


def _figures(tally: Tally, setup: Setup, scores: Sequence[Sequence[float]]) -> ScoreFigures:
    won, lost = tally.wins
    means = [sum(own) / tally.items for own in scores]
    return ScoreFigures(
        means=dict(zip(setup.systems, means, strict=True)),
        mean_difference=means[0] - means[1],
        win_share=won / (won + lost) if won + lost else None,
        win_share_interval=share_interval(won, lost, setup.risk_threshold),
    )


def _for_the_leader(tally: Tally, weighted: WeightedGap | None) -> float | None:
    """The leader's share of wins minus the other system's.

    It is the estimate for all items if there is one, else the figure among the judged items.
    """
    if weighted is not None:
        return 0.0 - weighted.value if tally.leader == 1 else weighted.value
    return None if tally.gap is None else abs(tally.gap)

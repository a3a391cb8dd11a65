"""How many further judgments a search for the best is likely to take, for forecast and result.

Reads a table of what searches took on recorded verdicts. Asks no judge, and imagines no answer. Prices are added in
`run/plan.py`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from judgeloop.engine.session import Limits
from judgeloop.methods.stats.levels import FEW, LEVELS_FROM
from judgeloop.methods.stopping.rule import points
from judgeloop.run.plan import Range

# Mean calls of searches at a risk of 0.1, by items, systems and gap. A row is a number of systems, a column one of
# `GAPS`. Source: GPT-4's verdicts on systems of AlpacaEval; `python benchmarks/race.py DATA --only forecast` makes
# the table, and docs/results has it with errors. Up to five systems the baseline is one of them.
GAPS = (0.0, 0.02, 0.05, 0.1)
USUAL_CALLS = {
    100: {
        3: (100, 96, 82, 66), 5: (242, 233, 213, 181), 6: (269, 249, 215, 176), 10: (357, 316, 271, 223),
        18: (535, 432, 366, 290), 36: (859, 664, 515, 410), 53: (1136, 897, 627, 475),
    },
    400: {
        3: (256, 230, 190, 130), 5: (658, 579, 480, 337), 6: (878, 764, 620, 468), 10: (1156, 969, 738, 524),
        18: (1599, 1275, 912, 625), 36: (2327, 1745, 1148, 772), 53: (2796, 2097, 1329, 868),
    },
    805: {
        3: (488, 365, 213, 129), 5: (1035, 815, 580, 428), 6: (1601, 1346, 1056, 774), 10: (1990, 1625, 1213, 851),
        18: (2683, 2048, 1441, 943), 36: (3647, 2618, 1739, 1067), 53: (4361, 3036, 1917, 1162),
    },
}  # fmt: skip
# The same for the best of items like these, whatever their number (`--only like`). They end with the items, too.
GAPS_LIKE_THESE = (*GAPS, 0.2)
USUAL_LIKE_THESE = {
    3: (349, 219, 173, 86, 58), 5: (851, 731, 473, 254, 162), 6: (1766, 1468, 1005, 530, 351),
    10: (2495, 2026, 1458, 922, 570), 18: (3931, 3355, 2629, 1382, 450), 53: (11302, 10259, 8945, 1868, 583),
}  # fmt: skip
# At a risk of 0.2 the searches took 0.88 of these calls: so much more is each further unit of log(1 / risk).
RISK, OF_RISK = 0.1, 0.17
LEAST_OF_RISK = 0.3
WITHIN = 2  # a factor: most searches took half to twice as many (docs/results)

ASSUMED = (
    "that the search takes what searches among as many models took on recorded verdicts (a closer field takes more)"
)
# Of items like these, a race among many systems ends at the first gap. At one below the second a third stays
# open among any, and at one from it on, half among very many (docs/results).
USUAL_GAP, OPEN_GAP, VERY_MANY = LEVELS_FROM, 0.05, 24


class Foreseen(NamedTuple):
    """The range of further judgments, and the assumption behind it, as a sentence; None if nothing is assumed.

    `needed` are the judgments in all that the search usually takes, if the limit is below them; else 0.
    """

    judgments: Range
    assumed: str | None
    needed: int = 0


def usual_calls(systems: int, items: int, gap: float, risk: float, *, sampled: bool) -> int:
    """Return how many calls a race takes to its end, of the usual; a set of items may end it before.

    >>> usual_calls(53, 400, 0.0, 0.1, sampled=False), usual_calls(26, 600, 0.05, 0.1, sampled=False)
    (2796, 1326)
    """

    def by_systems(table: Mapping[int, Sequence[int]], gaps: Sequence[float]) -> float:
        rows = [_on_line(gap, gaps, [math.log(calls) for calls in row]) for row in table.values()]
        return _on_line(math.log(systems), [math.log(many) for many in table], rows)

    if sampled:
        calls = by_systems(USUAL_LIKE_THESE, GAPS_LIKE_THESE)
    else:
        pools = [by_systems(table, GAPS) for table in USUAL_CALLS.values()]
        calls = _on_line(math.log(items), [math.log(pool) for pool in USUAL_CALLS], pools)
    of_risk = max(LEAST_OF_RISK, 1 + OF_RISK * math.log(RISK / risk))
    return max(systems, round(of_risk * math.exp(calls)))


def _on_line(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the value at `x` on the lines between the points, which go on at both ends."""
    at = next((n for n in range(1, len(xs) - 1) if x < xs[n]), len(xs) - 1)
    return ys[at - 1] + (ys[at] - ys[at - 1]) * (x - xs[at - 1]) / (xs[at] - xs[at - 1])


def judgments_to_name(asked: int, usual: int | None, limits: Limits, *, every: int, over: bool) -> Foreseen:
    """Return what is foreseen for a run that has `asked` so many.

    `usual` is what such a search takes in all, None for one that uses up its limit. `every` is the number of judgments
    that there are, with those that choose a baseline, and `over` says whether the run has ended. A search that has
    asked more than the usual is close, and may go on to the limit.
    """
    worst = 0 if over else max(0, min(limits.max_judgments, every) - asked)
    if usual is None or not worst:
        return Foreseen(Range(worst, worst, worst), None)
    whole = min(usual, every)
    expected = min(whole - asked, worst) if whole > asked else worst
    low = max(1, min(whole // WITHIN - asked, expected))
    return Foreseen(Range(low, expected, worst), ASSUMED, whole if whole > limits.max_judgments else 0)


def more_to_name(asked: int, usual: int | None, every: int) -> int | None:
    """Return how many further judgments would usually name a system; None if that is not known."""
    more = 0 if usual is None else min(usual, every) - asked
    return more if more > 0 else None


def may_stay_open(systems: int, gap: float) -> bool:
    """Return whether many searches for the best of items like these had no name at this gap.

    >>> may_stay_open(7, 0.0), may_stay_open(13, 0.05), may_stay_open(54, 0.05), may_stay_open(54, 0.1)
    (True, False, True, False)
    """
    return systems > FEW and (gap < OPEN_GAP or (systems > VERY_MANY and gap < USUAL_GAP))


def no_winner(judgments: int, systems: int, *, gap: float) -> str:
    """Return the sentence that a search of so many judgments may well name no system.

    >>> no_winner(41860, 53, gap=0.0)
    'for items like these, a search among 53 systems names one only if it is clearly ahead, and else none, \
after up to 41,860 judgments; with `min_gap=0.1` it ends far sooner'
    """
    remedy = f"`min_gap={USUAL_GAP}`" if gap < USUAL_GAP else f"a `min_gap` above {gap:g}"
    names = "names one only if it is clearly ahead, and else none"
    if gap:
        names = f"with a gap of {points(gap)} often names none"
    return (
        f"for items like these, a search among {systems:,} systems {names}, after up to {judgments:,} judgments; with {remedy} "
        "it ends far sooner"
    )


def limit_too_low(limit: int, needed: int) -> str:
    """Return the sentence that the limit will probably end a search that takes more.

    >>> limit_too_low(2000, 2796)
    '`max_judgments=2000` will probably end the search before a system is named: that takes about 2,796'
    """
    return f"`max_judgments={limit}` will probably end the search before a system is named: that takes about {needed:,}"

"""What an estimate of a mean may take until it is precise enough, before it is paid for, and what it may still take.

A projection from the variance so far, or from an assumed one; it asks nobody.
"""

from __future__ import annotations

import math

from judgeloop.run.plan import Range
from judgeloop.stats.mean_intervals import interval_at_once, interval_whenever, reach
from judgeloop.stats.ratings import Ratings
from judgeloop.stats.strata import Moments
from judgeloop.stopping.precise import Precise

ASSUMED = "scores of 0 and 1, as many of each"
ASSUMED_MEAN = 0.5  # of scores of 0 and 1, which vary most there


def judgments_to_know(rule: Precise, tally: Ratings, limit: int) -> tuple[Range, str | None]:
    """Further judgments that a run at `tally` would take, low, expected and worst; and what the expected case assumes.

    `limit` is how many items are judged at most, those in `tally` included.
    """
    most = max(0, limit - tally.asked)
    if rule.half_width is None:
        return Range(most, most, most), None
    assumed = tally.asked < rule.first_look
    known = more_to_know(rule, tally)
    enough = _enough(rule, tally.items, _assumed_spread(), 0) - tally.asked if assumed else known
    expected = most if enough is None else max(0, min(most, enough))
    least = max(0, min(most, expected, rule.first_look - tally.asked))
    return Range(least, expected, most), ASSUMED if assumed else None


def more_to_know(rule: Precise, tally: Ratings) -> int | None:
    """How many further judgments would probably make the interval narrow enough; None where it cannot be said."""
    moments = tally.moments
    if rule.half_width is None or tally.judged < 2 or math.isnan(moments.variance):  # noqa: PLR2004
        return None
    left = 1 - tally.judged / tally.items
    each = moments.variance * tally.judged / left if left > 0 else 0.0
    return max(0, _enough(rule, tally.items, each, tally.asked) - tally.asked)


def _assumed_spread() -> float:
    return ASSUMED_MEAN * (1 - ASSUMED_MEAN)


def _enough(rule: Precise, items: int, each: float, asked: int) -> int:
    """The fewest judgments, more than `asked`, that would do were the variance of one `each`; by bisection."""
    low, high = asked, items
    while high - low > 1:
        middle = (low + high) // 2
        if _half_width(rule, items, each, middle) <= (rule.half_width or 0.0):
            high = middle
        else:
            low = middle
    return high


def _half_width(rule: Precise, items: int, each: float, judged: int) -> float:
    find = interval_whenever if rule.kind == "anytime" else interval_at_once
    variance = each / judged * (1 - judged / items)
    found = find(
        Moments(ASSUMED_MEAN, variance, float(max(1, judged - 1))), judged, items, rule.threshold
    )
    return math.inf if found is None else reach(ASSUMED_MEAN, found)

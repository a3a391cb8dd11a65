"""How many further judgments an estimate is likely to take, for the forecast and for the result.

Projects the width of the interval from the variance so far, or from an assumed variance. Asks no
judge. Prices are added in `run/plan.py`.
"""

import math

from scipy.special import chdtri

from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.stats.intervals import interval_at_once, interval_whenever, reach
from judgeloop.methods.stats.strata import Moments
from judgeloop.methods.stopping.precise import Precise
from judgeloop.run.plan import Range

# Assumed until scores are known: a variance, and what has it. That of ratings is the middle one of recorded
# ratings by people (RealSumm's 25 systems: 0.02 to 0.06) and models.
ZERO_OR_ONE = 0.25, "scores of 0 and 1, as many of each"
RATINGS = 0.05, "ratings that spread as recorded ones do, with a variance of 0.05"
LUCKY = 0.1  # the chance that the variance is as small as the low case takes it, roughly
ASSUMED_MEAN = 0.5  # an interval is widest there


def judgments_to_know(
    rule: Precise, tally: Ratings, limit: int, assuming: tuple[float, str]
) -> tuple[Range, str | None]:
    """Return the range of further judgments for a run at `tally`, and the assumption behind it.

    `limit` is the maximum number of judged items, including the items in `tally`. `assuming` is what is
    assumed of the scores, a variance and a sentence. The sentence is returned if they are assumed, else None.
    """
    most = max(0, limit - tally.asked)
    if rule.half_width is None:
        return Range(most, most, most), None
    assumed = tally.asked < rule.first_look
    known = more_to_know(rule, tally)
    enough = _enough(rule, assuming[0], 0) - tally.asked if assumed else known
    expected = most if enough is None else max(0, min(most, enough))
    first = rule.first_look - tally.asked if assumed else more_to_know(rule, tally, lucky=True)
    least = max(0, min(most, expected, first or 0))
    return Range(least, expected, most), assuming[1] if assumed else None


def too_few(rule: Precise, tally: Ratings, limit: int, assuming: tuple[float, str]) -> str:
    """Return the sentence that all items, or `limit` of them, will probably not be enough; empty if they are."""
    if rule.half_width is None:
        return ""
    known = more_to_know(rule, tally) if tally.asked >= rule.first_look else None
    enough = _enough(rule, assuming[0], 0) if known is None else tally.asked + known
    if rule.sampled and enough > rule.items:
        return (
            f"for items like these, an interval of `half_width={rule.half_width:g}` probably takes "
            f"{enough:,} items; there are {rule.items:,}."
        )
    if enough <= limit:
        return ""
    return (
        f"`max_judgments={limit}` will probably end the estimate before its interval has "
        f"`half_width={rule.half_width:g}`: that takes about {enough:,}."
    )


def more_to_know(rule: Precise, tally: Ratings, *, lucky: bool = False) -> int | None:
    """Return how many further judgments would probably make the interval narrow enough.

    None without a `half_width`, or if the variance is not known yet. If `lucky`, it is taken to be smaller
    than seen: by as much as one sample in ten of normal scores shows too large a variance.
    """
    moments, freedom = tally.moments, tally.judged - 1
    if rule.half_width is None or freedom < 1 or math.isnan(moments.variance):
        return None
    left = 1 - tally.judged / rule.population
    each = moments.variance * tally.judged / left if left > 0 else 0.0
    if lucky:
        each *= min(1.0, freedom / float(chdtri(freedom, LUCKY)))
    return max(0, _enough(rule, each, tally.asked) - tally.asked)


def _enough(rule: Precise, each: float, asked: int) -> int:
    """Return the fewest judgments above `asked` that make the interval narrow enough, by bisection.

    `each` is the variance of a single score. At most the population's items are returned.
    """
    low, high = asked, rule.population
    while high - low > 1:
        middle = (low + high) // 2
        if _half_width(rule, each, middle) <= (rule.half_width or 0.0):
            high = middle
        else:
            low = middle
    return high


def _half_width(rule: Precise, each: float, judged: int) -> float:
    items = rule.population
    find = interval_whenever if rule.any_look else interval_at_once
    variance = each / judged * (1 - judged / items)
    found = find(Moments(ASSUMED_MEAN, variance, float(max(1, judged - 1))), judged, items, rule.threshold)
    return math.inf if found is None else reach(ASSUMED_MEAN, found)

"""Agreement of judges beyond chance, and of one judge's verdicts in both orders of presentation.

Takes votes as integer categories, or shares of verdicts. The caller decides which votes count.
scikit-learn computes Cohen's kappa and is imported on first use.
"""

import math
import warnings
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

FEWEST_BOTH = 20  # the fewest verdicts in both orders that say what the other way would cost
CLEARLY_CHEAPER = 0.75  # a share of the calls below which the other way is worth a sentence
PROBABLY = 0.8  # the least chance of a decision in one order that is worth a sentence
BOUNDARY = 2.0  # of a sequential test at its limit, in standard deviations, at a risk of 0.1


def kappa(votes: Sequence[Sequence[int]]) -> tuple[str, float] | None:
    """The name and value of the kappa that fits the number of judges.

    `votes` has one row per subject and one column per judge; its entries are categories. The kappa
    is Cohen's (1960) for two judges and Fleiss' (1971) for more. The result is None where kappa is
    not defined: fewer than two subjects, fewer than two judges, or a single category throughout.
    """
    if len(votes) <= 1 or len(votes[0]) <= 1:
        return None
    if len({category for row in votes for category in row}) == 1:
        return None
    first, second, *others = zip(*votes, strict=True)
    if not others:
        return "Cohen's kappa", cohen(first, second)
    return "Fleiss' kappa", fleiss(votes)


def cohen(first: Sequence[int], second: Sequence[int]) -> float:
    """Compute Cohen's kappa of two judges, whose votes have the same order of subjects."""
    from sklearn.metrics import cohen_kappa_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of an undefined kappa and returns NaN
        return float(cohen_kappa_score(first, second))


def fleiss(votes: Sequence[Sequence[int]]) -> float:
    """Compute Fleiss' kappa of any number of judges who all judged every subject.

    `votes` has one row per subject and one column per judge. Fleiss (1971), equations 1 to 7.
    """
    table = np.asarray(votes)
    categories = np.unique(table)
    # Shape (subjects, categories).
    counts = np.stack([(table == category).sum(axis=1) for category in categories], axis=1)
    judges = table.shape[1]
    observed = ((counts**2).sum(axis=1) - judges).mean() / (judges * (judges - 1))
    expected = ((counts.sum(axis=0) / table.size) ** 2).sum()
    return float((observed - expected) / (1 - expected))


def calls_of_one_order(decisive: float, flipped: float) -> float | None:
    """The calls to a decision in one order, as a multiple of those in both orders.

    `decisive` is the share of first calls that prefer a system, `flipped` the share of these that
    the other order contradicts. Where flips are the judge's preference for a position, they fall to
    either side, so both ways see the same gap g. The judgments to a decision grow with the
    variance over g²: with the share of decisive verdicts, which is d in one order and d(1 - f) in
    both. In both orders a judgment takes 1 + d calls. So the multiple is 1 / ((1 - f)(1 + d)). None
    if no verdict is left.

    >>> calls_of_one_order(1.0, 0.0), calls_of_one_order(0.25, 0.5)
    (0.5, 1.6)
    """
    left = (1 - flipped) * (1 + decisive)
    return 1 / left if left and decisive else None


def chance_in_one_order(wins: tuple[int, int], flips: int, judged: int, most: int, boundary: float = BOUNDARY) -> float:
    """About how probable a decision in one order is within `most` judgments.

    After `judged` verdicts in both orders, of which `flips` are ties because the orders disagree. Then
    a share d = (wins + flips) / judged of single verdicts is decisive, and both ways see the same
    gap g, known with the variance of `judged` verdicts. A lead is named beyond `boundary` standard
    deviations at the end. All is taken as normal, and earlier crossings are left out.

    >>> round(chance_in_one_order((30, 10), 0, 50, 200), 2)
    0.97
    >>> round(chance_in_one_order((30, 10), 0, 50, 25), 2)
    0.58
    """
    one, both = (sum(wins) + flips) / judged, sum(wins) / judged
    lead = abs(wins[0] - wins[1]) / judged - boundary * math.sqrt(one / most)
    return NormalDist().cdf(lead / math.sqrt(one / most + both / judged))

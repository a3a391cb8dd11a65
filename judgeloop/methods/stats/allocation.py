"""How many strata to cut a pool into, and which stratum to draw from next.

Takes counts, shares and standard deviations of strata. Does not choose the item within a stratum:
`methods/selectors/stratified.py` does.
"""

from __future__ import annotations

import math

import numpy as np

from judgeloop.methods.stats.strata import Counts, Floats

JUDGMENTS_A_STRATUM = 5
ITEMS_A_STRATUM = 2  # minimum
# Draws from every stratum at the start, so that its spread can be estimated (Carpentier & Munos
# 2011, algorithm 1).
FIRST_DRAWS = 2


def paying_strata(limit: int, items: int) -> int:
    """Return the number of strata to cut `items` into for `limit` random draws.

    `limit` is a number of judgments. More strata narrow the interval as long as the
    spread within each stratum can still be estimated. On the hidden states of a language model,
    five judgments per stratum gave narrower intervals than ten, and narrower than the smaller
    number of clusters at the elbow of the inertia, at the stated coverage (docs/results).
    """
    return max(1, min(limit // JUDGMENTS_A_STRATUM, items // ITEMS_A_STRATUM))


def exploration(limit: int) -> float:
    """Compute the exploration constant β = √log(2 / n^(-9/2)) for n = `limit` draws.

    `limit` is a number of judgments; the scores are in [0, 1]. This is the β of
    Huang et al. (2024), equation 2.

    It is √log(2/δ) with δ = n^(-9/2), as printed there with a reference to Carpentier, Munos &
    Antos (2015), "Adaptive strategy for stratified Monte Carlo sampling". That text was not
    available. An independent implementation of their index for bounded arms has the same β, times
    the range of the scores.

    For scores in [0, 1], the deviation is known to within √(2 log(2/δ) / (T - 1)) (Maurer & Pontil
    2009, theorem 10). That is 2β/√(T - 1) with a β smaller by the factor √2.

    Both are large. At 400 draws, 2β/√T exceeds 1/2, the largest possible deviation of these
    scores, until a stratum has 443 draws. The allocation is therefore nearly proportional.
    """
    return math.sqrt(math.log(2) + 4.5 * math.log(max(1, limit)))


def upper_bounds(shares: Floats, drawn: Counts, deviations: Floats, beta: float) -> Floats:
    """Compute an upper bound on each stratum's part of the variance, per draw; shape (strata,).

    B = w / T · (s + 2β / √T) for `shares` w, `drawn` T, `deviations` s and `beta` β: Huang et al.
    (2024), equation 1. Every entry of `drawn` must be at least 1.
    """
    bounds: Floats = shares / drawn * (deviations + 2 * beta / np.sqrt(drawn))
    return bounds


def behind_their_share(shares: Floats, drawn: Counts) -> Floats:
    """Compute how far each stratum is behind its proportional share; shape (strata,).

    The stratum with the highest value is drawn from next (Sainte-Laguë's divisors).
    """
    behind: Floats = shares / (2 * drawn + 1)
    return behind

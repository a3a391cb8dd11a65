"""Into how many strata to cut a pool, and from which to draw next.

Which of its items that is, is a selector's business.
"""

from __future__ import annotations

import math

import numpy as np

from judgeloop.stats.strata import Counts, Floats

JUDGMENTS_A_STRATUM = 5
ITEMS_A_STRATUM = 2  # at least
FIRST_DRAWS = 2  # of every stratum, so that its spread can be estimated (Carpentier & Munos 2011, algorithm 1)


def paying_strata(budget: int, items: int) -> int:
    """Into how many strata to cut `items` for `budget` random draws: the more the better, while the spread within each can still be told.

    On the hidden states of a language model five judgments a stratum gave narrower intervals than ten, and than the fewer clusters at the
    elbow of their inertia, at the stated coverage (docs/results.md).
    """
    return max(1, min(budget // JUDGMENTS_A_STRATUM, items // ITEMS_A_STRATUM))


def exploration(budget: int) -> float:
    """The β of Huang et al. (2024), equation 2, for `budget` draws of scores in [0, 1]: √log(2 / n^(-9/2)).

    This is √log(2/δ) with δ = n^(-9/2), as printed there with a reference to Carpentier, Munos & Antos (2015), "Adaptive strategy for stratified
    Monte Carlo sampling". Their text was not at hand; an independent implementation of their index for bounded arms has the same, times the range
    of the scores. For scores in [0, 1] the deviation is known to √(2 log(2/δ) / (T - 1)) (Maurer & Pontil 2009, theorem 10), which is 2β/√T for a β
    that is √2 smaller. Either is large: at 400 draws 2β/√T is over the largest possible deviation of such scores, 1/2, until a stratum has
    443 draws, so that the choice is nearly the proportional one.
    """
    return math.sqrt(math.log(2) + 4.5 * math.log(max(1, budget)))


def upper_bounds(shares: Floats, drawn: Counts, deviations: Floats, beta: float) -> Floats:
    """How much a stratum's part of the variance may be, per draw: Huang et al. (2024), equation 1; `drawn` are at least one each.

    B = w / T · (s + 2β / √T), with `shares` w, `drawn` T and `deviations` s.
    """
    bounds: Floats = shares / drawn * (deviations + 2 * beta / np.sqrt(drawn))
    return bounds


def behind_their_share(shares: Floats, drawn: Counts) -> Floats:
    """How far each stratum is behind its proportional share; the highest is next (Sainte-Laguë's divisors)."""
    behind: Floats = shares / (2 * drawn + 1)
    return behind

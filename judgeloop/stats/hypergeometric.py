"""The survival function that the heuristic stopping rules rest on.

SciPy computes it; nothing of the rules is known here. SciPy is imported on first use, because it takes longer
to import than the rest of judgeloop together.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1 << 16)
def survival(at_least: int, population: int, successes: int, draws: int) -> float:
    """P(X ≥ `at_least`) for X successes in `draws` without replacement from `population` with `successes`.

    Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation", appendix A.2: their
    sf(k-1, N, K, n). Their example: 8 or more of 10 draws from 500 of which 250 are successes.

    >>> round(survival(8, 500, 250, 10), 4)
    0.0529
    """
    from scipy.stats import hypergeom

    return float(hypergeom.sf(at_least - 1, population, successes, draws))

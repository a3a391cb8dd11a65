"""The survival function of the hypergeometric distribution, used by the heuristic stopping rules.

It is written out here because importing SciPy takes longer than a comparison takes to decide. The
tests check it against SciPy and against exact fractions.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb


@lru_cache(maxsize=1 << 16)
def survival(at_least: int, population: int, successes: int, draws: int) -> float:
    """Compute P(X ≥ `at_least`) for the number X of successes in `draws` without replacement.

    The `population` holds `successes` successes. Ashury-Tahan et al. (2024), "Label-Efficient Model
    Selection for Text Generation", appendix A.2: their sf(k-1, N, K, n). Their example: 8 or more
    of 10 draws from 500 of which 250 are successes.

    >>> round(survival(8, 500, 250, 10), 4)
    0.0529
    """
    failures = population - successes
    fewest, most = max(0, draws - failures), min(draws, successes)
    if at_least <= fewest:
        return 1.0
    if at_least > most:
        return 0.0
    # The first term comes from exact integers, each later term from its ratio to the one before.
    ways = comb(successes, at_least) * comb(failures, draws - at_least)
    term = total = ways / comb(population, draws)
    for hits in range(at_least, most):
        term *= (successes - hits) * (draws - hits) / ((hits + 1) * (failures - draws + hits + 1))
        total += term
    return min(1.0, total)

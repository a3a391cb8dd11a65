"""The survival function that the heuristic stopping rules rest on.

Written out, because the library that has it takes longer to import than a comparison takes to decide; the tests hold it to
SciPy's and to exact fractions. Nothing of the rules is known here.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb


@lru_cache(maxsize=1 << 16)
def survival(at_least: int, population: int, successes: int, draws: int) -> float:
    """P(X ≥ `at_least`) for X successes in `draws` without replacement from `population` with `successes`.

    Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation", appendix A.2: their
    sf(k-1, N, K, n). Their example: 8 or more of 10 draws from 500 of which 250 are successes.

    >>> round(survival(8, 500, 250, 10), 4)
    0.0529
    """
    failures = population - successes
    fewest, most = max(0, draws - failures), min(draws, successes)
    if at_least <= fewest:
        return 1.0
    if at_least > most:
        return 0.0
    # The first term from exact integers, the others from the ratio of neighbours.
    ways = comb(successes, at_least) * comb(failures, draws - at_least)
    term = total = ways / comb(population, draws)
    for hits in range(at_least, most):
        term *= (successes - hits) * (draws - hits) / ((hits + 1) * (failures - draws + hits + 1))
        total += term
    return min(1.0, total)

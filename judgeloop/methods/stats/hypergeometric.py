"""The survival function of the hypergeometric distribution, used by the heuristic stopping rules.

It is written out here because importing SciPy takes longer than a comparison takes to decide. The
tests check it against SciPy and against exact fractions. `is_at_most` and `may_be_at_most` compare
it with a risk, which takes less time than to compute it for populations of thousands.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import comb, exp, inf, lgamma, log

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
# Relative tolerance for rounding in logarithms of factorials; within it the exact sum decides.
TOLERANCE = 1e-6


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


def is_at_most(risk: float, at_least: int, population: int, successes: int, draws: int) -> bool:
    """Return whether `survival` of the same numbers is at most `risk`.

    Terms are added, from logarithms, until they exceed `risk`. Only if they never do is the exact
    sum computed.
    """
    failures = population - successes
    most = min(draws, successes)
    if at_least <= max(0, draws - failures):
        return risk >= 1
    if at_least > most:
        return risk >= 0
    term = total = exp(
        _log_ways(successes, at_least)
        + _log_ways(failures, draws - at_least)
        - _log_ways(population, draws)
    )
    enough = risk * (1 + TOLERANCE)
    for hits in range(at_least, most):
        term *= (successes - hits) * (draws - hits) / ((hits + 1) * (failures - draws + hits + 1))
        total += term
        if total > enough or term < TOLERANCE * total / most:
            break
    return total <= enough and survival(at_least, population, successes, draws) <= risk


def may_be_at_most(
    risk: float, at_least: Counts, population: Counts, successes: Counts, draws: Counts
) -> NDArray[np.bool_]:
    """Return where `is_at_most` can hold, by the first term alone, shape (states,)."""
    failures = population - successes
    fewest, most = np.maximum(0, draws - failures), np.minimum(draws, successes)
    between = (at_least > fewest) & (at_least <= most)
    sizes, hits = np.array([population, successes, failures]), np.minimum(at_least, most)
    chosen = np.array([draws, hits, np.clip(draws - hits, 0, failures)])
    table = _log_factorials(1 << int(population.max(initial=1)).bit_length())
    ways, first, second = _log_ways_of(table, sizes, chosen)
    most_log = log(risk) + TOLERANCE if risk > 0 else -inf
    small: NDArray[np.bool_] = first + second - ways <= most_log
    return np.where(between, small, (at_least > most) | (risk >= 1))


def are_at_most(
    risks: Floats, at_least: Counts, population: Counts, successes: Counts, draws: Counts
) -> NDArray[np.bool_]:
    """Return where `survival` is at most each of `risks`, shape (risks, states).

    As in `is_at_most`, terms from logarithms are added until they exceed every risk. Where their
    sum is too near to a risk to tell, the exact sum decides.
    """
    states = at_least, population, successes, draws
    most = float(risks.max(initial=0.0))
    sums = np.full(len(at_least), np.inf)
    (likely,) = np.nonzero(may_be_at_most(most, *states))
    sums[likely] = _sums(most * (1 + 4 * TOLERANCE), *(counts[likely] for counts in states))
    found: NDArray[np.bool_] = sums <= risks[:, None]
    near = np.abs(sums - risks[:, None]) <= 2 * TOLERANCE * risks[:, None]
    for risk, state in np.argwhere(near).tolist():
        exact = survival(*(int(counts[state]) for counts in states))
        found[risk, state] = exact <= risks[risk]
    return found


def _sums(
    enough: float, at_least: Counts, population: Counts, successes: Counts, draws: Counts
) -> Floats:
    """Compute `survival` of many states within `TOLERANCE`, or any value above `enough`."""
    failures = population - successes
    most = np.minimum(draws, successes)
    found = np.where(at_least <= np.maximum(0, draws - failures), 1.0, 0.0)
    (at,) = np.nonzero((found == 0) & (at_least <= most))
    hits, most = at_least[at], most[at]
    successes, failures, draws = successes[at], failures[at], draws[at]
    table = _log_factorials(1 << int(population.max(initial=1)).bit_length())
    term = np.exp(
        _log_ways_of(table, successes, hits)
        + _log_ways_of(table, failures, draws - hits)
        - _log_ways_of(table, population[at], draws)
    )
    total = term
    while len(at):
        found[at] = total
        going = (total <= enough) & (hits < most) & (term * most >= TOLERANCE * total)
        at, hits, most, total = at[going], hits[going], most[going], total[going]
        successes, failures, draws = successes[going], failures[going], draws[going]
        ratio = (successes - hits) * (draws - hits) / ((hits + 1) * (failures - draws + hits + 1))
        term, hits = term[going] * ratio, hits + 1
        total = total + term
    return found


def _log_ways_of(table: Floats, among: Counts, chosen: Counts) -> Floats:
    """Return the logarithms of binomial coefficients from a table of log factorials."""
    ways: Floats = table[among] - table[chosen] - table[among - chosen]
    return ways


@cache
def _log_factorials(below: int) -> NDArray[np.float64]:
    """Return the logarithms of 0!, 1!, … (`below` - 1)!."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, below)))])


def _log_ways(among: int, chosen: int) -> float:
    """Return the logarithm of the binomial coefficient."""
    return lgamma(among + 1) - lgamma(chosen + 1) - lgamma(among - chosen + 1)

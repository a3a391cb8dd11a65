"""Heuristics of the DiffUse paper: tests of a leader's wins against a majority of a population.

Reads counts of verdicts. `Hypergeometric` tests against all items, `TieAware` against the decisive
ones. The survival function is written out here because importing SciPy takes longer than a
comparison takes to decide; tests check it against SciPy and against exact fractions.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from math import comb, exp, lgamma
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Tally
from judgeloop.methods.stopping.rule import Rule

Counts = NDArray[np.int64] | int
# The least number of successes, the population, its successes, and the draws.
Tested = tuple[Counts, Counts, Counts, Counts]
# Of a sum: a smaller term changes no digit of it, and those behind it are smaller yet.
LEAST = 2.0**-54
EXACT = 1000  # the largest population whose ways are counted exactly: beyond, a count takes as long as it has digits
FEW = 16  # states that are computed one by one, without SciPy
NEAR = 1e-9  # relative, of sums that begin with logarithms of factorials


@dataclass(frozen=True)
class MajorityTest(Rule):
    """A heuristic whose stated risk is `survival` of the numbers that `tested` returns."""

    @abstractmethod
    def tested(self, wins: Counts, losses: Counts, judged: Counts, items: int) -> Tested:
        """The arguments of `survival` for leaders with these wins and losses: numbers or arrays."""

    def met_along_each(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As `Rule.met_along_each`; equal counts are tested once."""
        looks = np.broadcast_to(np.arange(1, preferences.shape[1] + 1), preferences.shape)
        wins, losses = (np.cumsum(preferences == side, axis=1) for side in (1, -1))
        led = wins != losses
        counts = np.maximum(wins, losses)[led], np.minimum(wins, losses)[led], looks[led]
        size = (preferences.shape[1] + 1,) * 3
        states, which = np.unique(np.ravel_multi_index(counts, size), return_inverse=True)
        most, least, judged = np.unravel_index(states, size)
        tested = np.broadcast_arrays(*self.tested(most, least, judged, items))
        risks = _survivals(*tested)
        apart = np.abs(risks - thresholds[:, None]).min(axis=0, initial=np.inf)
        for state in np.flatnonzero(apart <= NEAR * risks).tolist():
            risks[state] = survival(*(int(counts[state]) for counts in tested))
        met = np.zeros((len(thresholds), *preferences.shape), dtype=np.bool_)
        met[:, led] = (risks <= thresholds[:, None])[:, which.ravel()]
        return met

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`; 1 without a leader."""
        return self._risk(*tally.wins, tally.judged, tally.items)

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`: every mixture of wins of one system and ties is tried."""
        won, judged = np.arange(unknown, -1, -1), tally.judged + unknown
        return any(self._may_meet(tally.wins[side] + won, tally.wins[1 - side], judged, tally.items) for side in (0, 1))

    def _may_meet(self, one: NDArray[np.int64], other: int, judged: int, items: int) -> bool:
        """Whether any of these numbers of wins meets the threshold; the first is the likeliest."""
        if self._risk(int(one[0]), other, judged, items) <= self.threshold:
            return True
        if len(one) > FEW:
            most, least = np.maximum(one, other), np.minimum(one, other)
            tested = np.broadcast_arrays(*self.tested(most, least, judged, items))
            most_risk = self.threshold * (1 + NEAR)
            one = one[_survivals(*tested, enough=most_risk) <= most_risk]
        return any(self._risk(wins, other, judged, items) <= self.threshold for wins in one.tolist())

    def _risk(self, one: int, other: int, judged: int, items: int) -> float:
        if one == other:
            return 1.0
        return survival(*map(int, self.tested(max(one, other), min(one, other), judged, items)))


@final
@dataclass(frozen=True)
class Hypergeometric(MajorityTest):
    """Tests the leader's votes against the null that it is preferred on half of all items.

    risk = sf(k-1, N, N/2, n) with n judged and k votes for the leader (Ashury-Tahan et al. 2024,
    the preprint's appendix A.2). For odd N the null is ⌊N/2⌋, the most votes that are not a majority. The rule is
    a heuristic: it is checked many times, the items need not be drawn at random, and ties count as
    votes against the leader.
    """

    name: str = "hypergeometric"
    guarantee: str | None = None
    needs_draws: bool = False

    def tested(self, wins: Counts, losses: Counts, judged: Counts, items: int) -> Tested:
        """As `MajorityTest.tested`."""
        del losses
        return wins, items, items // 2, judged


@final
@dataclass(frozen=True)
class TieAware(MajorityTest):
    """The test of `Hypergeometric` on decisive verdicts only, so that ties are not counted.

    With m decisive of n judged verdicts, the population is the expected number of decisive items,
    N' = max(m, round(N·m/n)). Under the null, each system is preferred on half of them. The rule is
    a heuristic, as `Hypergeometric` is.
    """

    name: str = "tie-aware"
    guarantee: str | None = None
    needs_draws: bool = False

    def tested(self, wins: Counts, losses: Counts, judged: Counts, items: int) -> Tested:
        """As `MajorityTest.tested`."""
        decisive = wins + losses
        expected = np.rint(items * decisive / np.maximum(1, judged)).astype(np.int64)
        population = np.maximum(decisive, expected)
        return wins, population, population // 2, decisive


@lru_cache(maxsize=1 << 16)
def survival(at_least: int, population: int, successes: int, draws: int) -> float:
    """Compute P(X ≥ `at_least`) for the number X of successes in `draws` without replacement.

    The `population` holds `successes` successes. Ashury-Tahan et al. (2024), "Label-Efficient Model
    Selection for Text Generation", the preprint's appendix A.2: their sf(k-1, N, K, n). Their example: 8 or more
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
    counted = (successes, at_least), (failures, draws - at_least), (population, draws)
    if population <= EXACT:
        first, second, of = (comb(*one) for one in counted)
        term = first * second / of
    else:
        first_log, second_log, of_log = (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) for n, k in counted)
        term = exp(first_log + second_log - of_log)
    total = term
    for hits in range(at_least, most):
        term *= (successes - hits) * (draws - hits) / ((hits + 1) * (failures - draws + hits + 1))
        total += term
        if term < total * LEAST:
            break
    return min(1.0, total)


def _survivals(
    at_least: NDArray[np.int64],
    population: NDArray[np.int64],
    successes: NDArray[np.int64],
    draws: NDArray[np.int64],
    *,
    enough: float = np.inf,
) -> NDArray[np.float64]:
    """Compute `survival` of many states within `NEAR`, shape (states,).

    A part of it is computed where that is more than `enough`.
    """
    failures = population - successes
    most = np.minimum(draws, successes)
    found = np.where(at_least <= np.maximum(0, draws - failures), 1.0, 0.0)
    (at,) = np.nonzero((found == 0) & (at_least <= most))
    hits, most, population = at_least[at], most[at], population[at]
    successes, failures, draws = successes[at], failures[at], draws[at]
    first = _log_ways(successes, hits) + _log_ways(failures, draws - hits)
    term = np.exp(first - _log_ways(population, draws))
    total = term.copy()
    while len(at):
        found[at] = total
        going = (hits < most) & (term >= LEAST * total) & (total <= enough)
        at, hits, most, term, total = at[going], hits[going], most[going], term[going], total[going]
        successes, failures, draws = successes[going], failures[going], draws[going]
        term *= (successes - hits) * (draws - hits) / ((hits + 1) * (failures - draws + hits + 1))
        total += term
        hits += 1
    return np.minimum(1.0, found)


def _log_ways(among: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithms of binomial coefficients."""
    from scipy.special import gammaln  # a comparison itself does not wait for SciPy

    ways: NDArray[np.float64] = gammaln(among + 1) - gammaln(chosen + 1) - gammaln(among - chosen + 1)
    return ways

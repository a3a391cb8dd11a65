"""Heuristics of the DiffUse paper: tests of a leader's wins against a majority of a population.

Reads counts of verdicts. `Hypergeometric` tests against all items, `TieAware` against the decisive
ones. The survival function is written out here because importing SciPy takes longer than a
comparison takes to decide; tests check it against SciPy and against exact fractions. `is_at_most`
and `may_be_at_most` compare it with a risk, which takes less time than to compute it.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache, lru_cache
from math import comb, exp, inf, lgamma, log
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Tally
from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.rule import Rule

Floats = NDArray[np.float64]
# Relative tolerance for rounding in logarithms of factorials; within it the exact sum decides.
TOLERANCE = 1e-6
Counts = NDArray[np.int64]
# The least number of successes, the population, its successes, and the draws: shape (states,) each.
Tested = tuple[Counts, Counts, Counts, Counts]


@dataclass(frozen=True)
class MajorityTest(Rule):
    """A heuristic whose stated risk is `survival` of the numbers that `tested` returns.

    Comparing it with the threshold takes less time than computing it.
    """

    @abstractmethod
    def tested(self, wins: Counts, losses: Counts, judged: Counts | int, items: int) -> Tested:
        """Return the arguments of `survival` for leaders with these wins and losses.

        `wins` and `losses` have the shape (states,), and so has each of the four results.
        """

    def met_along_each(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As `Rule.met_along_each`; equal counts, and those without a chance, are tested once."""
        looks = np.broadcast_to(np.arange(1, preferences.shape[1] + 1), preferences.shape)
        wins, losses = (np.cumsum(preferences == side, axis=1) for side in (1, -1))
        led = wins != losses
        most, least = np.maximum(wins, losses)[led], np.minimum(wins, losses)[led]
        # Counts of a state are below the base, so that a state is one number.
        base = preferences.shape[1] + 1
        states, which = np.unique((most * base + least) * base + looks[led], return_inverse=True)
        rest, judged = np.divmod(states, base)
        found = are_at_most(thresholds, *self.tested(*np.divmod(rest, base), judged, items))
        met = np.zeros((len(thresholds), *preferences.shape), dtype=np.bool_)
        met[:, led] = found[:, which.ravel()]
        return met

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader of `tally`; 1 without a leader."""
        return 1.0 if tally.leader is None else survival(*self._tested(tally, tally.leader))

    def is_met(self, tally: Tally) -> bool:
        """Whether the leader of `tally` is named the winner."""
        leader = tally.leader
        return leader is not None and is_at_most(self.threshold, *self._tested(tally, leader))

    def _tested(self, tally: Tally, leader: int) -> tuple[int, int, int, int]:
        wins, losses = (np.array([tally.wins[side]]) for side in (leader, 1 - leader))
        at_least, *rest = (
            int(value[0]) for value in self.tested(wins, losses, tally.judged, tally.items)
        )
        return at_least, rest[0], rest[1], rest[2]

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`: every mixture of wins of one system and ties is tried.

        The first term of the risk rules out most of them.
        """
        return any(self._can_name(tally, side, unknown) for side in (0, 1))

    def _can_name(self, tally: Tally, side: int, unknown: int) -> bool:
        """Return whether a leader is named after wins of `side` and ties on `unknown` items."""
        own = tally.wins[side] + np.arange(unknown, -1, -1)
        others = np.full_like(own, tally.wins[1 - side])
        led = own != others
        wins, losses = np.maximum(own, others)[led], np.minimum(own, others)[led]
        states = self.tested(wins, losses, tally.judged + unknown, tally.items)
        (likely,) = np.nonzero(may_be_at_most(self.threshold, *states))
        return any(
            is_at_most(self.threshold, *(int(values[at]) for values in states)) for at in likely
        )


@final
@dataclass(frozen=True)
class Hypergeometric(MajorityTest):
    """Tests the leader's votes against the null that it is preferred on half of all items.

    risk = sf(k-1, N, N/2, n) with n judged and k votes for the leader (Ashury-Tahan et al. 2024,
    appendix A.2). For odd N the null is ⌊N/2⌋, the most votes that are not a majority. The rule is
    a heuristic: it is checked many times, the items need not be drawn at random, and ties count as
    votes against the leader.
    """

    name: str = "hypergeometric"
    guarantee: str | None = None
    needs_draws: bool = False

    def tested(self, wins: Counts, losses: Counts, judged: Counts | int, items: int) -> Tested:
        """As `MajorityTest.tested`."""
        del losses
        population, draws = np.full_like(wins, items), np.full_like(wins, judged)
        return wins, population, population // 2, draws


def hypergeometric(given: Ingredients) -> Hypergeometric:
    """Make the rule for one run."""
    return Hypergeometric(given.risk)


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

    def tested(self, wins: Counts, losses: Counts, judged: Counts | int, items: int) -> Tested:
        """As `MajorityTest.tested`."""
        decisive = wins + losses
        population = np.maximum(
            decisive, np.rint(items * decisive / np.maximum(1, judged)).astype(int)
        )
        return wins, population, population // 2, decisive


def tie_aware(given: Ingredients) -> TieAware:
    """Make the rule for one run."""
    return TieAware(given.risk)


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

"""Heuristics of the DiffUse paper: tests of a leader's wins against a majority of a population.

Reads counts of verdicts. `Hypergeometric` tests against all items, `TieAware` against the decisive
ones. The survival function is written out here because importing SciPy takes longer than a
comparison takes to decide; tests check it against SciPy and against exact fractions.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Tally
from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.rule import Rule

# The least number of successes, the population, its successes, and the draws.
Tested = tuple[int, int, int, int]


@dataclass(frozen=True)
class CountingRule(Rule):
    """A rule whose stated risk depends on the counts, not on the order of the verdicts."""

    def met_along(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As `Rule.met_along`; the risk of equal counts is computed once."""
        wins, losses = (np.cumsum(preferences == side).tolist() for side in (1, -1))
        risks = np.ones(len(preferences))
        for look, state in enumerate(zip(wins, losses, strict=True)):
            key = (*state, look + 1, items)
            if key not in self._risks:
                tally = Tally(items, wins=state, ties=look + 1 - sum(state))
                self._risks[key] = self.risk(tally) if tally.leader is not None else np.inf
            risks[look] = self._risks[key]
        met: NDArray[np.bool_] = risks <= thresholds[:, None]
        return met

    @cached_property
    def _risks(self) -> dict[tuple[int, ...], float]:
        """The risk by (wins, losses, judgments, items)."""
        return {}


@dataclass(frozen=True)
class MajorityTest(CountingRule):
    """A heuristic whose stated risk is `survival` of the numbers that `tested` returns."""

    @abstractmethod
    def tested(self, wins: int, losses: int, judged: int, items: int) -> Tested:
        """Return the arguments of `survival` for a leader with these wins and losses."""

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader of `tally`; 1 without a leader."""
        return self._risk(*tally.wins, tally.judged, tally.items)

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`: every mixture of wins of one system and ties is tried."""
        counts = (
            (tally.wins[side] + wins, tally.wins[1 - side])
            for side in (0, 1)
            for wins in range(unknown, -1, -1)
        )
        judged, items = tally.judged + unknown, tally.items
        return any(
            one != other and self._risk(one, other, judged, items) <= self.threshold
            for one, other in counts
        )

    def _risk(self, one: int, other: int, judged: int, items: int) -> float:
        if one == other:
            return 1.0
        return survival(*self.tested(max(one, other), min(one, other), judged, items))


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

    def tested(self, wins: int, losses: int, judged: int, items: int) -> Tested:
        """As `MajorityTest.tested`."""
        del losses
        return wins, items, items // 2, judged


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

    def tested(self, wins: int, losses: int, judged: int, items: int) -> Tested:
        """As `MajorityTest.tested`."""
        decisive = wins + losses
        population = max(decisive, round(items * decisive / max(1, judged)))
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

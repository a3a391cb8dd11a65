"""Heuristics of the DiffUse paper: tests of a leader's wins against a majority of a population.

Reads counts of verdicts. `methods/stats/hypergeometric.py` computes the test. `Hypergeometric`
tests against all items, `TieAware` against the decisive ones.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Tally
from judgeloop.methods.stats.hypergeometric import are_at_most, is_at_most, may_be_at_most, survival
from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.rule import CountingRule

Counts = NDArray[np.int64]
# The least number of successes, the population, its successes, and the draws: shape (states,) each.
Tested = tuple[Counts, Counts, Counts, Counts]


@dataclass(frozen=True)
class MajorityTest(CountingRule):
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

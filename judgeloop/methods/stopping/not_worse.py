"""A guaranteed rule for the question of a release: is the second system not worse than the first?

"Not worse" leaves a margin: the win distance, first minus second, may be at most so large. Reads a
tally of verdicts; the bets are computed in `methods/stats/betting.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import final

from judgeloop.core.growing import IncrementalState
from judgeloop.core.outcomes import StopKind, StopReason, Tally
from judgeloop.methods.stats.betting import bound, log_wealth
from judgeloop.methods.stopping.reasons import not_worse, risk_met
from judgeloop.methods.stopping.rule import Rule, scores_for, with_wins
from judgeloop.methods.stopping.wagers import BetPair, followed

GUARANTEE = (
    "for random draws, either wrong answer is ever given with probability at most this risk, however "
    "often the verdicts are checked and however many there are"
)
ROUNDING = 1e-9  # verdicts: a lead and a margin that differ by less are the same


@final
@dataclass(frozen=True)
class NotWorse(Rule):
    """Bets on both answers to whether the second system is worse by more than `margin`.

    Let D be the win distance over all `items`, first minus second, and δ the margin. There are two
    answers, and exactly one of them is wrong:

    - "Not worse", if D is at most δ. It is claimed at a wealth of 1/risk of bets that the second
      system's mean score, -D, is above -δ. Where D is δ or more, this wealth is a supermartingale.
    - "Worse", if D is above δ; then the first system is named. It is claimed at a wealth of 1/risk
      of bets that the first system's mean score, D, is above δ. Where D is at most δ, this wealth
      is a supermartingale.

    So each answer is ever given wrongly with probability at most the risk (Ville 1939; the bets are
    those of Waudby-Smith & Ramdas 2024, section 5, for draws without replacement). This is a test
    for non-inferiority and, at the same time, for its contrary. An abstention counts as a verdict
    against the answer. Once every item is judged, the answer is certain.
    """

    items: int
    margin: float
    name: str = "anytime"
    guarantee: str = GUARANTEE
    needs_draws: bool = True

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The halt at which the first system is named; a lead of all items may be in the margin."""
        return frozenset({StopKind.RISK_MET})

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of the answer that the verdicts favour."""
        return min(self._risks(tally))

    def is_met(self, tally: Tally) -> bool:
        """Whether the first system is named: it is better by more than the margin."""
        return tally.leader == 0 and self._risks(tally)[1] <= self.threshold

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """Return why to stop: either answer is shown."""
        holds, fails = self._risks(tally)
        if self.is_met(tally):
            return risk_met(fails, self.threshold)
        return not_worse(holds, self.threshold) if holds <= self.threshold else None

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`: nothing is better for an answer than wins of one system."""
        wagers = self._followed(tally)
        if wagers is None:
            ends = [with_wins(tally, side, unknown, unknown) for side in (0, 1)]
            return any(self.reason_to_stop(end) is not None for end in ends)
        holds, fails = wagers
        least = holds.risk_after(1, 1, unknown), fails.risk_after(0, 1, unknown)
        return min(least) <= self.threshold

    def interval(self, tally: Tally) -> tuple[float, float]:
        """Return bounds for the win distance over all items, first minus second.

        Each bound is ever wrong, at any number of looks, with probability at most the threshold.
        """
        if tally.judged == self.items:
            distance = (tally.wins[0] - tally.wins[1]) / self.items
            return distance, distance
        low, high = (bound(scores_for(tally, side), self.items, self.threshold) for side in (0, 1))
        return low, -high

    def _risks(self, tally: Tally) -> tuple[float, float]:
        """Return the stated risks of "not worse" and of "worse"."""
        if tally.judged == self.items:
            within = tally.wins[0] - tally.wins[1] <= self.margin * self.items + ROUNDING
            return (0.0, 1.0) if within else (1.0, 0.0)
        wagers = self._followed(tally)
        if wagers is not None:
            return wagers[0].risk(1), wagers[1].risk(0)
        return (
            log_wealth(scores_for(tally, 1), self.items, -self.margin).risk,
            log_wealth(scores_for(tally, 0), self.items, self.margin).risk,
        )

    def _followed(self, tally: Tally) -> tuple[BetPair, BetPair] | None:
        """Return the wagers on both answers; None for a tally that does not grow."""
        holds, fails = (followed(tally, following) for following in self._on_both)
        return None if holds is None or fails is None else (holds, fails)

    @cached_property
    def _on_both(
        self,
    ) -> tuple[IncrementalState[int | None, BetPair], IncrementalState[int | None, BetPair]]:
        holds, fails = (
            IncrementalState(partial(BetPair, self.items, mean), BetPair.follow)
            for mean in (-self.margin, self.margin)
        )
        return holds, fails

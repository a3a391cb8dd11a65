"""A guaranteed rule by betting, valid at any time, with no limit; and bounds for the gap.

It reads a tally of verdicts; `methods/stats/betting.py` computes the bets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.memory import Growing, IncrementalState
from judgeloop.core.outcomes import Observed, Tally, scores_of
from judgeloop.methods.stats.betting import Bettor, interval_of_bounds, log_wealth_path, risk_by_bets
from judgeloop.methods.stopping.rule import Rule, at_most, in_order, scores_for


def gap_bounds(tally: Tally, items: int, risk: float) -> tuple[float, float] | None:
    """Bounds for the gap over all `items`, first minus second, whatever rule ended the run.

    Each bound is ever wrong, at any number of looks, with probability at most `risk`: it rules out
    the gaps against which bets have reached 1/risk, and against the true gap they ever do so with at
    most that probability (Ville 1939). So it holds at any time at which a run may end. An abstention
    counts against each bound. The bounds depend on the order of the verdicts, too: what an earlier
    look ruled out stays ruled out. Of `core.records.UNLIMITED` items, draws are independent. None without a
    verdict, or if the draws were not uniform.
    """
    if tally.judged == items and tally.gap is not None:
        return tally.gap, tally.gap
    if not tally.judged or tally.picked or tally.propensities:
        return None
    return interval_of_bounds(scores_for(tally, 0), scores_for(tally, 1), items, risk)


def with_seen(bounds: tuple[float, float] | None, gap: float | None) -> tuple[float, float] | None:
    """Widen bounds to the `gap` of the verdicts, where one of them excludes it and so is probably wrong.

    Wider bounds are wrong in fewer runs.
    """
    if bounds is None or gap is None:
        return bounds
    return min(bounds[0], gap), max(bounds[1], gap)


@final
@dataclass(frozen=True)
class Anytime(Rule):
    """Bets against each system being the better system; guaranteed for random draws.

    If the first system is not better over all items, the wealth of a bettor who bets that it is
    better is a supermartingale. Such wealth ever reaches 1/risk with probability at most the risk
    (Ville 1939); at that wealth, the system is named. Waudby-Smith & Ramdas (2024), "Estimating
    means of bounded random variables by betting", section 5, treat draws without replacement;
    Waudby-Smith, Stark & Ramdas (2021), "RiLACS", apply it to elections. The stated risk is 1
    divided by the largest wealth so far. An abstention counts as a verdict for the other system.

    Of items without end (`core.records.UNLIMITED`) and at a risk of at most 1/e, a name holds for the items
    of the pool, too. The proof is in `methods/stats/betting.py`.

    `items` is the number of items in the pool. With `near_tie`, the rule also claims "no practical
    difference" once the gap lies between minus and plus `near_tie`. Each of these two
    bounds is wrong with probability at most the threshold.
    """

    items: int
    near_tie: float | None = None
    name: str = "anytime"
    needs_draws: bool = True
    takes_means: ClassVar[bool] = True

    @property
    def guarantee(self) -> str:
        """What the risk asked for promises."""
        return (
            "with random draws, the chance of ever naming the worse system is "
            f"{at_most(self.threshold)}, however often results are checked"
        )

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`; 1 without a leader."""
        if tally.leader is None:
            return 1.0
        bets = followed(tally, self._on_the_lead)
        if bets is not None:
            return bets.risk(tally.leader)
        return risk_by_bets(scores_for(tally, tally.leader), self.items)

    def met_along_each(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As `Rule.met_along_each`; the wealth of each side is computed once as a path."""
        leads = np.cumsum(preferences, axis=1, dtype=np.int64)
        paths = [[log_wealth_path(sign * one, items) for one in preferences] for sign in (1, -1)]
        first, second = np.array(paths).reshape(2, *preferences.shape)
        risks = np.exp(-np.maximum(0.0, np.where(leads > 0, first, second)))
        met: NDArray[np.bool_] = (leads != 0) & (risks <= thresholds[:, None, None])
        return met

    def no_difference(self, tally: Tally) -> bool:
        """Whether the gap is shown to lie between minus and plus `near_tie`."""
        if self.near_tie is None or self._on_nearness is None:
            return False
        bets = followed(tally, self._on_nearness)
        if bets is not None:
            return max(map(bets.risk, (0, 1))) <= self.threshold
        return all(
            risk_by_bets(scores_for(tally, side), self.items, -self.near_tie) <= self.threshold for side in (0, 1)
        )

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`; the verdicts of a growing tally are each looked at once."""
        bets = followed(tally, self._on_the_lead)
        if bets is None:
            return super().can_be_met(tally, unknown)
        lead = tally.wins[0] - tally.wins[1]
        if any(self._names_after(bets, lead + sign * unknown, sign, unknown) for sign in (1, -1)):
            return True
        near = followed(tally, self._on_nearness) if self._on_nearness else None
        return near is not None and max(level_after(near, lead, unknown)) <= self.threshold

    def _names_after(self, bets: BetPair, lead: int, sign: int, wins: int) -> bool:
        """Whether a leader is named once `wins` verdicts, 1 or -1, led to `lead`."""
        if not lead:
            return False
        side, score = (0, sign) if lead > 0 else (1, -sign)
        return bets.risk_after(side, score, wins) <= self.threshold

    @cached_property
    def _on_the_lead(self) -> IncrementalState[Observed, BetPair]:
        return IncrementalState(partial(BetPair, self.items), BetPair.follow)

    @cached_property
    def _on_nearness(self) -> IncrementalState[Observed, BetPair] | None:
        if self.near_tie is None:
            return None
        return IncrementalState(partial(BetPair, self.items, -self.near_tie), BetPair.follow)


@final
@dataclass(slots=True)
class BetPair:
    """A bettor for each system, who bets that its mean score over all `items` is above `mean`.

    The time of each method does not depend on the number of verdicts so far.
    """

    items: int
    mean: float = 0.0
    _bettors: list[Bettor] = field(init=False, repr=False)
    # The bettors after further verdicts, by the side of the bettor and the scores of the verdicts.
    _ahead: dict[tuple[int, int, int], list[Bettor]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._bettors = [Bettor(self.items, self.mean) for _ in (0, 1)]

    def follow(self, observed: Observed) -> None:
        """Go on by one draw; an abstention is lost by each side."""
        for side, score in enumerate(scores_of(observed)):
            self._bettors[side] = self._bettors[side].after(score)
        self._ahead.clear()

    def risk(self, side: int) -> float:
        """The stated risk that the mean score of `side` is not above `mean`."""
        return self._bettors[side].risk

    def risk_after(self, side: int, score: int, scored: int, ties: int = 0) -> float:
        """`risk` after further verdicts: `scored` with this score of `side`, then ties."""
        before = self._further(self._bettors[side], (side, score, -1), score, scored)
        return self._further(before, (side, score, scored), 0, ties).risk

    def _further(self, bettor: Bettor, key: tuple[int, int, int], score: int, count: int) -> Bettor:
        known = self._ahead.setdefault(key, [bettor])
        while len(known) <= count:
            known.append(known[-1].after(score))
        return known[count]


def followed(tally: Tally, following: IncrementalState[Observed, BetPair]) -> BetPair | None:
    """The bets on a tally that grows; None for a tally with a tuple or only counts."""
    preferences = tally.preferences
    if not isinstance(preferences, Growing) or not in_order(tally):
        return None
    return following.after(preferences)


def level_after(bets: BetPair, lead: int, unknown: int) -> Sequence[float]:
    """Both risks after `unknown` verdicts that close a `lead` of the first, then ties."""
    closing = min(abs(lead), unknown)
    score = -1 if lead > 0 else 1
    return [bets.risk_after(side, sign * score, closing, unknown - closing) for side, sign in enumerate((1, -1))]

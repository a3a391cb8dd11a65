"""The bets on two systems, followed verdict by verdict, and what further verdicts would do.

Takes preferences in the order drawn; returns stated risks. `methods/stats/betting.py` computes the wealth;
`anytime.py` and `not_worse.py` draw the conclusions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from judgeloop.core.growing import Growing, IncrementalState
from judgeloop.core.outcomes import Tally
from judgeloop.methods.stats.betting import Bettor
from judgeloop.methods.stopping.rule import in_order


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

    def follow(self, preference: int | None) -> None:
        """Go on by one verdict: 1, 0, -1, or None for an abstention, which each side loses."""
        for side, sign in enumerate((1, -1)):
            score = -1 if preference is None else sign * preference
            self._bettors[side] = self._bettors[side].after(score)
        self._ahead.clear()

    def risk(self, side: int) -> float:
        """Return the stated risk that the mean score of `side` is not above `mean`."""
        return self._bettors[side].wealth.risk

    def risk_after(self, side: int, score: int, scored: int, ties: int = 0) -> float:
        """Return `risk` after further verdicts: `scored` with this score of `side`, then ties."""
        before = self._further(self._bettors[side], (side, score, -1), score, scored)
        return self._further(before, (side, score, scored), 0, ties).wealth.risk

    def _further(self, bettor: Bettor, key: tuple[int, int, int], score: int, count: int) -> Bettor:
        known = self._ahead.setdefault(key, [bettor])
        while len(known) <= count:
            known.append(known[-1].after(score))
        return known[count]


def followed(tally: Tally, following: IncrementalState[int | None, BetPair]) -> BetPair | None:
    """Return the wagers on a tally that grows; None for a tally with a tuple or only counts."""
    preferences = tally.preferences
    if not isinstance(preferences, Growing) or not in_order(tally):
        return None
    return following.after(preferences)


def level_after(wagers: BetPair, lead: int, unknown: int) -> Sequence[float]:
    """Return both risks after `unknown` verdicts that close a `lead` of the first, then ties."""
    closing = min(abs(lead), unknown)
    score = -1 if lead > 0 else 1
    return [
        wagers.risk_after(side, sign * score, closing, unknown - closing)
        for side, sign in enumerate((1, -1))
    ]

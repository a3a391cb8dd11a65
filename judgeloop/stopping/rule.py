"""What the rules have in common, and the order of verdicts as a rule sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from judgeloop.records import Tally


@dataclass(frozen=True)
class Rule(ABC):
    """A stopping rule that stops once its stated risk is at or under a threshold, and knows no more than that."""

    threshold: float

    @abstractmethod
    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""

    def is_met(self, tally: Tally) -> bool:
        """Whether the leader of `tally` is named the winner."""
        return tally.leader is not None and self.risk(tally) <= self.threshold

    def for_limit(self, limit: int) -> Self:
        """The rule as it would be for another limit of judgments: the same."""
        del limit
        return self

    def interval(self, tally: Tally) -> tuple[float, float] | None:
        """Nothing is claimed about the win distance."""
        del tally
        return None

    def no_difference(self, tally: Tally) -> bool:
        """Nothing is claimed about systems that are level."""
        del tally
        return False


def scores_for(tally: Tally, side: int) -> NDArray[np.int8]:
    """The verdicts in the order drawn, from the view of `side`: 1 preferred, -1 the other or an abstention, 0 a tie.

    Where the order is not known (a projection from counts), they are spread evenly.
    """
    sign = 1 if side == 0 else -1
    if len(tally.history) == tally.judged + tally.abstentions:
        return np.array([-1 if one is None else sign * one for one in tally.history], dtype=np.int8)
    counts = {1: tally.wins[side], -1: tally.wins[1 - side] + tally.abstentions, 0: tally.ties}
    values = np.repeat(np.array(list(counts), dtype=np.int8), list(counts.values()))
    places = np.concatenate([(np.arange(count) + 0.5) / max(count, 1) for count in counts.values()])
    return values[np.argsort(places, kind="stable")]

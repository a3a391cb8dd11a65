"""What the rules have in common, and the order of verdicts as a rule sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import StopKind, StopReason, Tally
from judgeloop.stopping.reasons import NO_DIFFERENCE, risk_met


@dataclass(frozen=True)
class Rule(ABC):
    """A stopping rule that stops once its stated risk is at or under a threshold, and knows no more than that."""

    threshold: float

    @property
    @abstractmethod
    def guarantee(self) -> str | None:
        """What the stated risk promises; None for a heuristic."""

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """A winner is named on the evidence, or once all is known."""
        return frozenset({StopKind.RISK_MET, StopKind.ALL_JUDGED})

    @abstractmethod
    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""

    def is_met(self, tally: Tally) -> bool:
        """Whether the leader of `tally` is named the winner."""
        return tally.leader is not None and self.risk(tally) <= self.threshold

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """Whether verdicts on `unknown` further items could meet the rule, as far as is worth looking.

        The best that can happen to a side is wins only; a heuristic may also be met by wins and ties.
        """
        wins = (unknown,) if self.guarantee else range(unknown + 1)
        decided = any(
            self.is_met(_with_wins(tally, side, won, unknown)) for side in (0, 1) for won in wins
        )
        return decided or self.no_difference(_levelled(tally, unknown))

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

    def met_along(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Where it names a leader of `items` while it hears `preferences` one after the other, at each of some thresholds.

        Shape (thresholds, looks). It is what `is_met` says after every verdict, for a replay over
        arrays; a rule with a faster way has its own.
        """
        met = np.zeros((len(thresholds), len(preferences)), dtype=np.bool_)
        rules = [replace(self, threshold=float(threshold)) for threshold in thresholds]
        tally = Tally(items)
        for look, preference in enumerate(preferences.tolist()):
            tally = _with(tally, [preference])
            met[:, look] = [rule.is_met(tally) for rule in rules]
        return met

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """The risk is low enough, or the systems are surely near enough."""
        if self.no_difference(tally):
            return NO_DIFFERENCE
        return risk_met(self.risk(tally), self.threshold) if self.is_met(tally) else None


@dataclass(frozen=True)
class CountingRule(Rule):
    """A rule whose stated risk depends on the counts alone, not on the order of the verdicts."""

    def met_along(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As of any rule; the risk of equal counts is computed once."""
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
        """By wins, losses, judgments and items."""
        return {}


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


def _with_wins(tally: Tally, side: int, wins: int, unknown: int) -> Tally:
    sign = 1 if side == 0 else -1
    return _with(tally, [sign] * wins + [0] * (unknown - wins))


def _levelled(tally: Tally, unknown: int) -> Tally:
    """`tally` with verdicts that bring the sides together, as far as they do."""
    lead = tally.wins[0] - tally.wins[1]
    closing = min(abs(lead), unknown)
    return _with(tally, [-1 if lead > 0 else 1] * closing + [0] * (unknown - closing))


def _with(tally: Tally, more: list[int]) -> Tally:
    first, second = tally.wins
    return replace(
        tally,
        wins=(first + more.count(1), second + more.count(-1)),
        ties=tally.ties + more.count(0),
        history=(*tally.history, *more),
    )

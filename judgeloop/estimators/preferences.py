"""Counts of preferences between two systems, and the win distance where they come from draws that preferred some items.

It counts the labels that it is given and weighs none of them in the counts; whether those are enough is a stopping rule's
business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from judgeloop.core.records import Abstention, Label, StopKind, StopReason, Tally, Verdict
from judgeloop.stats.weighted_draws import weighted_interval, weighted_moments

MISSES = 0.1  # about the chance that an interval from weighted draws does not hold the win distance
ROUNDING = 1e-9  # relative: propensities that differ by less are even


@final
class Preferences:
    """Wins, ties and abstentions (Ashury-Tahan et al. 2024, equation 1, on the labels in the decision)."""

    def tally(self, labels: Sequence[Label], items: int) -> Tally:
        """Count `labels` over a pool of `items`."""
        return self.extended(Tally(items), labels)

    def extended(self, tally: Tally, labels: Sequence[Label]) -> Tally:
        """`tally` with further labels."""
        answers = [label.answer for label in labels]
        history = tuple(
            None if isinstance(answer, Abstention) else answer.preference for answer in answers
        )
        return Tally(
            items=tally.items,
            wins=(tally.wins[0] + history.count(1), tally.wins[1] + history.count(-1)),
            ties=tally.ties + history.count(0),
            abstentions=tally.abstentions + history.count(None),
            flips=tally.flips
            + sum(isinstance(answer, Verdict) and answer.flipped for answer in answers),
            picked=tally.picked or any(label.choice.propensity is None for label in labels),
            history=tally.history + history,
            propensities=_propensities(tally, labels),
        )

    def exhausted(self, tally: Tally) -> StopReason:
        """What it means that nothing further is to be asked."""
        margin = abs(tally.wins[0] - tally.wins[1])
        if tally.judged + tally.abstentions < tally.items:
            return StopReason(
                StopKind.POOL_EXHAUSTED, "the selector has no further items to propose"
            )
        if margin > tally.abstentions:
            return StopReason(
                StopKind.ALL_JUDGED,
                f"every one of the {tally.items} items is judged, so nothing is left to chance",
            )
        if margin == 0 and tally.abstentions == 0:
            return StopReason(
                StopKind.NO_DIFFERENCE,
                f"every one of the {tally.items} items is judged, and the systems are level",
            )
        return StopReason(
            StopKind.POOL_EXHAUSTED,
            f"every item is asked, but {tally.abstentions} abstentions outweigh a lead of {margin}",
        )


class WeightedDistance(NamedTuple):
    """A win distance over all items, first minus second, from draws that preferred some; None with too few verdicts for an interval."""

    value: float
    interval: tuple[float, float] | None


def weighted_distance(tally: Tally) -> WeightedDistance | None:
    """The win distance from the propensities; None where there are none, no verdicts, or a projection's only.

    The value leaves abstentions out; the interval, which misses with a chance of about `MISSES`, holds what it would be with all of them
    wins of the first, and with all of them wins of the second.
    """
    if not tally.judged or not tally.propensities or len(tally.propensities) != len(tally.history):
        return None
    preferences = np.array(
        [math.nan if one is None else one for one in tally.history], dtype=np.float64
    )
    propensities = np.array(tally.propensities)
    found = weighted_interval((1 + preferences) / 2, propensities, tally.items, MISSES)
    return WeightedDistance(
        value=weighted_moments(preferences, propensities).mean,
        interval=None if found is None else (2 * found[0] - 1, 2 * found[1] - 1),
    )


def _propensities(tally: Tally, labels: Sequence[Label]) -> tuple[float, ...]:
    """Those of the tally and of further labels; none where some were picked, or all draws were even."""
    drawn = [label.choice.propensity for label in labels if label.choice.propensity is not None]
    if tally.picked or len(drawn) < len(labels):
        return ()
    before = len(tally.history)
    if not tally.propensities and all(
        math.isclose(one, _even(tally.items, before + at), rel_tol=ROUNDING)
        for at, one in enumerate(drawn)
    ):
        return ()
    earlier = tally.propensities or tuple(_even(tally.items, at) for at in range(before))
    return (*earlier, *drawn)


def _even(items: int, asked: int) -> float:
    """The propensity of a draw that prefers none of what was not asked before."""
    return 1 / max(1, items - asked)

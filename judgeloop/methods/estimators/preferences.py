"""Counts of preferences between two systems, and the gap from weighted draws.

Takes labels and returns a `Tally`, whose counts are not weighted. `weighted_gap` corrects for
the propensities of weighted draws. A stopping rule decides whether the counts are enough
(`stopping/`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from judgeloop.core.growing import grown
from judgeloop.core.outcomes import StopKind, StopReason, Tally, every_one
from judgeloop.core.records import Abstention, Label, Verdict
from judgeloop.methods.stats.weighted_draws import weighted_interval, weighted_moments

# Approximate probability that an interval from weighted draws misses the gap.
MISSES = 0.1
SAMPLE_JUDGED = StopReason(
    StopKind.POOL_EXHAUSTED,
    "every item was asked about in one order, which leaves the other order to chance",
)
ROUNDING = 1e-9  # relative: a smaller difference from an even propensity is rounding


@final
@dataclass(frozen=True)
class Preferences:
    """Counts of wins, ties and abstentions.

    Ashury-Tahan et al. (2024), equation 1, on the labels in the decision. With `sampled`, the pool
    is a sample of the population that the result is about. Then a pool that is judged whole leaves
    something to chance.
    """

    sampled: bool = False

    def tally(self, labels: Sequence[Label], items: int) -> Tally:
        """Count `labels` over a pool of `items`."""
        return self.extended(Tally(items), labels)

    def extended(self, tally: Tally, labels: Sequence[Label]) -> Tally:
        """Add further labels to `tally`."""
        answers = [label.answer for label in labels]
        preferences = tuple(
            None if isinstance(answer, Abstention) else answer.preference for answer in answers
        )
        return Tally(
            items=tally.items,
            wins=(tally.wins[0] + preferences.count(1), tally.wins[1] + preferences.count(-1)),
            ties=tally.ties + preferences.count(0),
            abstentions=tally.abstentions + preferences.count(None),
            flips=tally.flips
            + sum(isinstance(answer, Verdict) and answer.flipped for answer in answers),
            both=tally.both
            + sum(isinstance(answer, Verdict) and answer.both for answer in answers),
            picked=tally.picked or any(label.choice.propensity is None for label in labels),
            preferences=grown(tally.preferences, preferences),
            propensities=_propensities(tally, labels),
        )

    def exhausted(self, tally: Tally) -> StopReason:
        """Return why a run ends when no further item is to be asked about."""
        margin = abs(tally.wins[0] - tally.wins[1])
        if tally.judged + tally.abstentions < tally.items:
            return StopReason(
                StopKind.POOL_EXHAUSTED, "the selector has no further items to propose"
            )
        if self.sampled:
            return SAMPLE_JUDGED
        if margin > tally.abstentions:
            return StopReason(
                StopKind.ALL_JUDGED,
                f"{every_one(tally.items)} is judged, so nothing is left to chance",
            )
        if margin == 0 and tally.abstentions == 0:
            return StopReason(
                StopKind.NO_DIFFERENCE,
                f"{every_one(tally.items)} is judged, and the systems are level",
            )
        return StopReason(
            StopKind.POOL_EXHAUSTED,
            f"every item was asked about, but {tally.abstentions:,} abstentions outweigh a lead of {margin}",
        )


class WeightedGap(NamedTuple):
    """The gap over all items, first minus second, from draws that preferred some items.

    The papers call it the win distance.
    `interval` is None with fewer than two draws.
    """

    value: float
    interval: tuple[float, float] | None


def weighted_gap(tally: Tally) -> WeightedGap | None:
    """Estimate the gap over all items from the propensities.

    None if the tally has no propensities, no verdicts, or only counts, as in a projection. The
    value leaves abstentions out. The interval misses with probability about `MISSES`. It covers the
    intervals with all abstentions as wins of the first system, and with all of them as wins of the
    second.
    """
    if (
        not tally.judged
        or not tally.propensities
        or len(tally.propensities) != len(tally.preferences)
    ):
        return None
    preferences = np.array(
        [math.nan if preference is None else preference for preference in tally.preferences],
        dtype=np.float64,
    )
    propensities = np.array(tuple(tally.propensities))
    found = weighted_interval((1 + preferences) / 2, propensities, tally.items, MISSES)
    return WeightedGap(
        value=weighted_moments(preferences, propensities).mean,
        interval=None if found is None else (2 * found[0] - 1, 2 * found[1] - 1),
    )


def _propensities(tally: Tally, labels: Sequence[Label]) -> Sequence[float]:
    """Return the propensities of the tally and of further labels.

    Empty if an item was picked, or if all draws were even.
    """
    drawn = [label.choice.propensity for label in labels if label.choice.propensity is not None]
    if tally.picked or len(drawn) < len(labels):
        return ()
    before = len(tally.preferences)
    if not tally.propensities and all(
        math.isclose(propensity, _even(tally.items, before + at), rel_tol=ROUNDING)
        for at, propensity in enumerate(drawn)
    ):
        return ()
    earlier = tally.propensities or tuple(_even(tally.items, at) for at in range(before))
    return grown(earlier, drawn)


def _even(items: int, asked: int) -> float:
    """Return the propensity of a draw that prefers none of the items not asked about before."""
    return 1 / max(1, items - asked)

"""Counts of preferences between two systems.

It counts the labels that it is given and weighs none of them; whether the counts are enough is a stopping rule's
business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from judgeloop.records import Abstention, Label, StopKind, StopReason, Tally, Verdict


@final
class Preferences:
    """Wins, ties and abstentions (Ashury-Tahan et al. 2024, equation 1, on the labels in the decision)."""

    def tally(self, labels: Sequence[Label], items: int) -> Tally:
        """Count `labels` over a pool of `items`."""
        return self.extended(Tally(items), labels)

    def extended(self, tally: Tally, labels: Sequence[Label]) -> Tally:
        """`tally` with further labels."""
        answers = [label.answer for label in labels]
        history = tuple(None if isinstance(answer, Abstention) else answer.preference for answer in answers)
        return Tally(
            items=tally.items,
            wins=(tally.wins[0] + history.count(1), tally.wins[1] + history.count(-1)),
            ties=tally.ties + history.count(0),
            abstentions=tally.abstentions + history.count(None),
            flips=tally.flips + sum(isinstance(answer, Verdict) and answer.flipped for answer in answers),
            picked=tally.picked or any(label.choice.propensity is None for label in labels),
            history=tally.history + history,
        )

    def exhausted(self, tally: Tally) -> StopReason:
        """What it means that nothing further is to be asked."""
        margin = abs(tally.wins[0] - tally.wins[1])
        if tally.judged + tally.abstentions < tally.items:
            return StopReason(StopKind.POOL_EXHAUSTED, "the selector has no further items to propose")
        if margin > tally.abstentions:
            return StopReason(
                StopKind.ALL_JUDGED,
                f"every one of the {tally.items} items is judged, so nothing is left to chance",
            )
        if margin == 0 and tally.abstentions == 0:
            return StopReason(
                StopKind.POOL_EXHAUSTED,
                f"every one of the {tally.items} items is judged, and the systems are level",
            )
        return StopReason(
            StopKind.POOL_EXHAUSTED,
            f"every item is asked, but {tally.abstentions} abstentions outweigh a lead of {margin}",
        )

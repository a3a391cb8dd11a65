"""Counts of preferences between two systems.

It counts the labels that it is given and weighs none of them; whether the counts are enough is a stopping rule's
business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from judgeloop.records import Abstention, Label, Tally, Verdict


@final
class Preferences:
    """Wins, ties and abstentions (Ashury-Tahan et al. 2024, equation 1, on the labels in the decision)."""

    def tally(self, labels: Sequence[Label], items: int) -> Tally:
        """Count `labels` over a pool of `items`."""
        answers = [label.answer for label in labels]
        history = tuple(None if isinstance(answer, Abstention) else answer.preference for answer in answers)
        return Tally(
            items=items,
            wins=(history.count(1), history.count(-1)),
            ties=history.count(0),
            abstentions=history.count(None),
            flips=sum(isinstance(answer, Verdict) and answer.flipped for answer in answers),
            picked=any(label.choice.propensity is None for label in labels),
            history=history,
        )

"""Counts of preferences between two systems.

It counts the labels that it is given and weighs none of them; whether the counts are enough is a stopping rule's
business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from judgeloop.records import Abstention, Label, Tally


@final
class Preferences:
    """Wins, ties and abstentions (Ashury-Tahan et al. 2024, equation 1, on the labels in the decision)."""

    def tally(self, labels: Sequence[Label], items: int) -> Tally:
        """Count `labels` over a pool of `items`."""
        verdicts = [label.answer for label in labels if not isinstance(label.answer, Abstention)]
        first = sum(verdict.preference > 0 for verdict in verdicts)
        second = sum(verdict.preference < 0 for verdict in verdicts)
        return Tally(
            items=items,
            wins=(first, second),
            ties=len(verdicts) - first - second,
            abstentions=len(labels) - len(verdicts),
            flips=sum(verdict.flipped for verdict in verdicts),
            picked=any(label.choice.propensity is None for label in labels),
            history=tuple(
                None if isinstance(label.answer, Abstention) else label.answer.preference for label in labels
            ),
        )

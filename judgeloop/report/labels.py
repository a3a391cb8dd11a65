"""The record of a judged item, as files, pages and data frames show it.

Holds what was said of an item and how it was drawn. Computes nothing and renders nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A judged item, as files and pages show it.

    - `system`, `against`: the two systems compared; `against` is None for a rating.
    - `score`: in [0, 1]; in a comparison 1 means that `system` is better, 0 that `against` is. None
      for an abstention.
    - `winner`: the preferred system; None for a tie, a rating or an abstention.
    - `flipped`: True for a tie because the two orders of presentation disagreed.
    - `propensity`: the probability with which the item was drawn; None if it was picked.
    - `in_decision`: False if the item was judged, but does not count in the decision.
    - `votes`: the scores of a panel's judges; None for a judge that abstained.
    """

    item_id: str
    system: str
    against: str | None
    score: float | None
    winner: str | None
    flipped: bool
    reason: str
    propensity: float | None
    in_decision: bool
    votes: tuple[float | None, ...]

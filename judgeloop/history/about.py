"""What a history is wanted for: the items, the outputs that are judged now, and who judges."""

from __future__ import annotations

from dataclasses import dataclass

from judgeloop.core.records import Item, JudgeIdentity


@dataclass(frozen=True, slots=True)
class About:
    """What a history is wanted for; `outputs` has the texts by system, then by item."""

    items: tuple[Item, ...]
    systems: tuple[str, ...]
    outputs: tuple[tuple[str, ...], ...]
    judges: tuple[JudgeIdentity, ...]
    tie_margin: float

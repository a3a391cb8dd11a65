"""What a history is searched for: the items, the outputs judged now, and the judges."""

from __future__ import annotations

from dataclasses import dataclass

from judgeloop.core.records import Item, JudgeIdentity


@dataclass(frozen=True, slots=True)
class About:
    """The data that a history is searched for; `outputs[system][item]` are texts."""

    items: tuple[Item, ...]
    systems: tuple[str, ...]
    outputs: tuple[tuple[str, ...], ...]
    judges: tuple[JudgeIdentity, ...]
    tie_margin: float

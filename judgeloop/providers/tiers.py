"""The service tiers that a user may ask for, and the sentence on them. Pure.

A provider serves the tier `flex` with what capacity is left over: later and cheaper, and at times
not at all. Which tier a reply was billed at, the reply says (`billing.py`). `provider.py` looks the
price at flex up.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from judgeloop.core.money import Price

STANDARD, FLEX, FLEX_OR_STANDARD = "standard", "flex", "flex-or-standard"
TIERS = (STANDARD, FLEX, FLEX_OR_STANDARD)


@runtime_checkable
class Tiered(Protocol):
    """A judge that may ask for a cheaper tier."""

    @property
    def tier_note(self) -> str:
        """The tier asked for and its price, in a sentence; empty for the standard tier."""
        ...


def note(tier: str, price: Price | None) -> str:
    """Return what asking for `tier` means for the price, in a sentence; empty for the standard."""
    if tier == STANDARD:
        return ""
    reserved = "the standard price is reserved, because the reply may name another tier"
    if price is None or price.flex is None:
        return f"{tier}; no lower price is known for it here, so that the full price is booked"
    return f"{tier}, by {price.flex.source}; {reserved}"

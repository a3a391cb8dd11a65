"""Tallies of verdicts in the order drawn."""

from __future__ import annotations

from judgeloop.core.outcomes import Tally


def tally_of(history, items):
    """1 for the first, -1 for the second, 0 for a tie, None for an abstention."""
    return Tally(
        items=items,
        wins=(history.count(1), history.count(-1)),
        ties=history.count(0),
        abstentions=history.count(None),
        preferences=tuple(history),
    )

"""Sentences for why a run is over, as rules of evidence say it.

What ends a run for other reasons (money, limits, an empty pool) is said where it happens.
"""

from __future__ import annotations

from judgeloop.core.records import StopKind, StopReason

NO_DIFFERENCE = StopReason(
    StopKind.NO_DIFFERENCE,
    "the win distance is close enough to zero to make no practical difference",
)


def risk_met(risk: float, threshold: float) -> StopReason:
    """The stated risk is low enough."""
    return StopReason(
        StopKind.RISK_MET, f"the stated risk, {risk:.3f}, is at or under {threshold:g}"
    )


def given_up(likely: float, chance: float, limit: int) -> StopReason:
    """A decision within the limit is too unlikely to go on for."""
    return StopReason(
        StopKind.FUTILITY,
        f"gave up, as the chance of a decision within {limit:,} judgments is about {likely:.2f}, under {chance:g}",
    )

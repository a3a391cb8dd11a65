"""Sentences for why a stopping rule ends a run.

Sentences for other ends (money, limits, an empty pool) are written where those ends happen.
"""

from __future__ import annotations

from judgeloop.core.outcomes import StopKind, StopReason

NO_DIFFERENCE = StopReason(
    StopKind.NO_DIFFERENCE,
    "the win distance is close enough to zero to make no practical difference",
)


def risk_met(risk: float, threshold: float) -> StopReason:
    """Return the reason that the stated risk is low enough."""
    return StopReason(
        StopKind.RISK_MET, f"the stated risk, {risk:.3f}, is at or under {threshold:g}"
    )


def given_up(likely: float, chance: float, limit: int) -> StopReason:
    """Return the reason that a decision within the limit is too unlikely."""
    return StopReason(
        StopKind.FUTILITY,
        f"gave up, as the chance of a decision within {limit:,} judgments is about {likely:.2f}, "
        f"under {chance:g}",
    )

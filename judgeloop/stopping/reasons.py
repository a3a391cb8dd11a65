"""Sentences for why a stopping rule ends a run.

Sentences for other ends (money, limits, an empty pool) are written where those ends happen.
"""

from __future__ import annotations

from judgeloop.core.outcomes import StopKind, StopReason

LEAST_RISK_SHOWN = 0.001  # a smaller risk is not shown in digits

NO_DIFFERENCE = StopReason(
    StopKind.NO_DIFFERENCE,
    "the win distance is close enough to zero to make no practical difference",
)


def show_risk(risk: float) -> str:
    """Return a risk as text.

    >>> show_risk(0.0861), show_risk(0.00002)
    ('0.086', 'under 0.001')
    """
    return f"{risk:.3f}" if risk >= LEAST_RISK_SHOWN else f"under {LEAST_RISK_SHOWN}"


def risk_met(risk: float, threshold: float) -> StopReason:
    """Return the reason that the stated risk is low enough."""
    return StopReason(
        StopKind.RISK_MET,
        f"the stated risk, {show_risk(risk)}, is at most the risk asked for, {threshold:g}",
    )


def given_up(likely: float, chance: float, limit: int) -> StopReason:
    """Return the reason that a decision within the limit is too unlikely."""
    return StopReason(
        StopKind.FUTILITY,
        f"gave up, as the chance of a decision within {limit:,} judgments is about {likely:.2f}, "
        f"under {chance:g}",
    )

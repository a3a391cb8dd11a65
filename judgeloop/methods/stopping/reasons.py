"""Sentences for why a stopping rule ends a run.

Sentences for other ends (money, limits, an empty pool) are written where those ends happen.
"""

import math

from judgeloop.core.outcomes import StopKind, StopReason

LEAST_RISK_SHOWN = 0.001  # a smaller risk is not shown in digits
MOST_DIGITS = 18  # of a floating-point number
ROUNDING = 1e-6

NO_DIFFERENCE = StopReason(StopKind.NO_DIFFERENCE, "the gap is close enough to zero to make no practical difference")


def show_risk(risk: float) -> str:
    """Return a risk as text.

    >>> show_risk(0.0861), show_risk(0.00002)
    ('0.086', 'under 0.001')
    """
    return f"{risk:.3f}" if risk >= LEAST_RISK_SHOWN else f"under {LEAST_RISK_SHOWN}"


def show_risk_under(risk: float, threshold: float) -> str:
    """Return a risk of at most `threshold` with as many digits as show that it is.

    >>> show_risk_under(0.0861, 0.1), show_risk_under(5.31e-8, 1e-7)
    ('0.086', '5.3e-08')
    >>> show_risk_under(0.09996, 0.09998), show_risk_under(0.0, 1e-7)
    ('0.09996', '0')
    """
    shown = show_risk(risk)
    limit = LEAST_RISK_SHOWN if risk < LEAST_RISK_SHOWN else float(shown)
    digits = 2
    while limit > threshold and digits < MOST_DIGITS:
        shown = f"{risk:.{digits}g}"
        limit, digits = float(shown), digits + 1
    return shown


def at_most(risk: float) -> str:
    """Return a risk as a bound, in per cent.

    >>> at_most(0.1), at_most(1e-7)
    ('at most 10 %', 'at most 1e-05 %')
    """
    return f"at most {100 * risk:g} %"


def risk_met(risk: float, threshold: float, of: str = "") -> StopReason:
    """Return the reason that the stated risk, of at most `threshold`, is low enough.

    `of` says which risk it is, if it is not that of the worse system.

    >>> risk_met(0.04, 0.1, "passing a system that is worse").sentence
    'the stated risk of passing a system that is worse, 0.040, is at most the risk asked for, 0.1'
    """
    shown = show_risk_under(risk, threshold)
    of = f" of {of}" if of else ""
    return StopReason(StopKind.RISK_MET, f"the stated risk{of}, {shown}, is at most the risk asked for, {threshold:g}")


def none_better(gap: float, risk: float) -> StopReason:
    """Return the reason that no system can be more than `gap` better than the leader.

    >>> none_better(0.05, 0.1).sentence
    'no system is more than 5 points better than the leader, at a risk of 0.1'
    """
    return StopReason(StopKind.RISK_MET, f"{show_gap(gap)} than the leader, at a risk of {risk:g}")


def show_gap(gap: float) -> str:
    """Return by how much no other system is better, in points: share won less share lost, times 100.

    >>> show_gap(0.0), show_gap(0.0712)
    ('no system is better', 'no system is more than 7.2 points better')
    """
    rounded = math.ceil(1000 * gap - ROUNDING) / 1000
    return f"no system is {f'more than {points(rounded)} ' if rounded else ''}better"


def points(gap: float) -> str:
    """Return a gap in points, which are hundredths.

    >>> points(0.1), points(0.025)
    ('10 points', '2.5 points')
    """
    return f"{100 * gap:.10g} points"


def given_up(likely: float, chance: float, limit: int) -> StopReason:
    """Return the reason that a decision within the limit is too unlikely."""
    return StopReason(
        StopKind.FUTILITY,
        f"gave up, as the chance of a decision within {limit:,} judgments is about {likely:.2f}, under {chance:g}",
    )

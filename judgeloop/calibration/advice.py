"""Chooses which selector and rule to advise, from their figures on past comparisons.

Reads a `PastFared`, returns one of its choices. `study.py` computes the figures; `text.py` writes
the sentences.
"""

from __future__ import annotations

import math

from judgeloop.calibration.result import ROUNDING, PastFared, Settings, Tried
from judgeloop.calibration.study import QUESTION
from judgeloop.selectors.catalogue import names_of, selector_row
from judgeloop.stopping.catalogue import rule_names, rule_row


def default(fared: PastFared, risk: float) -> Tried:
    """Return the figures of the default selector with the default rule."""
    own = names_of(QUESTION)[0], rule_names(QUESTION)[0]
    return next(tried for tried in fared.at(risk) if (tried.selector, tried.rule) == own)


def promises(rule: str) -> bool:
    """Return whether the rule has a guarantee, for each pair or on average over comparisons."""
    row = rule_row(QUESTION, rule)
    return row.guaranteed or row.by_past


def keeps_its_risk(one: Tried, comparisons: int) -> bool:
    """Return whether the share of wrong winners is at most the risk, and a run can do the same.

    A rule without a guarantee must keep the risk with one more comparison counted as wrong:
    (nR + 1) / (n + 1) ≤ risk, with R the share of wrong winners over n `comparisons`. A threshold
    chosen on past comparisons is held to the same bound (`stats/risk_control.py`).
    """
    if one.power is not None or one.wrong is None:
        return False
    if promises(one.rule):
        return one.wrong.mean <= one.risk + ROUNDING
    return (comparisons * one.wrong.mean + 1) / (comparisons + 1) <= one.risk + ROUNDING


def settings_of(fared: PastFared, one: Tried) -> Settings:
    """Return the settings with which a run does what was replayed."""
    takes = selector_row(QUESTION, one.selector).takes | rule_row(QUESTION, one.rule).takes
    chosen = {"selector": one.selector, "rule": one.rule, "risk": f"{one.risk:g}"}
    return chosen | (fared.looking_back if "history" in takes else {}) | fared.always


def advised(fared: PastFared, risk: float) -> Tried | None:
    """Return the choice that kept the stated risk with the fewest judgments for each right winner.

    None if no choice that kept the risk named a right winner. The default is replaced only by a
    choice that is better by more than one standard error of its mean number of judgments. Choices
    that give up are never advised: they need fewer judgments but decide fewer comparisons, and
    users have to weigh that themselves.
    """
    kept = [tried for tried in fared.at(risk) if keeps_its_risk(tried, fared.comparisons)]
    best = min(kept, key=lambda tried: tried.judgments_a_right_winner, default=None)
    if best is None or best.judgments is None or math.isinf(best.judgments_a_right_winner):
        return None
    usual = default(fared, risk)
    surely = best.judgments_a_right_winner * (1 + best.judgments.error / best.judgments.mean)
    return usual if usual in kept and surely >= usual.judgments_a_right_winner else best

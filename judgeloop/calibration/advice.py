"""Chooses which selector and rule to advise, from their figures on past comparisons.

Takes `CalibrationFigures` and returns one of their strategies. `study.py` computes the figures;
`text.py` writes the sentences.
"""

from __future__ import annotations

import math

from judgeloop.calibration.result import ROUNDING, CalibrationFigures, Settings, Strategy
from judgeloop.calibration.study import QUESTION
from judgeloop.methods.selectors.catalogue import names_of, selector_row
from judgeloop.methods.stopping.catalogue import rule_names, rule_row


def default(figures: CalibrationFigures, risk: float) -> Strategy:
    """Return the figures of the default selector with the default rule."""
    own = names_of(QUESTION)[0], rule_names(QUESTION)[0]
    return next(
        strategy for strategy in figures.at(risk) if (strategy.selector, strategy.rule) == own
    )


def promises(rule: str) -> bool:
    """Return whether the rule has a guarantee, for each pair or on average over comparisons."""
    row = rule_row(QUESTION, rule)
    return row.guaranteed or row.by_past


def keeps_its_risk(strategy: Strategy, comparisons: int) -> bool:
    """Return whether the share of wrong winners is at most the risk, and a run can do the same.

    A rule without a guarantee must keep the risk with one more comparison counted as wrong:
    (nR + 1) / (n + 1) ≤ risk, with R the share of wrong winners over n `comparisons`. A threshold
    chosen on past comparisons is held to the same bound (`methods/stats/risk_control.py`).
    """
    if strategy.power is not None or strategy.wrong is None:
        return False
    if promises(strategy.rule):
        return strategy.wrong.mean <= strategy.risk + ROUNDING
    return (comparisons * strategy.wrong.mean + 1) / (comparisons + 1) <= strategy.risk + ROUNDING


def settings_of(figures: CalibrationFigures, strategy: Strategy) -> Settings:
    """Return the settings with which a run does what was replayed."""
    takes = (
        selector_row(QUESTION, strategy.selector).takes | rule_row(QUESTION, strategy.rule).takes
    )
    chosen = {"selector": strategy.selector, "rule": strategy.rule, "risk": f"{strategy.risk:g}"}
    return chosen | (figures.looking_back if "history" in takes else {}) | figures.always


def advised(figures: CalibrationFigures, risk: float) -> Strategy | None:
    """Return the strategy that kept the risk with the fewest judgments for each right winner.

    None if no strategy that kept the risk named a right winner. The default is replaced only by a
    strategy that is better by more than one standard error of its mean number of judgments. Choices
    that give up are never advised: they need fewer judgments but decide fewer comparisons, and
    users have to weigh that themselves.
    """
    kept = [
        strategy for strategy in figures.at(risk) if keeps_its_risk(strategy, figures.comparisons)
    ]
    best = min(kept, key=lambda strategy: strategy.judgments_a_right_winner, default=None)
    if best is None or best.judgments is None or math.isinf(best.judgments_a_right_winner):
        return None
    usual = default(figures, risk)
    surely = best.judgments_a_right_winner * (1 + best.judgments.error / best.judgments.mean)
    return usual if usual in kept and surely >= usual.judgments_a_right_winner else best

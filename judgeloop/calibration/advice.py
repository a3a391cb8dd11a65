"""Which selector and rule to advise, by how they would have fared on past comparisons.

The policy alone: figures come from `study.py`, and sentences from `text.py`.
"""

from __future__ import annotations

import math

from judgeloop.calibration.result import ROUNDING, PastFared, Settings, Tried
from judgeloop.selectors.catalogue import names_of, selector_row
from judgeloop.stopping.catalogue import rule_names, rule_row

QUESTION = "compare"


def default(fared: PastFared, risk: float) -> Tried:
    """What compare does when it is told neither selector nor rule."""
    own = names_of(QUESTION)[0], rule_names(QUESTION)[0]
    return next(one for one in fared.at(risk) if (one.selector, one.rule) == own)


def promises(rule: str) -> bool:
    """Whether the rule promises something: for each pair, or on average over comparisons like those of the past."""
    row = rule_row(QUESTION, rule)
    return row.guaranteed or row.by_past


def keeps_its_risk(one: Tried, comparisons: int) -> bool:
    """Whether the share of wrong winners is at most the risk, and a run can be told to do the same.

    Of a rule that promises nothing, also with one more comparison counted as wrong: as for a
    threshold that the past chooses.
    """
    if one.power is not None or one.wrong is None:
        return False
    if promises(one.rule):
        return one.wrong.mean <= one.risk + ROUNDING
    return (comparisons * one.wrong.mean + 1) / (comparisons + 1) <= one.risk + ROUNDING


def settings_of(fared: PastFared, one: Tried) -> Settings:
    """The settings that a run needs to do what was replayed."""
    takes = selector_row(QUESTION, one.selector).takes | rule_row(QUESTION, one.rule).takes
    chosen = {"selector": one.selector, "rule": one.rule, "risk": f"{one.risk:g}"}
    return chosen | (fared.looking_back if "history" in takes else {}) | fared.always


def advised(fared: PastFared, risk: float) -> Tried | None:
    """What kept the stated risk with the fewest judgments for each right winner; None where no such named any.

    Another than the default only if it is better by more than a standard error of its judgments,
    and none that gives up: that is fewer judgments for fewer decisions, which people have to weigh.
    """
    kept = [one for one in fared.at(risk) if keeps_its_risk(one, fared.comparisons)]
    best = min(kept, key=lambda one: one.judgments_a_right_winner, default=None)
    if best is None or best.judgments is None or math.isinf(best.judgments_a_right_winner):
        return None
    usual = default(fared, risk)
    surely = best.judgments_a_right_winner * (1 + best.judgments.error / best.judgments.mean)
    return usual if usual in kept and surely >= usual.judgments_a_right_winner else best

"""The figures of `calibrate`: judgments, errors and cost of each selector with each rule.

`advised` chooses which selector and rule to advise. `study.py` computes the figures, and `text.py`
formats them.
"""

import math
from dataclasses import dataclass

from judgeloop.methods.selectors.catalogue import names_of, selector_row
from judgeloop.methods.stopping.catalogue import rule_names, rule_row

QUESTION = "compare"
Settings = dict[str, str]  # by name

ROUNDING = 1e-9  # tolerance for rounding errors in a mean of shares


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over comparisons, and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True, slots=True)
class Strategy:
    """The figures of one selector with one rule at one stated risk.

    - `judgments`: number of judgments of a comparison.
    - `wrong`: share of runs that named a system which does not lead over all items.
    - `undecided`: share of runs that named no system.
    - `instead`: share of comparisons that fell back to the default selector and rule, because too
      few other comparisons are exchangeable with them.

    The figures are None if there were too few comparisons for the rule.
    """

    risk: float
    selector: str
    rule: str
    judgments: Figure | None = None
    wrong: Figure | None = None
    undecided: Figure | None = None
    instead: float = 0.0

    @property
    def judgments_a_right_winner(self) -> float:
        """Judgments for each right winner; infinite if none is named, as that saves nothing."""
        if self.judgments is None or self.wrong is None or self.undecided is None:
            return math.inf
        right = 1 - self.undecided.mean - self.wrong.mean
        return self.judgments.mean / right if right > ROUNDING else math.inf


@dataclass(frozen=True, slots=True)
class CalibrationFigures:
    """What was replayed, and the figures of each selector with each rule.

    - `source`, `judge`: where the comparisons come from, in words, and who judged them; None for a
      file, which names no judge.
    - `beside`: what was left out, in words.
    - `baseline`: the system that takes part in all comparisons; None if there is none.
    - `comparisons`, `systems`, `items`, `repetitions`: what was replayed, and how often each.
    - `found`: number of comparisons from which those replayed were taken.
    - `most_with_one`: the highest number of them in which a single system takes part.
    - `known_verdicts`, `known_comparisons`: what the selector `decisive` learns from.
    - `exponent`: exponent of the draw weights of `decisive`.
    - `item_cost_p`: mean cost of a comparison on an item, in picodollars; None if unknown or zero.
    - `looking_back`: settings that a run needs if its selector or rule reads past comparisons.
    - `always`: settings that every run needs beside selector, rule and risk.
    - `strategies`: the figures.
    """

    source: str
    judge: str | None
    beside: tuple[str, ...]
    baseline: str | None
    comparisons: int
    found: int
    most_with_one: int
    known_verdicts: int
    known_comparisons: int
    systems: int
    items: int
    repetitions: int
    exponent: float
    item_cost_p: int | None
    looking_back: Settings
    always: Settings
    strategies: tuple[Strategy, ...]

    def at(self, risk: float) -> list[Strategy]:
        """Return every choice at one risk."""
        return [strategy for strategy in self.strategies if strategy.risk == risk]

    def cost_p(self, strategy: Strategy) -> int | None:
        """Return the mean cost of a comparison, in picodollars; None if it is unknown."""
        if self.item_cost_p is None or strategy.judgments is None:
            return None
        return round(self.item_cost_p * strategy.judgments.mean)


def default(figures: CalibrationFigures, risk: float) -> Strategy:
    """Return the figures of the default selector with the default rule."""
    own = names_of(QUESTION)[0], rule_names(QUESTION)[0]
    return next(strategy for strategy in figures.at(risk) if (strategy.selector, strategy.rule) == own)


def promises(rule: str) -> bool:
    """Return whether the rule has a guarantee, for each pair or on average over comparisons."""
    row = rule_row(QUESTION, rule)
    return row.guaranteed or row.by_past


def keeps_its_risk(strategy: Strategy, comparisons: int) -> bool:
    """Return whether the share of wrong winners is at most the risk.

    A rule without a guarantee must keep the risk with one more comparison counted as wrong:
    (nR + 1) / (n + 1) ≤ risk, with R the share of wrong winners over n `comparisons`. A threshold
    chosen on past comparisons is held to the same bound (`methods/stats/risk_control.py`).
    """
    if strategy.wrong is None:
        return False
    if promises(strategy.rule):
        return strategy.wrong.mean <= strategy.risk + ROUNDING
    return (comparisons * strategy.wrong.mean + 1) / (comparisons + 1) <= strategy.risk + ROUNDING


def settings_of(figures: CalibrationFigures, strategy: Strategy) -> Settings:
    """Return the settings with which a run does what was replayed."""
    takes = selector_row(QUESTION, strategy.selector).takes | rule_row(QUESTION, strategy.rule).takes
    chosen = {"selector": strategy.selector, "rule": strategy.rule, "risk": f"{strategy.risk:g}"}
    return chosen | (figures.looking_back if "history" in takes else {}) | figures.always


def advised(figures: CalibrationFigures, risk: float) -> Strategy | None:
    """Return the strategy that kept the risk with the fewest judgments for each right winner.

    None if no strategy that kept the risk named a right winner. The default is replaced only by a
    strategy that is better by more than one standard error of its mean number of judgments.
    """
    kept = [strategy for strategy in figures.at(risk) if keeps_its_risk(strategy, figures.comparisons)]
    best = min(kept, key=lambda strategy: strategy.judgments_a_right_winner, default=None)
    if best is None or best.judgments is None or math.isinf(best.judgments_a_right_winner):
        return None
    usual = default(figures, risk)
    surely = best.judgments_a_right_winner * (1 + best.judgments.error / best.judgments.mean)
    return usual if usual in kept and surely >= usual.judgments_a_right_winner else best

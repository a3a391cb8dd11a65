"""The figures of `calibrate`: judgments, errors and cost of each selector with each rule.

`study.py` computes the figures, `advice.py` chooses among them, and `text.py` formats them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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

    - `power`: an exponent of the draw weights in place of the selector's own; None for its own. It
      is not a setting of runs.
    - `judgments`: number of judgments of a comparison.
    - `wrong`: share of runs that named a system which does not lead over all items.
    - `undecided`: share of runs that named no system.
    - `gives_up`: True if runs end undecided once a decision is unlikely.
    - `instead`: share of comparisons that fell back to the default selector and rule, because too
      few other comparisons are exchangeable with them.

    The figures are None if there were too few comparisons for the rule.
    """

    risk: float
    selector: str
    rule: str
    power: float | None = None
    judgments: Figure | None = None
    wrong: Figure | None = None
    undecided: Figure | None = None
    gives_up: bool = False
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
    - `give_up`: the probability of a decision under which some runs gave up; None if not tried.
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
    give_up: float | None = None

    def giving_up(self, strategy: Strategy) -> Strategy | None:
        """Return the figures of the same choice with giving up; None if that was not tried."""
        same = (strategy.risk, strategy.selector, strategy.rule)
        given_up = [other for other in self.strategies if other.gives_up]
        return next(
            (other for other in given_up if (other.risk, other.selector, other.rule) == same), None
        )

    def at(self, risk: float) -> list[Strategy]:
        """Return every choice at one risk, without those that give up."""
        return [
            strategy
            for strategy in self.strategies
            if strategy.risk == risk and not strategy.gives_up
        ]

    def cost_p(self, strategy: Strategy) -> int | None:
        """Return the mean cost of a comparison, in picodollars; None if it is unknown."""
        if self.item_cost_p is None or strategy.judgments is None:
            return None
        return round(self.item_cost_p * strategy.judgments.mean)

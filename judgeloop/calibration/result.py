"""How selectors and rules would have fared on past comparisons: the figures.

No comparison is replayed here, nothing is advised (`advice.py`) and nothing formatted (`text.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Settings = dict[str, str]  # by name

ROUNDING = 1e-9  # of a share of runs: a mean of shares may be so far off


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over comparisons, and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True, slots=True)
class Tried:
    """How one selector with one rule fared at one stated risk; no figures where there were too few comparisons for it.

    `power` is an exponent of the weights that is tried beside the selector's own, which no run can be told. `wrong` and `undecided`
    are shares of runs, wrong those that named a system which does not lead over all items of the comparison. `gives_up` says that runs ended
    undecided where a decision was unlikely. `instead` is the share of comparisons that fell back to today's default, with too few
    others like them.
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
        """How many judgments there were for each right winner named; infinite for none, so that to decide nothing is no saving."""
        if self.judgments is None or self.wrong is None or self.undecided is None:
            return math.inf
        right = 1 - self.undecided.mean - self.wrong.mean
        return self.judgments.mean / right if right > ROUNDING else math.inf


@dataclass(frozen=True, slots=True)
class PastFared:
    """What was replayed, on what it rests, and how each choice fared.

    `source`, `judge` and `beside` say where the comparisons are from; `baseline` is the system that takes part in all of them, if one
    does; `found` is how many comparisons there were to choose from, and `most_with_one` how many of them one system took part in, at most.
    `known_verdicts` and `known_comparisons` are what decisive learns from, `exponent` is that of its weights. `always` are settings that a run needs beside selector, rule and risk, `looking_back` those that it
    needs if these look at earlier comparisons. Some runs were given up where a decision was less likely than `give_up`. Costs in picodollars.
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
    tried: tuple[Tried, ...]
    give_up: float | None = None

    def giving_up(self, one: Tried) -> Tried | None:
        """The same choice, giving up, if that was tried."""
        same = (one.risk, one.selector, one.rule)
        given_up = [other for other in self.tried if other.gives_up]
        return next(
            (other for other in given_up if (other.risk, other.selector, other.rule) == same), None
        )

    def at(self, risk: float) -> list[Tried]:
        """Every choice at one risk, without those that give up."""
        return [one for one in self.tried if one.risk == risk and not one.gives_up]

    def cost_p(self, one: Tried) -> int | None:
        """What a comparison would have cost on average."""
        if self.item_cost_p is None or one.judgments is None:
            return None
        return round(self.item_cost_p * one.judgments.mean)

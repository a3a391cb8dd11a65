"""Every stopping rule by question and name: what makes it, what it needs and promises, which settings it takes.

A new rule is its own file and one row here. Settings, help, live runs, replays, calibration and the
pages of documentation read this table. It imports nothing heavy: the module that makes a rule is
named as text, and imported when the rule is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from judgeloop.core.records import Draws


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What a rule is made of, for a pool of `items` of which at most `limit` are judged.

    `near` is the near-tie or near-best margin, None without one. `threshold` is what past
    comparisons chose, for the rule that they calibrate.
    """

    risk: float
    items: int
    limit: int
    near: float | None = None
    threshold: Any = None


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One stopping rule of one question.

    `makes` is `module:function` in `judgeloop.stopping`; the function takes `Ingredients`.
    `guaranteed` says that its risk is proved for random draws; `needs_even_draws`, that it holds
    only where every item not drawn yet is equally likely to be next. `by_past` says that past
    comparisons choose its threshold. `takes` are the settings that mean something to it alone.
    `help` completes "NAME: ".
    """

    question: str
    name: str
    makes: str
    help: str
    guaranteed: bool = False
    needs_even_draws: bool = False
    by_past: bool = False
    takes: frozenset[str] = frozenset()

    def make(self, ingredients: Ingredients) -> Any:
        """The rule."""
        module, _, function = self.makes.partition(":")
        maker: Callable[[Ingredients], Any] = getattr(
            import_module(f"judgeloop.stopping.{module}"), function
        )
        return maker(ingredients)


RULES: tuple[RuleRow, ...] = (
    RuleRow(
        "compare", "sequential", "sequential:made_of", "guaranteed, within the limit of judgments",
        guaranteed=True, needs_even_draws=True,
    ),
    RuleRow(
        "compare", "anytime", "anytime:made_of",
        "guaranteed, without a limit, with bounds for the win distance",
        guaranteed=True, needs_even_draws=True, takes=frozenset({"near_tie"}),
    ),
    RuleRow(
        "compare", "calibrated", "calibrated:made_of",
        "the threshold that kept the error rate of your past comparisons under the risk",
        by_past=True, takes=frozenset({"history"}),
    ),
    RuleRow("compare", "tie-aware", "tie_aware:made_of", "heuristic, on decisive verdicts only"),
    RuleRow(
        "compare", "hypergeometric", "hypergeometric:made_of", "heuristic, the DiffUse papers' own"
    ),
    RuleRow(
        "select", "separated", "separated:made_of", "guaranteed, once every other system is out",
        guaranteed=True, needs_even_draws=True, takes=frozenset({"near_best"}),
    ),
    RuleRow(
        "select", "fixed-budget", "fixed_budget:made_of",
        "the best at the end of the judgments, without a stated risk",
    ),
)  # fmt: skip


def rules_of(question: str) -> tuple[RuleRow, ...]:
    """Every rule of a question, the default first."""
    return tuple(row for row in RULES if row.question == question)


def rule_names(question: str) -> tuple[str, ...]:
    """The names of a question's rules, the default first."""
    return tuple(row.name for row in rules_of(question))


def rule_row(question: str, name: str) -> RuleRow:
    """The row of one rule.

    Raises:
        KeyError: the question has no rule of that name.
    """
    for row in rules_of(question):
        if row.name == name:
            return row
    raise KeyError(name)


def default_rule(question: str, draws: Draws) -> str:
    """The question's first rule for even draws; else the first that needs neither them nor a past."""
    for row in rules_of(question):
        if draws is Draws.EVEN or not (row.needs_even_draws or row.by_past):
            return row.name
    raise KeyError(question)

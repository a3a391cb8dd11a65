"""The catalogue of stopping rules: for each question and name, what makes a rule, and its promise.

A new rule takes its own file and one row here. Settings and their help texts, live runs and replays
read this table. It imports nothing heavy: a row names what makes the rule as text,
and that module is imported when a rule is made.
"""

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from judgeloop.core.choices import Draws

# Intervals for a mean (`precise.py`), and whether they hold at any number of looks.
INTERVALS = {"approximate": False, "anytime": True}


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What a rule is made of, for a pool of `items` of which at most `limit` are judged.

    `near` is the near-tie margin, None without a margin. `gap` is that of a rule whose question is
    about one (`RuleRow.asked_by`, or `separated`).
    """

    risk: float
    items: int
    limit: int
    near: float | None = None
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One stopping rule of one question.

    `makes` is `module:name` in `judgeloop`: a class or function, which is called with the
    fields `of` the `Ingredients`, or with all if there are none.
    `guaranteed` is True if the stated risk is proved, for draws in which every item not drawn yet is
    equally likely to be next, and only for these. `recorded` is True if it goes with recorded scores alone,
    which are all known at once: such a rule is not replayed. `any_length` is True if its promise holds at any number
    of judgments, and not only within a limit that is set beforehand. `for_both` is the highest stated risk at which a
    name for items like these is one for these items too, at the same risk. `takes` names the settings
    that only this rule reads. `asked_by` names the setting that asks this rule's question; the rule is
    then not named by itself, and not
    replayed. `help` completes "NAME: ".
    """

    question: str
    name: str
    makes: str
    help: str
    of: tuple[str, ...] = ()
    guaranteed: bool = False
    recorded: bool = False
    any_length: bool = False
    for_both: float = 0.0
    takes: frozenset[str] = frozenset()
    asked_by: str | None = None

    @property
    def limited(self) -> bool:
        """Whether its promise is one within a limit of judgments."""
        return self.guaranteed and not (self.any_length or self.recorded)

    def make(self, ingredients: Ingredients) -> Any:
        """Make the rule from `ingredients`."""
        module, _, name = self.makes.partition(":")
        maker = getattr(import_module(f"judgeloop.{module}"), name)
        return maker(*([getattr(ingredients, field) for field in self.of] or [ingredients]))


_BY_TABLE = ("risk", "items", "limit", "gap")
RULES: tuple[RuleRow, ...] = (
    RuleRow(
        "compare", "sequential", "methods.stopping.sequential:Sequential", "guaranteed, within the limit of judgments",
        of=("risk", "items", "limit"),
        guaranteed=True, for_both=1.0,
    ),
    RuleRow(
        "compare", "anytime", "methods.stopping.anytime:Anytime",
        "guaranteed, without a limit, with bounds for the gap", of=("risk", "items", "near"),
        guaranteed=True, any_length=True, for_both=1 / math.e, takes=frozenset({"near_tie"}),
    ),
    RuleRow(
        "compare", "tie-aware", "papers.diffuse.rules:TieAware", "heuristic, on decisive verdicts only",
        of=("risk",),
    ),
    RuleRow(
        "compare", "hypergeometric", "papers.diffuse.rules:Hypergeometric", "heuristic, as in the DiffUse paper",
        of=("risk",),
    ),
    RuleRow(
        "compare", "once", "methods.stopping.once:Once",
        "guaranteed, one exact sign test after all items; for recorded scores alone", of=("risk",),
        guaranteed=True, recorded=True,
    ),
    RuleRow(
        "compare", "within-gap", "methods.stopping.by_table:WithinGap",
        "guaranteed, within the limit of judgments, up to a gap that does not matter",
        of=_BY_TABLE,
        guaranteed=True, asked_by="min_gap",
    ),
    RuleRow(
        "compare", "not-worse", "methods.stopping.by_table:NotWorse",
        "guaranteed, within the limit of judgments", of=_BY_TABLE,
        guaranteed=True, asked_by="not_worse",
    ),
    RuleRow(
        "select", "separated", "methods.stopping.best_of_many:Separated", "guaranteed, once no other system can be better",
        of=("risk", "gap"), guaranteed=True, takes=frozenset({"min_gap"}),
    ),
    RuleRow(
        "select", "fixed-budget", "methods.stopping.best_of_many:fixed_budget",
        "the highest win rate once the judgments are used up, without a stated risk",
    ),
)  # fmt: skip


def rules_of(question: str) -> tuple[RuleRow, ...]:
    """Return every rule of a question that is named, the default first."""
    return tuple(row for row in RULES if row.question == question and row.asked_by is None)


def rule_names(question: str) -> tuple[str, ...]:
    """Return the names of a question's rules, the default first."""
    return tuple(row.name for row in rules_of(question))


def rule_row(question: str, name: str) -> RuleRow:
    """Return the row of one rule.

    Raises:
        KeyError: the question has no rule of that name.
    """
    for row in RULES:
        if (row.question, row.name) == (question, name):
            return row
    raise KeyError(name)


def rules_asked_by(question: str) -> dict[str, RuleRow]:
    """Return the rules whose question a setting asks, by the setting."""
    return {row.asked_by: row for row in RULES if row.question == question and row.asked_by}


def default_rule(question: str, draws: Draws) -> str:
    """Return the name of the default rule for a selector with these draws.

    For even draws it is the question's first rule, otherwise the first one that proves nothing.

    Raises:
        KeyError: the question has no rule for these draws.
    """
    for row in rules_of(question):
        if draws is Draws.EVEN or not row.guaranteed:
            return row.name
    raise KeyError(question)

"""The catalogue of selectors and stopping rules: for each question and name, what makes it, and what it promises.

A new selector or rule takes its own file and one row here. Settings and their help, live runs and replays read it. The
first row of a question is its default, and of rules the first that is not guaranteed is the default of selectors that
pick. A row's function imports what it makes when it is called, so that the help of a command pays for nothing.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from judgeloop.core.errors import InputError, did_you_mean, some
from judgeloop.core.records import Draws
from judgeloop.methods.rows import Draft, RuleRow, SelectorRow
from judgeloop.papers import rows as papers

R = TypeVar("R", bound=SelectorRow | RuleRow)


def _random(draft: Draft) -> Any:
    from judgeloop.methods.selectors.families import by_family
    from judgeloop.methods.selectors.random import Random

    return by_family(Random(draft.queries), draft.members)


def _race(draft: Draft) -> Any:
    from judgeloop.methods.selectors.families import by_family
    from judgeloop.methods.selectors.race import Racing

    race = Racing(draft.systems, draft.baseline, draft.risk, draft.gap, draft.sampled, draft.proxy)
    return by_family(race, draft.members)


SELECTORS: tuple[SelectorRow, ...] = (
    SelectorRow("compare", "random", "uniform random draws", Draws.EVEN, _random),
    SelectorRow(
        "select", "race", "random draws, for the systems that may still be the best", Draws.EVEN, _race, drops=True
    ),
    SelectorRow("select", "random", "random draws for all systems", Draws.EVEN, _random),
    SelectorRow("estimate", "random", "uniform random draws", Draws.EVEN, _random),
    *papers.SELECTORS,
)


def _bets(draft: Draft) -> Any:
    from judgeloop.methods.stopping.bets import Bets

    min_gap, not_worse, near_tie = (draft.setting(name, None) for name in ("min_gap", "not_worse", "near_tie"))
    once = draft.setting("reads_whole", default=False)
    return Bets(draft.risk, draft.about, draft.limit, min_gap, not_worse, near_tie, once, draft.limits)


def _once(draft: Draft) -> Any:
    from judgeloop.methods.stopping.once import Once

    return Once(draft.risk)


def _separated(draft: Draft) -> Any:
    from judgeloop.methods.stopping.best_of_many import Separated

    return Separated(draft.risk, draft.gap)


def _fixed_budget(draft: Draft) -> Any:
    from judgeloop.methods.stopping.best_of_many import FixedBudget

    del draft
    return FixedBudget()


RULES: tuple[RuleRow, ...] = (
    RuleRow(
        "compare",
        "bets",
        "guaranteed at every look, within the limit of judgments",
        _bets,
        guaranteed=True,
        takes=frozenset({"min_gap", "not_worse", "near_tie"}),
    ),
    RuleRow(
        "compare",
        "once",
        "guaranteed, one exact sign test after all items; for what is there already",
        _once,
        guaranteed=True,
        recorded=True,
    ),
    RuleRow(
        "select",
        "separated",
        "guaranteed, once no other system can be better",
        _separated,
        guaranteed=True,
        takes=frozenset({"min_gap"}),
    ),
    RuleRow(
        "select",
        "fixed-budget",
        "the highest win rate once the judgments are used up, without a stated risk",
        _fixed_budget,
        states_risk=False,
        for_picks=True,
    ),
    *papers.RULES,
)


# Names of rules that are gone, and what stands in their place.
REPLACED = {"sequential": "bets", "anytime": "bets", "within-gap": "`min-gap=GAP`", "not-worse": "`not-worse=GAP`"}


def selectors_of(question: str, *, ablations: bool = False) -> tuple[SelectorRow, ...]:
    """Every selector of a question, the default first; with `ablations`, also those that only replays run."""
    return tuple(row for row in SELECTORS if row.question == question and (ablations or not row.ablation))


def selector_names(question: str, *, ablations: bool = False) -> tuple[str, ...]:
    """The names of a question's selectors, the default first."""
    return tuple(row.name for row in selectors_of(question, ablations=ablations))


def selector_row(question: str, name: str) -> SelectorRow:
    """The row of one selector.

    Raises:
        InputError: the question has no selector of that name.
    """
    return _find(selectors_of(question, ablations=True), name, f"a selector of {question}")


def rules_of(question: str) -> tuple[RuleRow, ...]:
    """Every rule of a question that is named, the default first."""
    return tuple(row for row in RULES if row.question == question)


def rule_names(question: str) -> tuple[str, ...]:
    """The names of a question's rules, the default first."""
    return tuple(row.name for row in rules_of(question))


def rule_row(question: str, name: str) -> RuleRow:
    """The row of one rule.

    Raises:
        InputError: the question has no rule of that name.
    """
    return _find((row for row in RULES if row.question == question), name, f"a rule of {question}")


def default_rule(selector: SelectorRow) -> RuleRow:
    """The question's first rule if the selector draws evenly, else the one for picks."""
    rows = rules_of(selector.question)
    return rows[0] if selector.draws is Draws.EVEN else next(row for row in rows if row.for_picks)


def _find(rows: Iterable[R], name: str, what: str) -> R:
    named: dict[str, R] = {row.name: row for row in rows}
    if name not in named:
        raise InputError(f"expected {what}, one of {some([*named])}, found {name!r}{did_you_mean(name, [*named])}")
    return named[name]

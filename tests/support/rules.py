"""Stopping rules by name, as the catalogue makes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from judgeloop.catalogue import rule_names, rule_row, rules_of
from judgeloop.methods.rows import Draft
from judgeloop.runs.prepared import check_idle_settings

RULES = tuple(row.name for row in rules_of("compare") if not row.recorded)
RULES_AMONG_MANY = rule_names("select")


def make_rule(name: str, *, risk: float, items: int, limit: int, **settings: float | None) -> Any:
    """A rule of `compare`; `settings` are those that a rule reads."""
    return rule_row("compare", name).make(Draft(items, limit, risk, settings=SimpleNamespace(**settings)))


def make_rule_among(name: str, *, risk: float, items: int, gap: float = 0.0) -> Any:
    """A rule of `select`."""
    return rule_row("select", name).make(Draft(items, 0, risk, gap=gap))


def check_settings(question: str, config: Any) -> None:
    """What `prepare` refuses of a configuration: a setting that neither its selector nor its rule
    looks at."""
    check_idle_settings(config, question, config.selector_row, config.rule_row)

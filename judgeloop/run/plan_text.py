"""Formats the forecast of a dry run as text and as JSON values.

Reads a `Plan` and the result so far; computes no figure.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from judgeloop.core.money import show_usd, to_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page, render
from judgeloop.report.run_result import SCHEMA_VERSION, RunResult
from judgeloop.report.sentences import count
from judgeloop.run.plan import Plan


def render_plan(plan: Plan, result: RunResult, page: Page, *, priced: bool) -> str:
    """Return the forecast as text; `priced` says whether the prices are known."""
    if plan.calls.worst == 0 or result.stop_reason is not StopKind.DRY_RUN:
        return f"nothing to ask: the ledger already decides.\n{render(page)}"
    known = f"; {result.asked} items are answered from the ledger" if result.asked else ""
    money = [
        show_usd(cost_p) for cost_p in (plan.cost_p.low, plan.cost_p.expected, plan.cost_p.worst)
    ]
    rows = [
        ("", "low", "expected", "worst"),
        ("judgments", *_three(plan.judgments.low, plan.judgments.expected, plan.judgments.worst)),
        ("calls", *_three(plan.calls.low, plan.calls.expected, plan.calls.worst)),
        ("cost", *money),
    ]
    table = "\n".join(f"  {a:<10}{b:>10}{c:>10}{d:>10}" for a, b, c, d in rows)
    basis = plan.assumed or "that the verdicts in the ledger go on as they are"
    if plan.judgments.low == plan.judgments.worst:
        basis = "that all allowed judgments are made, as by this rule"
    unpriced = "" if priced else "; the model has no known price"
    return (
        f"a dry run asks nobody and spends nothing{known}\n{table}\n"
        f"  the expected case assumes {basis}; the worst is every allowed judgment at its dearest{unpriced}\n  {_affordable(plan, result)}"
        f"{_learned(result)}{_old_prices(result)}{_settings(page)}"
    )


def _settings(page: Page) -> str:
    """Return a line on the files that set something, or nothing."""
    said = next((text for name, text in page.details if name == "settings"), None)
    return f"\n  settings  {said}" if said else ""


def _old_prices(result: RunResult) -> str:
    """Return a line on old prices, or nothing."""
    said = result.setup.old_prices
    return f"\n  beware    {visible(said)}" if said else ""


def _learned(result: RunResult) -> str:
    """Return a line on selector and rule if the run reads past comparisons, else nothing."""
    instead, history = (getattr(result.setup, name, None) for name in ("instead", "history"))
    if instead is None and history is None:
        return ""
    said = visible("; ".join(sentence for sentence in (instead, history) if sentence))
    return f"\n  by the rule {result.setup.rule} and the selector {result.setup.selector}: {said}"


def _affordable(plan: Plan, result: RunResult) -> str:
    budget = result.spend.budget_p
    if budget is None:
        return "no budget bounds it"
    if plan.affordable is None or plan.affordable >= plan.judgments.worst:
        if plan.cost_p.worst <= budget - result.spend.charged_p - result.spend.former_p:
            return f"the budget of {show_usd(budget)} will do"
        return f"the budget of {show_usd(budget)} will do at likely prices, and ends the run if all calls are the dearest"
    ends = (
        "probably before it is decided"
        if plan.affordable < plan.judgments.expected
        else "if it takes longer"
    )
    return f"the budget of {show_usd(budget)} pays for about {count(plan.affordable, 'judgment')}, and ends the run {ends}"


def plan_json(plan: Plan, result: RunResult, *, priced: bool) -> dict[str, Any]:
    """Return the forecast as JSON values; amounts in dollars, null without a price."""
    dollars = {name: float(to_usd(cost_p)) for name, cost_p in asdict(plan.cost_p).items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "job": result.job,
        "dry_run": True,
        "decided_by_ledger": result.winner,
        "answered_from_ledger": result.asked,
        "judgments": asdict(plan.judgments),
        "calls": asdict(plan.calls),
        "usd": dollars if priced else None,
        "expected_is_assumed": plan.assumed is not None,
        "budget_usd": None
        if result.spend.budget_p is None
        else float(to_usd(result.spend.budget_p)),
        "budget_pays_for": plan.affordable,
        "old_prices": result.setup.old_prices,
        "run": result.setup.run,
        "rule": result.setup.rule,
        "selector": result.setup.selector,
        **{name: getattr(result.setup, name, None) for name in ("history", "instead")},
    }


def _three(low: int, expected: int, worst: int) -> tuple[str, str, str]:
    return f"{low:,}", f"{expected:,}", f"{worst:,}"

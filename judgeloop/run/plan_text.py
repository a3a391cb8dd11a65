"""Formats the forecast of a dry run as text and as JSON values.

Reads a `Plan` and the result so far; computes no figure.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from judgeloop.core.money import show_usd, to_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.report.escaping import visible
from judgeloop.report.json_fields import SCHEMA_VERSION
from judgeloop.report.page import WIDTH, Page, render, wrapped
from judgeloop.report.run_result import RunResult
from judgeloop.report.sentences import count, empty_outputs, sentence
from judgeloop.run.plan import Plan


def render_plan(
    plan: Plan, result: RunResult, page: Page, *, priced: bool, width: int = WIDTH
) -> str:
    """Return the forecast as text of `width` columns; `priced`: whether the prices are known."""
    if plan.calls.worst == 0 or result.stop_reason is not StopKind.DRY_RUN:
        return f"{wrapped(_decided(plan), width)}\n\n{render(page, width=width)}"
    known = count(result.asked, "judgment")
    opening = "This is a forecast: a dry run asks nobody and spends nothing."
    if result.asked and not plan.unasked:
        needs = "needs" if result.asked == 1 else "need"
        opening += f" {known} {needs} no call: known verdicts, or identical outputs."
    paragraphs = [
        _basis(plan),
        *_unasked(plan, result),
        *_both_orders(result),
        _affordable(plan, result),
    ]
    paragraphs += [] if priced else ["The model has no known price."]
    paragraphs += [*_learned(result), *_price(result), *_tier(result), *_old_prices(result)]
    paragraphs += [*_guessed(result), *empty_outputs(result), *_settings(page)]
    return "\n\n".join(
        [
            wrapped(opening, width),
            _table(plan),
            "\n".join(wrapped(text, width) for text in paragraphs),
        ]
    )


def _decided(plan: Plan) -> str:
    """Return that no judgment is left to ask for, and what the decoys still cost."""
    if plan.calls.worst == 0:
        return "Nothing to ask: known verdicts, or identical outputs, already decide."
    calls = count(plan.calls.worst, "call")
    return (
        "Known verdicts, or identical outputs, already decide. "
        f"The decoys still take {calls}, about {show_usd(plan.cost_p.expected)}."
    )


def _table(plan: Plan) -> str:
    """Return the low, expected and worst case of judgments, calls and cost, in columns."""
    cost_p = plan.cost_p
    rows = [
        ("", "low", "expected", "worst"),
        ("judgments", *_three(plan.judgments.low, plan.judgments.expected, plan.judgments.worst)),
        ("calls", *_three(plan.calls.low, plan.calls.expected, plan.calls.worst)),
        ("cost", *map(show_usd, (cost_p.low, cost_p.expected, cost_p.worst))),
    ]
    return "\n".join(f"  {a:<10}{b:>10}{c:>10}{d:>10}" for a, b, c, d in rows)


def _basis(plan: Plan) -> str:
    """Return what the expected and the worst case assume."""
    basis = plan.assumed or "that the verdicts in the ledger go on as they are"
    if plan.judgments.low == plan.judgments.worst:
        basis = "that all allowed judgments are made, as by this rule"
    worst = "The worst case is that every allowed judgment is made, at the highest cost."
    return f"The expected case assumes {basis}. {worst}"


def _both_orders(result: RunResult) -> list[str]:
    """Return a sentence on the second calls, which may not be needed, if there are any."""
    if result.setup.order != "both":
        return []
    text = "The figures count two calls for each item. The second is not made after a tie"
    return [f"{text}, so that fewer are likely."]


def _unasked(plan: Plan, result: RunResult) -> list[str]:
    """Return a sentence on the questions that take no call, and on what is judged without one."""
    if not plan.unasked:
        return []
    take = "takes" if plan.unasked == 1 else "take"
    asked = (
        f"Of {count(plan.questions, 'question')} that can be asked, {plan.unasked:,} {take} no call"
    )
    text = f"{asked}: the outputs are identical, or too large"
    if result.asked:
        made = "is" if result.asked == 1 else "are"
        text += (
            f"; {count(result.asked, 'judgment')} {made} made already, by these or known verdicts"
        )
    return [f"{text}."]


def _guessed(result: RunResult) -> list[str]:
    """Return a sentence on the columns that were guessed, if any were."""
    said = result.setup.guessed
    return [f"Columns: {visible(said)}."] if said else []


def _settings(page: Page) -> list[str]:
    """Return a sentence on the files that set something, if any did."""
    said = next((text for name, text in page.details if name == "settings"), None)
    return [f"Settings: {said}."] if said else []


def _price(result: RunResult) -> list[str]:
    """Return a sentence on what tokens cost, if they cost anything."""
    said = result.setup.prices
    return [f"Price: {visible(said)}."] if said else []


def _tier(result: RunResult) -> list[str]:
    """Return a sentence on the service tier and its price; none for the standard tier."""
    said = result.setup.tier
    return [f"Tier: {visible(said)}."] if said else []


def _old_prices(result: RunResult) -> list[str]:
    """Return a warning of old prices, if there is one."""
    said = result.setup.old_prices
    return [f"Warning: {sentence(visible(said))}"] if said else []


def _learned(result: RunResult) -> list[str]:
    """Return a sentence on selector and rule if the run reads past comparisons."""
    instead, history = (getattr(result.setup, name, None) for name in ("instead", "history"))
    if instead is None and history is None:
        return []
    said = visible("; ".join(text for text in (instead, history) if text))
    rule, selector = result.setup.rule, result.setup.selector
    return [sentence(f"the rule is {rule} and the selector {selector}: {said}")]


def _affordable(plan: Plan, result: RunResult) -> str:
    left, budget = result.spend.left_p, result.spend.budget_p
    if left is None:
        return "No budget limits the cost."
    shown = f"budget of {show_usd(budget or 0)}"
    if result.spend.ledger_is_short:
        shown = f"limit for all runs of the ledger, of which {show_usd(left)} is left,"
    if plan.affordable is None or plan.affordable >= plan.judgments.worst:
        if plan.cost_p.worst <= left:
            return f"The {shown} is enough."
        return f"The {shown} is enough at likely costs; at the highest costs it ends the run."
    if plan.affordable == 0:
        aside = f"a judgment is set aside at its worst case, about {show_usd(plan.reserved_p)}"
        if plan.beside_p:
            aside = f"other calls come first, for about {show_usd(plan.beside_p)}, and {aside}"
        return f"What is left of the {shown} covers no judgment: {aside}."
    ends = (
        "probably before it is decided"
        if plan.affordable < plan.judgments.expected
        else "if it takes longer"
    )
    pays = f"pays for about {count(plan.affordable, 'judgment')}"
    return f"The {shown} {pays}, and ends the run {ends}."


def plan_json(plan: Plan, result: RunResult, *, priced: bool) -> dict[str, Any]:
    """Return the forecast as JSON values; amounts in dollars, null without a price."""
    dollars = {name: float(to_usd(cost_p)) for name, cost_p in asdict(plan.cost_p).items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "job": result.job,
        "dry_run": True,
        "about": str(result.about),
        "items": result.items,
        "decided_by_ledger": result.winner,
        "answered_from_ledger": result.asked,
        "judgments": asdict(plan.judgments),
        "calls": asdict(plan.calls),
        "questions": plan.questions,
        "questions_without_a_call": plan.unasked,
        "usd": dollars if priced else None,
        "expected_is_assumed": plan.assumed is not None,
        "budget_usd": None
        if result.spend.budget_p is None
        else float(to_usd(result.spend.budget_p)),
        "budget_pays_for": plan.affordable,
        "guessed": result.setup.guessed,
        "empty": result.setup.empty,
        "tier": result.setup.tier,
        "prices": result.setup.prices,
        "old_prices": result.setup.old_prices,
        "run": result.setup.run,
        "rule": result.setup.rule,
        "selector": result.setup.selector,
        **{name: getattr(result.setup, name, None) for name in ("history", "instead")},
    }


def _three(low: int, expected: int, worst: int) -> tuple[str, str, str]:
    return f"{low:,}", f"{expected:,}", f"{worst:,}"

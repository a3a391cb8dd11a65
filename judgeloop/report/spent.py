"""The sentences on what a run has cost, for the results of all questions.

Reads a `RunResult`, returns text. Computes no figure.
"""

from __future__ import annotations

from judgeloop.core.money import budget_over, show_usd
from judgeloop.core.outcomes import Spend, StopKind
from judgeloop.core.records import NO_TOKENS, Usage
from judgeloop.report.escaping import visible
from judgeloop.report.run_result import RunResult
from judgeloop.report.sentences import count


def money(result: RunResult) -> str:
    """Return the money spent and the budget."""
    spend = result.spend
    spent = show_usd(spend.run_p) if spend.known else "an unknown amount"
    if spend.budget_p is None:
        return spent
    budget = show_usd(spend.budget_p)
    if not spend.beyond:
        return f"{spent} of {budget}"
    # Nothing is reserved beyond the budget in force, so that only a contradicted quote exceeds it.
    if spend.over_p:
        return f"BUDGET EXCEEDED: {spent} of {budget}"
    by = "with other commands" if spend.now_p else "spent by earlier commands"
    return f"{spent}, {by}, of a budget of {budget} now"


def enough(result: RunResult) -> str:
    """Return which budget would do, after a sentence on the further judgments; empty if any did."""
    if result.stop_reason is not StopKind.BUDGET or result.enough_p is None:
        return ""
    each = "the next judgment"
    if result.judged and result.more_judgments:
        each = "each" if result.more_judgments > 1 else "it"
    return f" `budget={budget_over(result.enough_p)}` would cover the worst case of {each}."


def costs(result: RunResult) -> list[tuple[str, str]]:
    """Return the rows on what the run cost, and on what tokens cost, if they cost anything."""
    price = visible(result.setup.prices)
    return [("cost", cost(result)), *([("price", price)] if price else [])]


def cost(result: RunResult) -> str:
    """Return the cost of the run, its attempts, and what was answered from the ledger."""
    spend = result.spend
    now = f"{show_usd(spend.now_p)} now" if spend.known else "unknown: the model has no known price"
    text = f"{now}, {count(spend.attempts, 'attempt')} made, {spend.remembered:,} answered from the ledger"
    text += f"; {used}" if (used := tokens(spend.tokens)) else ""
    if spend.cached_p > 0:
        text += f"; the cache of prompts saved {show_usd(spend.cached_p)}"
    text += _doubtful(spend)
    if result.ahead:
        about = f", for about {show_usd(result.ahead_p)}" if result.ahead_p else ""
        text += f"; {count(result.ahead, 'answer')} that did not come into it{about}"
    if spend.run_p != spend.now_p:
        text += f"; {show_usd(spend.run_p)} with the commands before"
    if spend.rehearsed_p:
        text += f"; {show_usd(spend.rehearsed_p)} rehearsed with recorded costs"
    return text


def tokens(usage: Usage) -> str:
    """Return how many tokens were read and written; empty for none."""
    if usage == NO_TOKENS:
        return ""
    text = f"{count(usage.input_tokens, 'input token')} and {count(usage.output_tokens, 'output token')}"
    if usage.reasoning_tokens:
        text += f", {usage.reasoning_tokens:,} of them thoughts"
    return text


def _doubtful(spend: Spend) -> str:
    """Return which part of the cost is a worst case; empty if none is."""
    text = ""
    if spend.unconfirmed_p:
        of = "it" if spend.run_p == spend.now_p else "all that the run cost"
        text += (
            f"; {show_usd(spend.unconfirmed_p)} of {of} charged for attempts without a reply, which may "
            "not be billed (see `judgeloop ledger reconcile`)"
        )
    if spend.unreported == 1:
        text += "; 1 reply without a usage report is charged at its worst case"
    elif spend.unreported:
        text += (
            f"; {spend.unreported:,} replies without a usage report are charged at their worst case"
        )
    return text

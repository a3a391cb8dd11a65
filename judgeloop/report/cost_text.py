"""The sentences on what a run has cost, for the results of all questions.

Reads a `RunResult`, returns text. Computes no figure.
"""

from __future__ import annotations

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import Spend
from judgeloop.core.records import NO_TOKENS, Usage
from judgeloop.report.escaping import visible
from judgeloop.report.run_result import RunResult
from judgeloop.report.words import about, count


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


def costs(result: RunResult) -> list[tuple[str, str]]:
    """Return the rows on what the run cost, and on what tokens cost, if they cost anything."""
    price = visible(result.setup.prices)
    return [("cost", cost(result)), *([("price", price)] if price else [])]


def cost(result: RunResult) -> str:
    """Return the cost of the run, its attempts, and what was answered from the ledger."""
    spend = result.spend
    now = f"{show_usd(spend.now_p)} now" if spend.known else "unknown, as the model has no price"
    ahead = count(result.counts.ahead, "unneeded answer") + about(result.ahead_usd)
    parts = [
        f"{now}, {count(spend.attempts, 'attempt')}, {spend.remembered:,} answered from the ledger",
        tokens(spend.tokens),
        f"prompt caching saved {show_usd(spend.cached_p)}" if spend.cached_p > 0 else "",
        *_doubtful(spend),
        ahead if result.counts.ahead else "",
        f"{show_usd(spend.run_p)} with earlier commands" if spend.run_p != spend.now_p else "",
        f"{show_usd(spend.rehearsed_p)} of recorded costs" if spend.rehearsed_p else "",
    ]
    return "; ".join(filter(None, parts))


def tokens(usage: Usage) -> str:
    """Return how many tokens were read and written; empty for none."""
    if usage == NO_TOKENS:
        return ""
    read, wrote = (
        count(usage.input_tokens, "input token"),
        count(usage.output_tokens, "output token"),
    )
    thought = f", {usage.reasoning_tokens:,} of them thoughts" if usage.reasoning_tokens else ""
    return f"{read} and {wrote}{thought}"


def _doubtful(spend: Spend) -> list[str]:
    """Return which parts of the cost are a maximum."""
    parts = []
    if spend.unconfirmed_p:
        parts.append(
            f"{show_usd(spend.unconfirmed_p)} of the run's cost is for attempts without a reply, at "
            "their maximum (see `judgeloop ledger reconcile`)"
        )
    if spend.replies_without_usage:
        replies = f"{spend.replies_without_usage:,} without a usage report"
        parts.append(f"replies charged at their maximum: {replies}")
    return parts

"""The fields of a result's JSON that are computed from its record, with what each holds.

The reference page of results and its schema (`docs/make_results.py`) are made from these
annotations and from the fields of the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

from judgeloop.core.money import to_usd

if TYPE_CHECKING:
    from judgeloop.report.run_result import RunResult

SCHEMA_VERSION = 1
Dollars = float | None
WARNING = "Warning: "


class Heading(TypedDict):
    """The first fields of every result."""

    schema_version: Annotated[int, "the version of this form; it grows when a field changes"]
    job: Annotated[str, "the question: compare, select or estimate"]
    headline: Annotated[str, "the decision in words"]
    about: Annotated[str, "the items that the decision is about: these_items or items_like_these"]


class Computed(TypedDict):
    """What is computed from the record: money in dollars, and the exit code."""

    flip_rate: Annotated[float | None, "the share of verdicts that changed with the order"]
    flip_interval: Annotated[tuple[float, float] | None, "a 95 % interval for flip_rate"]
    guarantee: Annotated[str, "what the stated risk promises, or heuristic or approximate"]
    spent_usd: Annotated[Dollars, "what this command has paid; null if a price is unknown"]
    run_spent_usd: Annotated[Dollars, "what the run has paid since it began"]
    rehearsed_usd: Annotated[Dollars, "recorded cost that counts against the budget, not paid"]
    budget_usd: Annotated[Dollars, "the budget; null without one"]
    more_usd: Annotated[Dollars, "the probable cost of more_judgments"]
    ahead_usd: Annotated[Dollars, "the probable cost of answers that were not needed"]
    unconfirmed_usd: Annotated[Dollars, "charged for attempts without a reply; perhaps not billed"]
    replies_without_usage: Annotated[int, "replies of the run charged at their worst case"]
    cached_usd_saved: Annotated[Dollars, "what providers' caches of prompts took off this command"]
    input_tokens: Annotated[int, "tokens that judges read in this command, cached ones included"]
    output_tokens: Annotated[int, "tokens that judges wrote in this command, thoughts included"]
    cached_tokens: Annotated[int, "input tokens of this command from providers' caches of prompts"]
    thought_tokens: Annotated[int, "tokens that judges thought in this command; part of its cost"]
    attempts: Annotated[int, "requests that this command made"]
    exit_code: Annotated[int, "the exit code of the command"]
    remembered: Annotated[int, "verdicts that were answered from the ledger"]
    p_value_beyond: Annotated[
        float | None,
        "p-value of the lead on other items like these, by a sign test; null if unknown",
    ]
    warnings: Annotated[list[str], "the warnings of the text"]


def heading(result: RunResult) -> Heading:
    """Return the first fields of a result."""
    return {
        "schema_version": SCHEMA_VERSION,
        "job": result.job,
        "headline": result.page.headline,
        "about": str(result.about),
    }


def computed(result: RunResult) -> Computed:
    """Return the fields that are computed from a result's record."""
    spend = result.spend
    return {
        "flip_rate": result.flip_rate,
        "flip_interval": result.flip_interval,
        "guarantee": result.setup.guarantee or "heuristic",
        "spent_usd": result.spent_usd,
        "run_spent_usd": result.run_spent_usd,
        "rehearsed_usd": _usd(spend.rehearsed_p),
        "budget_usd": _usd(spend.budget_p),
        "more_usd": _usd(result.more_p),
        "ahead_usd": _usd(result.ahead_p),
        "unconfirmed_usd": _usd(spend.unconfirmed_p),
        "replies_without_usage": spend.unreported,
        "cached_usd_saved": _usd(spend.cached_p),
        "input_tokens": spend.tokens.input_tokens,
        "output_tokens": spend.tokens.output_tokens,
        "cached_tokens": spend.tokens.cache_read_tokens,
        "thought_tokens": spend.tokens.reasoning_tokens,
        "attempts": spend.attempts,
        "exit_code": result.exit_code,
        "remembered": spend.remembered,
        "p_value_beyond": result.p_value_beyond,
        "warnings": [
            line.removeprefix(WARNING) for line in result.page.summary if line.startswith(WARNING)
        ],
    }


def _usd(pico: int | None) -> Dollars:
    """Return picodollars as dollars."""
    return None if pico is None else float(to_usd(pico))

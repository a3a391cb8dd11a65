"""The sentences that the results of all questions share: on money, judge, decoys, data and cost.

Reads a `RunResult`, returns text. A question's own `text.py` states its decision.
"""

from __future__ import annotations

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.report.escaping import visible
from judgeloop.report.run_result import RunResult

LEAST_RISK_SHOWN = 0.001
# With a higher share of verdicts that change with the order, the judge mainly prefers a position.
MANY_FLIPS = 0.5

CUT_SHORT = {
    StopKind.INTERRUPTED: "the same command goes on from here",
    StopKind.DEADLINE: "the same command goes on from here",
    StopKind.JUDGE_FAILED: "once that is mended, the same command goes on from here",
    StopKind.ABSTENTIONS: "once that is mended, the same command goes on from here",
}


def with_warnings(line: str, result: RunResult) -> str:
    """Return the headline with its warnings: many flipped verdicts, a required winner that lost."""
    if result.flip_rate is not None and result.flip_rate > MANY_FLIPS:
        line += f"; beware: {result.flip_rate:.0%} of the verdicts changed with the order of presentation"
    required = result.setup.required_winner
    if required not in {None, result.winner} and result.winner is not None:
        return f"FAILED: {visible(required or '')} was required, and {line}"
    return line


def show_risk(risk: float) -> str:
    """Return a risk as text.

    >>> show_risk(0.0861), show_risk(0.00002)
    ('0.086', 'under 0.001')
    """
    return f"{risk:.3f}" if risk >= LEAST_RISK_SHOWN else f"under {LEAST_RISK_SHOWN}"


def money(result: RunResult) -> str:
    """Return the money spent and the budget."""
    spend = result.spend
    spent = show_usd(spend.run_p) if spend.known else "an unknown amount"
    if spend.budget_p is None:
        return f"{spent} spent"
    before = f" and {show_usd(spend.former_p)} under its former id" if spend.former_p else ""
    text = f"{spent}{before} of {show_usd(spend.budget_p)} spent"
    exceeded = spend.charged_p + spend.former_p > spend.budget_p and spend.run_p
    return f"BUDGET EXCEEDED: {text}" if exceeded else text


def count(number: int, thing: str) -> str:
    """Return a number with its noun, such as `2 items`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def judge(result: RunResult) -> str:
    """Return the judge's name, with its agreement, order and flipped verdicts."""
    text = visible(result.setup.judge)
    text += _models(result)
    if result.setup.vote:
        text += f"; by {result.setup.vote}"
    if result.agreement:
        agreement = result.agreement
        text += f", {agreement.name} {agreement.value:.2f} on {count(agreement.items, 'item')}"
    if result.setup.order:
        text += f"; order {result.setup.order}"
    if result.flip_rate is not None:
        text += (
            f", {result.flips} of {result.judged} verdicts flipped with it ({result.flip_rate:.0%})"
        )
    return text


def _models(result: RunResult) -> str:
    """Return the model names that servers reported, where they differ from the requested names."""
    text = ""
    for judge, models in zip(result.setup.judges, result.judge_models, strict=True):
        asked = judge.partition("/")[2] or judge
        if len(models) > 1:
            text += f"; the model of {visible(judge)} changed during the run: {', then '.join(map(visible, models))}"
        elif models and models[0] != asked:
            text += f"; the server of {visible(judge)} calls it {visible(models[0])}"
    return text


def decoys(result: RunResult) -> str:
    """Return the results of the decoys."""
    tried = result.decoys
    assert tried is not None
    judged = tried.won + tried.tied + tried.lost
    if result.job == "estimate":
        text = f"{tried.won} of {count(judged, 'empty or constant answer')} were rated over one half, {tried.tied} at it"
    else:
        text = f"{tried.won} of {count(judged, 'empty or constant answer')} beat a real one, {tried.tied} tied"
    # More than a quarter of the points, with half a point for a tie.
    if 2 * (2 * tried.won + tried.tied) > judged:
        text += ": this judge can be fooled, and its verdicts deserve little trust"
    return text


def bewares(result: RunResult) -> list[tuple[str, str]]:
    """Return rows on doubtful data: decoys, repeated outputs, items left out, old prices."""
    rows = [("decoys", decoys(result))] if result.decoys is not None else []
    for name, count_ in result.setup.repeated.items():
        rows.append(
            (
                "beware",
                f"{visible(name)} gives the very same output to {count_} of {result.items} items",
            )
        )
    if result.setup.left_out:
        rows.append(("left out", visible(result.setup.left_out)))
    if result.setup.old_prices:
        rows.append(("beware", visible(result.setup.old_prices)))
    if result.setup.asked_anew:
        rows.append(("beware", visible(result.setup.asked_anew)))
    return rows


def published(result: RunResult) -> list[tuple[str, str]]:
    """Return a row on the paper whose configuration was used; none if it was not one of a paper."""
    named = result.setup.published
    return [] if named is None else [("as published", visible(named))]


def cost(result: RunResult) -> str:
    """Return the cost of the run, its attempts, and what was answered from the ledger."""
    spend = result.spend
    now = f"{show_usd(spend.now_p)} now" if spend.known else "unknown: the model has no known price"
    text = f"{now}, {count(spend.attempts, 'attempt')} made, {spend.remembered} answered from the ledger"
    if spend.unconfirmed_p:
        text += f"; {show_usd(spend.unconfirmed_p)} of it charged for attempts without a reply, which may not be billed"
    if result.ahead:
        about = f", for about {show_usd(result.ahead_p)}" if result.ahead_p else ""
        text += f"; {count(result.ahead, 'answer')} that did not come into it{about}"
    if spend.run_p != spend.now_p:
        text += f"; {show_usd(spend.run_p)} with the commands before"
    if spend.former_p:
        text += (
            f"; {show_usd(spend.former_p)} before, under the id that an earlier version gave this run, "
            "which counts against the budget"
        )
    if spend.rehearsed_p:
        text += f"; {show_usd(spend.rehearsed_p)} rehearsed with recorded costs"
    return text

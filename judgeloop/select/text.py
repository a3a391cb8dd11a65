"""The result of a search for the best of many as text: the decision first, then the standings.

Takes a `Selected` and returns sentences. Computes no figures and prints nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page
from judgeloop.report.sentences import (
    CUT_SHORT,
    bewares,
    cost,
    count,
    judge,
    money,
    published,
    show_risk,
    with_warnings,
)

if TYPE_CHECKING:
    from judgeloop.select.result import Selected, SystemRow

MOST_NAMED = 5  # systems named in a sentence
SMALLEST_BELIEF = 0.001


def page(result: Selected) -> Page:
    """Return the result as headline and details."""
    return Page(headline(result), tuple(details(result)))


def headline(result: Selected) -> str:
    """Return the decision in one line."""
    return with_warnings(_decision(result), result)


def _decision(result: Selected) -> str:
    others = len(result.setup.systems) - 1
    if result.winner is None:
        return f"undecided: {visible(result.stop_sentence)}; {_what_would_decide(result)}; {_standing(result)}"
    if result.risk is None:
        return (
            f"{visible(result.winner)} has the highest win rate of {others + 1} systems, without a stated risk: "
            f"{_standing(result)}"
        )
    if result.setup.near is not None and result.stop_reason is StopKind.RISK_MET:
        return f"{visible(result.winner)} is within {result.setup.near:g} of the best of {others + 1} systems: {_standing(result)}"
    return f"{visible(result.winner)} is the best of {others + 1} systems: {_standing(result)}"


def _standing(result: Selected) -> str:
    asked = f"{count(result.judged, 'judgment')} on {result.queries} of {result.items} items"
    if result.stop_reason is StopKind.ALL_JUDGED and result.winner is not None:
        return f"certain, as every item is judged, {asked}, {money(result)}"
    if result.winner is not None and result.risk is not None:
        return f"stated risk {show_risk(result.risk)} (guaranteed), {asked}, {money(result)}"
    return f"{asked}, {money(result)}"


def _what_would_decide(result: Selected) -> str:
    if result.stop_reason in CUT_SHORT:
        return CUT_SHORT[result.stop_reason]
    if result.judged == 0:
        return "nothing is judged"
    if result.more_judgments is None:
        return f"{_in_question(result)}, and as they fare not even all {result.items} items would separate them"
    dollars = f" (about {show_usd(result.more_p)})" if result.more_p else ""
    return f"{_in_question(result)}; about {count(result.more_judgments, 'more judgment')}{dollars} would probably decide"


def _in_question(result: Selected) -> str:
    names = result.near_best
    if names is None:
        return "nothing is said about the others"
    shown = ", ".join(map(visible, names[:MOST_NAMED]))
    more = len(names) - MOST_NAMED
    return f"{len(names)} systems are in question, {shown}{f' and {more} more' if more > 0 else ''}"


def details(result: Selected) -> list[tuple[str, str]]:
    """Return the evidence for the decision, as pairs of a name and a sentence."""
    rows = [("standings", _heading(result))]
    width = max(len(visible(row.system)) for row in result.standings)
    rows += [("", _row(row, width, result)) for row in result.standings]
    rows += [("near best", _near_best(result)), ("rule", _rule(result)), ("judge", judge(result))]
    rows += [("selector", _selector(result)), *published(result), ("cost", cost(result))]
    return rows + bewares(result)


def _heading(result: Selected) -> str:
    text = f"win rates against {visible(result.setup.baseline)}"
    if result.win_rates_biased:
        text += ", on queries that were picked and do not stand for the others: no estimates for all items"
    return text


def _row(row: SystemRow, width: int, result: Selected) -> str:
    name = f"{visible(row.system):<{width}}"
    if row.system == result.setup.baseline:
        return f"{name}   50.0 %  the baseline itself{_state(row)}"
    if row.win_rate is None:
        return f"{name}       -   not judged"
    rate = f"{100 * row.win_rate:5.1f} %"
    silent = f", {count(row.abstentions, 'abstention')}" if row.abstentions else ""
    return f"{name}  {rate}  {row.wins}:{row.losses}, {count(row.ties, 'tie')}{silent} on {count(row.queries, 'item')}{_state(row)}"


def _state(row: SystemRow) -> str:
    believed = "" if row.belief is None else f"; belief {show_belief(row.belief)}"
    if row.risk is None or row.near_best:
        return believed
    return f"{believed}; not the best, risk {show_risk(row.risk)}"


def show_belief(probability: float) -> str:
    """Return a selector's probability that a system is the best, in per cent.

    It is never shown as 0 or 100 per cent: a belief is not certain, though it may be rounded so.
    """
    if probability < SMALLEST_BELIEF:
        return f"under {100 * SMALLEST_BELIEF:.1f} %"
    if probability > 1 - SMALLEST_BELIEF:
        return f"over {100 * (1 - SMALLEST_BELIEF):.1f} %"
    return f"{100 * probability:.1f} %"


def _near_best(result: Selected) -> str:
    if result.near_best is None:
        return "unknown: the queries were picked, and no risk can be stated"
    if not result.queries:
        return "unknown: nothing is judged"
    if len(result.near_best) == 1:
        return f"{visible(result.near_best[0])} alone; every other system is separated from it"
    names = ", ".join(map(visible, result.near_best))
    return f"{names}: one of these {len(result.near_best)} is the best, but for the stated risk"


def _rule(result: Selected) -> str:
    setup = result.setup
    if setup.guarantee is None:
        return f"{setup.rule}: the highest win rate once the budget is used up; no risk is stated"
    return f"{setup.rule}, to stop at a stated risk of {setup.risk_threshold:g} ({setup.guarantee})"


def _selector(result: Selected) -> str:
    epsilon = result.setup.epsilon
    chosen = f" (ε {epsilon[0]:g} and {epsilon[1]:g})" if epsilon else ""
    return f"{result.setup.selector}{chosen}, seed {result.setup.seed}{_level(result)}"


def _level(result: Selected) -> str:
    """Return from where on the queries were level; empty if they were not.

    A run that ended with the query after which the others were level has nothing to say.
    """
    since = result.level_since
    if since is None or since >= result.queries:
        return ""
    return (
        f"; its belief no longer moved after {count(since, 'item')}: all others promised the same information, "
        "and were asked in random order"
    )

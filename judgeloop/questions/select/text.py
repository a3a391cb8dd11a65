"""The result of a search for the best of many as text: the decision first, then the standings.

Takes a `Selected` and returns sentences. Computes no figures and prints nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stopping.reasons import show_risk
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page, Section
from judgeloop.report.sentences import (
    CUT_SHORT,
    DRAWN_WHOLE,
    HEADING_RISK,
    about_data,
    about_the_judge,
    count,
    ended,
    judge,
    judged_by,
    notes,
    on_items,
    promise,
    published,
    required_first,
    sentence,
    shortened,
    warnings,
)
from judgeloop.report.spent import costs, enough, money

if TYPE_CHECKING:
    from judgeloop.questions.select.result import Selected, SystemRow

MOST_NAMED = 5  # systems named in a sentence
EVEN = 0.5  # the win rate of the baseline against itself
SMALLEST_BELIEF = 0.001


def page(result: Selected) -> Page:
    """Return the result as text."""
    return Page(
        headline(result),
        tuple(details(result)),
        summary=tuple(summary(result)),
        tables=(_table(result),),
        notes=notes(result, HEADING_RISK, _risk_means(result)),
    )


def so_far(tally: Standings, systems: tuple[str, ...], most: int) -> str:
    """Return who leads during a run, with at most `most` characters of the name."""
    if not tally.queries:
        return ""
    leads = "level" if tally.leader is None else f"leads: {shortened(systems[tally.leader], most)}"
    asked, every = int(tally.in_question.sum()), len(systems)
    return leads if asked == every else f"{leads}, {asked} of {every} in the race"


def headline(result: Selected) -> str:
    """Return the decision in a sentence that needs no statistics."""
    return required_first(_decision(result), result)


def _decision(result: Selected) -> str:
    among = f"{len(result.setup.systems):,} systems {on_items(result.about, result.items)}"
    if result.winner is None:
        return f"No winner yet among {among}: {ended(result)}."
    name = visible(result.winner)
    if result.risk is None:
        return f"{name} has the highest win rate of {among}."
    if result.setup.near is not None and result.stop_reason is StopKind.RISK_MET:
        return f"{name} is within {result.setup.near:g} of the best win rate of {among}."
    return f"{name} is the best of {among}."


def summary(result: Selected) -> list[str]:
    """Return what was judged, at which risk and cost, what would decide, and warnings."""
    on = f"on {result.queries:,} of {count(result.items, 'item')}"
    judged = f"Judgments by {judged_by(result)}: {result.judged:,}, {on}."
    line = f"{judged} {_risk(result)}Cost: {money(result)}."
    would = _what_would_decide(result) + enough(result)
    still = [] if result.winner is not None else [*_in_the_race(result), would]
    return [line, *still, *warnings(result)]


def _risk(result: Selected) -> str:
    if result.winner is None:
        return ""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return "Stated risk: 0, as every item is judged. "
    if result.risk is None:
        return "Stated risk: none. "
    return f"Stated risk: {show_risk(result.risk)} (guaranteed). "


def _risk_means(result: Selected) -> str:
    """Return what the stated risk says, what is proved about it, and what it does not say."""
    guarantee = result.setup.guarantee
    if result.stop_reason is StopKind.ALL_JUDGED:
        says = DRAWN_WHOLE
    elif guarantee is None:
        return (
            "No risk is stated: this rule names the highest win rate once the budget is used up, "
            "and does not say how probably that is right."
        )
    else:
        says = promise(guarantee, result.setup.risk_threshold, decided=result.winner is not None)
    return f"{says} {about_the_judge(result)}"


def _what_would_decide(result: Selected) -> str:
    if result.stop_reason in CUT_SHORT:
        return CUT_SHORT[result.stop_reason]
    if result.judged == 0:
        return "Nothing is judged."
    if result.more_judgments is None:
        return f"At these win rates, not even all {result.items:,} items would separate them."
    dollars = f" (about {show_usd(result.more_p)})" if result.more_p else ""
    more = count(result.more_judgments, "more judgment")
    return f"About {more}{dollars} would probably decide."


def _in_the_race(result: Selected) -> list[str]:
    """Return which systems are not ruled out; none if nothing is judged."""
    names = result.near_best
    if not result.judged:
        return []
    if names is None:
        return ["Which systems are still in the race is unknown, as the queries were picked."]
    shown = ", ".join(map(visible, names[:MOST_NAMED]))
    more = len(names) - MOST_NAMED
    return [sentence(f"still in the race: {shown}{f' and {more} more' if more > 0 else ''}")]


def details(result: Selected) -> list[tuple[str, str]]:
    """Return the evidence for the decision, as pairs of a name and a text."""
    rows = [("near best", _near_best(result)), ("rule", _rule(result)), ("judge", judge(result))]
    rows += [("selector", _selector(result)), *published(result), *costs(result)]
    return rows + about_data(result)


def _table(result: Selected) -> Section:
    """Return the standings: the winner, then by win rate, and last what is not judged."""
    heading = f"Win rates against {visible(result.setup.baseline)}"
    if result.win_rates_biased:
        heading += ", on queries that were picked and do not stand for the others: no estimates for all items"
    rows = sorted(result.standings, key=lambda row: _place(row, result))
    return Section(heading, tuple((visible(row.system), _row(row, result)) for row in rows))


def _place(row: SystemRow, result: Selected) -> tuple[bool, float]:
    """Return what a row of the standings is sorted by."""
    rate = -math.inf if row.win_rate is None else row.win_rate
    return row.system != result.winner, -(EVEN if row.system == result.setup.baseline else rate)


def _row(row: SystemRow, result: Selected) -> str:
    if row.system == result.setup.baseline:
        return f" 50.0 %  the baseline itself{_state(row)}"
    if row.win_rate is None:
        return "     -   not judged"
    rate = f"{100 * row.win_rate:5.1f} %"
    silent = f", {count(row.abstentions, 'abstention')}" if row.abstentions else ""
    return f"{rate}  {row.wins:,}:{row.losses:,}, {count(row.ties, 'tie')}{silent} on {count(row.queries, 'item')}{_state(row)}"


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
        return f"{setup.rule}, names the highest win rate once the budget is used up"
    return f"{setup.rule}, stops at a stated risk of {setup.risk_threshold:g}"


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

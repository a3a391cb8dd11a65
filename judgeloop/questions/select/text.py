"""The result of a search for the best of many as text: the decision first, then the standings.

Takes a `Selected` and returns sentences. Computes no figures and prints nothing.
"""

from __future__ import annotations

import math

from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stopping.reasons import show_risk
from judgeloop.questions.select.result import Selected, SystemRow
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page, Section
from judgeloop.report.sentences import (
    DRAWN_WHOLE,
    HEADING_RISK,
    about_the_judge,
    ended,
    judge,
    judged_by,
    money,
    notes,
    on_items,
    promise,
    required_first,
    rows,
    shared,
    summed_up,
)
from judgeloop.report.words import count, sentence, shortened

MOST_NAMED = 5  # systems named in a sentence
EVEN = 0.5  # the win rate of the baseline against itself
SMALLEST_BELIEF = 0.001


def page(result: Selected) -> Page:
    """Return the result as text."""
    return Page(
        headline(result),
        details(result),
        summary=summed_up(result, _standing(result), *_in_the_race(result)),
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
    if result.options.near is not None and result.stop_reason is StopKind.RISK_MET:
        return f"{name} is within {result.options.near:g} of the best win rate of {among}."
    return f"{name} is the best of {among}."


def _standing(result: Selected) -> str:
    """Return what was judged, at which risk and cost."""
    on = f"on {result.queries:,} of {count(result.items, 'item')}"
    judged = f"Judgments by {judged_by(result)}: {result.judged:,}, {on}."
    return f"{judged} {_risk(result)}Cost: {money(result)}."


def _risk(result: Selected) -> str:
    if result.winner is None:
        return ""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return "Stated risk: 0 (all items are judged). "
    if result.risk is None:
        return "Stated risk: none. "
    return f"Stated risk: {show_risk(result.risk)} (guaranteed). "


def _risk_means(result: Selected) -> str:
    """Return what is proved about the risk, and what it does not say."""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return f"{DRAWN_WHOLE} {about_the_judge(result)}"
    if result.setup.guarantee is None:
        return (
            "No risk is stated: this rule spends the whole budget and then names the highest win "
            "rate."
        )
    return promise(result, result.setup.guarantee)


def _in_the_race(result: Selected) -> list[str]:
    """Return which systems are not ruled out; none if there is a winner, or nothing is judged."""
    names = result.near_best
    if not result.judged or result.winner is not None:
        return []
    if names is None:
        return ["No system can be ruled out, as the items were not drawn at random."]
    shown = ", ".join(map(visible, names[:MOST_NAMED]))
    more = len(names) - MOST_NAMED
    return [sentence(f"still in the race: {shown}{f' and {more} more' if more > 0 else ''}")]


def details(result: Selected) -> tuple[tuple[str, str], ...]:
    """Return the evidence for the decision, as pairs of a name and a text."""
    return rows(
        ("near best", _near_best(result)),
        ("rule", _rule(result)),
        ("judge", judge(result)),
        ("selector", _selector(result)),
        *shared(result),
    )


def _table(result: Selected) -> Section:
    """Return the standings: the winner, then by win rate, and last what is not judged."""
    heading = f"Win rates against {visible(result.options.baseline)}"
    if result.win_rates_biased:
        heading += ", on items that were not drawn at random: no estimates for all items"
    rows = sorted(result.standings, key=lambda row: _place(row, result))
    return Section(heading, tuple((visible(row.system), _row(row, result)) for row in rows))


def _place(row: SystemRow, result: Selected) -> tuple[bool, float]:
    """Return what a row of the standings is sorted by."""
    rate = -math.inf if row.win_rate is None else row.win_rate
    return row.system != result.winner, -(EVEN if row.system == result.options.baseline else rate)


def _row(row: SystemRow, result: Selected) -> str:
    if row.system == result.options.baseline:
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
        return "unknown: the items were not drawn at random, so no risk can be stated"
    if not result.queries:
        return "unknown: nothing has been judged"
    if len(result.near_best) == 1:
        return f"{visible(result.near_best[0])}; all others are ruled out"
    names = ", ".join(map(visible, result.near_best))
    return f"{names}: systems not yet ruled out"


def _rule(result: Selected) -> str:
    setup = result.setup
    if setup.guarantee is None:
        return f"{setup.rule}, names the highest win rate when the budget is spent"
    return f"{setup.rule}, stops at a stated risk of {setup.risk_threshold:g}"


def _selector(result: Selected) -> str:
    epsilon = result.options.epsilon
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
        f"; after {count(since, 'item')} all others promised the same information and were asked in "
        "random order"
    )

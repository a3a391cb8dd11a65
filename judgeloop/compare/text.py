"""The result of a comparison as text: the decision first, then the evidence.

Takes a `Result` and returns sentences. Computes no figures and prints nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.estimators.preferences import MISSES
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
    from judgeloop.compare.result import Result


def page(result: Result) -> Page:
    """Return the result as headline and details."""
    return Page(headline(result), tuple(details(result)))


def headline(result: Result) -> str:
    """Return the decision in one line."""
    return with_warnings(_decision(result), result)


def _decision(result: Result) -> str:
    if result.winner is not None:
        loser = next(name for name in result.setup.systems if name != result.winner)
        return f"{visible(result.winner)} is better than {visible(loser)}: {_standing(result)}"
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        return f"{_no_difference(result)}: {_standing(result)}"
    return f"undecided: {visible(result.stop_sentence)}; {_what_would_decide(result)}; {_standing(result)}"


def _no_difference(result: Result) -> str:
    first, second = map(visible, result.setup.systems)
    if result.judged == result.items:
        return f"no difference between {first} and {second}, which are level"
    within = f"the win distance is within {result.setup.near_tie:g} of zero"
    return f"no practical difference between {first} and {second}, as {within}"


def _standing(result: Result) -> str:
    judged = f"{result.judged} of {result.items} items judged"
    if result.stop_reason is StopKind.NO_DIFFERENCE and result.judged == result.items:
        return f"certain, as every item is judged, {judged}, {money(result)}"
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        return (
            f"stated risk {result.setup.risk_threshold:g} (guaranteed), {judged}, {money(result)}"
        )
    if result.winner is not None:
        return f"{_risk(result)}, {judged}, {money(result)}"
    if result.leader is None:
        return f"{judged}, {money(result)}"
    votes = ":".join(str(count) for count in sorted(result.wins.values(), reverse=True))
    says_nothing = show_risk(result.risk) == show_risk(1)
    risk = [] if says_nothing else [_risk(result)]
    return ", ".join([judged, f"{votes} for {visible(result.leader)}", *risk, money(result)])


def details(result: Result) -> list[tuple[str, str]]:
    """Return the evidence for the decision, as pairs of a name and a sentence."""
    rows = [("votes", _votes(result)), ("gap", _gap(result)), ("rule", _rule(result))]
    rows += [("judge", judge(result)), ("selector", _selector(result)), *published(result)]
    rows += [("history", visible(result.setup.history))] if result.setup.history else []
    rows += [("cost", cost(result))]
    return rows + bewares(result)


def _risk(result: Result) -> str:
    if result.judged == result.items:
        return "certain, as every item is judged"
    kind = "guaranteed" if result.setup.guarantee else "heuristic"
    kind = "on average" if result.setup.rule == "calibrated" else kind
    return f"stated risk {show_risk(result.risk)} ({kind})"


def _what_would_decide(result: Result) -> str:
    if result.stop_reason in CUT_SHORT:
        return CUT_SHORT[result.stop_reason]
    if result.asked == result.items:
        return "nothing is left to judge"
    if result.judged == 0:
        return "nothing is judged"
    if result.leader is None:
        return "the systems are level, so no number of judgments is in sight that would decide"
    if result.more_judgments is None:
        return f"at these shares not even all {result.items} items would decide"
    cost = f" (about {show_usd(result.more_p)})" if result.more_p else ""
    would = f"about {count(result.more_judgments, 'more judgment')}{cost} would probably decide"
    futile = result.stop_reason is StopKind.FUTILITY
    return f"{would}: raise `max_judgments`, or leave out `give_up`" if futile else would


def _votes(result: Result) -> str:
    wins = ", ".join(f"{count} for {visible(name)}" for name, count in result.wins.items())
    text = f"{wins}, {count(result.ties, 'tie')}, {count(result.abstentions, 'abstention')}"
    aside = result.asked - result.judged - result.abstentions - result.ahead
    return text + (f"; {aside} more were judged and left the decision" if aside else "")


def _gap(result: Result) -> str:
    if result.win_distance is None:
        return "nothing is judged"
    if result.win_distance_weighted:
        return _estimated(result.win_distance, result)
    towards = f" for {visible(result.leader)}" if result.leader else ""
    if result.win_distance_biased:
        return (
            f"{result.win_distance:.2f}{towards} among the judged items, which were picked and do not stand for "
            "the others: not an estimate for all items"
        )
    return f"{result.win_distance:.2f}{towards} among the judged items{_bounds(result)}"


def _estimated(distance: float, result: Result) -> str:
    """Describe an estimated win distance, from the view of the system that it favours.

    Adds a warning if that system is not the leader.
    """
    first, second = result.setup.systems
    leader, other = (second, first) if result.leader == second else (first, second)
    favoured = leader if round(distance, 2) >= 0 else other
    against = (
        f"; beware: it contradicts the votes, where {visible(leader)} leads"
        if favoured == other and result.leader is not None
        else ""
    )
    return (
        f"{abs(distance):.2f} for {visible(favoured)}, estimated from draws that prefer some items"
        f"{_approximate(favoured, result)}{against}"
    )


def _approximate(favoured: str, result: Result) -> str:
    if result.win_distance_interval is None:
        return ", with no interval, as too few are judged"
    low, high = result.win_distance_interval
    if favoured != (result.leader or result.setup.systems[0]):
        low, high = -high, -low
    return f" ({100 * (1 - MISSES):g} % interval {_signed(low)} to {_signed(high)}, approximate)"


def _bounds(result: Result) -> str:
    if (
        result.win_distance_interval is None
        or result.win_distance_interval[0] == result.win_distance_interval[1]
    ):
        return ""
    low, high = result.win_distance_interval
    return (
        f"; over all items at least {_signed(low)} and at most {_signed(high)} (each bound wrong with a chance of at most "
        f"{result.setup.risk_threshold:g}, whenever one looks)"
    )


def _signed(distance: float) -> str:
    """Format a win distance, without a sign on zero."""
    return f"{round(distance, 2) + 0.0:.2f}"


def _rule(result: Result) -> str:
    promise = result.setup.guarantee or "heuristic: it looks many times, and no bound is proved"
    instead = f"; {visible(result.setup.instead)}" if result.setup.instead else ""
    give_up = result.setup.give_up
    gives_up = (
        f"; gives up where a decision is less likely than {give_up:g}"
        if give_up is not None
        else ""
    )
    return f"{result.setup.rule}, to stop at a stated risk of {result.setup.risk_threshold:g} ({promise}){gives_up}{instead}"


def _selector(result: Result) -> str:
    represent = f" on {visible(result.setup.represent)} vectors" if result.setup.represent else ""
    variant = f" ({result.setup.variant})" if result.setup.variant else ""
    return f"{result.setup.selector}{variant}{represent}, seed {result.setup.seed}"

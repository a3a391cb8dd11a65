"""The result of a comparison as text: the decision first, then the evidence.

Takes a `Result` and returns sentences. Computes no figures and prints nothing.
"""

import math

from judgeloop.core.errors import EXIT_OTHER_WON
from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.methods.estimators.preferences import MISSES
from judgeloop.methods.stats.agreement import CLEARLY_CHEAPER, PROBABLY
from judgeloop.methods.stopping.catalogue import rule_row
from judgeloop.methods.stopping.reasons import at_most, points, show_risk
from judgeloop.questions.compare.pictures import board
from judgeloop.questions.compare.plain import wrongly
from judgeloop.questions.compare.result import Result, ScoreFigures
from judgeloop.report.escaping import visible
from judgeloop.report.groups import group_table
from judgeloop.report.page import Page, Section, Table
from judgeloop.report.sentences import (
    DRAWN_WHOLE,
    HEADING_RISK,
    about_data,
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

THESE_TOO = "It holds for these items, too."
WHAT_P_MEANS = (
    "How often two equally good systems would differ at least this much by chance, if the items are "
    "a random sample. It is not the probability that the decision is wrong."
)


def page(result: Result) -> Page:
    """Return the result as text."""
    return Page(
        headline(result),
        details(result),
        summary=summed_up(result, _standing(result)),
        notes=(*_groups(result), *notes(result, *_risk_means(result), whole=result.whole)),
        board=board(result),
    )


def _groups(result: Result) -> tuple[Section | Table, ...]:
    """Return the table of the groups, if there are several."""
    second = visible(result.setup.systems[1])
    if result.options.by_group is None:
        return group_table(result.groups, f"By group, for {second}: counts, without a claim")
    risk = result.setup.risk_threshold
    more = count(result.further, "further judgment")
    without = "went to open groups; the winner, votes and gap above are without them"
    further = f"{more} {without}. " if result.recorded is None else ""
    means = (
        f"The chance that any group is given a name that is not the better system in it is {at_most(risk)}, "
        f"whatever was judged next. That is a second family of statements beside the one on all items: that "
        f"either errs has a chance of {at_most(min(1.0, 2 * risk))}. {further}All intervals hold at once, at the "
        "risk of the groups. With about as many more items of a group, an answer has an even chance."
    )
    return (
        *group_table(result.groups, f"By group, for {second}"),
        Section("What the risk of the groups means", (("", means),)),
    )


def so_far(tally: Tally, systems: tuple[str, ...], most: int) -> str:
    """Return who leads during a run, with at most `most` characters of the name."""
    more, fewer = max(tally.wins), min(tally.wins)
    if tally.leader is None:
        return f"level, {more:,} to {fewer:,}" if tally.judged else ""
    return f"leads: {shortened(systems[tally.leader], most)}, {more:,} to {fewer:,}"


def headline(result: Result) -> str:
    """Return the decision in a sentence that needs no statistics."""
    return _failing_first(required_first(_decision(result), result), result)


def _failing_first(line: str, result: Result) -> str:
    """Return the decision, after a condition that fails, such as a group with a worse system."""
    failing = result.failing
    if not failing or result.stop_reason in {StopKind.JUDGE_FAILED, StopKind.SYSTEM_FAILED}:
        return line
    more = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    first, second = failing[0], visible(result.setup.systems[1])
    is_group = first.exit_code == EXIT_OTHER_WON
    why = f"{second} is worse in {first.name}" if is_group else f"{first.name}: {first.sentence}"
    return f"FAILED: {why}{more}. {line}"


def _decision(result: Result) -> str:
    first, second = map(visible, result.setup.systems)
    where = on_items(result.about, result.items)
    if result.options.not_worse is not None:
        return _on_worse(result, where, result.options.not_worse)
    if result.winner is not None:
        return _on_winner(result, visible(result.winner), where)
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        if result.whole:
            return f"{first} and {second} are level {where}."
        return f"There is no practical difference between {first} and {second} {where}."
    return _no_winner(result, where)


def _no_winner(result: Result, where: str) -> str:
    """Return that the question is open, and why."""
    first, second = map(visible, result.setup.systems)
    if result.recorded is not None:
        lead = f"{visible(result.leader)} leads, but that may be chance" if result.leader else ""
        return f"No winner between {first} and {second} {where}: {lead or 'they are level'}."
    if result.used_up:
        return (
            f"No winner yet. {visible(result.leader or '')} is ahead on these {result.items:,} items; for "
            "items like these that is too little to tell."
        )
    return f"No winner yet between {first} and {second} {where}: {ended(result)}."


def _on_winner(result: Result, winner: str, where: str) -> str:
    """Return that the winner is better, or how far it is behind at worst."""
    loser = visible(next(name for name in result.setup.systems if name != result.winner))
    if result.claim == "better":
        return f"{winner} is better than {loser} {where}."
    gap = points(result.options.min_gap or 0.0)
    return f"Choose {winner}: at worst less than {gap} behind {loser} {where}."


def _on_worse(result: Result, where: str, margin: float) -> str:
    """Return whether the second system is not worse than the first, or worse, or neither."""
    first, second = map(visible, result.setup.systems)
    by = f"by {points(margin)} or more"
    if result.stop_reason is StopKind.NOT_WORSE:
        if result.better:
            return f"{second} is better than {first} {where}, and so not worse {by}."
        return f"{second} is not worse than {first} {by} {where}."
    if result.worse_by_margin:
        return f"{second} is worse than {first} by more than {points(margin)} {where}."
    if result.winner is not None:
        return f"{second} is worse than {first} {where}; it is not shown that it is worse {by}."
    return (
        f"No answer yet: it is not shown that {second} is worse than {first} {where}, nor that it is not "
        f"worse {by}. {sentence(ended(result))}"
    )


def _standing(result: Result) -> str:
    """Return what was judged, at which risk and cost."""
    voted = result.open or result.recorded or result.stronger is not None
    parts = [_judged(result), _leads(result) if voted else "", _how_far(result), _risk(result)]
    return " ".join([*filter(None, parts), f"Cost: {money(result)}."])


def _judged(result: Result) -> str:
    if result.judged == result.items:
        return f"Judged by {judged_by(result)}: all {count(result.items, 'item')}."
    return f"Judged by {judged_by(result)}: {result.judged:,} of {count(result.items, 'item')}."


def _leads(result: Result) -> str:
    if result.leader is None:
        return ""
    most, least = sorted(result.wins.values(), reverse=True)
    return f"Votes: {most:,} to {least:,} for {visible(result.leader)}."


def _how_far(result: Result) -> str:
    """Return the bounds of the winner's gap; empty without one, and for recorded scores."""
    drawn = _bounded(result) and not result.gap_weighted and result.recorded is None
    if result.winner is None or result.gap is None or not drawn:
        return ""
    return f"Gap: {_between(result)}, {result.gap:.2f} on these verdicts."


def details(result: Result) -> tuple[tuple[str, str], ...]:
    """Return the evidence for the decision, as pairs of a name and a text."""
    votes = (("votes", _votes(result)), ("gap", _gap(result)), ("rule", _rule(result)))
    if result.recorded is not None:
        scores = _scores(result, result.recorded)
        return rows(*votes, *scores, ("judge", judge(result)), *about_data(result))
    return rows(
        *votes,
        ("judge", judge(result)),
        ("selector", _selector(result)),
        ("history", result.setup.history or ""),
        ("cheaper", _other_way(result)),
        ("asked", _asked(result)),
        *shared(result),
    )


def _scores(result: Result, scores: ScoreFigures) -> list[tuple[str, str]]:
    """Return rows on the test and the means of recorded scores."""
    test = "exact sign test, two-sided (McNemar's exact test for scores of 0 and 1), made once"
    if scores.win_share is not None:
        (low, high), level = scores.win_share_interval, 100 * (1 - result.setup.risk_threshold)
        test += (
            f"; {visible(result.setup.systems[0])} wins {scores.win_share:.1%} of the items that are no "
            f"ties ({level:.4g} % interval {low:.1%} to {high:.1%}, exact)"
        )
    means = ", ".join(f"{mean:.3f} for {visible(name)}" for name, mean in scores.means.items())
    return [("test", test), ("mean", f"{means}; difference {scores.mean_difference:+.3f}")]


def _asked(result: Result) -> str:
    """Return how often this was asked, and what the risks add up to; empty for the first time."""
    if result.comparison == 1 or result.wrong_expected is None:
        return ""
    first, wrong = visible(result.setup.systems[0]), result.wrong_expected
    return (
        f"comparison {result.comparison:,} with {first} on these items by this judge in the ledger; over all "
        f"{result.comparison:,}, at most {wrong:.4g} wrong names are expected, if no candidate was made with these "
        "items' verdicts"
    )


def _other_way(result: Result) -> str:
    """Return what the other order of presentation would cost, if it would be clearly cheaper."""
    multiple, order = result.calls_of_one_order, result.setup.order
    if multiple is None:
        return ""
    chance = result.chance_in_one_order
    if order == "both" and multiple < CLEARLY_CHEAPER and chance >= PROBABLY:
        said = f"one order (`order=random`) would take about {multiple:.0%} of the calls"
        return f"{said}, and decide about items like these with a chance of about {chance:.0%}"
    if order == "audited" and 1 / multiple < CLEARLY_CHEAPER:
        return f"both orders (`order=both`) would take about {1 / multiple:.0%} of the calls"
    return ""


def _risk(result: Result) -> str:
    """Return the stated risk and its kind; empty if it says nothing."""
    if result.recorded is not None:
        wanted = "" if result.winner else f"; at most {result.setup.risk_threshold:g} decides"
        return f"p-value: {show_risk(result.risk)}{wanted}."
    if result.whole:
        return "Stated risk: 0 (all items are judged)."
    if result.stronger is not None:
        return _risk_about_gap(result)
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        return f"Stated risk: {result.setup.risk_threshold:g} (guaranteed)."
    return _risk_of_name(result)


def _risk_of_name(result: Result) -> str:
    """Return the stated risk of the name given, or of giving it now, and its kind."""
    kind = "guaranteed" if result.setup.guarantee else "heuristic"
    kind = "on average" if rule_row("compare", result.setup.rule).by_past else kind
    shown = f"{show_risk(result.risk)} ({kind})."
    if result.winner is not None:
        return f"Stated risk: {shown}"
    if result.leader is None or show_risk(result.risk) == show_risk(1):
        return ""
    return f"Stated risk of naming {visible(result.leader)} now: {shown}"


def _risk_about_gap(result: Result) -> str:
    """Return the stated risk of an answer about a gap, or of giving one now, and what it is of."""
    if result.better and result.options.not_worse is None:
        return f"Stated risk: {result.setup.risk_threshold:g} (guaranteed)."
    answer, where_wrong = wrongly(result)
    if not result.open:
        shown = show_risk(result.risk)
        return f"Stated risk: {shown} (guaranteed), of {answer} where {where_wrong}."
    if not result.judged or (result.leader is None and result.options.not_worse is None):
        return ""
    risk = f"with a chance of at most {show_risk(result.risk)}"
    return f"{sentence(answer).rstrip('.')} now would be wrong {risk}, if {where_wrong}."


def _risk_means(result: Result) -> tuple[str, str]:
    """Return a heading; and what is proved about the risk, and what it does not say."""
    if result.recorded is not None:
        return "What the p-value means", WHAT_P_MEANS
    if result.setup.guarantee and not result.whole:
        both = f" {THESE_TOO}" if _holds_for_both(result) else ""
        return HEADING_RISK, promise(result, result.setup.guarantee) + both
    says = DRAWN_WHOLE if result.whole else "The stated risk is a heuristic, without a proof."
    return HEADING_RISK, f"{says} {about_the_judge(result)}"


def _holds_for_both(result: Result) -> bool:
    """Whether a promise about items like these is one about these items, as both rules' files prove."""
    setup = result.setup
    low_enough = setup.rule == "anytime" and setup.risk_threshold <= 1 / math.e
    named = setup.rule == "sequential" or (low_enough and result.winner is not None)
    return named and setup.sampled and not setup.one_order


def _votes(result: Result) -> str:
    wins = ", ".join(f"{won:,} for {visible(name)}" for name, won in result.wins.items())
    alike = f" ({result.identical:,} of identical outputs)" if result.identical else ""
    counts = result.counts
    aside = counts.asked - counts.judged - counts.abstentions - counts.ahead
    more = f"; {aside:,} more were judged, but do not count in the decision" if aside else ""
    ties, abstained = count(result.ties, "tie"), count(counts.abstentions, "abstention")
    return f"{wins}, {ties}{alike}, {abstained}{more}"


def _gap(result: Result) -> str:
    if result.gap is None:
        return "nothing has been judged"
    if result.gap_weighted:
        return _estimated(result.gap, result)
    towards = f" for {visible(result.leader)}" if result.leader else ""
    if result.gap_biased:
        return (
            f"{result.gap:.2f}{towards} among the judged items; these were not drawn at random, so "
            "it is no estimate for all items"
        )
    shares = f"share of judged items won less share lost{_among_decisive(result)}"
    return f"{result.gap:.2f}{towards}, {shares}{_bounds(result)}"


def _among_decisive(result: Result) -> str:
    """Return what the gap asked about is among the items that are no ties."""
    asked, decisive = result.options.min_gap or result.options.not_worse, sum(result.wins.values())
    if asked is None or not result.ties or not decisive:
        return ""
    share = decisive / result.judged
    ties = f"with {1 - share:.0%} ties"
    if asked >= share:
        return f"; {ties}, the two cannot differ by {points(asked)}"
    more = 50 * (1 + asked / share)
    return f"; {ties}, {points(asked)} are {more:.0f} : {100 - more:.0f} among the decisive items"


def _estimated(gap: float, result: Result) -> str:
    """Describe an estimated gap, from the view of the system that it favours.

    Adds a warning if that system is not the leader.
    """
    first, second = result.setup.systems
    leader, other = (second, first) if result.leader == second else (first, second)
    favoured = leader if round(gap, 2) >= 0 else other
    against = (
        f"; it contradicts the votes, where {visible(leader)} leads"
        if favoured == other and result.leader is not None
        else ""
    )
    return (
        f"{abs(gap):.2f} for {visible(favoured)}, estimated from draws that prefer some items"
        f"{_approximate(favoured, result)}{against}"
    )


def _approximate(favoured: str, result: Result) -> str:
    if result.gap_interval is None:
        return ", with no interval, as too few are judged"
    low, high = result.gap_interval
    if favoured != (result.leader or result.setup.systems[0]):
        low, high = -high, -low
    return f" ({100 * (1 - MISSES):g} % interval {_signed(low)} to {_signed(high)}, approximate)"


def _bounds(result: Result) -> str:
    """Return the bounds of the gap over the items that the result is about; empty if it is known."""
    if not _bounded(result):
        return ""
    where = "on items like these" if result.setup.sampled else "over all items"
    risk = f"{result.setup.risk_threshold:g}"
    return f"; {where} {_between(result)} (each bound is wrong with probability at most {risk})"


def _bounded(result: Result) -> bool:
    return result.bounds is not None and result.bounds[0] < result.bounds[1]


def _between(result: Result) -> str:
    """Return the bounds in words; of a winner without the lower one, which the name rules out."""
    low, high = map(_signed, result.gap_interval or (-1.0, 1.0))
    cut = result.winner is not None and low == _signed(0.0)
    return f"at most {high}" if cut else f"{low} to {high}"


def _signed(gap: float) -> str:
    """Format a gap, without a sign on zero."""
    return f"{round(gap, 2) + 0.0:.2f}"


def _rule(result: Result) -> str:
    instead = f"; {visible(result.setup.instead)}" if result.setup.instead else ""
    give_up = result.options.give_up
    gives_up = (
        f"; gives up if a decision is less likely than {give_up:g}" if give_up is not None else ""
    )
    threshold = result.setup.risk_threshold
    if result.recorded is not None:
        return f"{result.setup.rule}, names a winner at a p-value of at most {threshold:g}"
    return f"{result.setup.rule}, stops at a stated risk of {threshold:g}{gives_up}{instead}"


def _selector(result: Result) -> str:
    represent = f" on {visible(result.setup.represent)} vectors" if result.setup.represent else ""
    return f"{result.setup.selector}{represent}, seed {result.setup.seed}"

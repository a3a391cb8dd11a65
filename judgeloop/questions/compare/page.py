"""What a comparison says: the decision, its evidence as facts, and the pictures.

Takes a `Comparison`. `report/svg.py` draws its pictures.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import rule_row
from judgeloop.core.errors import some
from judgeloop.core.outcomes import Outcome, StopKind, Tally
from judgeloop.methods.estimators.preferences import MISSES
from judgeloop.methods.stats.agreement import CLEARLY_CHEAPER, PROBABLY
from judgeloop.methods.stopping.rule import Rule, at_most, points, scores_for, show_risk
from judgeloop.questions.compare.result import Comparison, ScoreFigures
from judgeloop.report import facts as said
from judgeloop.report.facts import DRAWN_WHOLE, NO_RISK
from judgeloop.report.groups import group_table
from judgeloop.report.page import Fact, Page, PageTable, Section, told
from judgeloop.report.pictures import Bar, Chart, Curve, IntervalRow, Picture, Scale
from judgeloop.report.words import count, ends, one_in, per_cent, places, sentence, shortened, signed, stopped, visible

FEWEST_LOOKS, MOST_DOTS = 2, 400
MINUS = "\N{MINUS SIGN}"
THESE_TOO = "It holds for these items, too."
SEARCHED = ", unless an earlier search of these items chose the two"
WHAT_P_MEANS = (
    "How often two equally good systems would differ at least this much by chance, if the items are "
    "a random sample. It is not the probability that the decision is wrong."
)


def page(result: Comparison) -> Page:
    """What a comparison says."""
    gates = result.options.not_worse is not None
    return Page(
        tuple(facts(result)),
        (*_criteria(result), *_groups(result)),
        pictures(result),
        "Is the second system not worse than the first?" if gates else "Which of two systems is better?",
    )


def so_far(tally: Tally, systems: tuple[str, ...], most: int) -> str:
    """Who leads during a run, with at most `most` characters of the name."""
    more, fewer = max(tally.wins), min(tally.wins)
    if tally.leader is None:
        return f"level, {more:,} to {fewer:,}" if tally.judged else ""
    return f"leads: {shortened(systems[tally.leader], most)}, {more:,} to {fewer:,}"


def facts(result: Comparison) -> list[Fact]:
    """All facts, the decision first; the figures behind them are seen from the second system."""
    first, second = result.setup.systems
    gap, won, judged = result.of_second[0], result.wins, result.judged
    alike = f" ({result.identical:,} with identical outputs)" if result.identical else ""
    some_of = f"{judged:,} of {count(result.items, 'item')}{result.also_judged}"
    of = f"all {count(result.items, 'item')}" if judged == result.items else some_of
    recorded = result.recorded
    own = [
        Fact(
            "decision",
            Section.DECISION,
            "",
            decision(result),
            True,
            {"system": visible(second), "against": visible(first)},
        ),
        Fact(
            "judged",
            Section.EVIDENCE,
            "judged",
            f"{of}{alike}, by {said.judged_by(result)}",
            True,
            {"judged": f"{judged:,}"},
        ),
        Fact(
            "votes",
            Section.EVIDENCE,
            "votes",
            _votes(result) if judged or result.asked else "",
            first=True,
            value={"won": f"{won[second]:,}", "ties": f"{result.ties:,}", "lost": f"{won[first]:,}"},
        ),
        Fact(
            "gap",
            Section.EVIDENCE,
            "gap",
            _gap(result),
            first=True,
            value={"gap": "" if gap is None else signed(gap), "bounds": _bounds_of_second(result)},
        ),
        Fact("risk", Section.RISK, "risk", risk(result), first=True),
        Fact("earlier", Section.RISK, "earlier", _earlier(result), first=True),
        Fact("rule", Section.EVIDENCE, "rule", _rule(result)),
        Fact("means", Section.RISK, "means", _means(result) if judged else ""),
        Fact("criteria", Section.GROUPS, "criteria", _criteria_mean(result)),
        *([Fact("groups", Section.GROUPS, "groups", _groups_mean(result))] if result.options.by_group else []),
    ]
    if recorded is not None:
        test, means = _scores(result, recorded)
        own += [Fact("test", Section.EVIDENCE, "test", test), Fact("means.score", Section.EVIDENCE, "mean", means)]
    else:
        represent = f" on {visible(result.setup.represent)} vectors" if result.setup.represent else ""
        drawn = f"{result.setup.selector}{represent}, seed {result.setup.seed}"
        own += [
            Fact("selector", Section.EVIDENCE, "selector", drawn),
            Fact("cheaper", Section.COST, "cheaper", _other_way(result)),
        ]
    return [*told(*own), *said.shared(result, paid=recorded is None)]


def decision(result: Comparison) -> str:
    """The decision in a sentence that needs no statistics, with the groups in which it is otherwise."""
    line = said.headline(result, _answer(result))
    claim = "better" if result.winner == result.setup.systems[0] else "worse"
    groups = [group.name for group in result.groups if group.claim == claim]
    if not groups or result.outcome not in {result.answer, Outcome.PASSED}:  # it is the condition that fails
        return line
    where = f"group{'s' * (len(groups) > 1)} {visible(some(groups))}"
    return f"{line} {visible(result.setup.systems[1])} is {claim} in {where}."


def _answer(result: Comparison) -> str:
    first, second = map(visible, result.setup.systems)
    where = said.on_items(result.about, result.items)
    if result.options.not_worse is not None:
        return _on_worse(result, where, result.options.not_worse)
    if result.winner is not None:
        winner, loser = visible(result.winner), second if result.winner == result.setup.systems[0] else first
        if result.claim == "better":
            return f"{winner} is better than {loser} {where}."
        gap = points(result.options.min_gap or 0.0)
        return f"Choose {winner}: at worst less than {gap} behind {loser} {where}."
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        if result.whole:
            return f"{first} and {second} are level {where}."
        return f"There is no practical difference between {first} and {second} {where}."
    return _no_winner(result, where)


def _no_winner(result: Comparison, where: str) -> str:
    """That the question is open, and why."""
    first, second = map(visible, result.setup.systems)
    if result.recorded is not None:
        lead = f"{visible(result.leader)} leads, but that may be chance" if result.leader else ""
        return f"No winner between {first} and {second} {where}: {lead or 'they are level'}."
    if result.used_up:
        return f"No winner yet {where}: {_ahead(result)}, which is too little to tell."
    level = result.leader is None and result.stop_reason is StopKind.POOL_EXHAUSTED
    why = f"{'they are level, and ' if level else ''}{said.ended(result)}"
    return stopped(f"No winner yet between {first} and {second} {where}: {why}")


def _ahead(result: Comparison) -> str:
    """Who is ahead on the items of the set, all of which are judged."""
    return f"{visible(result.leader or '')} is ahead on these {result.items:,} items"


def _on_worse(result: Comparison, where: str, margin: float) -> str:
    """Whether the second system is not worse than the first, or worse, or neither."""
    first, second = map(visible, result.setup.systems)
    by = f"by {points(margin)} or more"
    if result.stop_reason is StopKind.NOT_WORSE:
        if result.better:
            return f"{second} is better than {first} {where}, and so not worse {by}."
        return f"{second} is not worse than {first} {by} {where}."
    if result.worse_by_margin:
        return f"{second} is worse than {first} by more than {points(margin)} {where}."
    if result.winner is not None:
        return f"{second} is worse than {first} {where}, perhaps by less than {points(margin)}."
    if result.answer.broke_off or not result.judged:
        return stopped(f"No answer yet whether {second} is worse than {first} {where}: {said.ended(result)}")
    why = f"{_ahead(result)}." if result.used_up else sentence(said.ended(result))
    return (
        f"No answer yet: it is not shown that {second} is worse than {first} {where}, nor that it is not "
        f"worse {by}. {why}"
    )


def _votes(result: Comparison) -> str:
    wins = ", ".join(f"{won:,} for {visible(name)}" for name, won in result.wins.items())
    counts = result.counts
    aside = counts.asked - counts.judged - counts.abstentions - counts.ahead
    silent = f", {count(counts.abstentions, 'abstention')}" if counts.abstentions else ""
    more = f"; {aside:,} more were judged, but do not count in the decision" if aside else ""
    return f"{wins}, {count(result.ties, 'tie')}{silent}{more}"


def _gap(result: Comparison) -> str:
    if result.gap is None:
        return ""
    if result.gap_weighted:
        return _estimated(result.gap, result)
    towards = f" for {visible(result.leader)}" if result.leader else ""
    if result.gap_biased:
        return (
            f"{result.gap:.2f}{towards} among the judged items; these were not drawn at random, so "
            "it is no estimate for all items"
        )
    found = f"{result.gap:.2f}{towards}, share of judged items won less share lost{_among_decisive(result)}"
    if result.bounds is None or result.bounds[0] == result.bounds[1]:
        return found
    where = "on items like these" if result.setup.sampled else "over all items"
    looks = ", whenever one looks, and so is wider than the test's" if result.recorded else ""
    misses = f"each bound is wrong with probability at most {result.setup.risk_threshold:g}{looks}"
    return f"{found}; {where} {_between(result)} ({misses})"


def _bounds_of_second(result: Comparison) -> str:
    bounds, margin = result.of_second[1], result.options.gap_asked
    return " to ".join(ends(bounds, out=result.ruled_out_of_second, margin=margin)) if bounds else ""


def _among_decisive(result: Comparison) -> str:
    """What the gap asked about is among the items that are no ties."""
    asked, decisive = result.options.gap_asked, sum(result.wins.values())
    if asked is None or not result.ties or not decisive:
        return ""
    share = decisive / result.judged
    ties = f"with {per_cent(1 - share)} ties"
    if asked >= share:
        return f"; {ties}, the two cannot differ by {points(asked)}"
    more = 50 * (1 + asked / share)
    return f"; {ties}, {points(asked)} are {more:.0f} to {100 - more:.0f} among the decisive items"


def _estimated(gap: float, result: Comparison) -> str:
    """Describe an estimated gap, from the view of the system that it favours, which may not be the leader."""
    first, second = result.setup.systems
    leader, other = (second, first) if result.leader == second else (first, second)
    favoured = leader if round(gap, 2) >= 0 else other
    contradicts = favoured == other and result.leader is not None
    against = f"; it contradicts the votes, where {visible(leader)} leads" if contradicts else ""
    interval = ", with no interval, as too few are judged"
    if result.gap_interval is not None:
        low, high = result.gap_interval if favoured == leader else [-end for end in result.gap_interval[::-1]]
        interval = f" ({100 * (1 - MISSES):g} % interval {_unsigned(low)} to {_unsigned(high)}, approximate)"
    return f"{abs(gap):.2f} for {visible(favoured)}, estimated from draws that prefer some items{interval}{against}"


def _between(result: Comparison) -> str:
    """The bounds in words; of a winner whose lower one is 0, that its name rules this out.

    A bound is the gap of these verdicts where the earlier of them had excluded that.
    """
    low, high = result.gap_interval or (-1.0, 1.0)
    widened, why = result.gap not in {None, 1.0} and result.gap in (low, high), ""
    if widened:
        why = f", as the earlier of them spoke for {'less' if high == result.gap else 'more'}"
    shown = [
        f"the {shown} of these verdicts" if widened and at == result.gap else shown
        for at, shown in ((at, _unsigned(at, result.options.gap_asked)) for at in (low, high))
    ]
    out = result.ruled_out
    named = "" if out is None else _unsigned(out) if out else "0"
    if out is not None and _unsigned(low, result.options.gap_asked) == _unsigned(out):
        return f"above {named}, at most {shown[1]}{why}"
    if out is not None and _unsigned(high, result.options.gap_asked) == _unsigned(out):
        return f"at least {shown[0]}, below {named}{why}"
    return f"{' to '.join(shown)}{why}"


def _unsigned(gap: float, margin: float | None = None) -> str:
    """Format a gap, without a sign on zero; it looks like the margin only if it is."""
    number = places(gap, margin)
    return f"{round(gap, number) + 0.0:.{number}f}"


def _rule(result: Comparison) -> str:
    threshold = result.setup.risk_threshold
    if result.recorded is not None:
        return f"{result.setup.rule}, names a winner at a p-value of at most {threshold:g}"
    give_up = result.options.give_up
    gives_up = f"; gives up if a decision is less likely than {give_up:g}" if give_up is not None else ""
    risk = f", for a risk of {threshold:g}" if rule_row("compare", result.setup.rule).states_risk else ""
    return f"{result.setup.rule}{risk}{gives_up}"


def _scores(result: Comparison, scores: ScoreFigures) -> tuple[str, str]:
    """What the test of recorded scores is, and their means."""
    first, second = result.setup.systems
    test = "exact sign test, two-sided (McNemar's exact test for scores of 0 and 1), made once"
    if scores.win_share is not None:
        (low, high), level = scores.win_share_interval, 100 * (1 - result.setup.risk_threshold)
        test += (
            f"; {visible(first)} wins {per_cent(scores.win_share, 1)} of the items that are no "
            f"ties ({level:.4g} % interval {per_cent(low, 1)} to {per_cent(high, 1)}, exact)"
        )
    means = ", ".join(f"{mean:.3f} for {visible(name)}" for name, mean in scores.means.items())
    own, other = (second, first) if result.leader == second else (first, second)
    more = scores.means[own] - scores.means[other]
    return test, f"{means}; {visible(own)} less {visible(other)} {more:+.3f}"


def _earlier(result: Comparison) -> str:
    """How many comparisons came before, and what the risks add up to; empty for the first."""
    if result.comparison == 1 or result.wrong_expected is None:
        return ""
    before = count(result.comparison - 1, "comparison")
    if result.searched:
        before = f"{before} or searches" if result.comparison > 2 else "1 search"  # noqa: PLR2004 - itself
    whose = "this judge" if len(result.setup.judges) == 1 else "one of these judges"
    return (
        f"{before} with {visible(result.baseline)} on these items or some of them by {whose}, each with a risk of its "
        f"own. With this one, expect at most {result.wrong_expected:.4g} wrong wins or passes of a candidate in all, if "
        "none was chosen or made by verdicts on these items"
    )


def _other_way(result: Comparison) -> str:
    """What the other order of presentation would cost, if it would be clearly cheaper."""
    multiple, order = result.calls_of_one_order, result.setup.order
    if multiple is None or result.options.max_flips is not None:  # which needs both orders
        return ""
    chance = result.chance_in_one_order
    if order == "both" and multiple < CLEARLY_CHEAPER and chance >= PROBABLY:
        found = f"one order (`order=random`) would take about {per_cent(multiple)} of the calls"
        return f"{found}, and decide about items like these with a chance of about {per_cent(chance)}"
    return ""


def risk(result: Comparison) -> str:
    """How likely the answer is wrong: the figure, then what it means, for what was asked for; "" if unknown."""
    if result.risk is None:
        return NO_RISK if result.answer.answered else ""
    often, shown = one_in(result.setup.risk_threshold), show_risk(result.risk)
    if result.recorded is not None:
        if result.winner is None:
            return f"p-value {shown}; at most {result.setup.risk_threshold:g} decides"
        return f"p-value {shown}: if both were equally good, chance alone would name one in at most {often} such tests"
    if result.whole:
        return f"0: {DRAWN_WHOLE[:1].lower()}{DRAWN_WHOLE[1:].rstrip('.')}"
    if not result.answer.answered:
        return _risk_now(result, shown)
    kind = "guaranteed" if result.setup.guarantee else "heuristic"
    near, level = result.options.near_tie, result.stop_reason is StopKind.NO_DIFFERENCE
    if result.options.gap_asked is not None and not result.better:
        answer, where = _wrongly(result)
        chance = f"the chance of {answer} where {where} is at most {often}"
    elif not result.setup.guarantee:
        chance = f"the aim is that at most {often} such names is wrong, but that is not proved"
    else:
        what = f"they differ by more than {points(near or 0.0)}" if level else "the other one is better"
        chance = f"the chance that this is wrong, and {what}, is at most {often}"
    shown = f"{result.setup.risk_threshold:g}" if level else shown
    return f"{shown}, {kind}: {chance}{_unless(result)}{_beyond(result)}"


def _risk_now(result: Comparison, shown: str) -> str:
    """The risk of an answer given now, where none is given."""
    if not result.judged or shown == show_risk(1):
        return ""
    plan = ""
    if result.ended_early:  # a plan spends little of its risk at first
        seen = result.judged + result.counts.abstentions
        plan = f" (for a plan of up to {result.limit:,} judgments; for one of {seen:,} it would be less)"
    if result.options.gap_asked is not None:
        if result.leader is None and result.options.not_worse is None:
            return ""
        answer, where = _wrongly(result)
        return f"{answer} now would be wrong with a chance of at most {shown}, if {where}{plan}"
    return f"{shown} if {visible(result.leader)} were named now{plan}" if result.leader is not None else ""


def _wrongly(result: Comparison) -> tuple[str, str]:
    """What an answer about a gap does, given or given now, and where that is wrong."""
    first, second = map(visible, result.setup.systems)
    gap = points(result.options.gap_asked or 0.0)
    if result.options.not_worse is None:
        loser = second if result.leader == result.setup.systems[0] else first
        return f"naming {visible(result.leader or '')}", f"{loser} is better by {gap} or more"
    if result.winner is not None:
        return f"failing {second}", "it is not worse"
    return f"passing {second}", f"it is worse by {gap} or more"


def _beyond(result: Comparison) -> str:
    """The stated risk of what is said beyond "not worse" or "worse"; empty if nothing is."""
    if result.risk_beyond is None or result.options.not_worse is None:
        return ""
    what = "better" if result.better else f"worse by more than {points(result.options.not_worse)}"
    return f"; {show_risk(result.risk_beyond)}, of calling it {what} where it is not"


def _unless(result: Comparison) -> str:
    """The condition of all promises, where a search came before; else empty."""
    return SEARCHED if result.searched else ""


def _means(result: Comparison) -> str:
    """What is proved about the risk, and what it does not say."""
    setup, most = result.setup, rule_row("compare", result.setup.rule).for_both
    if result.recorded is not None:
        return WHAT_P_MEANS
    if result.whole or not setup.guarantee:
        heuristic = (
            "The stated risk is a heuristic, without a proof." if result.risk is not None else "No risk is stated."
        )
        says = DRAWN_WHOLE if result.whole else heuristic
        return f"{says} {said.about_the_judge(result)}"
    risk = at_most(setup.risk_threshold)
    beyond = ""
    if result.risk_beyond is not None and result.worse_by_margin:
        by = points(result.options.not_worse or 0.0)
        beyond = f"; a system that is not worse by more than {by} is ever said to be so with a chance of {risk}"
    elif result.risk_beyond is not None and result.better:
        beyond = f"; a system that is not better is called so with a chance of {risk}"
    # A promise about items like these is one about these items, as both rules' files prove.
    named = result.winner is not None or most == 1.0
    both = named and setup.risk_threshold <= most and setup.sampled and not setup.one_order
    promise = said.promise(result, f"{setup.guarantee}{beyond}{_unless(result)}")
    return f"{promise} {THESE_TOO}" if both else promise


def _groups(result: Comparison) -> tuple[PageTable, ...]:
    second = visible(result.setup.systems[1])
    if result.options.by_group is None:
        return group_table(result.groups, f"By group, for {second}: counts, without a claim")
    return group_table(result.groups, f"By group, for {second}") if result.verdicts else ()


def _criteria(result: Comparison) -> tuple[PageTable, ...]:
    second, claimed = visible(result.setup.systems[1]), result.options.by_criterion
    heading = f"By criterion, for {second}{'' if claimed else ': counts, without a claim'}"
    return group_table(result.criteria, heading, "criterion") if result.verdicts or not claimed else ()


def _criteria_mean(result: Comparison) -> str:
    """What the risk of the criteria means."""
    if not result.verdicts or not result.options.by_criterion:
        return ""
    chance, more = result.setup.risk_threshold, count(result.counts.further, "further judgment")
    return (
        "By a criterion that is open, neither system is shown to be better. The chance that the wrong system is named by "
        f"any criterion is {at_most(chance)}. That is a second family of statements beside the decision: that either "
        f"errs has a chance of {at_most(min(1.0, 2 * chance))}. {more} went to open criteria; the winner, votes and gap "
        "above are without them. All intervals hold at once, at the risk of the criteria."
    )


def _groups_mean(result: Comparison) -> str:
    """What the risk of the groups means."""
    if not result.verdicts:
        return ""
    chance, more = result.setup.risk_threshold, count(result.counts.further, "further judgment")
    further = f"{more} went to open groups; the winner, votes and gap above are without them. "
    return (
        "In a group that is open, neither system is shown to be better. "
        f"The chance that any group is given a name that is not the better system in it is {at_most(chance)}, "
        f"whatever was judged next. That is a second family of statements beside the one on all items: that "
        f"either errs has a chance of {at_most(min(1.0, 2 * chance))}. {further if result.recorded is None else ''}"
        "All intervals hold at once, at the risk of the groups. With about as many more items as its row says, a group "
        "has an even chance of an answer; for a group that is level, no number is known."
    )


def pictures(result: Comparison) -> tuple[tuple[Picture, ...], ...]:
    """The evidence as pictures: the lead and its boundary; the verdicts and the gap."""
    return _lead(result), (*_verdicts(result), *_gap_drawn(result))


def _lead(result: Comparison) -> tuple[Chart, ...]:
    """The lead by judgment, unless the order of the verdicts is not known."""
    if not result.course:
        return ()
    lead, bounds = result.course[0], result.course[1:]
    first, second = result.setup.systems
    name, other = visible(lead.name), visible(second if lead.name == first else first)
    asked, last = len(lead.points) - 1, int(lead.points[-1][1])
    silent = _silent(result, name)
    said = f"The lead of {name} over {other} is {last:,} after {count(asked, 'item')}.{silent}"
    met = result.winner is not None or result.stop_reason is StopKind.NOT_WORSE
    note, risk = "", f"{result.setup.risk_threshold:g}"
    if bounds and result.stop_reason in {StopKind.RISK_MET, StopKind.NOT_WORSE}:
        said += " It has reached the boundary."
        seen = any(point != lead.points[-1] for line in bounds for point in line.points)
        dots = f"Dots: the leads that decide, at a risk of {risk}. The run stopped where its lead met one."
        note = dots if seen else f"The run stopped at a lead that decides, at a risk of {risk}."
    elif bounds:
        note = f"Dots: the leads that would decide, at a risk of {risk}."
    shown = (Curve(f"{last:+,}".replace("-", MINUS), "lead", lead.points), *bounds)
    return (
        Chart(
            f"How the evidence grew: the lead of {name}",
            said,
            "items asked about" if silent else "judgments",
            shown,
            note=f"{note}{silent}".strip(),
            above=f"{name} ahead",
            below=f"{other} ahead",
            stop=lead.points[-1] if met else None,
        ),
    )


def _silent(result: Comparison, name: str) -> str:
    """Which items count against the lead of `name` though neither won them; empty without any."""
    silent, votes = result.counts.abstentions, sorted(result.wins.values(), reverse=True)
    if not silent:
        return ""
    return (
        f" The votes are {votes[0]:,} to {votes[1]:,}; {count(silent, 'item')} without a verdict "
        f"{'counts' if silent == 1 else 'count'} against {name} here, as for the risk."
    )


def _verdicts(result: Comparison) -> tuple[Bar, ...]:
    """Wins, ties and losses, the leader's first."""
    first, second = result.setup.systems
    own = result.leader or second
    other = second if own == first else first
    won, lost = result.wins[own], result.wins[other]
    said = f"{won:,} won by {visible(own)}, {result.ties:,} ties, {lost:,} won by {visible(other)}"
    silent = result.counts.abstentions
    said += f", {silent:,} without a verdict" if silent else ""
    parts = (
        (visible(own), won, "won"),
        ("ties", result.ties - result.identical, "tie"),
        *((("identical, not asked", result.identical, "none"),) if result.identical else ()),
        (visible(other), lost, "lost"),
        *((("no verdict", silent, "none"),) if silent else ()),
    )
    return (Bar("What the judge said", said, parts),) if result.judged else ()


def _gap_drawn(result: Comparison) -> tuple[Scale, ...]:
    """The gap with its interval, if the judged items stand for others."""
    if result.gap is None or result.gap_biased:
        return ()
    low, high = result.gap_interval or (result.gap, result.gap)
    name = visible(result.leader or result.setup.systems[0])
    said = f"Gap for {name}: {result.gap:.2f}, between {low:.2f} and {high:.2f}"
    note = (
        f"The gap: the share of items that {name} wins less the share that it loses. "
        "A run that stops at a lead shows a gap that is too large, on average."
    )
    shown = ends((low, high), out=result.ruled_out, margin=result.options.gap_asked)
    figures = f"{result.gap:+.2f} ({' to '.join(shown)})".replace("-", MINUS)
    row = IntervalRow(name, figures, result.gap, result.gap_interval)
    margin = result.options.not_worse
    asked = 0.0 if margin is None else -margin if name == visible(result.setup.systems[1]) else margin
    marks = ((asked, "level" if margin is None else f"margin {_signed(asked)}"), (-1.0, _signed(-1)), (1.0, _signed(1)))
    return (Scale("Gap", said, -1, 1, (row,), marks, note=note),)


def _signed(gap: float) -> str:
    return f"{gap:+.2f}".replace("-", MINUS)


def course_of(tally: Tally, rule: Rule, names: tuple[str, str]) -> tuple[Curve, ...]:
    """The lead of the leader after each verdict, and the leads that are an answer for each side.

    Leads are numbers of items, seen from the leader, or from the second system if both are level; an
    abstention counts against it. Without the order of the verdicts there are no lines.
    """
    side = 1 if tally.leader is None else tally.leader
    scores = scores_for(tally, side)
    leads, decisive = np.cumsum(scores, dtype=np.int64), np.cumsum(scores != 0)
    if len(leads) < FEWEST_LOOKS or not tally.preferences or not tally.judged:
        return ()
    found = [Curve(names[side], "lead", ((0.0, 0.0), *enumerate(leads.tolist(), start=1)))]
    for at, sign in ((side, 1), (1 - side, -1)):
        bound = rule.boundary(tally, at)
        if bound is not None:
            found += _dots(bound, decisive[: len(bound)], sign)
    return tuple(found)


def _dots(bound: NDArray[np.int64], decisive: NDArray[np.int64], sign: int) -> Iterator[Curve]:
    """Yield the least leads that decide, where one can: after so many `decisive` verdicts.

    A lead is even or odd as their number is, and at most their number.
    """
    least = bound + (bound + decisive) % 2
    reached = np.flatnonzero(least <= decisive)
    shown = reached[:: -(-len(reached) // MOST_DOTS) or 1]
    if len(shown):
        points = zip((shown + 1.0).tolist(), (sign * least[shown]).tolist(), strict=True)
        yield Curve("", "dots", tuple(points))

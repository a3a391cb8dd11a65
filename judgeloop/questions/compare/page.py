"""What a comparison says: the decision, its evidence as facts, and the pictures.

Takes a `Comparison`. `report/svg.py` draws its pictures.
"""

from collections.abc import Sequence
from dataclasses import replace

from judgeloop.catalogue import rule_row
from judgeloop.core.errors import some
from judgeloop.core.outcomes import Outcome, StopKind, Tally
from judgeloop.core.records import IDENTICAL, Groups
from judgeloop.methods.estimators.preferences import MISSES
from judgeloop.methods.stats.agreement import CLEARLY_CHEAPER, PROBABLY
from judgeloop.methods.stopping.rule import at_most, far_behind, points, show_risk
from judgeloop.questions.compare import proxy
from judgeloop.questions.compare.answers import all_answers
from judgeloop.questions.compare.result import BETS, ONCE, WORSE_FAILS, Comparison, ScoreFigures
from judgeloop.report import facts as said
from judgeloop.report.before import tested_before
from judgeloop.report.facts import DRAWN_WHOLE, NO_RISK
from judgeloop.report.groups import GroupRow, group_table, turned
from judgeloop.report.notes import NoteCode
from judgeloop.report.page import Fact, Page, PageTable, Section, told
from judgeloop.report.pictures import Bar, Chart, Curve, IntervalRow, Picture, Scale
from judgeloop.report.result import ID
from judgeloop.report.words import (
    count,
    ends,
    in_points,
    one_in,
    per_cent,
    plural,
    shortened,
    signed,
    signed_points,
    stopped,
    visible,
)

SETTLED, EDGE = 10, 0.12  # of a picture: the part of the draws before which bounds may leave it; its room for names
MINUS = "\N{MINUS SIGN}"
RULED_OUT = "What it does not reach is ruled out"  # of a band of bounds
SAME_RISK = 1e-9  # a stated risk that differs by less is the one that was chosen
SEARCHED = ", unless an earlier search of these items chose the two"
CONDITIONS = {  # without which a stated risk does not hold, by the warning that doubts it
    NoteCode.SEARCHED: "if no earlier search chose these two",
    NoteCode.NEIGHBOURS: "if the items are independent draws",
}
EARLIER_MEANS = (
    "The other tests were about some of these items, by one of these judges. Each has a risk of its own, and their sum bounds how many wrong wins or passes are to be expected. That holds if no "
    "candidate was chosen, or changed, because of verdicts on these items."
)
GAP_MEANS = "The gap is the share of judged items won less the share lost, in points: hundredths."
AT_A_LEAD = " A run that stops at a lead shows a gap that is too large, on average."
WHAT_P_MEANS = (
    "How often two equally good systems would differ at least this much by chance, if the items are "
    "a random sample. It is not the probability that the decision is wrong."
)

OTHER_MARGIN = "; to ask about another margin costs nothing and adds no risk: "  # of a run that is there to be shown


def page(result: Comparison) -> Page:
    """What a comparison says."""
    gates = result.options.not_worse is not None
    return Page(
        tuple(facts(result)),
        (*_criteria(result), *_groups(result)),
        pictures(result),
        "May the second system replace the first?" if gates else "Which of two systems is better?",
        outcome=result.outcome,
        caption=_caption(result),
        figures=_figures(result),
    )


def _figures(result: Comparison) -> dict[str, str]:
    """The figures of a paper's table, seen as the gap."""
    own, other = result.seen
    gap, won = result.of(own)[0], result.wins
    figures = {"system": visible(own), "against": visible(other), "won": f"{won[own]:,}", "lost": f"{won[other]:,}"}
    return figures | {"gap": "" if gap is None else signed(gap), "bounds": result.bounds_of(own, cell=True)}


def so_far(tally: Tally, systems: tuple[str, ...], most: int) -> str:
    """Who leads during a run, with at most `most` characters of the name."""
    more, fewer = max(tally.wins), min(tally.wins)
    if tally.leader is None:
        return f"level, {more:,} to {fewer:,}" if tally.judged else ""
    return f"leads: {shortened(systems[tally.leader], most)}, {more:,} to {fewer:,}"


def facts(result: Comparison) -> list[Fact]:
    """All facts, the decision first; the figures behind them are seen from the second system."""
    first, second = result.setup.systems
    gap, won, judged = result.of(second)[0], result.wins, result.judged
    alike = said.identical(result)
    by = f", by {said.judged_by(result)}"
    if result.alike:
        alike, by = ", all with identical outputs", f": {said.judged_by(result)} was asked about none"
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
            f"{said.judged_of(result)}{alike}{result.also_judged}{by}{said.unjudged(result)}",
            True,
            {"judged": count(judged, result.data.unit) if result.data.several else f"{judged:,}"},
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
            value={"gap": "" if gap is None else signed(gap), "bounds": result.bounds_of(second, cell=True)},
        ),
        *_corrected(result),
        Fact("risk", Section.RISK, "risk", "" if result.alike else risk(result), first=True),
        Fact("answers", Section.EVIDENCE, "answers", all_answers(result)),
        Fact("gap.means", Section.EVIDENCE, "gap", _gap_means(result)),
        Fact("rule", Section.EVIDENCE, "rule", _rule(result)),
        Fact("means", Section.RISK, "means", _means(result) if judged else ""),
        Fact("earlier.means", Section.RISK, "before", EARLIER_MEANS if result.others_before[1] else ""),
        Fact("paper", Section.DATA, "for a paper", _for_a_paper(result)),
        Fact("criteria", Section.GROUPS, "criteria", _criteria_mean(result)),
        Fact("groups.found", Section.GROUPS, "groups", _groups_found(result), first=True),
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
    shared = said.shared(result, paid=recorded is None)
    margin = result.options.not_worse
    compared = result.judged and not result.alike and result.answer is Outcome.UNDECIDED
    if margin is not None and result.setup.rule == BETS and compared:  # to ask for another margin takes no run
        other = 2 * margin if 2 * margin < 1 else margin / 2
        free = f"{OTHER_MARGIN}`judgeloop runs show {result.setup.run[:ID]} --not-worse {other:g}`"
        shared = [replace(one, text=f"{one.text}{free}") if one.key == "asked" else one for one in shared]
    return [*told(*own), *shared]


def _corrected(result: Comparison) -> list[Fact]:
    """What a proxy was worth, and what both judges say together."""
    if result.corrected is None:
        return []
    first, second = result.setup.systems
    labels = {"proxy": "proxy", "corrected": "gap corrected", "alone": "gap by proxy"}
    told = proxy.said_of(result.corrected, said.judged_by(result), (first, second), result.seen[0])
    return [Fact(name, Section.EVIDENCE, labels[name], text, first=name == "proxy") for name, text in told.items()]


def decision(result: Comparison) -> str:
    """The decision in a sentence that needs no statistics, with the groups in which it is otherwise."""
    open_gate = result.options.not_worse is not None and result.answer is not Outcome.PASSED
    line = said.headline(result, _alike(result) if result.alike and not open_gate else _answer(result))
    claim = "better" if result.winner == result.setup.systems[0] else "worse"
    groups = [group.name for group in result.groups if group.claim == claim]
    if not groups or result.outcome not in {result.answer, Outcome.PASSED}:  # it is the condition that fails
        return line
    where = f"group{'s' * (len(groups) > 1)} {visible(some(groups))}"
    return f"{line} {visible(result.setup.systems[1])} is {claim} in {where}."


def _alike(result: Comparison) -> str:
    """What follows where all outputs that were drawn are identical; a gate that is open says what it lacks."""
    first, second = map(visible, result.setup.systems)
    claim = {
        StopKind.NOT_WORSE: f"{second} is not worse than {first}",
        StopKind.NO_DIFFERENCE: f"{first} and {second} are level",
    }.get(result.stop_reason, f"No winner between {first} and {second}")
    return f"{claim}, as all outputs that were drawn are identical: nothing was compared."


def _answer(result: Comparison) -> str:
    first, second = map(visible, result.setup.systems)
    where = said.on_items(result.about, result.items, families=result.data.units)
    where += f", judged by {said.judged_by(result)}" if result.setup.by_hand else ""
    if result.options.not_worse is not None:
        return _on_worse(result, where, result.options.not_worse)
    if result.claim == "better":
        return f"{_claimed(result, where)}."
    if result.winner is not None:
        winner, loser = visible(result.winner), second if result.winner == result.setup.systems[0] else first
        required, within = result.setup.required_winner, f"less than {points(result.options.min_gap or 0.0)} behind"
        if required == result.winner:
            return f"{winner} is not shown to be better than {loser} {where}, only to be better or {within}."
        keep = "Choose" if required is None else f"{visible(required)} is not shown to be better. Keep"
        return f"{keep} {winner}: it is better than {loser}, or {within} it, {where}."
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        return f"{first} and {second} are level {where}." if result.whole else f"{_claimed(result, where)}."
    return _no_winner(result, where)


def _claimed(result: Comparison, where: str) -> str:
    """What is shown, in a clause; empty if nothing is."""
    first, second = map(visible, result.setup.systems)
    winner, loser = (first, second) if result.winner == result.setup.systems[0] else (second, first)
    margin = points(result.options.gap_asked or result.options.near_tie or 0.0)
    better = f"{winner} is better than {loser}"
    claims = {
        "better": f"{better} {where}",
        "better_or_within": f"{better}, or less than {margin} behind it, {where}",
        "no_difference": f"{first} and {second} differ by at most {margin} {where}",
        "not_worse": f"{second} is not worse than {first} by {margin} or more {where}",
        "worse": f"{second} is worse than {first}{f' by more than {margin}' * result.worse_by_margin} {where}",
    }
    if result.claim == "not_worse" and result.better:
        return f"{second} is better than {first} {where}, and so not worse by {margin} or more"
    return claims.get(result.claim or "", "")


def _no_winner(result: Comparison, where: str) -> str:
    """That the question is open, and why."""
    first, second = map(visible, result.setup.systems)
    if result.recorded is not None:
        lead = f"{visible(result.leader)} leads, but that may be chance" if result.leader else ""
        return f"No winner between {first} and {second} {where}: {lead or 'they are level'}."
    if result.used_up:
        return f"No winner yet{_nor(result)}: {_ahead(result)}."
    level = result.whole and result.leader is None and not result.counts.abstentions
    why = f"{'they are level, and ' if level else ''}{said.ended(result)}"
    return stopped(f"No winner yet between {first} and {second}{_nor(result)} {where}: {why}")


def _nor(result: Comparison) -> str:
    """What else than a winner was asked for, and is not shown either."""
    if result.options.near_tie is not None:
        return f", nor are they shown to differ by at most {points(result.options.near_tie)},"
    if result.options.min_gap is not None:
        return f", not even one that may be less than {points(result.options.min_gap)} behind,"
    return ""


def _caption(result: Comparison) -> str:
    """What a table of a question that is open shows, without why it is open; empty for one that is answered."""
    if result.answer is not Outcome.UNDECIDED:
        return ""
    (first, second), margin = map(visible, result.setup.systems), result.options.not_worse
    where = said.on_items(result.about, result.items, families=result.data.units)
    if margin is None:
        return f"No winner between {first} and {second}{_nor(result)} {where}."
    return f"It is not shown whether {second} is worse than {first} by {points(margin)} or more {where}."


def _for_a_paper(result: Comparison) -> str:
    """Who judged what how, the votes, the gap and what is promised of it, in a sentence; empty without a gap."""
    own, other = result.seen
    gap, bounds, _ = result.of(own)
    if gap is None or result.alike or result.outcome.broke_off:
        return ""
    setup, won = result.setup, result.wins
    unit = result.data.unit if result.data.several else ""
    order = _orders(result)
    if (proxy := result.corrected) is not None:
        order += f", with {count(proxy.verdicts, 'verdict')} of {visible(proxy.proxy)} beside them"
    said_of = (
        f"Judged by {said.judged_by(result)} on {said.judged_of(result, ' (drawn at random)')}{order}, {visible(own)} won "
        f"{count(won[own], unit) if unit else f'{won[own]:,}'}, lost {won[other]:,} and tied {result.ties:,} against "
        f"{visible(other)}: a {'mean ' * bool(unit)}gap of {signed_points(gap)}"
    )
    if bounds is None or result.whole or setup.rule not in {BETS, ONCE}:
        return f"{said_of}."
    looks = "one look" if setup.rule == ONCE else "every look"
    said_of += f" ({result.bounds_of(own)} on {_population(result)}, each bound at {per_cent(1 - setup.risk_threshold)}, at {looks})"
    if setup.rule == ONCE:
        p = f"= {show_risk(result.risk or 0.0)}".replace("= under", "<")
        return f"{said_of}; p {p} (two-sided exact sign test)."
    if not (claim := _claimed(result, said.on_items(result.about, result.items, families=result.data.units))):
        return f"{said_of}."
    condition, before = _condition(result), tested_before(result)
    risk = f"At a risk of {setup.risk_threshold:g}{condition and f', {condition}'}"
    return f"{said_of}. {risk}, {claim}.{before and f' Before, {before}.'}"


def _orders(result: Comparison) -> str:
    """How many of the judged outputs were identical, and in which orders the others were shown."""
    setup, pair = result.setup, "all other pairs" if result.identical else "each pair"
    shown = sum(row.in_decision and row.reason != IDENTICAL for row in result.verdicts)
    tied = " unless the first said tie" if result.counts.both_orders < shown and not setup.one_each else ""
    orders = {"both": f", {pair} in both orders{tied}", "random": f", {pair} in one random order"}
    alike = f"{said.identical(result)} (ties)" if result.identical else ""
    return f"{alike}{orders.get(setup.order or '', '')}{said.ONE_EACH if setup.one_each else ''}"


def _ahead(result: Comparison) -> str:
    """Who is ahead of whom on the items of the set, all of which are judged."""
    own, other = _leader_first(result)
    known = result.gap is not None and not (result.gap_biased or result.gap_weighted)
    by = f"{in_points(result.gap or 0.0)} " if known and round(result.gap or 0.0, 2) else ""
    each = "" if result.data.several else "one item of each of "
    of = f"{each}these {result.data.units}" if result.data.units else f"these {result.items:,} items"
    return f"{own} is {by}ahead of {other} on {of}, but on items like these that may be chance"


def _leader_first(result: Comparison) -> tuple[str, str]:
    """The names of both systems, that of the leader first."""
    first, second = map(visible, result.setup.systems)
    return (second, first) if result.leader == result.setup.systems[1] else (first, second)


def _on_worse(result: Comparison, where: str, margin: float) -> str:
    """Whether the second system is not worse than the first, or worse, or neither."""
    first, second = map(visible, result.setup.systems)
    by = f"by {points(margin)} or more"
    if result.stop_reason is StopKind.NOT_WORSE:
        return f"{_claimed(result, where)}."
    if result.winner is not None:
        return worse_than(result, where, margin, by_margin=result.worse_by_margin)
    why = _ahead(result) if result.used_up else said.ended(result)
    on = "" if result.used_up else f", {where}"
    return stopped(f"It is not shown whether {second} is worse than {first} {by}{on}: {why}")


def worse_than(result: Comparison, where: str, margin: float, *, by_margin: bool) -> str:
    """That the second system is worse than the first, and whether that is shown to be by more than the margin."""
    first, second = map(visible, result.setup.systems)
    if by_margin:
        return f"{second} is worse than {first} by more than {points(margin)} {where}."
    return f"{second} is worse than {first} {where}. {WORSE_FAILS}, even by less than {points(margin)}."


def _votes(result: Comparison) -> str:
    (first, won), (second, lost) = result.wins.items()
    unit = f" {result.data.unit if won == 1 else plural(result.data.unit)}" if result.data.several else ""
    wins, counts = f"{won:,}{unit} for {visible(first)}, {lost:,} for {visible(second)}", result.counts
    aside = 0 if unit else counts.asked - counts.judged - counts.abstentions - counts.ahead
    more = f"; {aside:,} more were judged, but do not count in the decision" if aside else ""
    changed = f", {counts.flips:,} of them changed with the order" if counts.flips and not unit else ""
    differ, same = len(result.setup.judges) > 1 and result.setup.by_hand, counts.agreement
    changed = f"; the two said the same on {same.same:,} of {same.items:,}" if differ and same else changed
    return f"{wins}, {count(result.ties, 'tie')}{changed}{more}"


def _gap(result: Comparison) -> str:
    """The gap in points and its bounds; what was allowed of a candidate."""
    if result.gap is None:
        return ""
    own, other = result.seen
    leads, margin = own == (result.leader or result.setup.systems[0]), result.options.gap_asked
    gap = result.gap if leads else 0.0 - result.gap
    found = f"{visible(own)} {signed_points(gap)} against {visible(other)}"
    found += f" by {said.judged_by(result)}" if result.corrected else ""  # another is the proxy's
    found += f" (each {result.data.unit} counts once)" if result.data.several else ""
    if result.gap_biased:
        return f"{found} among the judged items, which were not drawn at random: no estimate for all items"
    if result.gap_weighted:
        return f"{found}, estimated from draws that prefer some items{_estimated(result, gap, leads=leads)}"
    if not (shown := result.bounds_of(own)):
        return f"{found}{_by_items(result)}"
    allowed = (
        ""
        if result.options.not_worse is None or result.answer is Outcome.FAILED or shown.startswith("more than")
        else f"; allowed: above {signed(-(margin or 0.0))}"
    )
    moved = ""
    if result.bounds and result.gap in result.bounds and abs(gap) < 1:  # earlier verdicts had narrowed them beyond it
        higher = (result.gap == result.bounds[0]) == leads
        moved = f"; bounds never widen, and the {'lower' if higher else 'upper'} one is from earlier"
    return f"{found} ({shown} on {_population(result)}{moved}{allowed}){_by_items(result)}"


def _population(result: Comparison) -> str:
    """What the bounds of the gap are about."""
    return "items like these" if result.setup.sampled else "all items"


def _gap_means(result: Comparison) -> str:
    """What the gap is, how often its bounds are wrong, and what a gap that was asked for is among decisive items."""
    if result.gap is None or result.gap_weighted or result.gap_biased:
        return ""
    each = result.setup.risk_threshold
    bounds = f" Each bound is wrong with a chance of at most {each:g}, so both hold in at least {per_cent(1 - 2 * each)} of runs."
    exact = result.whole or result.bounds is None
    means = (
        f" Won, ties and lost count {plural(result.data.unit)}; the gap is the mean of their gaps."
        if result.data.several
        else ""
    )
    stopped_there = result.claim not in {None, "no_difference"} and not result.whole and result.setup.rule != ONCE
    lead = AT_A_LEAD if stopped_there else ""
    return f"{GAP_MEANS}{lead}{means}{'' if exact else bounds}{_among_decisive(result)}"


def _by_items(result: Comparison) -> str:
    """The gap by items, where it speaks for another system than the gap by families."""
    by_items, gap = result.gap_by_items, result.gap or 0.0
    if by_items is None or (by_items > 0) - (by_items < 0) == (gap > 0):
        return ""
    first, second = result.setup.systems
    other = first if (result.leader == second) == (by_items < 0) else second
    whose = "" if other == result.seen[0] else f"{visible(other)} "
    return f"; {whose}{signed(abs(by_items))} if each item counted once, which decides nothing"


def _among_decisive(result: Comparison) -> str:
    """What the gap asked about is among the items that are no ties."""
    asked, decisive = result.options.gap_asked, sum(result.wins.values())
    if asked is None or not result.ties or not decisive:
        return ""
    share = decisive / result.judged
    ties = f" With {per_cent(1 - share)} ties"
    if asked >= share:
        return f"{ties}, the two cannot differ by {points(asked)}."
    more = 50 * (1 + asked / share)
    return f"{ties}, a gap of {points(asked)} is {more:.0f} wins to {100 - more:.0f} among the decisive items."


def _estimated(result: Comparison, gap: float, *, leads: bool) -> str:
    """The interval of an estimated gap, and whether it contradicts the votes."""
    interval = ", with no interval, as too few are judged"
    if result.gap_interval is not None:
        bounds = result.gap_interval if leads else [-end for end in result.gap_interval[::-1]]
        interval = f" ({100 * (1 - MISSES):g} % interval {' to '.join(map(signed, bounds))}, approximate)"
    contradicts = result.leader is not None and round(gap if leads else -gap, 2) < 0
    against = f"; it contradicts the votes, where {visible(result.leader or '')} leads" if contradicts else ""
    return f"{interval}{against}"


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
    own, other = (second, first) if result.leader == second else (first, second)
    test = "exact sign test, two-sided (McNemar's exact test for scores of 0 and 1), made once"
    if scores.win_share is not None:
        share, (low, high), level = scores.win_share, scores.win_share_interval, 100 * (1 - result.setup.risk_threshold)
        if own == second:
            share, low, high = 1 - share, 1 - high, 1 - low
        test += (
            f"; {visible(own)} wins {per_cent(share, 1)} of the items that are no "
            f"ties ({level:.4g} % interval {per_cent(low, 1)} to {per_cent(high, 1)}, exact)"
        )
    means = ", ".join(f"{mean:.3f} for {visible(name)}" for name, mean in scores.means.items())
    more = scores.means[own] - scores.means[other]
    return test, f"{means}; {visible(own)} less {visible(other)} {more:+.3f}"


def _other_way(result: Comparison) -> str:
    """What the other order of presentation would cost, if it would be clearly cheaper."""
    multiple, order = result.calls_of_one_order, result.setup.order
    if multiple is None or result.options.max_flips is not None:  # which needs both orders
        return ""
    chance = result.chance_in_one_order
    if order == "both" and multiple < CLEARLY_CHEAPER and chance >= PROBABLY:
        found = f"one order (`order=random`) would take about {per_cent(multiple)} of the calls"
        return f"{found}; a run would decide in about {per_cent(chance)} of cases"
    return ""


def risk(result: Comparison) -> str:
    """How likely the answer is wrong: the figure, then what it means, for what was asked for; "" if unknown."""
    if result.risk is None:
        return NO_RISK if result.answer.answered else ""
    chosen, often = result.setup.risk_threshold, one_in(result.setup.risk_threshold)
    shown = f"{chosen:g}" if abs(result.risk - chosen) < SAME_RISK else show_risk(result.risk)
    if result.recorded is not None:
        named = f": between equals, chance alone names one in at most {often} such tests"
        return f"p-value {shown}{named if result.winner else f'; at most {chosen:g} decides'}"
    if result.whole:
        return f"0: {DRAWN_WHOLE[:1].lower()}{DRAWN_WHOLE[1:].rstrip('.')}"
    if not result.answer.answered:
        return _risk_now(result, shown)
    if not result.setup.guarantee:
        return f"{shown}, without a proof: the aim is that at most {often} such answers is wrong"
    often_asked = any(one.code is NoteCode.ASKED_OFTEN for one in result.warnings)
    holds = _condition(result) or f"guaranteed{', but see the warning' * often_asked}"
    return f"{chosen:g}, {holds}: at most {often} such runs {_wrongly(result)}"


def _condition(result: Comparison) -> str:
    """Without what the stated risk does not hold, as a warning says; empty if nothing is doubted."""
    return " and ".join(CONDITIONS[one.code] for one in result.warnings if one.code in CONDITIONS)


def _risk_now(result: Comparison, shown: str) -> str:
    """The risk of naming the leader now, where a rule that states one has not."""
    if not result.judged or shown == show_risk(1) or result.leader is None:
        return ""
    return f"{shown} if {visible(result.leader)} were named now"


def _wrongly(result: Comparison) -> str:
    """What a run does whose answer is wrong."""
    options = result.options
    if result.failed_groups and not result.answer.exit_code:
        return "fails a system although it is worse in no group"
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        return f"calls two level that differ by more than {points(options.near_tie or 0.0)}"
    if options.gap_asked is None or result.better:
        return "names the worse one"
    if options.not_worse is None:
        return f"names one {far_behind(options.gap_asked)}"
    if result.winner is not None:
        return "fails a system that is not worse"
    return f"passes a system worse by {points(options.not_worse)} or more"


def _means(result: Comparison) -> str:
    """What is proved about the risk, and what it does not say."""
    setup = result.setup
    if result.recorded is not None:
        return WHAT_P_MEANS
    if result.whole or not setup.guarantee:
        heuristic = (
            "The stated risk is a heuristic, without a proof." if result.risk is not None else "No risk is stated."
        )
        says = DRAWN_WHOLE if result.whole else heuristic
        return f"{says} {said.about_the_judge(result)}"
    read = "; every other question that the same bounds answer has the same risk" if setup.rule != ONCE else ""
    return said.promise(result, f"{setup.guarantee}{read}{SEARCHED if result.searched else ''}")


def _groups(result: Comparison) -> tuple[PageTable, ...]:
    claimed = result.options.by_group is not None
    return _tables(result, result.groups, "group", claimed=claimed) if result.verdicts or not claimed else ()


def _criteria(result: Comparison) -> tuple[PageTable, ...]:
    claimed = result.options.by_criterion
    return _tables(result, result.criteria, "criterion", claimed=claimed) if result.verdicts or not claimed else ()


def _seen(result: Comparison, rows: Sequence[GroupRow]) -> Sequence[GroupRow]:
    """Groups or criteria, seen as the gap."""
    return rows if result.seen == result.setup.systems[::-1] else [turned(row) for row in rows]


def _tables(result: Comparison, rows: Sequence[GroupRow], of: str, *, claimed: bool) -> tuple[PageTable, ...]:
    """The table of groups or criteria, seen as the gap."""
    shown = _seen(result, rows)
    heading = f"By {of}, for {visible(result.seen[0])}{'' if claimed else ': counts, without a claim'}"
    return group_table(shown, heading, of)


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


def _groups_found(result: Comparison) -> str:
    """Which tested groups have an answer, and how many are open; empty where the condition on groups says it."""
    if result.options.by_group != Groups.REPORT or not result.verdicts:
        return ""
    rows = _seen(result, result.groups)
    named = {claim: [row.name for row in rows if row.claim == claim] for claim in ("better", "worse", "open")}
    found = [f"{claim} in {visible(some(named[claim]))}" for claim in ("better", "worse") if named[claim]]
    own = f"{visible(result.seen[0])} is {', '.join(found)}" if found else ""
    left = f"{len(named['open']):,} of {len(rows):,} are open" if named["open"] else ""
    own += f", at a risk of their own, {result.setup.risk_threshold:g}" if own else ""
    return "; ".join(filter(None, (own, left)))


def _groups_mean(result: Comparison) -> str:
    """What the risk of the groups means."""
    if not result.verdicts:
        return ""
    chance, more = result.setup.risk_threshold, count(result.counts.further, "further judgment")
    further = ""
    if result.counts.further:
        further = f"{more} went to open groups; the winner, votes and gap above are without them. "
    return (
        "In a group that is open, neither system is shown to be better. "
        f"The chance that the wrong system is named in any group is {at_most(chance)}, whichever group was "
        f"asked about next. That is a second family of statements beside the one on all items: that "
        f"either errs has a chance of {at_most(min(1.0, 2 * chance))}. {further}"
        "All intervals hold at once, at the risk of the groups."
    )


def pictures(result: Comparison) -> tuple[tuple[Picture, ...], ...]:
    """The evidence as pictures: how the gap became known; the verdicts and the gap."""
    return _narrowing(result), (*_verdicts(result), *_gap_drawn(result))


def _narrowing(result: Comparison) -> tuple[Chart, ...]:
    """The gap and its bounds by judgment, with the gaps that the question is about; none without bounds."""
    if not result.course:
        return ()
    gap, lower, upper = result.course
    name, other = map(visible, result.seen)
    if result.seen != result.setup.systems[::-1]:
        gap, lower, upper = map(_turned, (gap, upper, lower))
    end, last = len(gap.points), gap.points[-1][1]
    low, high = lower.points[-1][1], upper.points[-1][1]
    margin, marks = result.options.gap_asked, {0.0: "level"}
    if result.options.not_worse is not None:  # asked of the second system, from which it is seen
        marks[-100 * result.options.not_worse] = "margin"
    elif margin is not None or result.options.near_tie is not None:
        wide = 100 * (margin or result.options.near_tie or 0.0)
        marks |= {wide: "", -wide: "gap that matters"}
    lines = [Curve(mark, "other", ((1.0, at), (float(end), at))) for at, mark in marks.items()]
    shown = [*marks, *(y for _, y in (*lower.points[end // SETTLED :], *upper.points[end // SETTLED :]))]
    edge = EDGE * (max(shown) - min(shown))
    silent = result.counts.abstentions
    aside = (
        f" {count(silent, 'item')} without a verdict count{'s' * (silent == 1)} against either side." if silent else ""
    )
    return (
        Chart(
            f"How the gap became known, for {name}, in points",
            f"After {count(end, 'item')} the gap of {name} is {signed(last / 100)} points, between {low:+.0f} and {high:+.0f}.",
            "items asked about" if silent else "judgments",
            (Curve(signed(last / 100).replace("-", MINUS), "lead", gap.points), lower, upper, *lines),
            note=f"The band: bounds of the gap, each wrong with a chance of at most {result.setup.risk_threshold:g}, "
            f"however often one looks. {'The run has no result, so nothing is claimed' if result.answer.broke_off else RULED_OUT}.{aside}",
            up="gap, in points",
            above=f"{name} better",
            below=f"{other} better",
            band=(lower.points, upper.points),
            view=(min(shown) - edge, max(shown) + edge),
        ),
    )


def _turned(line: Curve) -> Curve:
    """A line of gaps, seen from the other system."""
    return replace(line, points=tuple((x, 0.0 - y) for x, y in line.points))


def _verdicts(result: Comparison) -> tuple[Bar, ...]:
    """Wins, ties and losses, those first from whose side the gap is seen."""
    own, other = result.seen
    won, lost = result.wins[own], result.wins[other]
    said = f"{won:,} won by {visible(own)}, {result.ties:,} ties, {lost:,} won by {visible(other)}"
    silent = result.counts.abstentions
    said += f", {silent:,} without a verdict" if silent else ""
    parts = (
        (visible(own), won, "won"),
        ("other ties" if result.identical else "ties", result.ties - result.identical, "tie"),
        *((("ties of identical outputs", result.identical, "none"),) if result.identical else ()),
        (visible(other), lost, "lost"),
        *((("no verdict", silent, "none"),) if silent else ()),
    )
    return (Bar("What the judge said", said, parts),) if result.judged else ()


def _gap_drawn(result: Comparison) -> tuple[Scale, ...]:
    """The gap with its interval, if the judged items stand for others."""
    own, (gap, interval, out) = result.seen[0], result.of(result.seen[0])
    if gap is None:
        return ()
    low, high = interval or (gap, gap)
    name = visible(own)
    said = f"Gap for {name}: {signed(gap)} points, between {signed(low)} and {signed(high)}"
    note = f"The gap: the share of items that {name} wins less the share that it loses."
    shown = "all judged" if result.whole else " to ".join(ends((low, high), out=out, margin=result.options.gap_asked))
    figures = f"{signed(gap)} ({shown})".replace("-", MINUS)
    row = IntervalRow(name, figures, gap, interval)
    margin = result.options.not_worse
    asked = 0.0 if margin is None else -margin
    marks = ((asked, "level" if margin is None else f"margin {_signed(asked)}"), (-1.0, _signed(-1)), (1.0, _signed(1)))
    return (Scale("Gap, in points", said, -1, 1, (row,), marks, note=note),)


def _signed(gap: float) -> str:
    return f"{100 * gap:+.4g}".replace("-", MINUS)

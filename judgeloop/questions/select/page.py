"""What a search for the best of many says: the decision, the standings, its evidence as facts, and the pictures.

Takes a `Selection`. `report/svg.py` draws its pictures.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, zip_longest

from judgeloop.core.errors import some
from judgeloop.core.outcomes import Outcome, StopKind
from judgeloop.core.records import TIE, Label
from judgeloop.methods.estimators.win_rates import Standings, WinRates
from judgeloop.methods.stopping.rule import points as show_points
from judgeloop.methods.stopping.rule import show_gap
from judgeloop.questions.select.result import Selection, Standing
from judgeloop.report import facts as said
from judgeloop.report.facts import DRAWN_WHOLE, NO_RISK
from judgeloop.report.page import Fact, Page, PageTable, Section, told
from judgeloop.report.pictures import Chart, Curve, IntervalRow, Picture, Point, Role, Scale
from judgeloop.report.words import count, dollars, one_in, per_cent, shortened, stopped, visible

MOST_LOOKS = 40  # at which bounds are computed for the picture
PER_CENT = 100.0
RIVALS: tuple[Role, ...] = ("first", "second", "third")  # those longest in question, each in its colour
UNSURE = 0.25  # of the judgments: before, the bounds say little, and would need most of the room
MARGIN = 2.0  # per cent above and below what is shown
MOST_BARS, MOST_NAMED, MOST_FIRST = 12, 8, 4
TWICE, LEAST = 20, 0.05  # the scale of a gap is twice as long as the gap, in tenths
SMALLEST_BELIEF = 0.001
HALF, PER_MILLE = 500, 1000
WIDE = 0.5  # a gap that says nothing where each system may be the best
LONGEST_AXIS = 18  # letters of a name on an axis
WHOLE, MARK = "all judged", " *"  # in the place of a bound of a win rate that is known; beside one that equals it
NOT_AT_ONCE = "need not all hold at once"
DIRECTLY = "To compare two of them directly is another question, best asked on other items."


def page(result: Selection) -> Page:
    """What a search says."""
    asks = "Which of many systems is the best?"
    return Page(tuple(facts(result)), (standings(result),), pictures(result), asks, outcome=result.outcome)


def so_far(tally: Standings, systems: tuple[str, ...], most: int) -> str:
    """Who leads during a run, with at most `most` characters of the name."""
    if not tally.queries:
        return ""
    leads = "level" if tally.levels is None else "no leader yet"
    if tally.leader is not None:
        leads = f"leads: {shortened(systems[tally.leader], most)}"
    may, every = int(tally.in_question.sum()), len(systems)
    return leads if may == every else f"{leads}, {may} of {every} may be the best"


def facts(result: Selection) -> list[Fact]:
    """All facts, the decision first."""
    alike = f" ({result.identical:,} with identical outputs)" if result.identical else ""
    judged = f"{count(result.judged, 'judgment')}{alike} on {result.queries:,} of {said.of_items(result)}{result.also_judged}"
    epsilon, worth = result.options.epsilon, result.proxy_worth
    chosen = f" (ε {epsilon[0]:g} and {epsilon[1]:g})" if epsilon else ""
    own = [
        Fact("decision", Section.DECISION, "", said.headline(result, _decision(result)), first=True),
        Fact(
            "judged",
            Section.EVIDENCE,
            "judged",
            f"{judged}, by {said.judged_by(result)}{said.unjudged(result)}{_begun(result)}",
            first=True,
        ),
        Fact("rates", Section.EVIDENCE, "win rates", _rates(result), first=True),
        Fact("leader", Section.EVIDENCE, "shown", _shown(result), first=True),
        Fact("near_best", Section.EVIDENCE, "near best", _near_best(result), first=not (result.winner or result.level)),
        Fact("risk", Section.RISK, "risk", _risk(result), first=True),
        Fact("baseline", Section.EVIDENCE, "baseline", _chosen(result)),
        Fact("rule", Section.EVIDENCE, "rule", _rule(result)),
        Fact(
            "selector",
            Section.EVIDENCE,
            "selector",
            f"{result.setup.selector}{chosen}, seed {result.setup.seed}{_level(result)}",
        ),
        Fact("proxy", Section.EVIDENCE, "proxy", worth.said(said.judged_by(result)) if worth else "", first=True),
        Fact("means", Section.RISK, "means", _means(result) if result.judged else ""),
        Fact("paper", Section.DATA, "for a paper", _for_a_paper(result)),
    ]
    return [*told(*own), *said.shared(result)]


def _decision(result: Selection) -> str:
    among = f"{len(result.setup.systems):,} systems{_against(result)} {on(result)}"
    if result.level:
        every = len(result.level) == len(result.setup.systems)
        found = "all are level" if every else f"{some(map(visible, result.level))} share the highest win rate"
        return f"No winner among {among}: {found}."
    if result.winner is None:
        return stopped(f"No winner yet among {among}: {said.ended(result)}")
    name = visible(result.winner)
    if result.risk is None:
        return f"{name} has the highest win rate of {among}."
    if result.gap or (result.options.min_gap is not None and len(result.near_best or ()) > 1):
        better = show_gap(result.gap or 0.0, f"no other of {len(result.setup.systems):,} systems")
        required = result.setup.required_winner
        if required == result.winner and result.gap:
            return f"{name} is not shown to be the best, only that {better} {on(result)}."
        short = (
            "" if result.answer is not Outcome.NOT_SHOWN else f"{visible(required or '')} is not shown to be the best. "
        )
        return f"{short}Choose {name}: {better} {on(result)}."
    return f"{name} is the best of {among}."


def _for_a_paper(result: Selection) -> str:
    """Who judged what, the votes of the named system, and what is shown of it; empty where nothing is guaranteed."""
    setup, name = result.setup, result.winner
    if name is None or not result.judged or setup.guarantee is None or result.outcome.broke_off:
        return ""
    own = next(row for row in result.standings if row.system == name)
    votes = f", {visible(name)} won {own.wins:,}, lost {own.losses:,} and tied {own.ties:,} against {_baseline(result)}"
    drawn = " (drawn at random)" * (result.queries < result.items)
    others = f"{len(setup.systems):,} systems{_against(result)}"
    claim = f"{visible(name)} is the best of {others}"
    if result.gap:
        claim = f"{show_gap(result.gap, f'no other of {others}')} than {visible(name)}"
    return (
        f"Judged by {said.judged_by(result)}, {count(result.judged, 'judgment')} on {result.queries:,}{drawn} of "
        f"{said.of_items(result)}{votes * bool(own.queries)}. At a risk of {result.risk:g}, {claim} {on(result)}."
    )


def _against(result: Selection) -> str:
    """What the systems are compared with, which may decide who is the best; empty of two systems."""
    baseline = result.options.baseline
    if baseline in {None, result.winner} or not result.many:
        return ""
    return f", each compared with {visible(baseline)},"


def _begun(result: Selection) -> str:
    """Which judgments of a run that was cut off do not count; empty for none."""
    counts, chosen = result.counts, result.options.chosen_by
    begun = counts.asked - counts.judged - counts.abstentions - counts.ahead - chosen
    if result.stop_reason in {StopKind.RISK_MET, StopKind.ALL_JUDGED} or not begun:
        return ""
    whole = "; a round counts only whole" if result.stop_reason is StopKind.JUDGMENT_LIMIT else ""
    return f"; not counted: {begun:,} of a round that is not finished{whole}"


def _risk(result: Selection) -> str:
    """How likely the decision is wrong: the figure, then what it means, for what was asked for."""
    if result.winner is None or not result.judged:
        return ""
    if result.whole or result.risk == 0:
        return f"0: {DRAWN_WHOLE[:1].lower()}{DRAWN_WHOLE[1:].rstrip('.')}"
    if result.risk is None or result.setup.guarantee is None:
        return NO_RISK
    wrongly = (
        "names one that is further behind the best than the run says"
        if result.gap
        else "names one that is not the best"
    )
    return f"{result.risk:g}, guaranteed: at most {one_in(result.setup.risk_threshold)} such runs {wrongly}"


def _rates(result: Selection) -> str:
    """The win rates of the first of the standings, and that of the baseline; two that differ do not look alike."""
    baseline = result.options.baseline
    rows = [row for row in _in_order(result) if row.system == baseline or row.win_rate is not None]
    if not any(row.queries for row in rows):
        return ""
    shown = [row for row in rows if row in rows[:MOST_FIRST] or row.system == baseline]
    rates = {row.system: TIE if row.system == baseline else row.win_rate or 0.0 for row in shown}
    digits = int(len({*map(per_cent, rates.values())}) < len({*rates.values()}))
    said_of = ", ".join(
        f"{visible(name)} {per_cent(rate, digits)}{' (the baseline)' * (name == baseline)}"
        for name, rate in rates.items()
    )
    more = f", and {len(rows) - len(shown):,} more" if rows[len(shown) :] else ""
    return f"{said_of}{more}{', on items that were not drawn at random' if result.win_rates_biased else ''}"


def _shown(result: Selection) -> str:
    """Without a winner: of whom most is shown, and what."""
    if not result.judged or result.winner is not None or result.level:
        return ""
    if result.near_best is None and not result.setup.guarantee:
        return "nothing, as the rule states no risk"
    if result.near_best is None or result.leader is None or result.gap is None:
        return "nothing yet"
    if result.gap > WIDE and len(result.near_best) == len(result.setup.systems):
        return f"nothing yet: any of the {len(result.near_best)} may be the best"
    rate = (
        f" (a win rate at most {per_cent(math.ceil(HALF * result.gap) / PER_MILLE, 1).removesuffix(' %')} points higher)"
        if result.gap
        else ""
    )
    return f"{show_gap(result.gap)} than {visible(result.leader)}{rate}, at a risk of {result.risk:g}"


def _means(result: Selection) -> str:
    """What is proved about the risk, and what it does not say."""
    alone = ""
    if result.many and result.options.baseline is not None:
        alone = f" All are compared with {_baseline(result)}: with another baseline another may be the best. {DIRECTLY}"
    if result.whole:
        return f"{DRAWN_WHOLE} {said.about_the_judge(result)}{alone}"
    if result.setup.guarantee is None:
        return f"No risk is stated: this rule spends the whole budget and then names the highest win rate.{alone}"
    points = " Win rates 5 % apart are a gap of 10 points." if result.gap else ""
    return f"{said.promise(result, result.setup.guarantee)}{alone}{points}"


def _chosen(result: Selection) -> str:
    """How the baseline was chosen; empty if it was given."""
    options = result.options
    if options.chosen_on is None:
        return ""
    if options.baseline is None:
        return "none is chosen yet"
    name = visible(options.baseline)
    if not options.chosen_on:
        return f"{name}, the first system, as there is nothing to choose among two or by few items"
    by, on = count(options.chosen_by, "judgment"), count(options.chosen_on, "item")
    return f"{name}, chosen by {by} on {on}, which are not in the decision"


def _near_best(result: Selection) -> str:
    if result.near_best is None:
        return f"unknown: {'nothing is shown yet' if result.setup.guarantee else 'no risk is stated'}"
    names = some(map(visible, result.near_best))
    if len(result.near_best) == 1 or set(result.near_best) == set(result.level):
        return names
    level = bool(result.level) or (result.winner is not None and not result.gap)  # no system is better
    return f"{names}: each may be {'level with ' * level}the best"


def _rule(result: Selection) -> str:
    setup = result.setup
    if setup.guarantee is None:
        return f"{setup.rule}, names the highest win rate when the budget is spent"
    wanted = show_gap(result.options.min_gap or 0.0)
    return f"{setup.rule}, stops once {wanted}, at a risk of {setup.risk_threshold:g}"


def _level(result: Selection) -> str:
    """From where on the queries were level; empty if they were not.

    A run that ended with the query after which the others were level has nothing to say.
    """
    since = result.level_since
    if since is None or since >= result.queries:
        return ""
    return f"; after {count(since, 'item')} all others promised the same information and were asked in random order"


def pictures(result: Selection) -> tuple[tuple[Picture, ...], ...]:
    """The evidence as pictures: bounds as they narrow, and where they end."""
    return (*_narrowed(result), *_behind(result)), _intervals(result)


def on(result: Selection) -> str:
    """Which items the decision is about: those that did not choose the baseline."""
    if but := beside(result):
        return f"on {result.items - but:,} of these {result.items:,} items (the other {but:,} served to choose the baseline)"
    return said.on_items(result.about, result.items, families=result.data.units)


def beside(result: Selection) -> int:
    """How many of these items the decision is not about, as they chose the baseline."""
    sampled, options = result.setup.sampled, result.options
    return 0 if sampled or options.baseline is None else options.chosen_on or 0


def _baseline(result: Selection) -> str:
    return visible(result.options.baseline or "")


def _narrowed(result: Selection) -> tuple[Chart, ...]:
    """The bounds of the systems that matter as they narrow, if there are any."""
    if not result.course:
        return ()
    *others, lower, upper = result.course
    own, gap = upper.name == result.options.baseline, result.options.min_gap
    leader, still = visible(upper.name), max(0, len(result.near_best or ()) - 1)
    low, high = lower.points[-1][1], upper.points[-1][1]
    named = result.winner is not None and not result.gap
    may = "are level with it" if result.level else "may be level with it" if named else "may still be the best"
    where = (
        "at 50 %, as the baseline" if own else f"between {low:.0f} and {high:.0f} %" if low < high else f"{high:.0f} %"
    )
    words = (
        f"The win rate of {leader} is {where} at the end. Of {count(len(others), 'other system')}, "
        f"{still or 'none'} {may}, by these bounds, which hold together, or by the items that both were judged on."
    )
    level = [line.name for line in others if line.name in (result.near_best or ())]
    if named:
        others = [line if line.name in level else _ruled_out(line, high) for line in others]
    left = f" {some(map(visible, level))} {may}{', but not better' * named}." if level else ""
    lines = [*_rivals(others), Curve(leader, "lead", upper.points[own:])]
    if not own:
        lines.append(Curve("", "lead", lower.points))
    if gap:
        lines.append(Curve("", "bound", tuple((x, y + PER_CENT * gap / 2) for x, y in lower.points)))
    return (
        Chart(
            "How the bounds of the win rates narrowed",
            words,
            "judgments",
            tuple(lines),
            note=f"{_reading(leader, _baseline(result), gap)}{left}",
            band=None if own else (lower.points, upper.points),
            unit=" %",
            up=f"bounds of the win rate against {shortened(_baseline(result), LONGEST_AXIS)}",
            view=_view([line for line in lines if line.role != "other"]),
            order=tuple(visible(row.system) for row in _in_order(result)),
        ),
    )


def _ruled_out(line: Curve, best: float) -> Curve:
    """The line of a system down to the bound of the best, whose level its own does not exceed.

    The bounds and the comparisons of two systems that end a search hold together.
    """
    x, y = line.points[-1]
    return replace(line, points=(*line.points, (x, best))) if y > best else line


def _rivals(others: Sequence[Curve]) -> Iterator[Curve]:
    """Yield the lines of other systems. Those longest in question have a colour; of many, only they have a name."""
    order = sorted(others, key=lambda line: line.points[-1], reverse=True)
    for line, role in zip_longest(order, RIVALS[: len(order)]):
        named = role or len(order) <= MOST_NAMED
        yield Curve(visible(line.name) if named else "", role or "other", line.points)


def _reading(leader: str, baseline: str, gap: float | None) -> str:
    """How the lines are to be read."""
    own = leader == baseline
    blue = (
        f"Blue: {leader}, the baseline" if own else f"The blue band holds the win rate of {leader} against {baseline}"
    )
    below = f"below {'blue' if own else 'the band'} it is not the best"
    if gap:
        below = f"below the dashed line it is no more than {show_points(gap)} better than {leader}"
    ends = "A line ends where its system was ruled out, by its bound or in direct comparison"
    return (
        f"{blue}. Each other line is the highest win rate that its system may have; {below}. {ends}. "
        "These bounds hold all together."
    )


def _view(lines: Sequence[Curve]) -> tuple[float, float]:
    """The lowest and the highest win rate worth showing: what bounds say once some is judged."""
    begin = UNSURE * max(line.points[-1][0] for line in lines)
    ys = [y for line in lines for x, y in (*line.points, (begin, line.points[-1][1])) if x >= begin]
    return max(0.0, min(ys) - MARGIN), min(PER_CENT, max(ys) + MARGIN)


def _intervals(result: Selection) -> tuple[Scale, ...]:
    """The bounds of the systems at the end, the named one first, the others by win rate."""
    known = [row for row in _in_order(result) if row.at_most is not None]
    if not known:
        return ()
    shown, baseline = known[:MOST_BARS], _baseline(result)
    rows = tuple(_interval(row, result) for row in shown)
    left = len(known) - len(shown)
    more = f" {count(left, 'more system')} in the table below." if left else ""
    alone = _one_by_one(result) or _apart(result)
    bounds = f"Each bound holds at a risk of {result.setup.risk_threshold:g}{alone and f', but they {alone}'}."
    if all(row.known for row in known):
        bounds = "All are judged: these win rates are exact."
    note = f"Win rates against {baseline} {on(result)}. {bounds}{more}"
    marks = (PER_CENT * TIE, "level with the baseline"), (0.0, "0 %"), (PER_CENT, "100 %")
    words = "; ".join(f"{row.name}: {row.said}" for row in rows)
    return (Scale("Where the win rates lie", words, 0, PER_CENT, rows, marks, note=note),)


def _interval(row: Standing, result: Selection) -> IntervalRow:
    low, high = PER_CENT * (row.at_least or 0.0), PER_CENT * (row.at_most or 0.0)
    own = row.system == result.options.baseline
    words = "50 %, the baseline" if own else f"{low:.1f} %, {WHOLE}" if row.known else f"{low:.1f} to {high:.1f} %"
    role: Role = "lead" if row.system == (result.winner or result.leader) else "other"
    value = None if row.win_rate is None else PER_CENT * row.win_rate
    return IntervalRow(visible(row.system), words, value, (low, high), role)


def _behind(result: Selection) -> tuple[Scale, ...]:
    """By how much the best may be ahead of the system named, if it may be and that is known."""
    named, gap, asked = result.winner or result.leader, result.gap, result.options.min_gap
    if named is None or not gap or not result.course:
        return ()
    most = min(1.0, math.ceil(TWICE * max(LEAST, gap, asked or 0.0)) / 10)
    row = IntervalRow(show_gap(gap), "", gap, (0.0, gap))
    marks = ((0.0, "0"), (most, show_points(most)))
    return (
        Scale(
            f"Could another be better than {visible(named)}?",
            f"{visible(named)}: {show_gap(gap)}.",
            0,
            most,
            (row,),
            marks,
            (asked, "asked for") if asked else None,
            "The gap: the share of all items that the other would win from it less the share lost, in points.",
        ),
    )


def standings(result: Selection) -> PageTable:
    """The standings: the winner, then by win rate, and last what is not judged."""
    rows = [_cells(row, result) for row in _in_order(result)]
    # A column that nothing stands in says nothing.
    told = [name for name in rows[0] if any(row[name] for row in rows)]
    cells = tuple(tuple(row[name] for name in told) for row in rows)
    alone = f"They {one}." if (one := _one_by_one(result)) else ""
    return PageTable(_heading(result), tuple(told), cells, " ".join(filter(None, (alone, *_odd(result)))))


def _one_by_one(result: Selection) -> str:
    """Why a system whose bound says no may be the best; empty if one is left, or no bounds."""
    if len(result.near_best or ()) <= 1 or all(row.known for row in result.standings):
        return ""
    return f"{NOT_AT_ONCE}: what is said of all systems together rests on wider ones"


def _apart(result: Selection) -> str:
    """The same, where a line may end above the bound beside it; empty without lines or bounds."""
    if not result.course or all(row.known for row in result.standings):
        return ""
    return f"{NOT_AT_ONCE}: those of the first picture do, and are wider"


def _odd(result: Selection) -> Iterator[str]:
    """Yield why bounds overlap though one system is the best, and why they stop at a win rate."""
    bounds = {row.system: (row.at_least or 0.0, row.at_most or 0.0) for row in result.standings}
    lower = bounds[result.winner][0] if result.winner and not result.gap else 1.0
    if any(high > lower for name, (_, high) in bounds.items() if name != result.winner):
        yield (
            "Bounds that overlap were told apart by the items that both systems were judged on, or by earlier verdicts."
        )
    rows = [row for row in result.standings if row.queries and not row.known]
    counts = [(row.wins, row.ties, row.losses, row.queries) for row in rows]
    alike = len(set(counts)) < len({(one, bounds[row.system]) for one, row in zip(counts, rows, strict=True)})
    if alike or any(row.win_rate in {row.at_least, row.at_most} - {0.0, 1.0, None} for row in rows):
        yield (
            f"{MARK.strip()} Bounds depend on the order of the verdicts: where earlier ones proved more than the win rate "
            "says now, the bound is the win rate."
        )


def _heading(result: Selection) -> str:
    if result.options.baseline is None:
        return "No win rates yet"
    heading = f"Win rates against {_baseline(result)}"
    if result.win_rates_biased:
        return f"{heading}, on items that were not drawn at random: no estimates for all items"
    if any(row.at_most is not None and not row.known for row in result.standings):
        where = "items like these" if result.setup.sampled else "all items"
        return f"{heading}; bounds for {where}, each at a risk of {result.setup.risk_threshold:g}"
    return heading


def _in_order(result: Selection) -> list[Standing]:
    """The standings: the winner first, then by win rate."""

    def place(row: Standing) -> tuple[bool, float]:
        rate = -math.inf if row.win_rate is None else row.win_rate
        return row.system != result.winner, -(TIE if row.system == result.options.baseline else rate)

    return sorted(result.standings, key=place)


def _cells(row: Standing, result: Selection) -> dict[str, str]:
    """The cells of a system by column; the baseline's level is known, and it has no verdicts."""
    base = row.system == result.options.baseline
    low, high = (
        ("", "") if base else (WHOLE, "") if row.known else (_bound(row, one) for one in (row.at_least, row.at_most))
    )
    counts = (row.wins, row.ties, row.losses, row.abstentions, row.queries)
    won, tied, lost, silent, asked = ("" if base else f"{number:,}" for number in counts)
    return {
        "system": f"{visible(row.system)}{' (baseline)' if base else ''}",
        "win rate": _share(TIE if base else row.win_rate),
        "at least": low,
        "at most": high,
        "won": won,
        "ties": tied,
        "lost": lost,
        "no verdict": silent if row.abstentions else "",
        "items": asked,
        "cost, about": "" if base or not row.queries else dollars(result.usd_for(row.queries) or 0.0),
        "belief": "" if row.belief is None else show_belief(row.belief),
    }


def _bound(row: Standing, bound: float | None) -> str:
    """A bound of a win rate; one that equals it is marked, and said below the table to do so."""
    return (
        "" if bound is None else f"{_share(bound)}{MARK if bound == row.win_rate and bound not in {0.0, 1.0} else ''}"
    )


def _share(share: float | None) -> str:
    return "" if share is None else f"{PER_CENT * share:.1f} %"


def show_belief(probability: float) -> str:
    """A selector's probability that a system is the best, in per cent.

    It is never shown as 0 or 100 per cent: a belief is not certain, though it may be rounded so.
    """
    if probability < SMALLEST_BELIEF:
        return f"under {PER_CENT * SMALLEST_BELIEF:.1f} %"
    if probability > 1 - SMALLEST_BELIEF:
        return f"over {PER_CENT * (1 - SMALLEST_BELIEF):.1f} %"
    return f"{PER_CENT * probability:.1f} %"


def course_of(
    labels: Sequence[Label], estimator: WinRates, tally: Standings, names: Sequence[str], items: int
) -> tuple[Curve, ...]:
    """The bounds of the systems' win rates, in per cent, after numbers of judgments.

    `labels` are those of the decision in the order asked, and `items` are those of the pool. There is a
    line of the upper bound for each system, up to where it is ruled out. That of the leader at the end
    stands last, after that of its lower bound, which has no name. There are no lines without a leader.
    """
    leader, bounds = tally.leader, tally.levels
    if bounds is None or leader is None:
        return ()
    first = [PER_CENT] * len(names)
    first[bounds.baseline] *= TIE  # its level is known
    uppers: list[list[Point]] = [[(0.0, level)] for level in first]
    ends = [1] * len(names)  # of a line: where its system was ruled out for good
    lower: list[Point] = [(0.0, first[leader] if leader == bounds.baseline else 0.0)]
    now, judged = None, 0
    for chunk in _looks(labels):
        now = estimator.tally(chunk, items) if now is None else estimator.extended(now, chunk)
        levels, judged = now.levels or bounds, judged + len(chunk)
        for system, (level, may) in enumerate(zip(levels.each, now.in_question, strict=True)):
            uppers[system].append((judged, PER_CENT * level.upper / levels.items))
            ends[system] = len(lower) + 1 if may or system == leader else ends[system]
        least = levels.each[leader].lower(levels.lower_risk)
        lower.append((judged, PER_CENT * least / levels.items))
    lines = [
        Curve(name, "other", tuple(points[: end + 1])) for name, points, end in zip(names, uppers, ends, strict=True)
    ]
    led = lines.pop(leader)
    return (*lines, Curve("", "lead", tuple(lower)), Curve(led.name, "lead", led.points))


def _looks(labels: Sequence[Label]) -> list[list[Label]]:
    """The labels in parts of about the same size, each of whole items."""
    looks: list[list[Label]] = [[]]
    for _, item in groupby(labels, key=lambda label: label.choice.position):
        if len(looks[-1]) * MOST_LOOKS >= len(labels):
            looks.append([])
        looks[-1] += item
    return looks

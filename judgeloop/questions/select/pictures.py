"""The evidence of a search for the best as pictures: bounds as they narrow, and where they end.

`course_of` follows the verdicts once, where a run ends; `board` puts words beside the numbers of a
`Selected`. Decides nothing and draws nothing (`report/svg.py`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, zip_longest

from judgeloop.core.errors import some
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import TIE, Label
from judgeloop.methods.estimators.win_rates import Standings, WinRates
from judgeloop.methods.stopping.rule import points as show_points
from judgeloop.methods.stopping.rule import show_gap
from judgeloop.questions.select.result import Selected, SystemRow
from judgeloop.report.cards import costs, once, systems, trust
from judgeloop.report.escaping import visible
from judgeloop.report.page import Board, Table
from judgeloop.report.pictures import Chart, Line, Point, Role, Row, Scale
from judgeloop.report.sentences import DRAWN_WHOLE, NOT_NAMED, on_items, plainly
from judgeloop.report.words import count, one_in

MOST_LOOKS = 40  # at which bounds are computed for the picture
PER_CENT = 100.0
RIVALS: tuple[Role, ...] = ("first", "second", "third")  # those longest in question, each in its colour
UNSURE = 0.25  # of the judgments: before, the bounds say little, and would need most of the room
MARGIN = 2.0  # per cent above and below what is shown
MOST_BARS, MOST_NAMED = 12, 8
TWICE, LEAST = 20, 0.05  # the scale of a gap is twice as long as the gap, in tenths
SMALLEST_BELIEF = 0.001


def course_of(
    labels: Sequence[Label], estimator: WinRates, tally: Standings, names: Sequence[str], items: int
) -> tuple[Line, ...]:
    """Return the bounds of the systems' win rates, in per cent, after numbers of judgments.

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
        Line(name, "other", tuple(points[: end + 1])) for name, points, end in zip(names, uppers, ends, strict=True)
    ]
    led = lines.pop(leader)
    return (*lines, Line("", "lead", tuple(lower)), Line(led.name, "lead", led.points))


def _looks(labels: Sequence[Label]) -> list[list[Label]]:
    """Return the labels in parts of about the same size, each of whole items."""
    looks: list[list[Label]] = [[]]
    for _, item in groupby(labels, key=lambda label: label.choice.position):
        if len(looks[-1]) * MOST_LOOKS >= len(labels):
            looks.append([])
        looks[-1] += item
    return looks


def board(result: Selected) -> Board:
    """Return what a page in a browser shows beside the text."""
    return Board(
        "Which of many systems is the best?",
        plainly(
            result,
            _wrong(result),
            f"{count(result.judged, 'judgment')} on {result.queries:,} of {count(result.items, 'item')}"
            f"{result.also_judged}",
            on(result),
        ),
        ((*_narrowed(result), *_behind(result)), _intervals(result)),
        (costs(result), trust(result), *systems(result)),
        once(result),
    )


def on(result: Selected) -> str:
    """Return which items the decision is about: those that did not choose the baseline."""
    return on_items(result.about, result.items, beside(result))


def beside(result: Selected) -> int:
    """Return how many of these items the decision is not about, as they chose the baseline."""
    sampled, options = result.setup.sampled, result.options
    return 0 if sampled or options.baseline is None else options.chosen_on or 0


def _baseline(result: Selected) -> str:
    return visible(result.options.baseline or "")


def _wrong(result: Selected) -> str:
    """Return how likely the decision is wrong, in words that need no statistics."""
    often = one_in(result.setup.risk_threshold)
    if not result.judged:
        return ""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return DRAWN_WHOLE
    if result.setup.guarantee is None:
        return "How often such a name is wrong is not known."
    if result.winner is None:
        return NOT_NAMED.format(often)
    better = "is better by more than that" if result.gap else "is the best"
    if result.many:
        better = f"{better} by comparisons with {_baseline(result)}"
    return f"The chance that this is wrong, and another one {better}, is at most {often}."


def _narrowed(result: Selected) -> tuple[Chart, ...]:
    """Return the bounds of the systems that matter as they narrow, if there are any."""
    if not result.course:
        return ()
    *others, lower, upper = result.course
    own, gap = upper.name == result.options.baseline, result.options.min_gap
    leader, still = visible(upper.name), max(0, len(result.near_best or ()) - 1)
    low, high = lower.points[-1][1], upper.points[-1][1]
    named = result.winner is not None and not result.gap
    may = "may be level with it" if named else "may still be the best"
    where = "at 50 %, as the baseline" if own else f"between {low:.0f} and {high:.0f} %"
    said = (
        f"The win rate of {leader} is {where} at the end. Of {count(len(others), 'other system')}, "
        f"{still or 'none'} {may}, by these bounds, which hold together, or by the items that both were judged on."
    )
    level = [line.name for line in others if line.name in (result.near_best or ())]
    if named:
        others = [line if line.name in level else _ruled_out(line, high) for line in others]
    lines = [*_rivals(others), Line(leader, "lead", upper.points[own:])]
    if not own:
        lines.append(Line("", "lead", lower.points))
    if gap:
        lines.append(Line("", "bound", tuple((x, y + PER_CENT * gap / 2) for x, y in lower.points)))
    return (
        Chart(
            "How the bounds of the win rates narrowed",
            said,
            "judgments",
            tuple(lines),
            note=f"{_reading(leader, _baseline(result), gap, named=named)}{_not_ruled_out(level, may)}",
            band=None if own else (lower.points, upper.points),
            unit=" %",
            view=_view([line for line in lines if line.role != "other"]),
        ),
    )


def _ruled_out(line: Line, best: float) -> Line:
    """Return the line of a system down to the bound of the best, whose level its own does not exceed.

    The bounds and the comparisons of two systems that end a search hold together.
    """
    x, y = line.points[-1]
    return replace(line, points=(*line.points, (x, best))) if y > best else line


def _rivals(others: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines of other systems. Those longest in question have a colour; of many, only they have a name."""
    order = sorted(others, key=lambda line: line.points[-1], reverse=True)
    for line, role in zip_longest(order, RIVALS[: len(order)]):
        named = role or len(order) <= MOST_NAMED
        yield Line(visible(line.name) if named else "", role or "other", line.points)


def _not_ruled_out(level: Sequence[str], may: str) -> str:
    """Return which others were not ruled out; empty if none or all were."""
    return f" Not ruled out: {some(map(visible, level))}, which {may}." if level else ""


def _reading(leader: str, baseline: str, gap: float | None, *, named: bool) -> str:
    """Return how the lines are to be read."""
    blue = (
        f"{leader}, the baseline, which all others are compared with"
        if leader == baseline
        else f"the win rate of {leader} against {baseline} lies in the band"
    )
    below = (
        f"Below the dashed line, a system is not more than {show_points(gap)} better than {leader}"
        if gap
        else "Below blue, a system is not the best"
    )
    ends = "Above it, the items that both were judged on may show the same. A line ends where its system was ruled out."
    if named and leader == baseline:
        ends = "A line ends where its system was ruled out; where the items that both were judged on did it, it drops to blue."
    elif named:
        ends = (
            "A line ends where its system was ruled out; where it ends in blue, the items that both were judged on did it, "
            "which these bounds do not show."
        )
    return (
        f"Blue: {blue}. Other lines: the highest win rate that another system may have. {below}. {ends} "
        "These bounds hold together, so they are wider than those of the standings, which hold one by one."
    )


def _view(lines: Sequence[Line]) -> tuple[float, float]:
    """Return the lowest and the highest win rate worth showing: what bounds say once some is judged."""
    begin = UNSURE * max(line.points[-1][0] for line in lines)
    ys = [y for line in lines for x, y in (*line.points, (begin, line.points[-1][1])) if x >= begin]
    return max(0.0, min(ys) - MARGIN), min(PER_CENT, max(ys) + MARGIN)


def _intervals(result: Selected) -> tuple[Scale, ...]:
    """Return the bounds of the systems at the end, the named one first, the others by win rate."""
    known = [row for row in _in_order(result) if row.at_most is not None]
    if not known:
        return ()
    shown, baseline = known[:MOST_BARS], _baseline(result)
    rows = tuple(_interval(row, result) for row in shown)
    left = len(known) - len(shown)
    more = f" {count(left, 'more system')} in the table below." if left else ""
    note = (
        f"Win rates against {baseline} {on(result)}. Each bound holds at a risk of "
        f"{result.setup.risk_threshold:g}. {_one_by_one(result) or _apart(result)}{more}"
    )
    marks = (PER_CENT * TIE, "level with the baseline"), (0.0, "0 %"), (PER_CENT, "100 %")
    said = "; ".join(f"{row.name}: {row.said}" for row in rows)
    return (Scale("Where the win rates lie", said, 0, PER_CENT, rows, marks, note=note),)


def _interval(row: SystemRow, result: Selected) -> Row:
    low, high = PER_CENT * (row.at_least or 0.0), PER_CENT * (row.at_most or 0.0)
    own = row.system == result.options.baseline
    said = "50 %, the baseline" if own else f"{low:.1f} to {high:.1f} %"
    role: Role = "lead" if row.system == (result.winner or result.leader) else "other"
    value = None if row.win_rate is None else PER_CENT * row.win_rate
    return Row(visible(row.system), said, value, (low, high), role)


def _behind(result: Selected) -> tuple[Scale, ...]:
    """Return by how much the best may be ahead of the system named, if it may be and that is known."""
    named, gap, asked = result.winner or result.leader, result.gap, result.options.min_gap
    if named is None or not gap or not result.course:
        return ()
    most = math.ceil(TWICE * max(LEAST, gap, asked or 0.0)) / 10
    row = Row(show_gap(gap), "", gap, (0.0, gap))
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


def standings(result: Selected) -> Table:
    """Return the standings: the winner, then by win rate, and last what is not judged."""
    rows = [_cells(row, result) for row in _in_order(result)]
    # A column that nothing stands in says nothing.
    told = [name for name in rows[0] if any(row[name] for row in rows)]
    cells = tuple(tuple(row[name] for name in told) for row in rows)
    return Table(_heading(result), tuple(told), cells, " ".join(filter(None, (_one_by_one(result), *_odd(result)))))


def _one_by_one(result: Selected) -> str:
    """Return why a system whose bound says no may be the best; empty if one is left, or no bounds."""
    if len(result.near_best or ()) <= 1 or all(row.known for row in result.standings):
        return ""
    return "These bounds hold one by one. Near best and gap hold jointly, so they are wider."


def _apart(result: Selected) -> str:
    """Return why a line may end above the bound beside it; empty without lines or bounds."""
    if not result.course or all(row.known for row in result.standings):
        return ""
    return "These bounds hold one by one. Those of the first picture hold all together, so they are wider."


def _odd(result: Selected) -> Iterator[str]:
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
            "Bounds depend on the order of the verdicts: where earlier ones proved more than the win rate says "
            "now, the bound is the win rate."
        )


def _heading(result: Selected) -> str:
    if result.options.baseline is None:
        return "No win rates yet"
    heading = f"Win rates against {_baseline(result)}"
    if result.win_rates_biased:
        return f"{heading}, on items that were not drawn at random: no estimates for all items"
    if any(row.at_most is not None and not row.known for row in result.standings):
        where = "items like these" if result.setup.sampled else "all items"
        return f"{heading}; bounds for {where}, each at a risk of {result.setup.risk_threshold:g}"
    return heading


def _in_order(result: Selected) -> list[SystemRow]:
    """Return the standings: the winner first, then by win rate."""

    def place(row: SystemRow) -> tuple[bool, float]:
        rate = -math.inf if row.win_rate is None else row.win_rate
        return row.system != result.winner, -(TIE if row.system == result.options.baseline else rate)

    return sorted(result.standings, key=place)


def _cells(row: SystemRow, result: Selected) -> dict[str, str]:
    """Return the cells of a system by column; the baseline's level is known, and it has no verdicts."""
    base = row.system == result.options.baseline
    bounds = (None, None) if base or row.known else (row.at_least, row.at_most)
    counts = (row.wins, row.ties, row.losses, row.abstentions, row.queries)
    won, tied, lost, silent, asked = ("" if base else f"{number:,}" for number in counts)
    return {
        "system": f"{visible(row.system)}{' (baseline)' if base else ''}",
        "win rate": _share(TIE if base else row.win_rate),
        "at least": _share(bounds[0]),
        "at most": _share(bounds[1]),
        "won": won,
        "ties": tied,
        "lost": lost,
        "no verdict": silent if row.abstentions else "",
        "items": asked,
        "belief": "" if row.belief is None else show_belief(row.belief),
    }


def _share(share: float | None) -> str:
    return "" if share is None else f"{PER_CENT * share:.1f} %"


def show_belief(probability: float) -> str:
    """Return a selector's probability that a system is the best, in per cent.

    It is never shown as 0 or 100 per cent: a belief is not certain, though it may be rounded so.
    """
    if probability < SMALLEST_BELIEF:
        return f"under {PER_CENT * SMALLEST_BELIEF:.1f} %"
    if probability > 1 - SMALLEST_BELIEF:
        return f"over {PER_CENT * (1 - SMALLEST_BELIEF):.1f} %"
    return f"{PER_CENT * probability:.1f} %"

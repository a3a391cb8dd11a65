"""The evidence of a search for the best as pictures: the bounds of all systems as they narrow.

`course_of` follows the verdicts once, where a run ends; `board` puts words beside the numbers of a
`Selected`. Decides nothing and draws nothing (`report/svg.py`).
"""

import math
from collections.abc import Sequence
from itertools import groupby

from judgeloop.core.records import TIE, Label
from judgeloop.methods.estimators.win_rates import Standings, WinRates
from judgeloop.questions.select.result import Selected, SystemRow
from judgeloop.report.cards import costs, once, systems, trust
from judgeloop.report.escaping import visible
from judgeloop.report.page import Board, Table
from judgeloop.report.pictures import Chart, Line, Point
from judgeloop.report.words import count

MOST_LOOKS = 40  # at which bounds are computed for the picture
PER_CENT = 100.0
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
    lines = [_line(*one) for one in zip(names, uppers, ends, strict=True)]
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


def _line(name: str, points: list[Point], end: int) -> Line:
    """Return a line up to its end, without a name that would stand on the line of 100 %."""
    hidden = end < len(points) and points[end][1] == PER_CENT
    return Line("" if hidden else name, "other", tuple(points[: end + 1]))


def board(result: Selected) -> Board:
    """Return what a page in a browser shows beside the text."""
    return Board(
        "Which of many systems is the best?",
        tuple(_bounds(result)),
        (costs(result), trust(result), *systems(result)),
        once(result),
    )


def _bounds(result: Selected) -> list[Chart]:
    """Return the bounds of all systems as they narrow, if there are any."""
    if not result.course:
        return []
    *others, lower, upper = result.course
    leader = visible(upper.name)
    low, high = lower.points[-1][1], upper.points[-1][1]
    still = max(0, len(result.near_best or ()) - 1)
    said = (
        f"The win rate of {leader} is between {low:.0f} and {high:.0f} % at the end. Of "
        f"{count(len(others), 'other system')}, {still:,} may still be the best."
    )
    note = (
        f"Blue: the win rate of {leader} against {visible(result.options.baseline)} lies in the band. Lines: the "
        "highest win rate of each other system, until the system is ruled out: by its bound, or beside the "
        "leader on the same items."
    )
    lines = tuple(Line(visible(one.name), one.role, one.points) for one in result.course)
    return [
        Chart(
            "How the bounds of all systems narrowed",
            said,
            "judgments",
            lines,
            note=note,
            band=(lower.points, upper.points),
            unit=" %",
        )
    ]


def standings(result: Selected) -> Table:
    """Return the standings: the winner, then by win rate, and last what is not judged."""
    every = sorted(result.standings, key=lambda row: _place(row, result))
    rows = [_cells(row, result) for row in every]
    # A column that nothing stands in says nothing.
    told = [name for name in rows[0] if any(row[name] for row in rows)]
    cells = tuple(tuple(row[name] for name in told) for row in rows)
    return Table(_heading(result), tuple(told), cells)


def _heading(result: Selected) -> str:
    heading = f"Win rates against {visible(result.options.baseline)}"
    if result.win_rates_biased:
        return f"{heading}, on items that were not drawn at random: no estimates for all items"
    if any(row.at_most is not None and not row.known for row in result.standings):
        where = "items like these" if result.setup.sampled else "all items"
        return f"{heading}; bounds for {where}, each at a risk of {result.setup.risk_threshold:g}"
    return heading


def _place(row: SystemRow, result: Selected) -> tuple[bool, float]:
    """Return what a row of the standings is sorted by."""
    rate = -math.inf if row.win_rate is None else row.win_rate
    return row.system != result.winner, -(TIE if row.system == result.options.baseline else rate)


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

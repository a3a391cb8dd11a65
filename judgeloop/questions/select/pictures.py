"""The evidence of a search for the best as pictures: the bounds of all systems as they narrow.

`course_of` follows the verdicts once, where a run ends; `board` puts words beside the numbers of a
`Selected`. Decides nothing and draws nothing (`report/svg.py`).
"""

import math
from collections.abc import Sequence
from itertools import groupby

from judgeloop.core.records import Label
from judgeloop.methods.estimators.win_rates import Standings, WinRates
from judgeloop.questions.select.result import Selected, SystemRow
from judgeloop.report.cards import costs, once, systems, trust
from judgeloop.report.escaping import visible
from judgeloop.report.page import Board, Table
from judgeloop.report.pictures import Chart, Line, Point
from judgeloop.report.words import count

MOST_LOOKS = 40  # at which bounds are computed for the picture
PER_CENT = 100.0
NOT_DRAWN = "The items were not drawn at random: these are no estimates for all items."


def course_of(
    labels: Sequence[Label], estimator: WinRates, tally: Standings, names: Sequence[str], items: int
) -> tuple[Line, ...]:
    """Return the bounds of the systems' win rates, in per cent, after numbers of judgments.

    `labels` are those of the decision in the order asked, and `items` are those of the pool. There is a
    line of the upper bound for each system, that of the leader last; before it stands its lower bound,
    without a name. There are no lines without bounds.
    """
    leader, bounds = tally.leader, tally.levels
    if bounds is None or leader is None:
        return ()
    steps = [list(group) for _, group in groupby(labels, key=lambda label: label.choice.position)]
    size = math.ceil(len(steps) / MOST_LOOKS)
    uppers: list[list[Point]] = [[(0.0, PER_CENT)] for _ in names]
    lower: list[Point] = [(0.0, 0.0)]
    now, judged = None, 0
    for begin in range(0, len(steps), size):
        chunk = [label for step in steps[begin : begin + size] for label in step]
        now = estimator.tally(chunk, items) if now is None else estimator.extended(now, chunk)
        levels, judged = now.levels or bounds, judged + len(chunk)
        for points, level in zip(uppers, levels.each, strict=True):
            points.append((judged, PER_CENT * level.upper / levels.items))
        least = levels.each[leader].lower(levels.lower_risk)
        lower.append((judged, PER_CENT * least / levels.items))
    lines = [Line(name, "other", tuple(points)) for name, points in zip(names, uppers, strict=True)]
    led = lines.pop(leader)
    return (*lines, Line("", "lead", tuple(lower)), Line(led.name, "lead", led.points))


def board(result: Selected) -> Board:
    """Return what a page in a browser shows beside the text."""
    return Board(
        "Which of many systems is the best?",
        tuple(_bounds(result)),
        (standings(result), costs(result), trust(result), *systems(result)),
        once(result),
    )


def _bounds(result: Selected) -> list[Chart]:
    """Return the bounds of all systems as they narrow, if there are any."""
    if not result.course:
        return []
    *others, lower, upper = result.course
    leader = visible(upper.name)
    low, high = lower.points[-1][1], upper.points[-1][1]
    still = [one for one in others if one.points[-1][1] >= low]
    said = (
        f"The win rate of {leader} is between {low:.0f} and {high:.0f} % at the end. The upper bounds of "
        f"{len(still):,} of {count(len(others), 'other system')} reach into this band."
    )
    note = (
        f"Blue: the win rate of {leader} against {visible(result.options.baseline)} lies in the band. Lines: the "
        "highest win rate of each other system that is not ruled out. All narrow as judgments are made."
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
    """Return a row for each system: its win rate, the bounds, and its verdicts."""
    bounded = any(row.at_most is not None for row in result.standings)
    risk = f"{result.setup.risk_threshold:g}"
    note = f"Each bound is wrong with probability at most {risk}." if bounded else ""
    note = NOT_DRAWN if result.win_rates_biased else note
    names = (
        "system",
        "win rate",
        *(("at least", "at most") if bounded else ()),
        "won",
        "ties",
        "lost",
        "items",
    )
    against = visible(result.options.baseline)
    return Table(
        f"Win rates against {against}",
        names,
        tuple(_cells(row, against, bounded=bounded) for row in result.standings),
        note,
    )


def _cells(row: SystemRow, baseline: str, *, bounded: bool) -> tuple[str, ...]:
    shares = (row.win_rate, row.at_least, row.at_most) if bounded else (row.win_rate,)
    name = visible(row.system)
    if name == baseline:
        return (f"{name} (baseline)", "50.0 %", *[""] * (len(shares) + 3))
    counts = (row.wins, row.ties, row.losses, row.queries)
    rates = ("" if share is None else f"{PER_CENT * share:.1f} %" for share in shares)
    return (name, *rates, *(f"{number:,}" for number in counts))

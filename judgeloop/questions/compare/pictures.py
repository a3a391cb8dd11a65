"""The evidence of a comparison as pictures: the lead and its boundary, the verdicts, the gap.

`course_of` follows the verdicts once, where a run ends; `board` puts words beside the numbers of a
`Result`. Decides nothing and draws nothing (`report/svg.py`).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.methods.stopping.rule import Rule, scores_for
from judgeloop.questions.compare.result import Result
from judgeloop.questions.compare.risk import plain
from judgeloop.report.cards import costs, once, systems, trust
from judgeloop.report.escaping import visible
from judgeloop.report.page import Board, Table
from judgeloop.report.pictures import Bar, Chart, Line, Row, Scale
from judgeloop.report.words import count, ends, signed

FEWEST_LOOKS, MOST_DOTS = 2, 400
MINUS = "\N{MINUS SIGN}"


def course_of(tally: Tally, rule: Rule, names: tuple[str, str]) -> tuple[Line, ...]:
    """Return the lead of the leader after each verdict, and the leads that are an answer for each side.

    Leads are numbers of items, seen from the leader, or from the second system if both are level; an
    abstention counts against it. Without the order of the verdicts there are no lines.
    """
    side = 1 if tally.leader is None else tally.leader
    scores = scores_for(tally, side)
    leads, decisive = np.cumsum(scores, dtype=np.int64), np.cumsum(scores != 0)
    if len(leads) < FEWEST_LOOKS or not tally.preferences or not tally.judged:
        return ()
    found = [Line(names[side], "lead", ((0.0, 0.0), *enumerate(leads.tolist(), start=1)))]
    for at, sign in ((side, 1), (1 - side, -1)):
        bound = rule.boundary(tally, at)
        if bound is not None:
            found += _dots(bound, decisive[: len(bound)], sign)
    return tuple(found)


def _dots(bound: NDArray[np.int64], decisive: NDArray[np.int64], sign: int) -> Iterator[Line]:
    """Yield the least leads that decide, where one can: after so many `decisive` verdicts.

    A lead is even or odd as their number is, and at most their number.
    """
    least = bound + (bound + decisive) % 2
    reached = np.flatnonzero(least <= decisive)
    shown = reached[:: -(-len(reached) // MOST_DOTS) or 1]
    if len(shown):
        points = zip((shown + 1.0).tolist(), (sign * least[shown]).tolist(), strict=True)
        yield Line("", "dots", tuple(points))


def board(result: Result) -> Board:
    """Return what a page in a browser shows beside the text."""
    gates = result.options.not_worse is not None
    return Board(
        "Is the second system not worse than the first?" if gates else "Which of two systems is better?",
        plain(result),
        (_lead(result), (*_verdicts(result), *_gap(result))),
        (costs(result), trust(result), *systems(result)),
        once(result),
        row=_figures(result),
    )


def _figures(result: Result) -> Table:
    """Return the counts, and the gap with its bounds, all seen from the second system."""
    first, second = result.setup.systems
    gap = result.of_second[0]
    columns = ("system", "against", "judged", "won", "ties", "lost", "gap", "bounds")
    counts = (result.judged, result.wins[second], result.ties, result.wins[first])
    figures = (*(f"{one:,}" for one in counts), "" if gap is None else signed(gap), result.figure)
    return Table("", columns, ((visible(second), visible(first), *figures),))


def _lead(result: Result) -> tuple[Chart, ...]:
    """Return the lead by judgment, unless the order of the verdicts is not known."""
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
    shown = (Line(f"{last:+,}".replace("-", MINUS), "lead", lead.points), *bounds)
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


def _silent(result: Result, name: str) -> str:
    """Return which items count against the lead of `name` though neither won them; empty without any."""
    silent, votes = result.counts.abstentions, sorted(result.wins.values(), reverse=True)
    if not silent:
        return ""
    return (
        f" The votes are {votes[0]:,} to {votes[1]:,}; {count(silent, 'item')} without a verdict "
        f"{'counts' if silent == 1 else 'count'} against {name} here, as for the risk."
    )


def _verdicts(result: Result) -> tuple[Bar, ...]:
    """Return wins, ties and losses, the leader's first."""
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


def _gap(result: Result) -> tuple[Scale, ...]:
    """Return the gap with its interval, if the judged items stand for others."""
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
    row = Row(name, figures, result.gap, result.gap_interval)
    margin = result.options.not_worse
    asked = 0.0 if margin is None else -margin if name == visible(result.setup.systems[1]) else margin
    marks = ((asked, "level" if margin is None else f"margin {_signed(asked)}"), (-1.0, _signed(-1)), (1.0, _signed(1)))
    return (Scale("Gap", said, -1, 1, (row,), marks, note=note),)


def _signed(gap: float) -> str:
    return f"{gap:+.2f}".replace("-", MINUS)

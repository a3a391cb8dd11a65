"""The groups of items, and single criteria: how many are judged, and what the verdicts say.

Reads items and label rows of a comparison, and what was found of each group or criterion if it was tested. Returns
a record of each and its row of a page.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from judgeloop.core.errors import some
from judgeloop.core.records import TIE, Item, preference
from judgeloop.methods.stopping.by_group import GroupFinding
from judgeloop.report.labels import LabelRow
from judgeloop.report.page import PageTable, Section
from judgeloop.report.words import between, count, ends, shortened, signed

MOST_SHOWN = 12  # groups on a page, the largest first; the JSON has them all
FEWEST_SHOWN = 5  # verdicts: fewer say nothing
LONGEST_NAME = 40  # characters
NO_GROUP = "(no group)"
GAP = "gap, points"  # a column
CLAIMED = ("at least", "at most", "is", "more items")  # columns of groups that are tested
MORE = (
    "The last column: with about so many more items an open {of} has an even chance of an answer; empty if it is level."
)
Claim = Literal["better", "worse", "open"]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group of items, its verdicts counted from the side of the second system.

    `group` is None for the items without a group. `gap` is the share of judged items won less the
    share lost; None if none is judged. All counts are of the items in the decision.

    If the group was tested, all its verdicts count, and `claim` says whether the second system is
    better, worse or neither. `interval` bounds its gap. `more` of the group's items bring an answer
    with an even chance, roughly; None with an answer, or without a lead.
    """

    group: str | None
    items: int
    judged: int
    wins: int
    ties: int
    losses: int
    gap: float | None
    claim: Claim | None = None
    interval: tuple[float, float] | None = None
    more: int | None = None

    @property
    def name(self) -> str:
        """The name as pages show it."""
        return NO_GROUP if self.group is None else shortened(self.group, LONGEST_NAME)


def group_rows(
    labels: Iterable[LabelRow], items: Iterable[Item], findings: Mapping[str | None, GroupFinding] | None = None
) -> tuple[GroupRow, ...]:
    """The groups, the largest first; none if no item has a group."""
    sizes = Counter(item.group for item in items)
    known = Counter(
        (row.group, 0 if row.winner is None else 1 if row.winner == row.against else -1)
        for row in labels
        if row.score is not None and (row.in_decision or findings is not None)
    )
    by_size = sorted(sizes, key=lambda group: (-sizes[group], group is None, group or ""))
    rows = (_row(group, sizes[group], known) for group in by_size if set(sizes) != {None})
    return tuple(rows if findings is None else (_tested(row, findings[row.group]) for row in rows))


def criterion_rows(
    labels: Sequence[LabelRow], findings: Mapping[str, GroupFinding] | None = None
) -> tuple[GroupRow, ...]:
    """The criteria, each as a group of the items that were judged by it; none without criteria."""
    judged = [row for row in labels if row.score is not None and (row.in_decision or findings is not None)]
    names = list(dict.fromkeys(name for row in judged for name in row.criteria))
    known = Counter[tuple[str | None, int]](
        (name, preference(TIE - score)) for row in judged for name, score in row.criteria.items()
    )
    rows = [_row(name, sum(name in row.criteria for row in judged), known) for name in names]
    return tuple(rows if findings is None else (_tested(row, findings[row.name]) for row in rows))


def _row(group: str | None, items: int, known: Counter[tuple[str | None, int]]) -> GroupRow:
    wins, ties, losses = (known[group, preference] for preference in (1, 0, -1))
    judged = wins + ties + losses
    gap = (wins - losses) / judged if judged else None
    return GroupRow(group, items, judged, wins, ties, losses, gap)


def _tested(row: GroupRow, found: GroupFinding) -> GroupRow:
    low, high = found.interval
    claim: Claim = "open" if found.better is None else ("worse", "better")[found.better]
    more = found.more and found.more.even
    return replace(row, claim=claim, interval=(0.0 - high, 0.0 - low), more=more)


def turned(row: GroupRow) -> GroupRow:
    """A group, its verdicts counted from the side of the first system."""
    claims: dict[Claim | None, Claim | None] = {"better": "worse", "worse": "better"}
    return replace(
        row,
        wins=row.losses,
        losses=row.wins,
        gap=row.gap if row.gap is None else 0.0 - row.gap,
        claim=claims.get(row.claim, row.claim),
        interval=row.interval and (0.0 - row.interval[1], 0.0 - row.interval[0]),
    )


def counted(row: GroupRow) -> str:
    """The counts of a group in words."""
    votes = f"won {row.wins:,}, tied {row.ties:,}, lost {row.losses:,}"
    gap = "" if row.gap is None else f"; gap {signed(row.gap)} points"
    counts = f"{count(row.items, 'item')}, {row.judged:,} judged: {votes}{gap}"
    if row.claim is None or row.interval is None:
        return counts
    bounds = between(row.interval, out=_ruled_out(row))
    wanting = (
        "" if row.more is None else f"; about {count(row.more, 'more item')} of it for an even chance of an answer"
    )
    return f"{row.claim}; {counts} ({bounds}){wanting}"


def worse_in(system: str, rows: Sequence[GroupRow], cut: str) -> tuple[str, str]:
    """In which groups a system is worse, and how many are open, or the sentence on tests that were `cut` off; which."""
    worse, left = ([one.name for one in rows if one.claim == claim] for claim in ("worse", "open"))
    if worse:
        where = f"is worse in group{'s' * (len(worse) > 1)} {some(worse)}"
    else:
        where = "is not shown to be worse in any group" if left else "is worse in no group"
    open_ = cut or f"{len(left):,} of {count(len(rows), 'group')} {'has' if len(left) == 1 else 'have'} no answer"
    return f"{system} {where}{f'; {open_}' if left else ''}", f"open: {some(left)}" if left and not cut else ""


def _ruled_out(row: GroupRow) -> float | None:
    return None if row.claim == "open" else 0.0


def group_table(rows: Sequence[GroupRow], heading: str, of: str = "group") -> tuple[PageTable, ...]:
    """The table of the largest groups with enough verdicts, or of criteria, and how many more there are.

    A group with all items is none.
    """
    shown = [row for row in rows if row.claim or row.judged >= FEWEST_SHOWN][:MOST_SHOWN]
    if not shown or (len(rows) == 1 and of == "group"):
        return ()
    tested = any(row.claim for row in shown)
    columns = (of, "items", "judged", "won", "ties", "lost", GAP, *(CLAIMED if tested else ()))
    cells = [_cells(row) for row in shown]
    if left := [row for row in rows if row not in shown]:
        name = left[0].name if len(left) == 1 else f"({count(len(left), 'more group')})"
        counts = zip(*((row.items, row.judged, row.wins, row.ties, row.losses) for row in left), strict=True)
        more = (name, *(f"{sum(each):,}" for each in counts))
        cells.append((*more, *[""] * (len(columns) - len(more))))
    notes = [MORE.format(of=of)] if any(row.claim == "open" for row in shown) else []
    notes += [f"The JSON has each {of}."] if len(left) > 1 else []
    return (PageTable(heading, columns, tuple(cells), " ".join(notes), Section.GROUPS),)


def _cells(row: GroupRow) -> tuple[str, ...]:
    counts = (row.items, row.judged, row.wins, row.ties, row.losses)
    gap = "" if row.gap is None else signed(row.gap)
    more = "" if row.more is None else f"{row.more:,}"
    claimed: tuple[str, ...] = ()
    if row.claim and row.interval:
        bounds = ends(row.interval, out=_ruled_out(row))
        claimed = (*bounds, row.claim, more)
    return (row.name, *(f"{number:,}" for number in counts), gap, *claimed)

"""Which items turned between two results of one question: another winner, or a rating that moved far.

Compares two `RunResult` item by item. Systems are matched by name. Two whose names differ are matched by their place,
as the name of a candidate often has a date in it.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from judgeloop.methods.stats.intervals import change_between, mean_change
from judgeloop.report.labels import LabelRow, Texts
from judgeloop.report.page import Page, PageTable, decided
from judgeloop.report.result import RunResult
from judgeloop.report.words import count, shortened, visible

MOVED = 0.5  # a rating that differs by so much has turned
LONGEST = 60  # characters of a value
MOST_NAMED = 10  # items of a pair in a line

# An item, the place of the system judged, and that of the other; without one, the place after all.
Place = tuple[str, int, int]


class Turned(NamedTuple):
    """An item with another winner, or a rating that moved by at least `MOVED`; the verdicts in words.

    `changed` names the systems whose outputs differ, or the prompt; None if a result has no texts. `systems` are the
    two that met there, of a search, which judges an item for several; empty elsewhere.
    """

    item_id: str
    before: str
    after: str
    changed: tuple[str, ...] | None
    systems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The item, and the systems if these do not go without saying."""
        return _short(self.item_id) + f" of {' and '.join(map(_short, self.systems))}" * bool(self.systems)


class Since(NamedTuple):
    """The items that turned since an earlier result, those with another output first, and how many both judged.

    They are named by `unit`: a search for the best judges an item once for each system, so that its are judgments, on
    so many `items`.

    `moved` is by how much the gap for the second system, or the score, changed on these, with an interval, if known;
    `on_all` if these are too few, and it is the change on all that each judged, so `many` then and now, without an
    interval where that is too few as well. `same` if both judged the same ones.
    """

    turned: tuple[Turned, ...]
    both: int
    moved: tuple[float, float | None, float | None] | None = None
    on_all: bool = False
    many: tuple[int, int] = (0, 0)
    same: bool = False
    unit: str = "item"
    items: int = 0

    @property
    def line(self) -> str:
        """The items in a line; empty if none turned."""
        named = [
            f"{one.name} ({_short(one.before)}, then {_short(one.after)}"
            + (f"; other output of {', '.join(map(_short, one.changed))})" if one.changed else ")")
            for one in self.turned[:MOST_NAMED]
        ]
        more = len(self.turned) - len(named)
        on = f" on {count(self.items, 'item')}" * bool(self.items)
        said = f"{len(self.turned):,} of {count(self.both, self.unit)}{on} in both nights: {', '.join(named)}"
        return (said + f" and {more:,} more" * bool(more)) if named else ""

    def page(self, run: str) -> Page:
        """The items as a table; `run` is the earlier one."""
        rows = tuple((one.name, _short(one.before), _short(one.after), _whose(one.changed)) for one in self.turned)
        turned = f"{len(rows) or 'no'} of {count(self.both, self.unit)} in both runs turned since run {run}"
        head = turned if self.both else f"no item was judged both in run {run} and here"
        return Page(
            (decided(head),), (PageTable("", ("item", "then", "now", "outputs that differ"), rows),) if rows else ()
        )


NONE_TURNED = Since((), 0)


def turned_since(x: RunResult, y: RunResult) -> Since:
    """Compare a result `y` with an earlier one of the same question, `x`."""
    names = list(zip(x.setup.systems, y.setup.systems, strict=False))
    if x.job == "select" or set(x.setup.systems) == set(y.setup.systems):
        names = [(name, name) for name in x.setup.systems if name in y.setup.systems]
    before, after = _by_place(x, [one for one, _ in names]), _by_place(y, [one for _, one in names])
    both = [place for place in after if place in before]
    differ = _texts(x.texts, y.texts, names) if x.texts and y.texts else None
    turned = []
    for place in both:
        old, new = before[place], after[place]
        if _side(old) != _side(new) or abs(_rating(old) - _rating(new)) >= MOVED:
            changed = None if differ is None else tuple(name for name, items in differ.items() if place[0] in items)
            systems = tuple(names[at][1] for at in sorted(place[1:]) if at < len(names)) if x.job == "select" else ()
            turned.append(Turned(place[0], _verdict(old), _verdict(new), changed, systems))
    found = Since(tuple(sorted(turned, key=lambda one: not one.changed)), len(both))
    if x.job == "select":  # many pairs have no gap together
        return found._replace(unit="judgment", items=len({item for item, *_ in both}))
    values = [(_value(before[place]), _value(after[place])) for place in both]
    found = found._replace(same=before.keys() == after.keys())
    moved = mean_change([new - old for old, new in values if old is not None and new is not None])
    if moved is not None:
        return found._replace(moved=moved)
    # Too few items are in both.
    every = [[one for row in rows.values() if (one := _value(row)) is not None] for rows in (before, after)]
    if not all(every):
        return found
    then, now = every
    change = change_between(then, now) or (fmean(now) - fmean(then), None, None)
    return found._replace(moved=change, on_all=True, many=(len(then), len(now)))


def _by_place(result: RunResult, names: Sequence[str]) -> dict[Place, LabelRow]:
    places: dict[str | None, Any] = {None: len(names)} | {name: n for n, name in enumerate(names)}
    found = {}
    for label in result.labels:
        if label.system in places and label.against in places:
            swapped = places[label.system] > places[label.against]
            one = _swapped(label) if swapped else label
            found[one.item_id, places[one.system], places[one.against]] = one
    return found


def _swapped(label: LabelRow) -> LabelRow:
    """A verdict on two systems from the side of the other."""
    score = None if label.score is None else round(1 - label.score, 12)
    return replace(label, system=label.against or "", against=label.system, score=score)


def _side(label: LabelRow) -> object:
    """Which side has won; None for a tie or a rating."""
    if label.score is None:
        return "no verdict"
    return None if label.winner is None else label.winner == label.system


def _value(label: LabelRow) -> float | None:
    """What a verdict adds to the gap for the second system; a rating; None without a verdict."""
    if label.score is None or label.against is None:
        return label.score
    return 0.0 if label.winner is None else 1.0 if label.winner == label.against else -1.0


def _rating(label: LabelRow) -> float:
    return 0.0 if label.against is not None or label.score is None else label.score


def _verdict(label: LabelRow) -> str:
    if label.score is None:
        return "no verdict"
    return f"{label.score:.2f}" if label.against is None else label.winner or "tie"


def _texts(x: Texts, y: Texts, names: list[tuple[str, str]]) -> dict[str, set[str]]:
    """The items on which outputs differ, by the system's name in Y, or prompts do."""
    old, new = _by_item(x, [name for name, _ in names]), _by_item(y, [name for _, name in names])
    parts = ("the prompt", *(name for _, name in names))
    return {
        part: {item for item in old if item in new and old[item][at] != new[item][at]} for at, part in enumerate(parts)
    }


def _by_item(texts: Texts, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The prompt and the outputs of these systems, by item."""
    outputs = [texts.pool.outputs[texts.pool.systems.index(name)] for name in names]
    return {item.id: (item.prompt, *(one[n] for one in outputs)) for n, item in enumerate(texts.pool.items)}


def _whose(changed: tuple[str, ...] | None) -> str:
    if changed is None:
        return "not known"
    return ", ".join(map(_short, changed)) or "none: the judge said otherwise"


def _short(text: str) -> str:
    return visible(shortened(text, LONGEST))

"""What differs between the results of two runs: items that turned, settings, outputs, verdicts.

Compares two `RunResult` of one question, item by item. Systems are matched by their place, as the name of
a candidate often has a date in it; of more than two, by name. Reads no ledger and decides nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.report.escaping import visible
from judgeloop.report.labels import LabelRow
from judgeloop.report.page import Page, Section, Table
from judgeloop.report.run_result import RunResult
from judgeloop.report.words import count, shortened

MOVED = 0.5  # a rating that differs by so much has turned
MOST_SHOWN, LONGEST = 20, 60  # items in the text, and characters of a value
UNLIKE = {"run", "version"}  # of a setup: no settings

Place = tuple[str, int, int | None]  # an item, the place of the system judged, that of the other


@dataclass(frozen=True, slots=True)
class Turned:
    """An item whose verdict turned: another winner, or a rating that moved by at least `MOVED`.

    `system` is the system judged, `before` and `after` are the verdicts in words, and `changed` names
    the systems whose outputs differ; None if a result holds no texts.
    """

    item_id: str
    system: str
    before: str
    after: str
    changed: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between two runs, X and Y.

    - `turned`: the items that turned. `both`: how many verdicts both have; `only`: how many X or Y alone.
    - `settings`: name, value in X, value in Y. `outputs`: of each system, how many outputs differ.
    - `moved`: how many verdicts differ without having turned: in their score or votes.
    """

    turned: tuple[Turned, ...]
    both: int
    only: tuple[int, int]
    settings: tuple[tuple[str, Any, Any], ...]
    outputs: dict[str, int] | None
    moved: int

    def to_json(self) -> dict[str, Any]:
        """Return the values as JSON has them."""
        return asdict(self)


def differences(x: RunResult, y: RunResult) -> Differences:
    """Compare two results of one question.

    Raises:
        InputError: they answer different questions.
    """
    if x.job != y.job:
        raise InputError(f"expected two runs of one question, found {x.job} and {y.job}")
    names = _matched(x, y)
    before, after = _by_place(x, [name for name, _ in names]), _by_place(y, [n for _, n in names])
    both = [place for place in after if place in before]
    texts = _texts(x, y, names)
    turned = tuple(
        Turned(
            place[0],
            after[place].system,
            _verdict(before[place]),
            _verdict(after[place]),
            None
            if texts is None
            else tuple(n for n, differ in texts.items() if place[0] in differ),
        )
        for place in both
        if _side(before[place]) != _side(after[place]) or _far(before[place], after[place])
    )
    other = sum(
        (before[place].score, before[place].votes) != (after[place].score, after[place].votes)
        for place in both
    )
    return Differences(
        turned,
        len(both),
        (len(before) - len(both), len(after) - len(both)),
        tuple(_settings(x, y)),
        None if texts is None else {name: len(differ) for name, differ in texts.items()},
        other - len(turned),
    )


def _matched(x: RunResult, y: RunResult) -> list[tuple[str, str]]:
    """Return the names of each system in X and in Y."""
    first, second = x.setup.systems, y.setup.systems
    if x.job == "select":
        return [(name, name) for name in first if name in second]
    return list(zip(first, second, strict=True))


def _by_place(result: RunResult, names: list[str]) -> dict[Place, LabelRow]:
    places: dict[str | None, int | None] = {name: at for at, name in enumerate(names)}
    places[None] = None
    found = {}
    for label in result.labels:
        at = places.get(label.system)
        if at is not None and label.against in places:
            found[label.item_id, at, places[label.against]] = label
    return found


def _side(label: LabelRow) -> object:
    """Return which of the two systems has won, by its place; a rating has no sides."""
    if label.score is None:
        return "no verdict"
    return None if label.winner is None else label.winner == label.system


def _far(x: LabelRow, y: LabelRow) -> bool:
    rated = x.against is None and x.score is not None and y.score is not None
    return rated and abs((x.score or 0.0) - (y.score or 0.0)) >= MOVED


def _verdict(label: LabelRow) -> str:
    if label.score is None:
        return "no verdict"
    return f"{label.score:.2f}" if label.against is None else label.winner or "tie"


def _settings(x: RunResult, y: RunResult) -> Iterator[tuple[str, Any, Any]]:
    """Yield what was asked differently, and of how many items."""
    first, second = (
        one.setup.to_json() | one.options.to_json() | {"items": one.items} for one in (x, y)
    )
    for name in first.keys() - UNLIKE:
        if first[name] != second.get(name):
            yield name, first[name], second.get(name)


def _texts(x: RunResult, y: RunResult, names: list[tuple[str, str]]) -> dict[str, set[str]] | None:
    """Return the items on which a system's outputs differ, by its name in Y, or their prompts."""
    if x.texts is None or y.texts is None:
        return None
    old, new = x.texts.pool, y.texts.pool
    at = {item.id: place for place, item in enumerate(old.items)}
    common = [
        (item.id, at[item.id], place) for place, item in enumerate(new.items) if item.id in at
    ]

    def differing(text_x: Callable[[int], str], text_y: Callable[[int], str]) -> set[str]:
        return {item for item, here, there in common if text_x(here) != text_y(there)}

    found = {
        name: differing(
            old.outputs[old.systems.index(earlier)].__getitem__,
            new.outputs[new.systems.index(name)].__getitem__,
        )
        for earlier, name in names
    }
    prompts = differing(lambda n: old.items[n].prompt, lambda n: new.items[n].prompt)
    return found | ({"the prompt": prompts} if prompts else {})


def page_of(found: Differences, runs: tuple[str, str]) -> Page:
    """Return the differences as text, the items that turned first."""
    head = f"{count(len(found.turned), 'item')} turned, of {found.both:,} judged in both"
    shown = found.turned[:MOST_SHOWN]
    rows = tuple(
        tuple(map(_short, (one.item_id, one.before, one.after, _changed(one)))) for one in shown
    )
    tables = (Table("", ("item", *runs, "outputs that differ"), rows),) if rows else ()
    more = len(found.turned) - len(shown)
    summary = (f"{more:,} more: --json has all.",) if more else ()
    outputs = found.outputs or {}
    details = (
        *((f"outputs of {visible(name)}", f"{n:,} differ") for name, n in outputs.items() if n),
        ("verdicts", f"{found.moved:,} differ without having turned"),
        ("judged", f"{found.only[0]:,} in {runs[0]} only, {found.only[1]:,} in {runs[1]} only"),
    )
    named = tuple((name, f"{_short(x)}, then {_short(y)}") for name, x, y in found.settings)
    settings = Section("Settings that differ", named or (("", "none"),))
    return Page(head, (), summary, tables, (settings, Section("Everything else", details)))


def _changed(one: Turned) -> str:
    if one.changed is None:
        return "not known"
    return ", ".join(one.changed) or "none: the judge said otherwise"


def _short(value: object) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return shortened("none" if value is None else str(value), LONGEST)

"""Turns rows (dictionaries) into checked outputs and items, wherever the rows come from.

`outputs_of` and `items_of` take rows that are already loaded: from a file (`outputs.py`) or from a
list in a program. Columns are found as `columns.py` says; a `messages` list becomes the text of the
conversation. Nothing is read or written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from judgeloop.core.errors import DataError
from judgeloop.formats.columns import FIELDS, MODEL, OUTPUT, PROMPT, Map, Plan, plan_of
from judgeloop.formats.epochs import one_epoch
from judgeloop.formats.row_reader import RowReader, mended, once
from judgeloop.formats.tables import Row

NO_MAP: Map = {}


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A row of an items file."""

    id: str | None = None
    prompt: str | None = None
    reference: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class OutputRow(ItemRow):
    """A row of an output file: a system's output on an item."""

    model: str | None = None
    output: str = ""


R = TypeVar("R", bound=ItemRow)


@dataclass(frozen=True, slots=True)
class Located(Generic[R]):
    """A row and its place: the line on which it begins, or the number that `unit` counts."""

    line: int
    row: R
    unit: str = "line"


@dataclass(frozen=True, slots=True)
class Outputs:
    """The rows of an output file and the name of their system.

    - `columns`: the columns found, for messages.
    - `failed`: the number of rows without an output, which were left out.
    - `guesses`: the fields whose column was guessed, each with that column.
    """

    path: Path
    system: str
    rows: tuple[Located[OutputRow], ...]
    columns: tuple[str, ...] = ()
    failed: int = 0
    guesses: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Items:
    """The rows of an items file, the columns found, and the guesses as in `Outputs`."""

    rows: tuple[Located[ItemRow], ...]
    columns: tuple[str, ...] = ()
    guesses: tuple[tuple[str, str], ...] = ()


def outputs_of(
    rows: Iterable[Row],
    path: Path,
    *,
    mapped: Map = NO_MAP,
    unit: str = "line",
    allow_failed: bool = False,
    name: str | None = None,
    epoch: str | None = None,
) -> Outputs:
    """Check rows and return the outputs of the one system that they are about.

    The system's name is `name`, else that in the rows, else the name of the file. `path` and `unit`
    are how messages name the place of a row: a file and `line`, or a parameter and `row`. A row
    without an output, because the system failed, is refused, or left out with `allow_failed`. Of a
    log that repeats its items, the rows of the one `epoch` are taken.

    Raises:
        DataError: a row is wrong, has no output, or names another system than the rows before it.
    """
    found: list[Located[OutputRow]] = []
    plans, failed, systems = _Plans(mapped), 0, dict[str, int]()
    every = iter(one_epoch(rows, path, unit, epoch))
    for row in every:
        plan, plain = plans.of(row)
        parsed = _plain(row.fields) if plain and not row.failed else None
        why = _why_failed(row, plan) if parsed is None else ""
        if why and not allow_failed:
            raise _failure(path, row, why, 1 + _count_failed(every, plans), unit)
        if why:
            failed += 1
            continue
        if parsed is None:
            parsed = _parsed(RowReader(path, row, plan, unit))
        found.append(Located(row.line, parsed, unit))
        if parsed.model and parsed.model not in systems:
            systems[parsed.model] = row.line
        if len(systems) > 1:
            raise _two_systems(path, systems, unit)
    system = name or next(iter(systems), None) or stem(path)
    return Outputs(path, system, tuple(found), plans.columns, failed, plans.guesses)


def items_of(rows: Iterable[Row], path: Path, *, mapped: Map = NO_MAP, unit: str = "line") -> Items:
    """Check rows and return the items that they describe.

    Raises:
        DataError: a row is wrong or has no prompt.
    """
    found, plans = [], _Plans(mapped)
    for row in rows:
        reader = RowReader(path, row, plans.of(row)[0], unit)
        item = ItemRow(*reader.item())
        if item.prompt is None:
            raise reader.missing(PROMPT)
        found.append(Located(row.line, item, unit))
    return Items(tuple(found), plans.columns, plans.guesses)


def parse_output(path: Path, row: Row, mapped: Map = NO_MAP, unit: str = "line") -> OutputRow:
    """Check the fields of a row of an output file.

    Raises:
        DataError: a field is missing or wrong; names the line and the field.
    """
    return _parsed(RowReader(path, row, plan_of(row.fields, mapped), unit))


def _parsed(reader: RowReader) -> OutputRow:
    output = reader.output()  # first: it finds the answer at the end of messages
    return OutputRow(*reader.item(), model=once(reader.text(MODEL)), output=output)


def _plain(fields: dict[str, Any]) -> OutputRow | None:
    """Return a row under judgeloop's own names; None unless all values are texts to keep as is.

    `RowReader` would find the same, in twice the time.
    """
    texts = [fields.get(name) for name in FIELDS]
    for text in texts:
        if text is None or (type(text) is str and text.isascii()):
            continue
        if type(text) is not str or mended(text) is not text:
            return None
    id_, prompt, reference, group, model, output = texts
    if output is None:
        return None
    return OutputRow(
        id_ or None, prompt or None, reference or None, once(group), once(model), output
    )


def at(line: int, unit: str) -> str:
    """Return the place of a row for the middle of a sentence.

    >>> at(3, "line"), at(3, "sample")
    ('on line 3', 'in sample 3')
    """
    return f"{'on' if unit == 'line' else 'in'} {unit} {line}"


def stem(path: Path) -> str:
    """Return the name of a file without its ending; a system is named so by default.

    A parameter that was given rows in memory is named between backticks, which are left out.
    """
    name = path.name.strip("`")
    return name.removesuffix(".gz").removesuffix(".zst").rsplit(".", 1)[0] or name


@dataclass(slots=True)
class _Plans:
    """The plan of each row, and whether it is plain; rows with the same columns share one."""

    mapped: Map
    by_names: dict[tuple[str, ...], tuple[Plan, bool]] = field(default_factory=dict)

    def of(self, row: Row) -> tuple[Plan, bool]:
        names = tuple(row.fields)
        known = self.by_names.get(names)
        if known is None:
            plan = plan_of(names, self.mapped)
            known = self.by_names[names] = (plan, plan.plain)
        return known

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all rows, in the order of appearance."""
        return tuple(dict.fromkeys(name for names in self.by_names for name in names))

    @property
    def guesses(self) -> tuple[tuple[str, str], ...]:
        """The guesses of all plans, in the order of appearance."""
        plans = (plan for plan, _ in self.by_names.values())
        return tuple(dict.fromkeys(guess for plan in plans for guess in plan.guesses))


def _why_failed(row: Row, plan: Plan) -> str:
    """Return why a row has no output: its format says so, or the field is null; else ""."""
    columns = plan.joined.get(OUTPUT) or plan.columns(OUTPUT)
    if row.failed or not columns or any(row.fields[name] is not None for name in columns):
        return row.failed
    return f"the field {columns[0]!r} is null"


def _count_failed(rows: Iterator[Row], plans: _Plans) -> int:
    """Return how many of the rows that are left have no output, up to one that cannot be read."""
    count = 0
    try:
        for row in rows:
            count += bool(_why_failed(row, plans.of(row)[0]))
    except DataError:
        pass
    return count


def _failure(path: Path, row: Row, why: str, count: int, unit: str) -> DataError:
    others = f"; {count} {unit}s have none" if count > 1 else ""
    return DataError(
        path,
        f"there is no output: {why}{others}; ask the system again, or leave such items out with "
        "`allow_partial`",
        line=row.line,
        unit=unit,
    )


def _two_systems(path: Path, systems: Mapping[str, int], unit: str) -> DataError:
    first, other = sorted(systems, key=lambda name: systems[name])[:2]
    return DataError(
        path,
        f"expected the outputs of one system, found {other!r} after {first!r}; write each to a file "
        "of its own: judgeloop convert FILE --system NAME -o OUT",
        line=systems[other],
        unit=unit,
    )

"""Turns rows (dictionaries) into checked outputs and items, wherever the rows come from.

`read_outputs` and `read_items` take a file of any format, or rows in memory. Columns are found as
`columns.py` says; a `messages` list becomes the text of the conversation; of a log that repeats its
items, all epochs are read as samples, unless one is chosen. `join.py` joins the files.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from judgeloop.core.ends import OutputEnd, ended
from judgeloop.core.errors import DataError, InputError
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.columns import (
    FAMILY,
    FIELDS,
    MODEL,
    OUTPUT,
    PROMPT,
    Candidates,
    Map,
    MissingFieldError,
    RowReader,
    along_paths,
    candidates_of,
    columns_told,
    guesses_of,
    is_plain,
    mended,
    normal,
    once,
)
from judgeloop.formats.tables import Place, Row, Source, Table

MEAN = "mean"  # of recorded scores; texts have no mean
NO_MAP: Map = ()
FINISH_REASON = "finish_reason"  # the column that says how an output ended
ENDS = {FINISH_REASON, "stop_reason", "finishreason", "stopreason", "done_reason"}


def one_epoch(table: Table, epoch: str | None) -> Iterator[Row]:
    """Yield the rows of one epoch; without `epoch`, those of all.

    Raises:
        DataError: no row is of the chosen one.
        InputError: a mean is asked for.
    """
    if epoch == MEAN:
        raise InputError(
            "`epoch=mean` is a mean of recorded scores; a judge reads one answer to an item, as with `epoch=1`"
        )
    seen: set[int] = set()
    for row in table.rows:
        seen.add(row.epoch)
        if epoch is None or row.epoch in {0, int(epoch)}:
            yield row
    if epoch is not None and not seen & {0, int(epoch)}:
        found = ", ".join(map(str, sorted(seen)))
        raise table.wrong(f"there is no epoch {epoch}; found {found}")


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A row of an items file."""

    id: str | None = None
    prompt: str | None = None
    reference: str | None = None
    group: str | None = None
    family: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class OutputRow(ItemRow):
    """A row of an output file: a system's output on an item, how it ended, and the recorded score that is compared."""

    model: str | None = None
    output: str = ""
    score: float | None = None
    ended: OutputEnd = OutputEnd.WHOLE


R = TypeVar("R", bound=ItemRow)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Located(Generic[R]):
    """A row and its place: the line on which it begins, or the number that `unit` counts."""

    line: int
    row: R
    unit: str = "line"

    def wrong(self, path: Place, problem: str) -> DataError:
        """The error for this row of a file."""
        return DataError(path, problem, line=self.line, unit=self.unit)


@dataclass(frozen=True, slots=True)
class Outputs:
    """The rows of an output file and the name of their system.

    - `columns`: the columns found, for messages.
    - `failed`: the number of rows without an output, or without a score, which were left out.
    - `guesses`: the fields whose column was guessed, each with that column.
    - `scorer`: whose recorded scores the rows have (`recorded.py`); empty where outputs are judged.
    - `repeats`: whether the file says that it repeats its items: equal rows about one are then no copies.
    """

    path: Place
    system: str
    rows: tuple[Located[OutputRow], ...]
    columns: tuple[str, ...] = ()
    failed: int = 0
    guesses: tuple[tuple[str, str], ...] = ()
    scorer: str = ""
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """The rows of an items file, the columns found, and the guesses as in `Outputs`.

    `turns` holds the messages of prompts that are conversations, by the text that judges see.
    `told` holds the other columns of an item that systems may be told, by its id and its prompt.
    """

    rows: tuple[Located[ItemRow], ...]
    columns: tuple[str, ...] = ()
    guesses: tuple[tuple[str, str], ...] = ()
    turns: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    told: Mapping[tuple[str | None, str | None], Mapping[str, Any]] = field(default_factory=dict)


_READ: ContextVar[dict[Hashable, Any] | None] = ContextVar("read", default=None)


@contextmanager
def each_file_once() -> Iterator[None]:
    """Read no file of outputs or verdicts twice until the outermost of such contexts ends."""
    known = _READ.get()
    token = _READ.set({} if known is None else known)
    try:
        yield
    finally:
        _READ.reset(token)


def read_once(key: Hashable, read: Callable[[], T]) -> T:
    """What `read` finds; within `each_file_once`, what it found before under the same `key`."""
    known = _READ.get()
    if known is None:
        return read()
    if key not in known:
        known[key] = read()
    found: T = known[key]
    return found


def read_outputs(
    source: Source,
    mapped: Map = NO_MAP,
    *,
    allow_failed: bool = False,
    name: str | None = None,
    epoch: str | None = None,
) -> Outputs:
    """Read, check and return the outputs of one system, of a file of any format or in memory.

    The system's name is `name`, else that in the rows, else the name of the file. A row without an
    output, because the system failed, is refused, or left out with `allow_failed`. Of a log that
    repeats its items, the rows of the one `epoch` are taken, or all.

    Raises:
        DataError: a row is wrong, has no output, or names another system than the rows before it.
    """
    asked = source, mapped, allow_failed, name, epoch
    return read_once(asked, partial(_read, *asked))


def _read(source: Source, mapped: Map, allow_failed: bool, name: str | None, epoch: str | None) -> Outputs:  # noqa: FBT001
    table = table_of(source)
    found: list[Located[OutputRow]] = []
    seen, failed, systems, repeats = _Seen(mapped), 0, dict[str, int](), False
    every = along_paths(one_epoch(table, epoch), mapped)
    for row in every:
        candidates, plain, end = seen.of(row)
        repeats = repeats or row.epoch > 1
        parsed = _plain(row.fields) if plain and not row.failed else None
        how = ended(row.fields[end]) if end else row.ended
        why = _why_failed(row, candidates) if parsed is None else ""
        if how is OutputEnd.FAILED and not why:
            why = f"it was {how.said}"
        if why and not allow_failed:
            count = 1 + _count_failed(every, seen)
            others = f"; {count} {table.unit}s have none" if count > 1 else ""
            raise table.wrong(
                f"there is no output: {why}{others}; ask the system again, or leave such items out with `allow_partial`",
                row.line,
            )
        if why:
            failed += 1
            continue
        if parsed is None:
            try:
                parsed = _parsed(RowReader(table, row, candidates))
            except MissingFieldError as error:
                raise error.knowing(every, mapped) from None
        if how is not OutputEnd.WHOLE:
            parsed = replace(parsed, ended=how)
        found.append(Located(row.line, parsed, table.unit))
        if parsed.model:
            systems.setdefault(parsed.model, row.line)
        if len(systems) > 1:
            first, other = systems
            raise table.wrong(
                f"expected the outputs of one system, found {other!r} after {first!r}; write each to a file "
                "of its own: judgeloop convert FILE --system NAME -o OUT",
                systems[other],
            )
    system = name or next(iter(systems), None) or stem(table.place)
    return Outputs(table.place, system, tuple(found), seen.columns, failed, seen.guesses, repeats=repeats)


def read_items(source: Source, mapped: Map = NO_MAP) -> Items:
    """Read, check and return the items of a file of any format, or of rows in memory.

    Raises:
        DataError: a row is wrong or has no prompt.
    """
    table = table_of(source)
    found, seen = [], _Seen(mapped)
    turns: dict[str, Sequence[tuple[str, str]]] = {}
    told: dict[tuple[str | None, str | None], Mapping[str, Any]] = {}
    every = along_paths(table.rows, mapped)
    for row in every:
        reader = RowReader(table, row, seen.of(row)[0])
        item = ItemRow(*reader.item(), family=once(reader.text(FAMILY)))
        if item.prompt is None:
            raise reader.missing(PROMPT).knowing(every, mapped)
        found.append(Located(row.line, item, table.unit))
        if said := reader.turns():
            turns[item.prompt] = said
        if names := columns_told(row.fields, mapped):
            told[item.id, item.prompt] = {name: row.fields[name] for name in names}
    return Items(tuple(found), seen.columns, seen.guesses, turns, told)


def parse_output(table: Table, row: Row) -> OutputRow:
    """Check the fields of a row of an output file, without a map.

    Raises:
        DataError: a field is missing or wrong; names the line and the field.
    """
    return _parsed(RowReader(table, row, candidates_of(row.fields, NO_MAP)))


def _parsed(reader: RowReader) -> OutputRow:
    output = reader.output()  # first: it finds the answer at the end of messages
    item, family = reader.item(), once(reader.text(FAMILY))
    return OutputRow(*item, model=once(reader.text(MODEL)), output=output, family=family)


def _plain(fields: dict[str, Any]) -> OutputRow | None:
    """A row under judgeloop's own names; None unless all values are texts to keep as is.

    `RowReader` would find the same, in twice the time.
    """
    texts = [fields.get(name) for name in FIELDS]
    for text in texts:
        if text is None or (type(text) is str and text.isascii()):
            continue
        if type(text) is not str or mended(text) is not text:
            return None
    id_, prompt, reference, group, family, model, output = texts
    if output is None:
        return None
    item = id_ or None, prompt or None, reference or None, once(group)
    return OutputRow(*item, once(model), output, family=once(family))


def at(line: int, unit: str) -> str:
    """The place of a row for the middle of a sentence.

    >>> at(3, "line"), at(3, "sample")
    ('on line 3', 'in sample 3')
    """
    return f"{'on' if unit == 'line' else 'in'} {unit} {line}"


def stem(path: object) -> str:
    """The name of a file without its ending; a system is named so by default.

    A parameter that was given rows in memory is named between backticks, which are left out.
    """
    name = Path(str(path)).name.strip("`")
    return name.removesuffix(".gz").removesuffix(".zst").rsplit(".", 1)[0] or name


@dataclass(slots=True)
class _Seen:
    """The columns seen so far: which may hold what, whether such rows are plain, and which says how an output ended."""

    mapped: Map
    by_names: dict[tuple[str, ...], tuple[Candidates, bool, str | None]] = field(default_factory=dict)

    def of(self, row: Row) -> tuple[Candidates, bool, str | None]:
        names = tuple(row.fields)
        known = self.by_names.get(names)
        if known is None:
            candidates = candidates_of(names, self.mapped)
            end = next((name for name in names if normal(name) in ENDS), None)
            known = self.by_names[names] = (candidates, is_plain(candidates), end)
        return known

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all rows, in the order of appearance."""
        return tuple(dict.fromkeys(name for names in self.by_names for name in names))

    @property
    def guesses(self) -> tuple[tuple[str, str], ...]:
        """The guesses for all rows, in the order of appearance."""
        every = (guesses_of(candidates) for candidates, *_ in self.by_names.values())
        return tuple(dict.fromkeys(guess for guesses in every for guess in guesses))


def _why_failed(row: Row, candidates: Candidates) -> str:
    """Why a row has no output: its format says so, or the field is null; else ""."""
    names = [name for column in candidates[OUTPUT] for name in column.names]
    if row.failed or not names or any(row.fields[name] is not None for name in names):
        return row.failed
    return f"the field {names[0]!r} is null"


def _count_failed(rows: Iterator[Row], seen: _Seen) -> int:
    """How many of the rows that are left have no output, up to one that cannot be read."""
    count = 0
    with suppress(DataError):
        for row in rows:
            count += bool(_why_failed(row, seen.of(row)[0]))
    return count

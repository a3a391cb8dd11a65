"""Finds which column of a row is the prompt, the output, the id and so on.

judgeloop's own names and AlpacaEval's come first, in any case. Other common names are guesses. They
are used where a row could not be read without them, and two guesses for one field are refused. The
setting `map` overrides both. `RowReader` reads the fields of one row as texts, and says in errors
which row and which column is wrong; `rows.py` makes records of the texts.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any, TypeVar

from judgeloop.core.errors import DataError
from judgeloop.formats import conversation
from judgeloop.formats.json_rows import shown
from judgeloop.formats.row import Row, Table

ID, PROMPT, REFERENCE, GROUP, MODEL, OUTPUT = (
    "id", "prompt", "reference", "group", "model", "output",
)  # fmt: skip
FIELDS = (ID, PROMPT, REFERENCE, GROUP, MODEL, OUTPUT)
MESSAGES = "messages"

# Always read, in this order: the own name, then AlpacaEval's.
KNOWN: dict[str, tuple[str, ...]] = {
    ID: (ID,),
    PROMPT: (PROMPT, "instruction"),
    REFERENCE: (REFERENCE,),
    GROUP: (GROUP, "dataset"),
    MODEL: (MODEL, "generator"),
    OUTPUT: (OUTPUT,),
}
GUESSES: dict[str, tuple[str, ...]] = {
    ID: ("item_id", "question_id", "sample_id", "example_id", "prompt_id", "uid"),
    PROMPT: ("question", "input", "user_input", "query", "problem", MESSAGES, "conversation", "conversations"),
    REFERENCE: ("target", "expected", "expected_output", "ground_truth", "gold", "ideal"),
    GROUP: ("category",),
    MODEL: ("model_name", "model_id"),
    OUTPUT: (
        "response", "completion", "answer", "generation", "prediction", "generated_text",
        "model_output", "model_response", "model_answer", "actual_output",
    ),
}  # fmt: skip
WITHHELD = (REFERENCE, GROUP, MODEL, OUTPUT)  # from systems that answer live
JOINER = "+"  # in a map: the text of several columns, one after another
UNTYPABLE = {",", JOINER}  # characters that part columns in a map
SHOWN = 12  # columns named in a message

# A field may have several columns, of which a file has one; the texts of joined columns are one.
Map = tuple[tuple[str, tuple[str, ...]], ...]
_SURROGATES = re.compile("[\ud800-\udfff]")
CHOICES = "choices"  # of a reply of OpenAI's API
BARE_REPLY = (
    "this is a reply of a model as its API sent it, which does not say which item it answers; write "
    "rows with the item's 'id' or 'prompt', and the text of the reply as 'output'"
)
Messages = Sequence[Mapping[str, Any]]
T = TypeVar("T")


class MissingFieldError(DataError):
    """No column of a row is known to hold a field that every row needs, or the one that does holds no text.

    `problem` says so without the remedy: who knows several files has a better one.
    """

    def __init__(self, table: Table, row: Row, problem: str, remedy: str) -> None:
        super().__init__(table.place, f"{problem}; {remedy}", line=row.line, unit=table.unit)
        self.problem = str(table.wrong(problem, row.line))


@dataclass(frozen=True, slots=True)
class Column:
    """A column that may hold a field; several `names` where `map` puts columns together.

    A `sure` one has a known or mapped name; the others are guesses. `beside` is a column that may
    belong to the same text: Stanford Alpaca's rows put the text to work on into `input`, beside the
    `instruction`.
    """

    names: tuple[str, ...]
    sure: bool = True
    beside: str | None = None

    @property
    def name(self) -> str:
        """The column, or the first of several."""
        return self.names[0]


# For each field the columns that may hold it, the first choice first: sure ones before guesses.
Candidates = Mapping[str, tuple[Column, ...]]


def candidates_of(names: Iterable[str], mapped: Map) -> Candidates:
    """Return which of the columns `names` may hold what; equal arguments give the same object."""
    return _candidates(tuple(names), mapped)


@lru_cache(maxsize=512)
def _candidates(names: tuple[str, ...], mapped: Map) -> Candidates:
    by_key: dict[str, list[str]] = {}
    for name in names:
        by_key.setdefault(normal(name), []).append(name)
    beside = _beside(by_key)
    found = {field: _named(by_key, keys) for field, keys in KNOWN.items()}
    found[PROMPT] = [replace(column, beside=beside) for column in found[PROMPT]]
    # A row in judgeloop's own form keeps the id and the name that it has without guesses.
    own_form = found[OUTPUT] and (found[ID] or found[PROMPT])
    for field in FIELDS:
        if not own_form or (field == PROMPT and not found[PROMPT]):
            found[field] += _named(by_key, GUESSES[field], sure=False)
    chosen = [(field, columns) for field, columns in mapped if set(columns) <= set(names)]
    for field in dict(chosen):
        held = [columns for one, columns in chosen if one == field]
        found[field] = [Column(columns, sure=len(held) == 1) for columns in held]
    return {field: tuple(columns) for field, columns in found.items()}


def columns_told(names: Iterable[str], mapped: Map) -> tuple[str, ...]:
    """Return the columns of items that a system which answers may be told beside the prompt.

    None is told that holds, or by its name may hold, a reference, a group, or somebody's output.
    """
    chosen = frozenset(name for _, columns in mapped for name in columns)
    return _columns_told(tuple(names), chosen)


@lru_cache(maxsize=512)
def _columns_told(names: tuple[str, ...], chosen: frozenset[str]) -> tuple[str, ...]:
    withheld = {name for field in WITHHELD for name in (*KNOWN[field], *GUESSES.get(field, ()))}
    own = {ID, PROMPT, MESSAGES, *chosen}
    return tuple(name for name in names if name not in own and normal(name) not in withheld)


def _beside(by_key: Mapping[str, Sequence[str]]) -> str | None:
    """Return the column `input` of Stanford Alpaca's rows; AlpacaEval's rows need none."""
    if "instruction" not in by_key or PROMPT in by_key or "generator" in by_key:
        return None
    return next(iter(by_key.get("input", ())), None)


def _named(by_key: Mapping[str, Sequence[str]], keys: Sequence[str], *, sure: bool = True) -> list[Column]:
    """Return the columns with one of the names `keys`; an exact name goes before another case."""
    return [
        Column((name,), sure)
        for key in keys
        for name in sorted(by_key.get(key, ()), key=lambda name, key=key: name != key)  # type: ignore[misc]
    ]


def is_plain(candidates: Candidates) -> bool:
    """Return whether every field stands under judgeloop's own name, an output among them."""
    own = all(columns in {(), (Column((field,)),)} for field, columns in candidates.items())
    return own and bool(candidates[OUTPUT])


def guesses_of(candidates: Candidates) -> tuple[tuple[str, str], ...]:
    """Return the fields that stand under no known name, each with what is taken for it."""
    return tuple(
        (field, " or ".join(repr(column.name) for column in columns))
        for field, columns in candidates.items()
        if columns and not columns[0].sure
    )


def normal(name: str) -> str:
    """Return a column's name without case, with `_` for spaces and hyphens.

    >>> normal("Model Output")
    'model_output'
    """
    return str(name).strip().casefold().replace(" ", "_").replace("-", "_")


def found_text(names: Iterable[str]) -> str:
    """Return the names of columns for a message."""
    listed = list(names)
    shown = ", ".join(repr(name) for name in listed[:SHOWN]) or "none"
    return shown + (", …" if len(listed) > SHOWN else "")


def guesses_text(files: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Return which columns were guessed, from the guesses in each file; empty if none were.

    >>> guesses_text({"a.csv": [("prompt", "'Question'")], "b.csv": [("prompt", "'Question'")]})
    "prompt from 'Question' (a.csv, b.csv); `map` sets it"
    """
    by_guess: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, guesses in files.items():
        if guesses:
            by_guess.setdefault(tuple(guesses), []).append(name)
    parts = [
        f"{', '.join(f'{field} from {column}' for field, column in guesses)} ({', '.join(names)})"
        for guesses, names in by_guess.items()
    ]
    several = sum(map(len, by_guess)) > 1
    return "; ".join([*parts, f"`map` sets {'them' if several else 'it'}"]) if parts else ""


@dataclass(slots=True)
class RowReader:
    """Reads the fields of one row as texts, and names the row and the column in errors."""

    table: Table
    row: Row
    candidates: Candidates
    answered: Messages | None = None

    def item(self) -> tuple[str | None, str | None, str | None, str | None]:
        """Return id, prompt, reference and group; None where the row has none."""
        return self.text(ID), self._prompt(), self.text(REFERENCE), once(self.text(GROUP))

    def output(self) -> str:
        """Return the output: the column, else the answer at the end of the messages."""
        column = self._pick(OUTPUT, lambda value: value is None)
        if column is not None:
            return self._value(column) or ""
        if self.candidates[OUTPUT]:
            raise self._wrong(self.candidates[OUTPUT][0].name, None)
        return self._last_answer()

    def text(self, field: str) -> str | None:
        """Return the text of a field; None if it is absent or empty."""
        column = self._pick(field)
        return (self._value(column) or None) if column is not None else None

    def _pick(self, field: str, is_empty: Callable[[object], bool] | None = None) -> Column | None:
        """Return the first column that holds something; refuse a second guess that differs."""
        fields, says_nothing = self.row.fields, is_empty or _is_empty
        held = [
            column for column in self.candidates[field] if not all(says_nothing(fields[name]) for name in column.names)
        ]
        if not held:
            return None
        first, *others = held
        if first.beside is not None and fields[first.beside]:
            raise self._ambiguous(field, first.name, first.beside, JOINER + first.beside)
        for other in others:
            if not first.sure and fields[other.name] != fields[first.name]:
                raise self._ambiguous(field, first.name, other.name)
        return first

    def _prompt(self) -> str | None:
        column = self._pick(PROMPT)
        listed = column is None or conversation.is_messages(self.row.fields[column.name])
        if self.answered is not None and listed:
            return self._said(conversation.conversation, self.answered) if self.answered else None
        return (self._value(column) or None) if column is not None else None

    def turns(self) -> list[tuple[str, str]]:
        """Return the roles and texts of a prompt that is a conversation; empty for another."""
        column = self._pick(PROMPT)
        value = None if column is None else self.row.fields[column.name]
        if not conversation.is_messages(value) or (
            len(value) == 1 and conversation.role_of(value[0]) == conversation.USER
        ):
            return []
        return [
            (conversation.role_of(part), mended(self._said(lambda one: conversation.said(one[0]), [part])))
            for part in value
        ]

    def _last_answer(self) -> str:
        """Return the answer at the end of a `messages` list, and keep what stands before it."""
        for column in self.candidates[PROMPT]:
            messages = self.row.fields[column.name]
            if conversation.is_messages(messages):
                before, answer = self._said(conversation.split_answer, messages)
                if answer is not None:
                    self.answered = before
                    return mended(str(answer))
        raise self.missing(OUTPUT)

    def _value(self, column: Column) -> str | None:
        """Return the text of a column, or of all columns that `map` joins."""
        texts = [self._text(name, self.row.fields[name]) for name in column.names]
        return texts[0] if len(texts) == 1 else "\n\n".join(text for text in texts if text)

    def _text(self, name: str, value: object) -> str | None:
        """Return a value as text that can be stored; numbers are written out."""
        if value is None:
            return None
        if isinstance(value, str):
            return mended(value)
        if conversation.is_messages(value):
            return mended(str(self._said(conversation.conversation, value)))
        number = isinstance(value, Real | Decimal) and not isinstance(value, bool)
        # A whole number of thousands of digits is no float, and Python does not write it.
        with suppress(OverflowError, ValueError):
            if number and math.isfinite(value):  # type: ignore[arg-type]  # checked before
                return str(value)
        raise self._wrong(name, value)

    def _said(self, function: Callable[[Messages], T], messages: Messages) -> T:
        try:
            return function(messages)
        except ValueError as error:
            raise self._error(f"the messages cannot be shown to a judge: {error}") from None

    def missing(self, field: str) -> DataError:
        """Return the error for a field that no column holds."""
        if field == OUTPUT and isinstance(self.row.fields.get(CHOICES), list):
            return self._error(BARE_REPLY)
        mends = remedy(field, self.row.fields, self.candidates)
        return MissingFieldError(self.table, self.row, f"the field {field!r} is missing", mends)

    def _wrong(self, name: str, value: object) -> DataError:
        problem = f"the field {name!r} is wrong: expected text, found {shown(value)}"
        if not isinstance(value, Mapping | list):
            return self._error(problem)
        field = next(key for key, of in self.candidates.items() for one in of if name in one.names)
        part = next(iter(value), "NAME") if isinstance(value, Mapping) else 0
        remedy = f"say what in it, as in `map={field}={name}.{part}`"
        return MissingFieldError(self.table, self.row, problem, remedy)

    def _ambiguous(self, field: str, first: str, other: str, join: str = "") -> DataError:
        return self._error(
            f"both {first!r} and {other!r} may be the {field}; say which, as in `map={field}={first}{join}`"
        )

    def _error(self, problem: str) -> DataError:
        return self.table.wrong(problem, self.row.line)


def remedy(field: str, fields: Mapping[str, object], candidates: Candidates) -> str:
    """Return which columns were found, and the map that makes one `field`: for example the longest text."""
    taken = {name for columns in candidates.values() for one in columns for name in one.names}
    free = {
        name: len(value)
        for name, value in fields.items()
        if isinstance(value, str) and name not in taken and not UNTYPABLE & set(name)
    }
    longest = max(free, key=free.__getitem__, default="COLUMN")
    return f"found {found_text(fields)}; say which column it is, as in `map={field}={longest}`"


def mended(text: str) -> str:
    """Decode surrogate pairs, which JSON allows and UTF-8 does not; a lone half becomes U+FFFD."""
    if text.isascii() or not _SURROGATES.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_empty(value: object) -> bool:
    """Return whether a value says nothing, as an empty cell of a CSV file."""
    return value is None or (isinstance(value, str) and not value)


def once(text: str | None) -> str | None:
    """Return a text that many rows share, kept once; None for an empty text."""
    return sys.intern(text) if text else None

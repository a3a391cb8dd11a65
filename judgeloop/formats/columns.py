"""Which column of a row is the prompt, the output, the id and so on; the user's map.

judgeloop's own names and AlpacaEval's come first, in any case. Other common names are guesses. They are used where a
row could not be read without them, and two guesses for one field are refused. The setting `map` overrides both.
`RowReader` reads the fields of one row as texts, and says in errors which row and which column is wrong; `rows.py`
makes records of the texts.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from numbers import Real
from statistics import fmean
from typing import Any, TypeVar

from judgeloop.core.errors import DataError, InputError
from judgeloop.formats.messages import USER, Messages, conversation, is_messages, role_of, said, split_answer
from judgeloop.formats.tables import Fields, Row, Table, shown

FIELDS = ID, PROMPT, REFERENCE, GROUP, FAMILY, MODEL, OUTPUT = (
    "id", "prompt", "reference", "group", "family", "model", "output",
)  # fmt: skip
MESSAGES = "messages"

# Always read, in this order: the own name, then AlpacaEval's.
KNOWN: dict[str, tuple[str, ...]] = {
    ID: (ID,),
    PROMPT: (PROMPT, "instruction"),
    REFERENCE: (REFERENCE,),
    GROUP: (GROUP, "dataset"),
    FAMILY: (FAMILY,),
    MODEL: (MODEL, "generator"),
    OUTPUT: (OUTPUT,),
}
GUESSES: dict[str, tuple[str, ...]] = {
    ID: ("item_id", "question_id", "sample_id", "example_id", "prompt_id", "uid"),
    PROMPT: ("question", "input", "user_input", "query", "problem", "inputs", MESSAGES, "conversation", "conversations"),
    REFERENCE: ("target", "expected", "expected_output", "ground_truth", "gold", "ideal", "targets"),
    GROUP: ("category",),
    FAMILY: ("conversation_id", "session_id", "thread_id"),  # the turns of a conversation
    MODEL: ("model_name", "model_id"),
    OUTPUT: (
        "response", "outputs", "completion", "answer", "generation", "prediction", "generated_text",
        "model_output", "model_response", "model_answer", "actual_output",
    ),
}  # fmt: skip
WITHHELD = (REFERENCE, GROUP, FAMILY, MODEL, OUTPUT)  # from systems that answer live
JOINER = "+"  # in a map: the text of several columns, one after another
UNTYPABLE = {",", JOINER}  # characters that part columns in a map
LOOKED_AT = 100  # rows that a guess looks at
SHOWN = 12  # columns named in a message

# A field may have several columns, of which a file has one; the texts of joined columns are one.
Map = tuple[tuple[str, tuple[str, ...]], ...]
_SURROGATES = re.compile("[\ud800-\udfff]")
CHOICES = "choices"  # of a reply of OpenAI's API
BARE_REPLY = (
    "this is a reply of a model as its API sent it, which does not say which item it answers; write "
    "rows with the item's 'id' or 'prompt', and the text of the reply as 'output'"
)
_EXPECTED = f"expected FIELD=COLUMN, such as prompt=question,output=answer, where FIELD is one of {', '.join(FIELDS)}"
DEEPEST = 7  # objects and lists within each other
NO_QUESTION = re.compile(r"[\w.:/-]*", re.ASCII)  # an id, a number, a time, the name of a model
_ABSENT = object()
T = TypeVar("T")


class MissingFieldError(DataError):
    """No column of a row is known to hold a field that every row needs, or the one that does holds no text.

    `problem` says so without the remedy: who knows several files has a better one.
    """

    def __init__(self, table: Table, row: Row, problem: str, remedy: str, *, guess: str = "") -> None:
        """`guess`: the field of which `remedy` proposes a column."""
        super().__init__(table.place, f"{problem}; {remedy}", line=row.line, unit=table.unit)
        self.problem = str(table.wrong(problem, row.line))
        self._of = table, row, problem, guess

    def knowing(self, rows: Iterable[Row], mapped: Map) -> "MissingFieldError":
        """The error of somebody who knows further rows: a column whose values repeat there is not proposed."""
        table, row, problem, guess = self._of
        others: list[Fields] = []
        with suppress(DataError):
            others += (other.fields for other in islice(rows, LOOKED_AT))
        if not guess or not others:
            return self
        mends = remedy(guess, row.fields, candidates_of(row.fields, mapped), others)
        return MissingFieldError(table, row, problem, mends)


@dataclass(frozen=True, slots=True)
class Column:
    """A column that may hold a field; several `names` where `map` puts columns together.

    A `sure` one has a known or mapped name; the others are guesses. `beside` is a column that may belong to the same
    text: Stanford Alpaca's rows put the text to work on into `input`, beside the `instruction`.
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
    """Which of the columns `names` may hold what; equal arguments give the same object."""
    return _candidates(tuple(names), mapped)


@lru_cache(maxsize=512)
def _candidates(names: tuple[str, ...], mapped: Map) -> Candidates:
    by_key: dict[str, list[str]] = {}
    for name in names:
        by_key.setdefault(normal(name), []).append(name)
    # The column `input` of Stanford Alpaca's rows; AlpacaEval's rows have none.
    alpaca = "instruction" in by_key and PROMPT not in by_key and "generator" not in by_key
    beside = next(iter(by_key.get("input", ())), None) if alpaca else None
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
    """The columns of items that a system which answers may be told beside the prompt.

    None is told that holds, or by its name may hold, a reference, a group, a family, or somebody's output.
    """
    chosen = frozenset(name for _, columns in mapped for name in columns)
    return _columns_told(tuple(names), chosen)


@lru_cache(maxsize=512)
def _columns_told(names: tuple[str, ...], chosen: frozenset[str]) -> tuple[str, ...]:
    withheld = {name for field in WITHHELD for name in (*KNOWN[field], *GUESSES.get(field, ()))}
    own = {ID, PROMPT, MESSAGES, *chosen}
    return tuple(name for name in names if name not in own and normal(name) not in withheld)


def _named(by_key: Mapping[str, Sequence[str]], keys: Sequence[str], *, sure: bool = True) -> list[Column]:
    """The columns with one of the names `keys`; an exact name goes before another case."""
    return [
        Column((name,), sure)
        for key in keys
        for name in sorted(by_key.get(key, ()), key=lambda name, key=key: name != key)  # type: ignore[misc]
    ]


def is_plain(candidates: Candidates) -> bool:
    """Whether every field stands under judgeloop's own name, an output among them."""
    own = all(columns in {(), (Column((field,)),)} for field, columns in candidates.items())
    return own and bool(candidates[OUTPUT])


def guesses_of(candidates: Candidates) -> tuple[tuple[str, str], ...]:
    """The fields that stand under no known name, each with what is taken for it."""
    return tuple(
        (field, " or ".join(repr(column.name) for column in columns))
        for field, columns in candidates.items()
        if columns and not columns[0].sure
    )


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """A column's name without case, with `_` for spaces and hyphens.

    >>> normal("Model Output")
    'model_output'
    """
    return str(name).strip().casefold().replace(" ", "_").replace("-", "_")


def found_text(names: Iterable[str]) -> str:
    """The names of columns for a message."""
    listed = list(names)
    return (", ".join(map(repr, listed[:SHOWN])) or "none") + (", …" if len(listed) > SHOWN else "")


def guesses_text(files: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Which columns were guessed, from the guesses in each file; empty if none were.

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
        """Id, prompt, reference and group; None where the row has none."""
        return self.text(ID), self._prompt(), self.text(REFERENCE), once(self.text(GROUP))

    def output(self) -> str:
        """The output: the column, else the answer at the end of the messages."""
        column = self._pick(OUTPUT, lambda value: value is None)
        if column is not None:
            return self._value(column) or ""
        if self.candidates[OUTPUT]:
            raise self._wrong(self.candidates[OUTPUT][0].name, None)
        return self._last_answer()

    def text(self, field: str) -> str | None:
        """The text of a field; None if it is absent or empty."""
        column = self._pick(field)
        return (self._value(column) or None) if column is not None else None

    def _pick(self, field: str, is_empty: Callable[[object], bool] | None = None) -> Column | None:
        """The first column that holds something; refuse a second guess that differs."""
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
        listed = column is None or is_messages(self.row.fields[column.name])
        if self.answered is not None and listed:
            return self._said(conversation, self.answered) if self.answered else None
        return (self._value(column) or None) if column is not None else None

    def turns(self) -> list[tuple[str, str]]:
        """The roles and texts of a prompt that is a conversation; empty for another."""
        column = self._pick(PROMPT)
        value = None if column is None else self.row.fields[column.name]
        if not is_messages(value) or (len(value) == 1 and role_of(value[0]) == USER):
            return []
        return [(role_of(part), mended(self._said(lambda one: said(one[0]), [part]))) for part in value]

    def _last_answer(self) -> str:
        """The answer at the end of a `messages` list, and keep what stands before it."""
        for column in self.candidates[PROMPT]:
            messages = self.row.fields[column.name]
            if is_messages(messages):
                before, answer = self._said(split_answer, messages)
                if answer is not None:
                    self.answered = before
                    return mended(str(answer))
        raise self.missing(OUTPUT)

    def _value(self, column: Column) -> str | None:
        """The text of a column, or of all columns that `map` joins."""
        texts = [self._text(name, self.row.fields[name]) for name in column.names]
        return texts[0] if len(texts) == 1 else "\n\n".join(text for text in texts if text)

    def _text(self, name: str, value: object) -> str | None:
        """A value as text that can be stored; numbers are written out."""
        if value is None:
            return None
        if isinstance(value, str):
            return mended(value)
        if is_messages(value):
            return mended(str(self._said(conversation, value)))
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
            raise self.table.wrong(f"the messages cannot be shown to a judge: {error}", self.row.line) from None

    def missing(self, field: str) -> MissingFieldError:
        """The error for a field that no column holds."""
        if field == OUTPUT and isinstance(self.row.fields.get(CHOICES), list):
            raise self.table.wrong(BARE_REPLY, self.row.line)
        mends = remedy(field, self.row.fields, self.candidates)
        return MissingFieldError(self.table, self.row, f"the field {field!r} is missing", mends, guess=field)

    def _wrong(self, name: str, value: object) -> DataError:
        problem = f"the field {name!r} is wrong: expected text, found {shown(value)}"
        if not isinstance(value, Mapping | list):
            return self.table.wrong(f"{problem}; write it as text, in quotes", self.row.line)
        field = next(key for key, of in self.candidates.items() for one in of if name in one.names)
        part = next(iter(value), "NAME") if isinstance(value, Mapping) else 0
        remedy = f"say what in it, as in `map={field}={name}.{part}`"
        return MissingFieldError(self.table, self.row, problem, remedy)

    def _ambiguous(self, field: str, first: str, other: str, join: str = "") -> DataError:
        problem = f"both {first!r} and {other!r} may be the {field}; say which, as in `map={field}={first}{join}`"
        return self.table.wrong(problem, self.row.line)


def remedy(
    field: str, fields: Mapping[str, object], candidates: Candidates, others: Sequence[Mapping[str, object]] = ()
) -> str:
    """Which columns were found, and the map that makes one `field`: the longest text that seldom repeats.

    `others` are further rows of the file.
    """
    taken = {name for columns in candidates.values() for one in columns for name in one.names}
    free = {
        name: len(value)
        for name, value in fields.items()
        if isinstance(value, str)
        and name not in taken
        and not UNTYPABLE & set(name)
        and not repeats([str(row.get(name)) for row in (fields, *others)])
    }
    longest = max(free, key=free.__getitem__, default="COLUMN")
    return f"found {found_text(fields)}; say which column it is, as in `map={field}={longest}`"


def repeats(values: Collection[str]) -> bool:
    """Whether values repeat across most rows, as the name of a model does and no output.

    >>> repeats(["gpt", "gpt", "gpt"]), repeats(["yes", "no"]), repeats(["4"])
    (True, False, False)
    """
    return 2 * len(set(values)) <= len(values) and len(values) > 1


def mended(text: str) -> str:
    """Decode surrogate pairs, which JSON allows and UTF-8 does not; a lone half becomes U+FFFD."""
    if text.isascii() or not _SURROGATES.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_empty(value: object) -> bool:
    """Whether a value says nothing, as an empty cell of a CSV file."""
    return value is None or (isinstance(value, str) and not value)


def once(text: str | None) -> str | None:
    """A text that many rows share, kept once; None for an empty text."""
    return sys.intern(text) if text else None


def parse_map(text: str | None) -> Map:
    """Parse `prompt=question,output=answer` to fields, each with the columns whose texts it joins.

    A field may be named again for files in which its column has another name.

    Raises:
        ValueError: this is no such list, or names an unknown field.

    >>> parse_map("prompt=instruction+input,output=answer,output=reply")
    (('prompt', ('instruction', 'input')), ('output', ('answer',)), ('output', ('reply',)))
    """
    pairs = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    found = {
        (field.strip(), tuple(column.strip() for column in columns.split(JOINER))): None for field, _, columns in pairs
    }
    if not all(field in FIELDS and all(columns) for field, columns in found):
        raise ValueError(_EXPECTED)
    return tuple(found)


def map_text(value: object) -> str | None:
    """Check a map, or several that add up, and return it as text; a mapping is written out.

    Raises:
        ValueError: it is no map.
    """
    several = value if isinstance(value, list | tuple) else [value or ""]
    texts = [
        ",".join(f"{field}={columns}" for field, columns in one.items()) if isinstance(one, Mapping) else str(one)
        for one in several
    ]
    found = parse_map(",".join(texts))
    return ",".join(f"{field}={JOINER.join(columns)}" for field, columns in found) or None


def check_map(mapped: Map, found: Iterable[Iterable[str]]) -> None:
    """Refuse a map that names a column which no file has.

    Raises:
        InputError: there is such a column.
    """
    names = {name: None for columns in found for name in columns}
    for field, columns in mapped:
        missing = next((column for column in columns if column not in names), None)
        if missing is not None:
            raise InputError(
                f"`map={field}={JOINER.join(columns)}`: no file has the column {missing!r}; found {found_text(names)}"
            )


def along_paths(rows: Iterable[Row], mapped: Map) -> Iterator[Row]:
    """Yield rows, each with a field for every dotted path of a map that leads to a value in it.

    `output.text` is the field `text` of the object `output`, or of the JSON text there;
    `choices.0` is the first entry of a list. A column that has the whole name is taken as it is.
    """
    paths = [name for _, columns in mapped for name in columns if "." in name]
    for row in rows:
        new = {path: _along(row.fields, path) for path in paths if path not in row.fields}
        found = {path: value for path, value in new.items() if value is not _ABSENT}
        yield replace(row, fields={**row.fields, **found}) if found else row


def _along(fields: Mapping[str, Any], path: str) -> Any:
    """The value to which a dotted path leads; `_ABSENT` where a part of it is missing."""
    value: Any = fields
    for part in path.split("."):
        value = opened(value)
        if isinstance(value, list):
            value = {str(number): entry for number, entry in enumerate(value)}
        value = value.get(part, _ABSENT) if isinstance(value, Mapping) else _ABSENT
    return value


def opened(value: object) -> object:
    """The object or list that a JSON text holds; anything else as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def suggested_map(tables: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, str]:
    """The columns that probably hold id, prompt and output; empty if they cannot be told.

    The output is the longest text that differs between the tables, and seldom repeats within one. The prompt is the
    longest that all share and that differs between the rows. The id is the shortest of what else does both.

    >>> july = [{"Nr": 1, "Frage": "2 + 2?", "Antwort": "It is 4."}]
    >>> suggested_map([[{"Nr": 1, "Frage": "2 + 2?", "Antwort": "4"}], july])
    {'id': 'Nr', 'prompt': 'Frage', 'output': 'Antwort'}
    """
    columns = [_texts(table) for table in tables]
    names = [
        name
        for name in (columns[0] if columns else {})
        if all(name in one for one in columns) and not UNTYPABLE & set(name)
    ]
    shared = [name for name in names if len({frozenset(one[name]) for one in columns}) == 1]
    lengths = {name: fmean(len(text) for one in columns for text in one[name]) for name in names}
    first = columns[0] if columns else {}
    # A column of exactly the name is what it says. Of others, most texts differ, and some say more than a name does.
    asks = {
        name: 2 * len(set(texts)) > len(texts) and not all(map(NO_QUESTION.fullmatch, texts))
        for name, texts in first.items()
    }
    prompts = [name for name in shared if name == PROMPT or (name != ID and asks[name])]
    prompt = max(prompts, key=lambda name: (name == PROMPT, lengths[name]), default=None)
    ids = [name for name in shared if name != prompt and len(set(first[name])) == len(tables[0])]
    found = {
        ID: min(ids, key=lambda name: (name != ID, name.count("."), lengths[name]), default=None),
        PROMPT: prompt,
        OUTPUT: max(
            (name for name in names if name not in shared and not any(repeats(one[name]) for one in columns)),
            key=lengths.__getitem__,
            default=None,
        ),
    }
    told = found[OUTPUT] and (found[ID] or found[PROMPT])
    return {field: name for field, name in found.items() if name} if told else {}


def _texts(table: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The columns that hold a text or a number in every row, those within objects too."""
    rows = [dict(_leaves(row, lists=len(table) > 1)) for row in table]
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ()) if all(name in row for row in rows)}


def _leaves(fields: Mapping[str, Any], above: str = "", *, lists: bool) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers of a row, by name or dotted path (`along_paths`).

    Of `lists` the first entry counts; in a single row they may be the rows themselves.
    """
    for name, given in fields.items():
        path, value = f"{above}{name}", opened(given)
        if isinstance(value, list):
            value = {"0": value[0]} if value and lists else {}
        if isinstance(value, Mapping) and path.count(".") < DEEPEST:
            yield from _leaves(value, f"{path}.", lists=lists)
        elif isinstance(value, str | int | float):
            yield path, str(value)

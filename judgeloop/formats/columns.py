"""Finds which column of a row is the prompt, the output, the id and so on.

judgeloop's own names and AlpacaEval's come first, in any case. Other common names are guesses. They
are used where a row could not be read without them, and two guesses for one field are refused. The
setting `map` overrides both. No values are looked at here (see `rows.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from judgeloop.core.errors import InputError

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
    PROMPT: ("question", "input", "query", "problem", MESSAGES, "conversation", "conversations"),
    REFERENCE: ("target", "expected", "expected_output", "ground_truth", "gold", "ideal"),
    GROUP: ("category",),
    MODEL: ("model_name", "model_id"),
    OUTPUT: (
        "response", "completion", "answer", "generation", "prediction", "generated_text",
        "model_output", "model_response", "model_answer",
    ),
}  # fmt: skip
JOINER = "+"  # in a map: the text of several columns, one after another
SHOWN = 12  # columns named in a message

Map = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Plan:
    """The columns of a row: for each field those that may hold it, the first choice first.

    `sure` are known or mapped names, of which the first that is not empty counts. `guessed` are
    tried after them; no more than one of them may hold a value. `joined` fields are the text of all
    columns that `map` lists. `beside` is a column that may belong to the prompt: Stanford Alpaca's
    rows put the text to work on into `input`, beside the `instruction`.
    """

    sure: Mapping[str, tuple[str, ...]]
    guessed: Mapping[str, tuple[str, ...]]
    joined: Mapping[str, tuple[str, ...]]
    beside: str | None = None

    @property
    def plain(self) -> bool:
        """Whether every field stands under judgeloop's own name, and nothing else is to be read."""
        own = all(columns in {(), (field,)} for field, columns in self.sure.items())
        other = any(self.guessed.values()) or self.joined or self.beside
        return own and not other and bool(self.sure[OUTPUT])

    @property
    def guesses(self) -> tuple[tuple[str, str], ...]:
        """The fields that stand under no known name, each with the column that is taken for it."""
        return tuple(
            (field, " or ".join(map(repr, columns)))
            for field, columns in self.guessed.items()
            if columns and not self.sure.get(field)
        )

    def columns(self, field: str) -> tuple[str, ...]:
        """The columns that may hold `field`, the first choice first."""
        return (*self.sure.get(field, ()), *self.guessed.get(field, ()))


def parse_map(value: object) -> dict[str, tuple[str, ...]]:
    """Parse `prompt=question,output=answer` to the columns of each field; also takes a mapping.

    Raises:
        ValueError: this is no such list, or names an unknown field.

    >>> parse_map("prompt=instruction+input,output=answer")
    {'prompt': ('instruction', 'input'), 'output': ('answer',)}
    """
    pairs = value.items() if isinstance(value, Mapping) else map(_pair, _listed(value))
    found: dict[str, tuple[str, ...]] = {}
    for field, text in pairs:
        columns = tuple(part.strip() for part in str(text).split(JOINER))
        if field not in FIELDS or not all(columns):
            raise ValueError(_EXPECTED)
        if field in found:
            raise ValueError(f"expected one column for each field; {field!r} has two")
        found[field] = columns
    return found


def map_text(value: object) -> str | None:
    """Check a map and return it as text; a mapping is written out.

    Raises:
        ValueError: it is no map.
    """
    if value is None:
        return None
    found = parse_map(value)
    return ",".join(f"{field}={JOINER.join(columns)}" for field, columns in found.items())


_EXPECTED = (
    "expected FIELD=COLUMN, such as prompt=question,output=answer, where FIELD is one of "
    f"{', '.join(FIELDS)}"
)


def _listed(value: object) -> list[str]:
    return [part for part in str(value or "").split(",") if part.strip()]


def _pair(text: str) -> tuple[str, str]:
    field, equals, column = text.partition("=")
    if not equals:
        raise ValueError(_EXPECTED)
    return field.strip(), column.strip()


def plan_of(names: Iterable[str], mapped: Map) -> Plan:
    """Return which of the columns `names` holds what; equal arguments give the same plan."""
    return _plan(tuple(names), tuple(mapped.items()))


@lru_cache(maxsize=512)
def _plan(names: tuple[str, ...], mapped: tuple[tuple[str, tuple[str, ...]], ...]) -> Plan:
    by_key: dict[str, list[str]] = {}
    for name in names:
        by_key.setdefault(normal(name), []).append(name)
    sure = {field: _named(by_key, keys) for field, keys in KNOWN.items()}
    guessed = {field: _named(by_key, keys) for field, keys in GUESSES.items()}
    if sure[OUTPUT] and (sure[ID] or sure[PROMPT]):
        # Such a row needs no guesses. It keeps the id and the name that it had without them.
        guessed = {PROMPT: () if sure[PROMPT] else guessed[PROMPT]}
    joined = {}
    for field, columns in mapped:
        if set(columns) <= set(names):
            guessed[field] = ()
            sure[field] = columns[:1]
            joined[field] = columns
    return Plan(sure, guessed, joined, None if PROMPT in joined else _beside(by_key))


def _beside(by_key: Mapping[str, Sequence[str]]) -> str | None:
    """Return the column `input` of Stanford Alpaca's rows; AlpacaEval's rows need none."""
    if "instruction" not in by_key or PROMPT in by_key or "generator" in by_key:
        return None
    return next(iter(by_key.get("input", ())), None)


def _named(by_key: Mapping[str, Sequence[str]], keys: Sequence[str]) -> tuple[str, ...]:
    """Return the columns with one of the names `keys`; an exact name goes before another case."""
    return tuple(
        name
        for key in keys
        for name in sorted(by_key.get(key, ()), key=lambda name, key=key: name != key)  # type: ignore[misc]
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


def check_map(mapped: Map, found: Iterable[Iterable[str]]) -> None:
    """Refuse a map that names a column which no file has.

    Raises:
        InputError: there is such a column.
    """
    names = {name: None for columns in found for name in columns}
    for field, columns in mapped.items():
        missing = next((column for column in columns if column not in names), None)
        if missing is not None:
            raise InputError(
                f"`map={field}={JOINER.join(columns)}`: no file has the column {missing!r}; found "
                f"{found_text(names)}"
            )

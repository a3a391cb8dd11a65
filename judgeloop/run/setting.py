"""How a setting is declared: once, as an annotated field of a configuration.

The annotation says what the field is part of, who may set it, and its help. Command line, settings
file, run identity and documentation are made from it. Nothing is checked here (`validation.py`);
pydantic is not imported, so that `--help` stays fast.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Protocol, get_args, get_origin, get_type_hints

from judgeloop.core.money import MOST_DOLLARS, to_pico

DURATION = re.compile(r"(?P<number>\d+(\.\d+)?) ?(?P<unit>[smh]?)")
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Part(enum.Enum):
    """What a setting is part of. A run's id is made of the first three; the others leave it alone."""

    RUN = "run"  # the run's id, by value
    CONTENT = "content"  # the run's id, by the content of what the setting names
    KEY = "key"  # the keys of verdicts, and by the judges' identities the run's id
    PACE = "pace"  # how fast, and for how long
    MONEY = "money"  # how much, and at what price
    PLACE = "place"  # where things are, and what code may run
    REPORT = "report"  # what is shown, and which exit code it gets


class Source(enum.Enum):
    """Who may set a setting: only the caller, or also a file found in the working folder."""

    CALLER = "caller"  # the command line, the environment, Python, or a file that the caller names
    FOUND = "found"  # also a file that merely lies in the working folder


@dataclass(frozen=True, slots=True)
class Setting:
    """The declaration of one setting.

    `panel` is its heading in the help, `metavar` what its value is called there, `short` its
    one-letter flag. An `argument` is given by its place, under that name. `flag` is False for a
    setting without a flag.
    """

    help: str
    panel: str
    part: Part
    source: Source
    short: str | None = None
    metavar: str | None = None
    argument: str | None = None
    flag: bool = True


@dataclass(frozen=True, slots=True)
class Parse:
    """A function applied to a given value before its type is checked; raises ValueError."""

    function: Callable[[Any], object]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """What pydantic asks an annotation for."""
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.function, handler(source))


@dataclass(frozen=True, slots=True)
class Declared:
    """A field of a configuration with its declaration; `default` is MISSING where it has to be given."""

    name: str
    type: Any
    default: Any
    setting: Setting | None

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is MISSING

    @property
    def repeated(self) -> bool:
        """Whether it takes several values on the command line."""
        return get_origin(self.type) is tuple and Ellipsis in get_args(self.type)


def declared(config: Any) -> dict[str, Declared]:
    """Every field of a configuration, by name, in the order declared."""
    return _declared(config)


@cache
def _declared(config: Any) -> dict[str, Declared]:
    hints = get_type_hints(config, include_extras=True)
    found = {}
    for field in fields(config):
        hint = hints[field.name]
        plain: Any = hint
        notes: list[Any] = []
        if get_origin(hint) is Annotated:
            plain, *notes = get_args(hint)
        setting = next((note for note in notes if isinstance(note, Setting)), None)
        found[field.name] = Declared(field.name, plain, field.default, setting)
    return found


def amount(value: object) -> Decimal | None:
    """Dollars such as 5.00, or None for `none`."""
    if value is None or str(value).lower() in {"none", "inf"}:
        return None
    try:
        to_pico(str(value))
    except ValueError:
        raise ValueError(
            f"expected dollars such as 5.00, up to {MOST_DOLLARS:,}, or none"
        ) from None
    return Decimal(str(value))


def seconds(value: object) -> object:
    """Seconds from 90s, 30m or 2h."""
    if value is None or isinstance(value, int | float):
        return value
    found = DURATION.fullmatch(str(value).strip())
    if found is None:
        raise ValueError("expected a duration such as 90s, 30m or 2h")
    return float(found["number"]) * SECONDS[found["unit"]]


def listed(value: object) -> object:
    """`a,b` as a list."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


def numbers(value: object) -> object:
    """`5:200:5` (first, last, step) or `5,10,20` as a list."""
    if not isinstance(value, str) or ":" not in value:
        return listed(value)
    try:
        first, last, step = map(int, value.split(":"))
        return list(range(first, last + 1, step))
    except ValueError:
        raise ValueError(
            "expected FIRST:LAST:STEP, such as 5:200:5, or numbers with commas between"
        ) from None


def unless_auto(value: object) -> object:
    """`auto` as None."""
    return None if value == "auto" else value


def one_of(names: Sequence[str]) -> Parse:
    """One of some names."""

    def check(value: object) -> object:
        if value is not None and value not in names:
            raise ValueError(f"expected {alternatives(names)}")
        return value

    return Parse(check)


def some_of(names: Sequence[str]) -> Parse:
    """Several of some names, with commas between."""

    def check(value: object) -> object:
        several = listed(value)
        if isinstance(several, Sequence) and any(one not in names for one in several):
            raise ValueError(f"expected names among {', '.join(names)}, with commas between")
        return several

    return Parse(check)


def like(pattern: str, expected: str) -> Parse:
    """Text that a regular expression describes; `expected` says what in words."""
    compiled = re.compile(pattern)

    def check(value: object) -> object:
        if value is not None and not compiled.fullmatch(str(value)):
            raise ValueError(f"expected {expected}")
        return value

    return Parse(check)


class Described(Protocol):
    """A row of a catalogue, as the help shows it."""

    @property
    def name(self) -> str:
        """What is typed."""
        ...

    @property
    def help(self) -> str:
        """What it is, in a few words."""
        ...


def described(rows: Iterable[Described]) -> str:
    """The rows of a catalogue for a help text: `random (uniform draws); race (…)`."""
    return "; ".join(f"{row.name} ({row.help})" for row in rows)


def alternatives(names: Sequence[str]) -> str:
    """`a, b or c`.

    >>> alternatives(["a", "b", "c"])
    'a, b or c'
    """
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last

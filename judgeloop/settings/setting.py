"""The declaration of a setting, which is a field of a configuration, and the forms of its value.

It holds the setting's help, what it is part of, and who may set it: at the field, or in the annotation of a type that
several configurations share (`fields.py`). The command line, the settings file and its schema, the run id and the
documentation are made from it. `checking.py` checks values. Pydantic is not imported here, so that `--help` stays fast.
"""

import enum
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias, get_args, get_origin, get_type_hints

from judgeloop.core.errors import DataError, did_you_mean
from judgeloop.settings.values import listed

if TYPE_CHECKING:
    from judgeloop.methods.rows import RuleRow, SelectorRow

SETTINGS_FILE = "judgeloop.toml"
ENVIRONMENT, COMMAND_LINE = "the environment", "the command line"  # where a value is from, if from no file
PREFIX = "JUDGELOOP_"  # of every variable
KEPT = "setting"  # where a field keeps its declaration
# What a value may look like in a settings file, where the type does not say: a JSON schema whose
# description follows "expected".
Form = Mapping[str, Any]
DOLLARS_FORM: Form = {
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^(none|\$?[0-9]+(\.[0-9]+)?)$"}],
    "description": "a number of dollars",
}
DURATION_FORM: Form = {
    "anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": "^[0-9]+([.][0-9]+)? ?[smh]?$"}],
    "description": 'seconds, or text such as "90s", "30m" or "2h"',
}


class Role(enum.Enum):
    """What a setting is part of. Only the first three parts enter the run's id."""

    RUN = "run"  # the run's id, by value
    CONTENT = "content"  # the run's id, by the content of the file that the setting names
    KEY = "key"  # the keys of verdicts and, through the judges' identities, the run's id
    PACE = "pace"  # speed and duration of the run
    MONEY = "money"  # budget and prices
    PLACE = "place"  # files and folders, and permission to run code
    REPORT = "report"  # what is shown, and the exit code


# Who may set a setting in a file that was found in the working folder or above, and so may be a stranger's: a function
# that returns the value with its paths from the working folder, or raises a ValueError with the reason why it may not
# stand there. The caller may set everything: on the command line, in the environment, in Python, or in a file that he
# names. The other three functions stand in `sources.py`.
MaySet: TypeAlias = "Callable[[Declared, Any, FoundFile], Any]"
OF_CALLERS = "only the caller may set it"


def caller(field: "Declared", value: Any, file: "FoundFile") -> Any:
    """The caller alone may."""
    del field, value, file
    raise ValueError(OF_CALLERS)


def anybody(field: "Declared", value: Any, file: "FoundFile") -> Any:
    """A found file may, to any value."""
    del field, file
    return value


class Gate(enum.Enum):
    """What a setting is to a gate, which a suite's file may add to and not weaken."""

    CONDITION = "condition"  # it can make a result fail
    GROUND = "ground"  # whether a condition holds depends on it, and it is not part of the run as a value


@dataclass(frozen=True, slots=True)
class Setting:
    """The declaration of one setting.

    - `help`: the help text.
    - `panel`: the heading in the help under which it is listed.
    - `role`, `may_set`: what it is part of, and who may set it: the caller alone, unless said.
    - `short`: the one-letter flag.
    - `metavar`: the name of its value in the help.
    - `argument`: the name of a positional argument; None for a flag.
    - `file_only`: True for a setting without a flag: a key of the settings file and a variable.
    - `common`: True for a setting that the short help shows.
    - `example`: a value to show where the default shows none.
    - `many`: True for a flag that may be given several times. Its variable holds a value a line.
    - `adds`: True if its flags are added to what a file says, in place of replacing it.
    - `gate`: what it is to a gate, where `role` does not say so.
    """

    help: str
    panel: str
    role: Role
    may_set: MaySet = caller
    short: str | None = None
    metavar: str | None = None
    argument: str | None = None
    file_only: bool = False
    common: bool = False
    example: object = None
    many: bool = False
    adds: bool = False
    gate: Gate | None = None

    @property
    def is_ground(self) -> bool:
        """Whether it decides if a condition holds, as all values do that are part of the run."""
        return self.gate is Gate.GROUND or (self.gate is None and self.role is Role.RUN)

    def field(self, default: Any = MISSING) -> Any:
        """The field of a configuration that it declares; without a default, it is required."""
        return field(default=default, metadata={KEPT: self})


@dataclass(frozen=True, slots=True, eq=False)
class Parse:
    """A function that is applied to a value before its type is checked; may raise ValueError.

    `form` says what it accepts in a settings file, where that is not what the type says. Pydantic
    asks an annotation for the two schemas. `replaced` has values that are gone, and what stands in their place.
    """

    function: Callable[[Any], object]
    form: Form | None = None
    replaced: Mapping[str, str] = field(default_factory=dict)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema by which a value is checked."""
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.function, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], Any]) -> Any:
        """The JSON schema of what is accepted."""
        return handler(schema) if self.form is None else dict(self.form)


@dataclass(frozen=True)
class Declared:
    """A setting: a field of a configuration, or a switch of a command such as `--json`.

    `annotation` is its type with its `Setting`, bounds and parsers; `default` is MISSING if it is
    required.
    """

    name: str
    annotation: Any
    default: Any

    @property
    def type(self) -> Any:
        """Its type, without bounds and parsers."""
        return get_args(self.annotation)[0]

    @cached_property
    def setting(self) -> Setting:
        """Its declaration."""
        return next(note for note in self.annotation.__metadata__ if isinstance(note, Setting))

    @property
    def key(self) -> str:
        """Its name in a settings file."""
        return key(self.name)

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return variable(self.name)

    @property
    def required(self) -> bool:
        """Whether a value is required."""
        return self.default is MISSING

    @property
    def kinds(self) -> set[Any]:
        """Its type, and the types that it is made of."""
        parts = {self.type, *get_args(self.type)}
        return parts.union(*map(get_args, parts))

    @property
    def is_number(self) -> bool:
        """Whether it takes a number that need not be whole."""
        return float in {self.type, *get_args(self.type)}

    @property
    def takes_numbers(self) -> bool:
        """Whether it takes numbers, and no text but these."""
        kinds = {self.type, *get_args(self.type)}
        return bool({int, float} & kinds) and str not in kinds

    @property
    def is_path(self) -> bool:
        """Whether it takes paths only."""
        return Path in self.kinds

    @property
    def repeated(self) -> bool:
        """Whether it takes several values."""
        return get_origin(self.type) is tuple and Ellipsis in get_args(self.type)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that its value may have; empty if it is no name of a list."""
        if isinstance(self.type, type) and issubclass(self.type, enum.Enum):
            return tuple(str(one.value) for one in self.type)
        for note in self.annotation.__metadata__:
            form = (isinstance(note, Parse) and note.form) or {}
            one = form["anyOf"][0].get("items", {}) if "anyOf" in form else form
            if "enum" in one:
                return tuple(one["enum"])
        return ()


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was found in `folder`, which is the working folder or above it.

    It may be a stranger's. `path` is relative to the working folder. Paths in the file are relative
    to the file's own folder. If it is `named` by the caller, as data, it may be in any folder.
    """

    path: Path
    folder: Path
    working: Path
    named: bool = False

    def value(self, where: str, field: Declared, value: object) -> object:
        """The value of a setting that stands at `where`, with its paths relative to the working folder.

        Raises:
            DataError: such a file may not set it; says why, and how to set it all the same.
        """
        try:
            return field.setting.may_set(field, value, self)
        except ValueError as reason:
            self.refuse(where, str(reason), field.variable, "" if field.setting.file_only else f"--{field.key}")

    def located(self, path: str) -> str:
        """A path of this file, from the working folder."""
        return path if self.folder == self.working else os.path.relpath((self.folder / path).resolve(), self.working)

    def refuse(self, where: str, reason: str, name: str, flag: str = "") -> NoReturn:
        """Refuse what stands at `where`; the caller may set the variable `name`, or give the `flag`, if there is one.

        Raises:
            DataError: always.
        """
        trusted = (
            f", or trust the file with --config {self.path}" if self.named or self.path.name == SETTINGS_FILE else ""
        )
        place = "in" if self.folder == self.working else "above"
        why = "is data" if self.named else f"was found {place} the working folder"
        typed = f"on the command line ({flag}), or " if flag else ""
        raise DataError(
            self.path,
            f"{where}: {reason}, because this file {why}; take it out, and set it {typed}as {name} in the "
            f"environment{trusted}",
        )


def key(name: str) -> str:
    """The name of a setting as a settings file and its flag have it.

    >>> key("max_judgments")
    'max-judgments'
    """
    return name.replace("_", "-")


def variable(name: str) -> str:
    """The environment variable that sets a setting.

    >>> variable("max_judgments")
    'JUDGELOOP_MAX_JUDGMENTS'
    """
    return f"{PREFIX}{name.upper()}"


def declared(config: Any) -> dict[str, Declared]:
    """Every field of a configuration, by name, in the order declared."""
    return _declared(config)


@cache
def _declared(config: Any) -> dict[str, Declared]:
    hints: dict[str, Any] = get_type_hints(config, include_extras=True)
    annotated: Any = Annotated
    for one in fields(config):
        if KEPT in one.metadata:
            hints[one.name] = annotated[hints[one.name], one.metadata[KEPT]]
    return {one.name: Declared(one.name, hints[one.name], one.default) for one in fields(config)}


def matching(pattern: str, expected: str) -> Form:
    """The form of text that matches a regular expression as a whole."""
    return {"type": "string", "pattern": f"^({pattern})$", "description": expected}


def several(one: Form) -> Form:
    """The form of a list, or of one value alone or a text with commas."""
    single = [] if one.get("type") == "string" else [one]
    listed = {"type": "array", "items": one, "minItems": 1}
    return {"anyOf": [listed, *single, {"type": "string", "minLength": 1}]}


def one_of(names: Sequence[str], replaced: Mapping[str, str] = MappingProxyType({})) -> Parse:
    """Make a parser that accepts one of `names`; `replaced` says what stands in the place of names that are gone."""

    def check(value: object) -> object:
        if value is not None and value not in names:
            raise ValueError(f"expected {alternatives(names)}{_instead(str(value), names, replaced)}")
        return value

    return Parse(check, {"type": "string", "enum": list(names)}, replaced)


def _instead(given: str, names: Sequence[str], replaced: Mapping[str, str]) -> str:
    return f" ({given} is now {replaced[given]})" if given in replaced else did_you_mean(given, names)


def some_of(names: Sequence[str], replaced: Mapping[str, str] = MappingProxyType({})) -> Parse:
    """Make a parser that accepts several of `names`, separated by commas; `replaced` as in `one_of`."""

    def check(value: object) -> object:
        several = listed(value)
        unknown = [name for name in several if name not in names] if isinstance(several, Sequence) else []
        if unknown:
            instead = _instead(str(unknown[0]), names, replaced)
            raise ValueError(f"expected names among {', '.join(names)}, separated by commas{instead}")
        return several

    return Parse(check, several({"type": "string", "enum": list(names)}), replaced)


def like(pattern: str, expected: str) -> Parse:
    """Make a parser of text that matches a regular expression; `expected` describes it in words."""
    compiled = re.compile(pattern)

    def check(value: object) -> object:
        if value is not None and not compiled.fullmatch(str(value)):
            raise ValueError(f"expected {expected}")
        return value

    return Parse(check, matching(pattern, expected))


def described(rows: "Iterable[SelectorRow | RuleRow]") -> str:
    """The rows of a catalogue for a help text: `random (uniform draws); race (…)`."""
    return "; ".join(f"{row.name} ({row.help})" for row in rows)


def alternatives(names: Sequence[str]) -> str:
    """The names as `a, b or c`.

    >>> alternatives(["a", "b", "c"])
    'a, b or c'
    """
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last

"""Checks values and makes a configuration of them, or raises an `InputError` that names the field.

Pydantic checks the values by the annotations of the configuration's fields. It is imported only
when a configuration is made.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast

from judgeloop.core.errors import InputError, did_you_mean
from judgeloop.formats.own_files import default_ledger
from judgeloop.settings.setting import Declared, declared
from judgeloop.settings.values import per_cent
from judgeloop.systems.catalogue import system_row

C = TypeVar("C", bound="Configuration")
LONG = 100  # characters of a help text that a message does not repeat
MOST_POINTS = 100
DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]+%?")
LONGEST_NAME = 255  # bytes of a file's name, by the limit of most file systems


class Configuration:
    """The base class of all configurations: frozen dataclasses whose fields are settings."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "frozen": True,
        "arbitrary_types_allowed": True,  # judges and tables that a program gives
    }

    @classmethod
    def of(cls, **values: object) -> Self:
        """A checked configuration; a value of None counts as not given.

        Raises:
            InputError: a value is missing, unknown or out of range; names the field.
        """
        return checked(cls, values)

    @classmethod
    def completed(cls, values: dict[str, object]) -> dict[str, object]:
        """The values with added defaults that depend on other values."""
        return values


def checked(config: type[C], values: Mapping[str, object]) -> C:
    """`values` as a `config`; a value of None counts as not given.

    Raises:
        InputError: a value is missing, unknown or out of range; names the field.
    """
    from pydantic import ValidationError

    given = {name: value for name, value in values.items() if value is not None}
    _check_names(config, given)
    for field, said in given.items():
        _check_text(declared(config)[field], said)
    given |= {name: per_cent(given[name]) for name in given if declared(config)[name].is_number}
    given |= {
        name: (value,)
        for name, value in given.items()
        if declared(config)[name].setting.many and not isinstance(value, list | tuple)
    }
    if "ledger" in declared(config):
        given.setdefault("ledger", default_ledger(Path.cwd()))
    try:
        found: C = _adapter(cast("Any", config)).validate_python(config.completed(given))
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        name = next((part for part in first["loc"] if part in declared(config)), None)
        missing = [str(one["loc"][0]) for one in others if one["type"] == first["type"] == "missing"]
        also = f"; also needed: {', '.join(f'`{one}`' for one in missing)}" if missing else ""
        raise InputError(f"{_said(declared(config).get(str(name)), first)}{also}") from None
    return found


def checked_value(field: Declared, value: object) -> Any:
    """The value of a setting that is in no configuration; None counts as not given.

    Raises:
        InputError: the value is missing or out of range; names the setting.
    """
    from pydantic import ValidationError

    if value is None and not field.required:
        return field.default
    given = (value,) if field.setting.many and isinstance(value, str) else value
    try:
        return _adapter(field.annotation).validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        kind = "missing" if value is None else first["type"]
        raise InputError(_said(field, first | {"type": kind})) from None


def _check_names(config: Any, given: Mapping[str, object]) -> None:
    """Refuse a name that is no setting, with the nearest that is."""
    known = declared(config)
    for name in given:
        if name not in known:
            nearest = did_you_mean(name, known)
            raise InputError(f"`{name}`: there is no such setting{nearest}")


def _check_text(field: Declared, value: object) -> None:
    """Refuse texts that no setting can take, and of which messages would say less.

    Python reads `1_0` as 10.
    """
    for text in map(str, value if isinstance(value, list | tuple) else [value]):
        if "\0" in text:
            raise InputError(f"`{field.name}`: expected a text without NUL, found {text!r:.60}")
        if (
            field.is_path
            and system_row(text) is None
            and any(len(os.fsencode(part)) > LONGEST_NAME for part in Path(text).parts)
        ):
            raise InputError(
                f"`{field.name}`: expected a path of names of at most {LONGEST_NAME} bytes, found {text[:40]!r}…"
            )
        if field.takes_numbers and isinstance(value, str) and "_" in text:
            raise InputError(f"`{field.name}`: expected a number, found {text!r}")


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _said(field: Declared | None, first: Mapping[str, Any]) -> str:
    """Pydantic's error in judgeloop's form: the field, what was expected, what was found."""
    name = field.name if field else "configuration"
    if first["type"] == "missing":
        text = field.setting.help.rstrip(".") if field else ""
        what_for = f" ({text})" if text and len(text) < LONG else ""
        return f"`{name}`: expected a value, found none{what_for}"
    expected, found = _expected(first["msg"].removeprefix("Value error, ")), first["input"]
    if field and field.setting.many and isinstance(found, tuple) and len(found) == 1:
        (found,) = found
    return f"`{name}`: {expected}, found {found!r}{_rewritten(first)}"


def _rewritten(first: Mapping[str, Any]) -> str:
    """How to write a number with a decimal comma, or a share in points, such as 5 for 5 %."""
    if first["type"] == "float_parsing" and DECIMAL_COMMA.fullmatch(str(first["input"])):
        return f"; for {first['input']} write {str(first['input']).replace(',', '.')}"
    is_share = float(first.get("ctx", {}).get("le", first.get("ctx", {}).get("lt", 0))) == 1
    found = str(first["input"])
    if not (is_share and found.isascii() and found.isdecimal() and int(found) <= MOST_POINTS):
        return ""
    return f"; for {found} points write {int(found) / 100:g} or {found}%"


def _expected(problem: str) -> str:
    """Pydantic's message, rewritten to begin with what was expected."""
    if problem.startswith(("Value should have at least 1 item", "Tuple should have at least 1 item")):
        return "expected at least one"
    if problem.startswith("Input is not a valid path"):
        return "expected the path of a file"
    says, _, what = problem.partition(", unable to parse")[0].partition("Input should be ")
    if says or not what:
        return problem
    return f"expected {what}" if what.startswith(("a ", "an ", "'")) else f"expected a value {what}"

"""Makes the form of a declared setting from its annotation: type, bounds, and its parser's form.

Reads declarations and returns forms. Checks no values: `validation.py` does.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from judgeloop.settings.form import BOOLEAN, PATH, TEXT, Form, either, names_form, several_form
from judgeloop.settings.setting import Declared, Parse

PER_CENT = Form({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?%$"}, 'a share such as "5%"')
# The bounds that a schema knows, and how they are said.
BOUNDS: dict[type, tuple[str, str, str]] = {
    Ge: ("ge", "minimum", "from {}"),
    Gt: ("gt", "exclusiveMinimum", "above {}"),
    Le: ("le", "maximum", "up to {}"),
    Lt: ("lt", "exclusiveMaximum", "below {}"),
}
KINDS = {bool: BOOLEAN, str: TEXT, Path: PATH}
NUMBERS = {int: ("integer", "a whole number"), float: ("number", "a number")}


def form_of(field: Declared) -> Form:
    """Return the form of a setting's value in a settings file."""
    return _form(field.type, field.notes)


def file_value(value: object) -> Any:
    """Return a setting's value as a settings file has it: text, a number, true, false or a list."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, tuple | list):
        return [file_value(one) for one in value]
    return value


def _form(kind: Any, notes: Iterable[Any]) -> Form:
    """Return the form of a type with the notes of its annotation."""
    if get_origin(kind) is Annotated:
        kind, *more = get_args(kind)
        return _form(kind, (*notes, *more))
    declared = [note.form for note in notes if isinstance(note, Parse) and note.form is not None]
    if declared:
        return declared[0]
    if get_origin(kind) is tuple:
        return several_form(_form(get_args(kind)[0], ()))
    arms = [arm for arm in get_args(kind) if arm is not NoneType]
    return _form(arms[0], notes) if arms else _plain(kind, notes)


def _plain(kind: type, notes: Iterable[Any]) -> Form:
    """Return the form of a type that holds no other types."""
    if kind in NUMBERS:
        return _number(kind, [note for note in notes if type(note) in BOUNDS])
    if issubclass(kind, enum.Enum):
        return names_form([one.value for one in kind])
    return KINDS[kind]


def _number(kind: type, bounds: list[Any]) -> Form:
    """Return the form of a number; of a share, also in per cent."""
    name, words = NUMBERS[kind]
    schema, said, most = {"type": name}, [], None
    for bound in bounds:
        attribute, key, text = BOUNDS[type(bound)]
        limit = getattr(bound, attribute)
        if limit == float("inf"):
            continue
        schema[key] = limit
        said.append(text.format(limit))
        most = limit if key in {"maximum", "exclusiveMaximum"} else most
    plain = Form(schema, " ".join([words, ", ".join(said)]).strip())
    return either(plain, PER_CENT) if kind is float and most is not None and most <= 1 else plain

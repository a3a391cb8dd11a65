"""What a value of a setting may look like in a settings file: as a JSON schema, and in words.

Pure: `setting.py` and the configurations declare forms, `form_of.py` makes the others from types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A JSON schema of a value, and the same in words that follow "expected"."""

    schema: Mapping[str, Any]
    words: str


BOOLEAN = Form({"type": "boolean"}, "true or false")
TEXT = Form({"type": "string"}, "text")
PATH = Form({"type": "string", "minLength": 1}, "a path")
AMOUNT = Form(
    {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^(none|\$?[0-9]+(\.[0-9]+)?)$"},
        ]
    },
    "a number of dollars",
)
DURATION = Form(
    {
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "string", "pattern": "^[0-9]+([.][0-9]+)? ?[smh]?$"},
        ]
    },
    'seconds, or text such as "90s", "30m" or "2h"',
)


def names_form(names: Sequence[str]) -> Form:
    """Return the form of one of `names`."""
    *first, last = [f'"{name}"' for name in names]
    return Form(
        {"type": "string", "enum": list(names)}, f"{', '.join(first)} or {last}" if first else last
    )


def pattern_form(pattern: str, expected: str) -> Form:
    """Return the form of a text that matches a regular expression as a whole."""
    return Form({"type": "string", "pattern": f"^({pattern})$"}, expected)


def either(first: Form, second: Form) -> Form:
    """Return the form of what has one form or the other."""
    return Form({"anyOf": [first.schema, second.schema]}, f"{first.words}, or {second.words}")


def several_form(one: Form) -> Form:
    """Return the form of a list, or of one value alone or a text with commas."""
    single = [] if one.schema.get("type") == "string" else [dict(one.schema)]
    listed = {"type": "array", "items": dict(one.schema), "minItems": 1}
    return Form(
        {"anyOf": [listed, *single, {"type": "string", "minLength": 1}]},
        f"{one.words}, or a list of such values",
    )

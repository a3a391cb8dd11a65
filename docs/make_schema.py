"""Makes the JSON schema of `judgeloop.toml` with pydantic, from the settings of all commands.

Editors check and complete a settings file by it. It holds every setting, also those that only a
file named by --config may set, and says so of them. `words` says the same of a value in words.
"""

import enum
import json
from collections.abc import Iterable
from decimal import Decimal
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from judgeloop.cli.commands import FIELDS, command_at
from judgeloop.cli.options import SettingsCommand
from judgeloop.settings.setting import Declared, Form, Parse, alternatives, caller, declared, several
from judgeloop.settings.sources import SHARED, shareable

DIALECT = "http://json-schema.org/draft-07/schema#"  # what editors of TOML support
PER_CENT = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?%$", "description": 'a share such as "5%"'}
KINDS = {"boolean": "true or false", "integer": "a whole number", "number": "a number"}
BOUNDS = {"minimum": "from {}", "exclusiveMinimum": "above {}", "maximum": "up to {}", "exclusiveMaximum": "below {}"}
BESIDE = ("description", "title")  # what does not say which values are allowed
OBJECTS = {"is-instance", "dataclass"}  # what a program gives, and no file can hold
OF_CALLERS = "Only in a file named by --config."
Schema = dict[str, Any]


class _Forms(GenerateJsonSchema):
    """The schema of a value as a settings file has it: no null, shares also in per cent."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def float_schema(self, schema: core_schema.FloatSchema) -> Schema:
        plain = super().float_schema(schema)
        most = min(schema.get("le", 2), schema.get("lt", 2))
        return {"anyOf": [plain, PER_CENT]} if most <= 1 else plain

    def enum_schema(self, schema: core_schema.EnumSchema) -> Schema:
        return {"type": "string", "enum": [one.value for one in schema["members"]]}

    def union_schema(self, schema: Any) -> Schema:
        choices = [one for one in schema["choices"] if one["type"] not in OBJECTS]
        return super().union_schema(schema | {"choices": choices})

    def tuple_schema(self, schema: core_schema.TupleSchema) -> Schema:
        return dict(several(self.generate_inner(schema["items_schema"][0])))


@cache
def form_of(field: Declared, *others: Any) -> Form:
    """Return the schema of a setting's value in a settings file, by all its annotations."""
    annotation = reduce(or_, others, field.annotation)
    return TypeAdapter(annotation, config={"arbitrary_types_allowed": True}).json_schema(schema_generator=_Forms)


def words(form: Form) -> str:
    """Return a schema in words that follow "expected"."""
    if "enum" in form:
        return alternatives([f'"{name}"' for name in form["enum"]])
    if "description" in form:
        return str(form["description"])
    arms = form.get("anyOf", [])
    if arms and "items" in arms[0]:
        return f"{words(arms[0]['items'])}, or a list of such values"
    if arms:
        return ", or ".join(words(arm) for arm in arms)
    if form["type"] == "string":
        return "a path" if form.get("format") == "path" else "text"
    bounds = [said.format(form[bound]) for bound, said in BOUNDS.items() if bound in form]
    return f"{KINDS[form['type']]} {', '.join(bounds)}".strip()


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


def schema() -> str:
    """Return the schema of a settings file, as JSON."""
    return json.dumps(_settings_schema(), indent=1, ensure_ascii=False) + "\n"


def _settings_schema() -> Schema:
    tables = {path: _properties(command_at(path)) for path in FIELDS}
    first: Schema = {}
    for properties in tables.values():
        for key, schema in properties.items():
            first.setdefault(key, schema)
    shared = _shared(tables.values(), first)
    sections: Schema = {SHARED: _table(shared, first)}
    for path, properties in tables.items():
        place = sections
        for group in path[:-1]:
            place = place.setdefault(group, _object({}))["properties"]
        place[path[-1]] = _table(properties, first)
    return {
        "$schema": DIALECT,
        "title": "judgeloop.toml",
        "description": "Settings of judgeloop: a table for each command, and [shared] for all.",
        **_object(sections),
        "definitions": first,
    }


def _properties(command: SettingsCommand) -> Schema:
    """Return the schemas of a command's settings, each with its help; the form is that of any of its configurations."""
    tables = [declared(config) for config in command.configs]
    found: Schema = {}
    for key, field in command.fields.items():
        others = [table[field.name].annotation for table in tables if field.name in table]
        found[key] = dict(form_of(field, *others[1:])) | {"description": _help(field)}
    return found


def _help(field: Declared) -> str:
    text = field.setting.help
    parsers = (one for one in field.annotation.__metadata__ if isinstance(one, Parse))
    if gone := [f"{name} is now {instead}" for one in parsers for name, instead in one.replaced.items()]:
        text += f" Names that are gone: {', '.join(gone)}."
    return f"{text} {OF_CALLERS}" if field.setting.may_set is caller else text


def _shared(tables: Iterable[Schema], first: Schema) -> Schema:
    """Return the properties of [shared]: what any command that has a setting allows."""
    names = {key for fields in FIELDS.values() for key, one in fields.items() if shareable(one)}
    every = list(tables)
    return {
        name: _any_of(_plain(table[name]) for table in every if name in table)
        | {"description": first[name]["description"]}
        for name in first
        if name in names
    }


def _any_of(forms: Iterable[Schema]) -> Schema:
    """Return a schema that allows what one of the schemas allows."""
    distinct: list[Schema] = []
    for form in forms:
        if form not in distinct:
            distinct.append(form)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _plain(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key not in BESIDE}


def _table(properties: Schema, first: Schema) -> Schema:
    """Return a table with these settings; one that is as first defined refers to that."""
    return _object(
        {
            name: {"$ref": f"#/definitions/{name}"} if schema == first[name] else schema
            for name, schema in properties.items()
        }
    )


def _object(properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}

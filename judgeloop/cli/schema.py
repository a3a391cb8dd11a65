"""Makes the JSON schema of `judgeloop.toml` from the declared settings of all commands.

Editors check and complete a settings file by it. It holds every setting, also those that only a
file named by --config may set, and says so of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from judgeloop.cli.every_command import every_command, flags_of
from judgeloop.cli.panel_command import PanelOption
from judgeloop.settings.form import BOOLEAN, TEXT
from judgeloop.settings.form_of import form_of
from judgeloop.settings.setting import Source
from judgeloop.settings.shared_section import SHARED, declaration, takes

DIALECT = "http://json-schema.org/draft-07/schema#"  # what editors of TOML support
BESIDE = ("description", "default", "$comment")  # what does not say which values are allowed
OF_CALLERS = "Only in a file named by --config."
Schema = dict[str, Any]


def settings_schema(root: click.Command) -> Schema:
    """Return the schema of a settings file for the commands of `root`."""
    tables = {
        path: {flag: _property(one) for flag, one in settings_of(command).items()}
        for path, command in every_command(root)
    }
    first: Schema = {}
    for properties in tables.values():
        for name, schema in properties.items():
            first.setdefault(name, schema)
    sections = {SHARED: _table(_shared(root, tables.values(), first), first)}
    for path, properties in tables.items():
        if properties:
            _place(sections, path, _table(properties, first))
    return {
        "$schema": DIALECT,
        "title": "judgeloop.toml",
        "description": "Settings of judgeloop: a table for each command, and [shared] for all.",
        **_object(sections),
        "definitions": first,
    }


def settings_of(command: click.Command) -> dict[str, PanelOption]:
    """Return the options of a command that a settings file can set, by flag."""
    return {
        flag: one
        for flag, one in flags_of(command).items()
        if isinstance(one, PanelOption) and declaration(one) is not None
    }


def _property(option: PanelOption) -> Schema:
    """Return the schema of a setting, with its help."""
    variants = [one for one in option.variants or (option.declared,) if one and one.name]
    forms = [dict(form_of(one).schema) for one in variants]
    if not forms:  # no setting: a switch, or a name or file
        forms = [dict((BOOLEAN if option.is_flag else TEXT).schema)]
    text = " ".join((option.help or "").split())
    setting = option.declared.setting if option.declared else None
    if setting is not None and setting.source is Source.CALLER:
        text = f"{text} {OF_CALLERS}"
    return _one_of(forms) | {"description": text}


def _one_of(forms: Iterable[Schema]) -> Schema:
    """Return a schema that allows what one of the schemas allows."""
    distinct: list[Schema] = []
    for form in forms:
        if form not in distinct:
            distinct.append(form)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _shared(root: click.Command, tables: Iterable[Schema], first: Schema) -> Schema:
    """Return the properties of [shared]: what any command that has a setting allows."""
    names = {
        flag
        for _, command in every_command(root)
        for flag, one in settings_of(command).items()
        if takes(one, found=False)
    }
    every = list(tables)
    return {
        name: _one_of(_plain(table[name]) for table in every if name in table)
        | {"description": first[name]["description"]}
        for name in first
        if name in names
    }


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


def _place(sections: Schema, path: tuple[str, ...], table: Schema) -> None:
    """Put a command's table into the sections, within the table of its group."""
    *groups, name = path
    for group in groups:
        sections = sections.setdefault(group, _object({}))["properties"]
    sections[name] = table

"""Makes the text of a new `judgeloop.toml` from the declared settings: all of it is comments.

The file holds the settings that the short help lists and that a found file may set. A line that
begins with `#` and no space is a setting; all other comments have a space.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING
from textwrap import wrap

import click

from judgeloop.cli.every_command import every_command
from judgeloop.cli.schema import settings_of
from judgeloop.settings.form_of import file_value, form_of
from judgeloop.settings.setting import Declared, Source
from judgeloop.settings.shared_section import SHARED

WIDTH = 98  # columns of a comment, without "# "
HEAD = """\
Settings of judgeloop. Every setting here is a comment: remove the "#" in front of one to set it. \
The command line wins over the environment, that over .env, and that over this file.

A file that lies in a folder may be a stranger's. So this one cannot set what could send a key or a \
text elsewhere, run code, or raise the cost, such as judge-base-url or judge-price. To set such a \
thing in a file, name the file: --config FILE, or JUDGELOOP_CONFIG=FILE.

Paths are relative to the folder of this file, and stay inside it. These are the settings that are \
used most; `judgeloop compare --help-all` lists all, and any of them can be added."""
ABOUT_SHARED = "For every command that has the setting. A command's own section wins."
NOTHING_OWN = f"Any setting of [{SHARED}] that this command has, for this command alone."
Table = dict[str, Declared]


def starter_file(root: click.Command, schema: str) -> str:
    """Return the file for the commands of `root`; `schema` is the address of its JSON schema."""
    tables = {path: _common(command) for path, command in every_command(root)}
    shared = _in_several(tables)
    lines = [f"#:schema {schema}", *_comment(HEAD), *_section(SHARED, ABOUT_SHARED, shared)]
    for path, table in tables.items():
        if table and len(path) == 1:
            own = {name: one for name, one in table.items() if _differs(one, shared.get(name))}
            lines += _section(path[0], "" if own else NOTHING_OWN, own)
    return "\n".join(lines) + "\n"


def _common(command: click.Command) -> Table:
    """Return the settings of a command that its short help lists and a found file may set."""
    return {
        name: one.declared
        for name, one in settings_of(command).items()
        if one.declared
        and one.declared.name
        and one.common
        and one.declared.setting
        and one.declared.setting.source is not Source.CALLER
    }


def _in_several(tables: dict[tuple[str, ...], Table]) -> Table:
    """Return the settings of more than one command, each as most of them declare it."""
    found: dict[str, list[Declared]] = {}
    for table in tables.values():
        for name, field in table.items():
            found.setdefault(name, []).append(field)
    return {name: _usual(fields) for name, fields in found.items() if len(fields) > 1}


def _usual(fields: list[Declared]) -> Declared:
    """Return the declaration that most are the same as; the first of several."""
    return max(fields, key=lambda one: sum(not _differs(one, other) for other in fields))


def _differs(field: Declared, other: Declared | None) -> bool:
    """Return whether a setting is not the same as in another command."""
    return other is None or list(_entry("", field)) != list(_entry("", other))


def _section(name: str, about: str, table: Table) -> Iterator[str]:
    """Give the lines of a section."""
    yield from ("", f"[{name}]")
    yield from _comment(about)
    for number, (key, field) in enumerate(table.items()):
        yield from ([""] if number or about else [])
        yield from _entry(key, field)


def _entry(key: str, field: Declared) -> Iterator[str]:
    """Give a setting's help, its form with the default, and the setting itself."""
    assert field.setting is not None
    yield from _comment(field.setting.help)
    words = form_of(field).words
    default = file_value(field.default)
    has_default = field.default is not MISSING and default not in (None, [])
    said = f"Form: {words}."
    yield from _comment(f"{said} Default: {_typed(default)}." if has_default else said)
    yield f"#{key} = {_typed(default if has_default else file_value(field.setting.example))}"


def _typed(value: object) -> str:
    """Return a value as TOML, which has texts, numbers, true, false and lists as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def _comment(text: str) -> Iterator[str]:
    """Give a text as lines of comments; an empty line stands between paragraphs."""
    for paragraph in text.split("\n"):
        for line in wrap(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False) or (
            [""] if text else []
        ):
            yield f"# {line}".rstrip()

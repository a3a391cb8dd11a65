"""Makes the commented `judgeloop.toml` that `judgeloop init` copies.

The file is all comments: the settings that the short help lists and that a found file may set. A
line that begins with `#` and no space is a setting; all other comments have a space.
"""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import MISSING
from pathlib import Path
from textwrap import wrap
from typing import Any

from make_schema import file_value, form_of, words

from judgeloop.cli.commands import FIELDS
from judgeloop.settings.setting import Declared, caller
from judgeloop.settings.sources import SHARED

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PUBLISHED = "docs/reference/judgeloop.schema.json"
PLACEHOLDER = "/OWNER/"  # of an address that is not known yet
OWN_FILE = ("suite",)  # a command whose settings stand in a file of its own
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


def address(version: str, urls: dict[str, str], **_: Any) -> str:
    """Return where a version's schema is published; a file's name before publication."""
    if PLACEHOLDER in urls["Repository"]:
        return Path(PUBLISHED).name
    raw = urls["Repository"].replace("https://github.com/", "https://raw.githubusercontent.com/")
    return f"{raw}/v{version}/{PUBLISHED}"


def starter() -> str:
    """Return the commented settings file."""
    tables = {path: _common(path) for path in FIELDS if path != OWN_FILE}
    shared = _in_several(tables)
    lines = [f"#:schema {address(**PROJECT)}", *_comment(HEAD), *_section(SHARED, ABOUT_SHARED, shared)]
    for path, table in tables.items():
        if table and len(path) == 1:
            own = {name: one for name, one in table.items() if _differs(one, shared.get(name))}
            lines += _section(path[0], "" if own else NOTHING_OWN, own)
    return "\n".join(lines) + "\n"


def _common(path: tuple[str, ...]) -> Table:
    """Return the settings of a command that its short help lists and a found file may set."""
    return {
        key: one
        for key, one in FIELDS[path].items()
        if one.setting.common and one.setting.may_set is not caller and one.type is not bool
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
    yield from _comment(field.setting.help)
    default = file_value(field.default)
    has_default = field.default is not MISSING and default not in (None, [])
    said = f"Form: {words(form_of(field))}."
    yield from _comment(f"{said} Default: {_typed(default)}." if has_default else said)
    yield f"#{key} = {_typed(default if has_default else file_value(field.setting.example))}"


def _typed(value: object) -> str:
    """Return a value as TOML, which has texts, numbers, true, false and lists as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def _comment(text: str) -> Iterator[str]:
    """Give a text as lines of comments; an empty line stands between paragraphs."""
    for paragraph in text.split("\n"):
        for line in wrap(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False) or ([""] if text else []):
            yield f"# {line}".rstrip()

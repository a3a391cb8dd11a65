"""Makes what comes from the code: pages of docs/reference/, the picture of the demo, .env.example.

    python docs/make.py

`made()` returns every file and its text, and writes nothing. A test compares them with what is
there.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import astuple
from enum import EnumType
from io import StringIO
from pathlib import Path
from typing import Any

import click
import make_environment
import make_results
import make_schema
import make_starter
from click.testing import CliRunner

import judgeloop
import judgeloop.parts
from judgeloop.cli.app import app
from judgeloop.cli.commands import COMMANDS
from judgeloop.cli.options import PanelArgument, PanelOption
from judgeloop.formats.catalogue import FORMATS
from judgeloop.formats.columns import FIELDS, GUESSES, KNOWN
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.settings.setting import Declared, Role, anybody, caller, declared
from judgeloop.settings.sources import harmless_judge, inside, lower

DOCS = Path(__file__).parent
BY_HAND = "<!-- made by docs/make.py: change the code, not this page -->\n"
MAY_SET = {
    caller: "the caller",
    anybody: "any value",
    inside: "files inside the folder",
    harmless_judge: "judges that run no code",
    lower: "at most the default",
}


# A signature with more parameters than this is a list of settings, which have a page of their own.
MOST_PARAMETERS = 12
PICTURE = 54  # columns of the picture of the demo


def made() -> dict[Path, str]:
    """Return the text of every file that is made from the code."""
    reference = DOCS / "reference"
    return {
        reference / "command-line.md": command_line(),
        reference / "configuration.md": configuration(),
        reference / "file-formats.md": file_formats(),
        reference / "results.md": make_results.page(),
        reference / "result.schema.json": make_results.schema(),
        reference / "api.md": api(),
        reference / "judgeloop.schema.json": make_schema.schema(),
        reference / "judgeloop.toml": make_starter.starter(),
        DOCS.parent / ".env.example": make_environment.example(),
        DOCS / "development" / "files.md": files(),
        DOCS / "pictures" / "demo.svg": demo(),
        DOCS / "llms.txt": pages_for_machines(),
    }


def pages_for_machines() -> str:
    """The pages of the site with a sentence on each, for machines that read (llmstxt.org)."""
    project = tomllib.loads((DOCS.parent / "zensical.toml").read_text("utf-8"))["project"]
    parts = [f"# {project['site_name']}", f"> {project['site_description']}"]
    for entry in project["nav"]:
        ((title, pages),) = entry.items()
        rows = [one for page in pages for one in page.items()] if isinstance(pages, list) else [(title, pages)]
        listed = "\n".join(f"- [{name}]({path}): {_first_sentence(DOCS / path)}" for name, path in rows)
        parts.append(f"## {title}\n\n{listed}" if isinstance(pages, list) else listed)
    return "\n\n".join(parts) + "\n"


def _first_sentence(page: Path) -> str:
    """What a page says first, without its links."""
    paragraphs = re.sub(r"<!--.*?-->|```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL).split("\n\n")
    first = next(one for one in map(str.strip, paragraphs) if one and one[0] not in "#!|<")
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(first.split()))
    return re.split(r"(?<=\.) ", plain)[0].rstrip(":")


def file_formats() -> str:
    """The page of file formats, which is written by hand but for its tables: each ends with a comment that names it."""
    rows = {
        "formats": [f"| {row.title} | {row.files} | {row.scores or '—'} |" for row in FORMATS],
        "readings": [f"| {row.title} | {' | '.join(one or '—' for one in astuple(row.reading))} |" for row in FORMATS],
        "columns": [
            f"| {field} | {'; '.join(', '.join(f'`{name}`' for name in names[field]) for names in (KNOWN, GUESSES))} |"
            for field in FIELDS
        ],
    }
    text = (DOCS / "reference" / "file-formats.md").read_text(encoding="utf-8")
    for name, lines in rows.items():
        head, rule, below = text.partition(f"<!-- {name} -->")[0].rpartition("|---|\n")
        if not rule or set(re.sub(r"^\|.*\n", "", below, flags=re.MULTILINE)):
            raise ValueError(f"file-formats.md: expected a table that ends with <!-- {name} -->")
        text = head + rule + "\n".join([*lines, f"<!-- {name} -->"]) + text.partition(f"<!-- {name} -->")[2]
    return text


def files() -> str:
    """Every file of the package with the first sentence of its docstring, by folder."""
    lines = [
        "# Every file",
        "",
        BY_HAND,
        "The first sentence of each file. [Architecture](architecture.md) has the way through them.",
        "",
    ]
    package = DOCS.parent / "judgeloop"
    for folder in sorted({path.parent for path in package.rglob("*.py")}):
        rows = []
        for path in sorted(folder.glob("*.py")):
            docstring = path.read_text(encoding="utf-8").split('"""', 2)[1]  # with which each begins
            said = " ".join(docstring.split("\n\n")[0].split())
            rows.append(f"| `{path.name}` | {re.split(r'(?<=[.]) (?=[A-Z])', said)[0].replace('|', chr(92) + '|')} |")
        lines += [f"## `{folder.relative_to(DOCS.parent)}`", "", "| file | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def command_line() -> str:
    """Return the page of all commands with their options; those of several commands stand once."""
    root = click.Context(click.Group("judgeloop"), info_name="judgeloop")
    leaves = [leaf for row in COMMANDS for leaf in _leaves(row.make(), root)]
    users: dict[tuple[str, str], list[str]] = {}
    for context in leaves:
        for row in _rows(context):
            users.setdefault(row, []).append(context.command_path.removeprefix("judgeloop "))
    shared = {row for row, names in users.items() if len(names) > 1}
    lines = [
        "# Every command and flag",
        "",
        BY_HAND,
        "A flag in **bold** is in the short help (`--help`); `--help-all` shows all of them at the terminal.",
        "A switch such as `--allow-partial` is turned off by `no-` in front of its name.",
        "Each flag is also a variable: `--max-judgments 50` is `JUDGELOOP_MAX_JUDGMENTS=50`. A flag wins over a",
        "variable, a variable over a [configuration file](configuration.md). Some settings are variables and keys only:",
        "[every setting](configuration.md) lists them.",
        "",
    ]
    for context in leaves:
        lines += _command(context, shared)
    lines += ["## Flags of several commands", ""]
    panels: dict[str, list[str]] = {}
    for (panel, row), commands in users.items():
        if len(commands) > 1:
            names = ", ".join(f"`{name}`" for name in commands)
            panels.setdefault(panel, []).append(f"{row} {names} |")
    for panel, rows in panels.items():
        lines += [f"**{panel}**", "", "| | | commands |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _leaves(command: click.Command, parent: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command, or of each command in a group."""
    settings: dict[str, Any] = {**command.context_settings}
    context = click.Context(command, info_name=command.name, parent=parent, **settings)
    if not isinstance(command, click.Group):
        yield context
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if below is not None:
            yield from _leaves(below, context)


def _command(context: click.Context, shared: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a command, without the options that it shares with others."""
    command = context.command
    yield f"## {context.command_path}"
    yield ""
    yield _prose(command.help or "")
    yield ""
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield ""
    panels: dict[str, list[str]] = {}
    for panel, row in _rows(context):
        if (panel, row) not in shared:
            panels.setdefault(panel, []).append(row)
    for panel, rows in panels.items():
        yield from (f"**{panel}**", "", "| | |", "|---|---|", *rows, "")


def _rows(context: click.Context) -> list[tuple[str, str]]:
    """Return the panel and the row of each parameter of a command that is not hidden."""
    found = [_parameter(one, context) for one in context.command.get_params(context)]
    return [(panel, row) for panel, row in found if row]


def _parameter(parameter: click.Parameter, context: click.Context) -> tuple[str, str]:
    """Return the panel of a parameter, and its row; the row is empty for a hidden one."""
    if isinstance(parameter, PanelArgument):
        return "Arguments", f"| `{parameter.make_metavar(context)}` | {_cell(parameter.text)} |"
    record = parameter.get_help_record(context)
    if record is None:
        return "", ""
    names, text = record
    common = isinstance(parameter, PanelOption) and parameter.common
    shown = f"**`{names}`**" if common else f"`{names}`"
    return getattr(parameter, "panel", "Other"), f"| {shown.replace('|', chr(92) + '|')} | {_cell(text)} |"


def _cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _prose(text: str) -> str:
    """Return a command's help as a page has it: examples are code."""
    paragraphs = inspect.cleandoc(text.replace("\b\n", "")).split("\n\n")
    return "\n\n".join(
        re.sub(r"^\s*(judgeloop .*)$", r"`\1`", part.strip(), flags=re.MULTILINE)
        for part in paragraphs
        if not part.startswith("Exit codes:")  # they have a page of their own
    )


def configuration() -> str:
    """Return the page of all keys of judgeloop.toml."""
    settings: dict[str, Declared] = {}
    where: dict[str, list[str]] = {}
    for question in QUESTIONS:
        for name, field in declared(question.settings()).items():
            if not field.setting.argument:
                settings.setdefault(name, field)
                where.setdefault(name, []).append(question.name)
    lines = [
        "# Every setting",
        "",
        BY_HAND,
        "A setting is a key of `judgeloop.toml`, a variable, a flag, and a parameter in Python. What it does stands under",
        "its flag: [every command and flag](command-line.md). Those without a flag are explained here. The fifth column says whether another value makes another run, with",
        "a budget of its own. The last column says what a `judgeloop.toml` may set that was found and not named by you",
        "([why](../explanation/security.md#where-settings-come-from)).",
        "",
        "| key | variable | flag | commands | another run | in a found file |",
        "|---|---|---|---|---|---|",
    ]
    for name, field in settings.items():
        lines.append(_setting(field, where[name]))
    return "\n".join([*lines, ""])


def _setting(field: Declared, commands: list[str]) -> str:
    setting = field.setting
    another = "yes" if setting.role in {Role.RUN, Role.CONTENT, Role.KEY} else "no"
    users = "all" if len(commands) == len(QUESTIONS) else ", ".join(commands)
    flag = f"none: {_cell(setting.help)}" if setting.file_only else f"`--{field.key}`"
    return f"| `{field.key}` | `{field.variable}` | {flag} | {users} | {another} | {MAY_SET[setting.may_set]} |"


def api() -> str:
    """Return the page of the public names in Python."""
    lines = [
        "# The Python interface",
        "",
        BY_HAND,
        "[judgeloop in Python](../how-to/python.md) shows how these fit together. Every question takes its",
        "[settings](configuration.md) as keywords.",
        "",
    ]
    for module, names in (("judgeloop", judgeloop.__all__), ("judgeloop.parts", _parts())):
        lines += [f"## {module}", ""]
        for name in sorted(names, key=str.lower):
            lines += _public(module, name)
    return "\n".join(lines)


def _parts() -> list[str]:
    """Return the names of `judgeloop.parts` that `judgeloop` does not have, too."""
    own = {name for name, value in vars(judgeloop.parts).items() if not name.startswith("_")
           and not inspect.ismodule(value) and name != "annotations"}  # fmt: skip
    return sorted(own - set(judgeloop.__all__))


def _public(module: str, name: str) -> Iterator[str]:
    """Yield the lines of a public name: its signature and its docstring."""
    thing = getattr(importlib.import_module(module), name)
    if inspect.ismodule(thing):  # a question is a folder that can be called
        thing = getattr(importlib.import_module(f"judgeloop.api.{name}"), name)
    yield f"### {name}"
    yield ""
    signature = _signature(thing)
    if signature:
        yield f"```text\n{name}{signature}\n```"
        yield ""
    text = inspect.getdoc(thing)
    if text and not text.startswith(f"{name}("):  # not what a dataclass makes for itself
        yield _sections(text)
        yield ""


def _signature(thing: Any) -> str:
    """Return a call's parameters by name: types stand in the docstring and in the code.

    Of an enumeration, nobody calls the class; its members are shown.
    """
    if isinstance(thing, EnumType):
        return "." + f", {thing.__name__}.".join(thing.__members__)
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    if not callable(thing) or len(parameters) > MOST_PARAMETERS:
        return ""
    shown = [_parameter_of(one) for one in parameters if not one.name.startswith("_")]
    return f"({', '.join(shown)})"


def _parameter_of(parameter: inspect.Parameter) -> str:
    star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    optional = "" if parameter.default is inspect.Parameter.empty else "=…"
    return f"{star.get(parameter.kind, '')}{parameter.name}{optional}"


def _sections(text: str) -> str:
    """Return a docstring as Markdown: sections such as Raises become lists."""
    lines = []
    for line in text.splitlines():
        if re.fullmatch(r"(Raises|Returns|Args|Yields):", line):
            lines += [f"**{line.rstrip(':')}**", ""]
        elif re.match(r"    \w[\w.]*: ", line):
            kind, _, words = line.strip().partition(": ")
            lines.append(f"- `{kind}`: {words}")
        else:
            lines.append(line.strip() if not line.startswith(("- ", "  ")) else line)
    return "\n".join(lines).rstrip()


def demo() -> str:
    """Return a picture of what `judgeloop demo` prints, as SVG: narrow enough for a phone, without a network."""
    from rich.console import Console
    from rich.text import Text

    unset = dict.fromkeys(name for name in os.environ if name.startswith("JUDGELOOP_"))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        done = CliRunner().invoke(app, ["demo"], env={**unset, "COLUMNS": str(PICTURE)}, prog_name="judgeloop")
    if done.exit_code:
        raise RuntimeError(f"judgeloop demo ended with {done.exit_code}: {done.output}")
    printed = done.stdout
    shown = Text(printed.partition("\n\nBy group")[0])  # the picture shows the decision
    begin = printed.index("\n\n")
    shown.stylize("bold", begin, printed.index(".\n", begin))
    console = Console(record=True, width=PICTURE, file=StringIO(), force_terminal=True)
    console.print(Text("$ judgeloop demo", style="bold"))
    console.print(shown)
    drawn = console.export_svg(title="judgeloop demo", unique_id="demo")
    return re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # fonts of another server


if __name__ == "__main__":
    for path, text in made().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(DOCS.parent))

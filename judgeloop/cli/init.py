"""The command `init`: writes a commented `judgeloop.toml`, or prints the schema of such a file.

It reads no settings and never overwrites a file.
"""

from __future__ import annotations

from pathlib import Path

import click

from judgeloop.cli.panel_command import CONTEXT
from judgeloop.cli.progress import explained
from judgeloop.cli.streams import show

SCHEMA_FILE = "judgeloop.schema.json"
PUBLISHED = f"docs/reference/{SCHEMA_FILE}"
PLACEHOLDER = "/OWNER/"  # of an address that is not known yet
WRITTEN = """\
Wrote {path}. Every setting in it is a comment, so nothing has changed.

Next: open it, and remove the "#" in front of a setting to set it. judgeloop reads it in {folder}
and, within the same repository, in every folder below. To see what a command takes from it:

  judgeloop compare A B --dry-run
"""
FOR_EDITORS = f"""
An editor that knows TOML schemas completes and checks the file by a second one beside it:

  judgeloop init --schema > {SCHEMA_FILE}
"""


def init() -> click.Command:
    """Return the command `init`."""
    folder = click.Argument(
        ["folder"],
        type=click.Path(path_type=Path),
        required=False,
        default=Path(),
    )
    schema = click.Option(
        ["--schema", "only_schema"],
        is_flag=True,
        help="Print the JSON schema of judgeloop.toml, and write nothing.",
    )
    return click.Command(
        "init",
        callback=_init,
        params=[folder, schema],
        help="Write judgeloop.toml, a settings file in which everything is commented, to the working folder or to "
        "FOLDER. An existing file is never overwritten.",
        context_settings=CONTEXT,
    )  # fmt: skip


def schema_text(root: click.Command) -> str:
    """Return the schema of the settings file, as it is published."""
    import json

    from judgeloop.cli.schema import settings_schema

    return json.dumps(settings_schema(root), indent=1, ensure_ascii=False) + "\n"


def _init(*, folder: Path, only_schema: bool) -> None:
    root = click.get_current_context().find_root().command
    with explained():
        if only_schema:
            show(schema_text(root))
            return
        from judgeloop.cli.starter_file import starter_file

        address = schema_address()
        path = _write(folder, starter_file(root, address))
        own = FOR_EDITORS if address == SCHEMA_FILE else ""
        show(WRITTEN.format(path=path, folder=_named(folder)) + own)


def schema_address() -> str:
    """Return where the published schema of this version is; a file's name before publication."""
    from importlib.metadata import metadata

    about = metadata("judgeloop")
    for line in about.get_all("Project-URL") or []:
        name, _, address = line.partition(", ")
        if name == "Repository" and PLACEHOLDER not in address:
            raw = address.replace("https://github.com/", "https://raw.githubusercontent.com/")
            return f"{raw}/v{about['Version']}/{PUBLISHED}"
    return SCHEMA_FILE


def _named(folder: Path) -> str:
    return "this folder" if folder == Path() else str(folder)


def _write(folder: Path, text: str) -> Path:
    """Write a new settings file, and return its path.

    Raises:
        InputError: the file exists, or the folder does not.
    """
    from judgeloop.core.errors import InputError
    from judgeloop.settings.found_file import SETTINGS_FILE

    path = folder / SETTINGS_FILE
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(
            f"{path}: this file exists, and is not overwritten; rename it, or name another FOLDER"
        ) from None
    except OSError as error:
        raise InputError(
            f"{path}: the file cannot be written: {error.strerror}; expected a FOLDER that exists"
        ) from None
    return path

"""The command `init`: writes a commented `judgeloop.toml`, or prints the schema of such a file.

Both are shipped (`docs/make.py` makes them from the settings), and are copied as they are. The
command reads no settings and never overwrites a file.
"""

from pathlib import Path

import click

from judgeloop.cli.panel_command import CONTEXT
from judgeloop.cli.progress import explained
from judgeloop.cli.streams import show
from judgeloop.core.errors import InputError

SCHEMA_FILE = "judgeloop.schema.json"
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


@click.command(context_settings=CONTEXT)
@click.argument("folder", type=click.Path(path_type=Path), required=False, default=Path())
@click.option(
    "--schema", "only_schema", is_flag=True, help="Print the JSON schema of judgeloop.toml, and write nothing."
)
def init(*, folder: Path, only_schema: bool) -> None:
    """Write judgeloop.toml, a settings file in which everything is commented, to the working folder or to FOLDER.

    An existing file is never overwritten.
    """
    from judgeloop.formats.own_files import shipped
    from judgeloop.settings.trust import SETTINGS_FILE

    reference = shipped("docs") / "reference"
    with explained():
        if only_schema:
            show((reference / SCHEMA_FILE).read_text(encoding="utf-8"))
            return
        text = (reference / SETTINGS_FILE).read_text(encoding="utf-8")
        path = _write(folder / SETTINGS_FILE, text)
        named = "this folder" if folder == Path() else str(folder)
        beside = text.startswith(f"#:schema {SCHEMA_FILE}\n")  # not the one that is published
        show(WRITTEN.format(path=path, folder=named) + (FOR_EDITORS if beside else ""))


def _write(path: Path, text: str) -> Path:
    """Write a new settings file, and return its path.

    Raises:
        InputError: the file exists, or its folder does not.
    """
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

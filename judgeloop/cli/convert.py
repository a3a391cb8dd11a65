"""The command `convert`: writes a file of any known format in judgeloop's own form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from judgeloop.cli import flags
from judgeloop.cli.panel_command import CONTEXT, PanelCommand, PanelOption
from judgeloop.cli.progress import explained
from judgeloop.cli.streams import say
from judgeloop.report.escaping import visible
from judgeloop.settings.shared import OUTPUT


def convert() -> click.Command:
    """Return the command `convert`."""
    from judgeloop.run.convert import ConvertConfig

    output = PanelOption(
        ["-o", "--output", "output"],
        type=click.Path(path_type=Path),
        required=True,
        help="File to write, as JSON lines.",
        panel=OUTPUT,
        declared=flags.FILE,
    )
    return PanelCommand(
        "convert",
        callback=_convert,
        params=[*flags.parameters_of(ConvertConfig), output],
        help="Write a file of any format that judgeloop reads as JSON lines in its own form. Recorded scores are "
        "kept. See docs/reference/file-formats.md.",
        context_settings=CONTEXT,
    )


def _convert(*, output: Path, **given: Any) -> None:
    from judgeloop.cli.files import write_whole
    from judgeloop.core.errors import InputError
    from judgeloop.report.words import count
    from judgeloop.run.convert import ConvertConfig, convert

    with explained():
        config = ConvertConfig.of(**given)
        if output.resolve() == config.source.resolve():
            raise InputError(f"-o {output}: this file is read, and would be overwritten")
        if not output.absolute().parent.is_dir() or output.is_dir():
            raise InputError(f"-o {output}: expected a file in a folder that exists")
        found = convert(config)
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in found.rows)
        write_whole(output, "".join(f"{line}\n" for line in lines))
        without = (
            f"; {count(found.failed, 'item')} without an output left out" if found.failed else ""
        )
        say(f"{output}: {count(len(found.rows), 'row')}, read as {visible(found.format)}{without}")

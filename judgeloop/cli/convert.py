"""The command `convert`: writes a file of any known format as judgeloop's own rows.

Reads one file and writes another; of a file with several systems, the one that is asked for.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from judgeloop.cli.options import ROWS_FILE, settings_command
from judgeloop.cli.output import say
from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import InputError
from judgeloop.formats.catalogue import open_rows
from judgeloop.formats.columns import (
    MODEL,
    OUTPUT,
    PROMPT,
    Map,
    RowReader,
    along_paths,
    candidates_of,
    parse_map,
    remedy,
)
from judgeloop.formats.own_files import write_whole
from judgeloop.formats.recorded import scores_of
from judgeloop.formats.rows import FINISH_REASON, read_items, read_outputs
from judgeloop.formats.tables import Row, Table
from judgeloop.report.words import count, visible
from judgeloop.settings import fields
from judgeloop.settings.checking import Configuration
from judgeloop.settings.setting import anybody

WRITTEN = (".jsonl", ".ndjson")  # endings of what is written


@dataclass(frozen=True, kw_only=True)
class ConvertSettings(Configuration):
    """All settings of a conversion."""

    source: Path = fields.items_setting("File to convert.", argument="IN").field()
    system: str | None = fields.items_setting(
        "The system to write, of a file with several.", may_set=anybody, metavar="NAME"
    ).field(None)
    map: fields.ColumnMap = None
    epoch: fields.Epoch = None
    allow_partial: bool = fields.items_setting("Leave out items without an output.", may_set=anybody).field(False)


def convert() -> click.Command:
    """The command `convert`."""
    return settings_command("convert", _convert, ConvertSettings, switches=(ROWS_FILE,))


def _convert(*, output: Path, **given: Any) -> None:
    """Convert a file of any format that judgeloop reads to JSON lines in its own form.

    Keeps recorded scores. See docs/reference/file-formats.md.
    """
    config = ConvertSettings.of(**given)
    check_rows_file(output, config.source)
    found = converted(config)
    write_rows(output, found.rows)
    without = f"; left out {count(found.failed, 'item')} without an output" if found.failed else ""
    say(f"{output}: {count(len(found.rows), 'row')}, read as {visible(found.format)}{without}")


def check_rows_file(output: Path, source: Path) -> None:
    """Refuse a file of rows that cannot be written, or is the one that is read.

    Raises:
        InputError: says what was expected.
    """
    if output.resolve() == source.resolve():
        raise InputError(f"-o {output}: expected another file than {source}, which is read")
    if output.suffix not in WRITTEN:
        raise InputError(f"-o {output}: expected a file ending in {' or '.join(WRITTEN)}")
    if not output.absolute().parent.is_dir() or output.is_dir():
        raise InputError(f"-o {output}: expected a file in an existing folder")


def write_rows(output: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as JSON lines."""
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    write_whole(output, "".join(f"{line}\n" for line in lines))


@dataclass(frozen=True, slots=True)
class Converted:
    """Rows of judgeloop's own form, the format that they had, and how many had no output."""

    format: str
    rows: list[dict[str, Any]]
    failed: int


def converted(config: ConvertSettings) -> Converted:
    """The rows of a file; rows without any output, such as questions, become items.

    Raises:
        InputError: the file cannot be read, a row is wrong, or it has several systems.
    """
    mapped = parse_map(config.map)
    title, table = open_rows(config.source)
    rows = list(_of_system(config, replace(table, rows=along_paths(table.rows, mapped))))
    table = replace(table, rows=rows)
    if not any(row.failed or _answers(row, mapped) for row in rows):
        items = read_items(table, mapped)
        return Converted(title, [_written(asdict(one.row), None) for one in items.rows], 0)
    outputs = read_outputs(table, mapped, allow_failed=config.allow_partial, epoch=config.epoch)
    of_no_item = {one.line for one in outputs.rows if one.row.id is None and one.row.prompt is None}
    for row in rows:
        if row.line in of_no_item:
            mends = remedy(PROMPT, row.fields, candidates_of(row.fields, mapped))
            raise table.wrong(f"a row needs the field 'id' or 'prompt'; {mends}", row.line)
    scores = {row.line: scores_of(row) for row in rows}
    written = [_written(asdict(one.row), scores[one.line]) for one in outputs.rows]
    return Converted(title, written, outputs.failed)


def _of_system(config: ConvertSettings, table: Table) -> Iterator[Row]:
    """Yield the rows of the system asked for."""
    names, mapped = dict[str, None](), parse_map(config.map)
    for row in table.rows:
        reader = RowReader(table, row, candidates_of(row.fields, mapped))
        name = reader.text(MODEL) or ""
        names[name] = None
        if config.system in {None, name}:
            yield row
    if config.system is not None and config.system not in names:
        known = ", ".join(repr(name) for name in names if name) or "none named"
        raise table.wrong(f"there is no system {config.system!r}; found {known}")


def _answers(row: Row, mapped: Map) -> bool:
    """Whether a row has an output, or nothing that could be a question."""
    candidates = candidates_of(row.fields, mapped)
    asked = candidates[PROMPT]
    return bool(candidates[OUTPUT]) or not asked or any(isinstance(row.fields[column.name], list) for column in asked)


def _written(fields: dict[str, Any], scores: Any) -> dict[str, Any]:
    """A row without what it does not have; an empty output is an answer."""
    how = fields.pop("ended", OutputEnd.WHOLE)
    written = {name: value for name, value in fields.items() if value is not None or name == OUTPUT}
    written |= {FINISH_REASON: str(how)} if how is not OutputEnd.WHOLE else {}
    # JSON has no NaN, with which Inspect marks a sample that its scorer could not score.
    kept = {name: None if score != score else score for name, score in (scores or {}).items()}  # noqa: PLR0124
    return written | ({"scores": kept} if kept else {})

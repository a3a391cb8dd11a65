"""Reads what `promptfoo eval --output results.csv` writes.

A row is a test. It has the variables, and for each prompt and provider a column `[provider] label` with the
output, followed by five on its score. The item's text is its variables, as the file has no prompts as asked.
"""

import json
from collections.abc import Iterator
from typing import Any

from judgeloop.core.errors import DataError
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source
from judgeloop.formats.tables import cells_of

AFTER = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]
DESCRIPTION = "Description"
LONGEST_HEADER = 1 << 16  # characters; the prompts stand in it


def recognises(source: Source) -> bool:
    """Return whether the header has promptfoo's columns after an output."""
    if source.is_zip or source.is_parquet or ",".join(AFTER) not in source.text[:LONGEST_HEADER]:
        return False
    try:
        _, header = next(cells_of(source.path, source.text))
    except DataError:
        return False
    return bool(_places(header))


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each test and provider."""
    every = cells_of(source.path, source.text)
    _, header = next(every)
    places = _places(header)
    labels = {_named(header[at])[1] for at in places}
    for number, (line, cells) in enumerate(every):
        if len(cells) != len(header):
            raise source.wrong(f"expected {len(header)} columns, found {len(cells)}", line)
        given = zip(header[: places[0]], cells, strict=False)
        asked = "\n".join(f"{name}: {value}" for name, value in given if name != DESCRIPTION)
        for at in places:
            provider, label = _named(header[at])
            system = f"{provider} {label}" if len(labels) > 1 else provider
            fields = {"id": number, "model": system, "prompt": asked}
            yield _row(source, line, fields, cells[at : at + 1 + len(AFTER)])


def _row(source: Source, line: int, fields: dict[str, Any], cells: list[str]) -> Row:
    output, status, score, named, reason, _ = cells
    if status == "ERROR":
        return Row(line, fields, failed=f"the provider failed: {reason or 'no reason is given'}")
    try:
        scores = {"score": score, **(json.loads(named) if named else {})}
    except (ValueError, TypeError):
        raise source.wrong(f"expected named scores as JSON, found {named!r:.60}", line) from None
    return Row(line, fields | {"output": output}, scores=scores)


def _places(header: list[str]) -> list[int]:
    """Return which columns hold outputs."""
    size = len(AFTER)
    return [at - 1 for at in range(1, len(header)) if header[at : at + size] == AFTER]


def _named(column: str) -> tuple[str, str]:
    """Return the provider and the prompt's label in the name of a column.

    >>> _named("[openai:gpt-4.1] Translate: {{text}}")
    ('openai:gpt-4.1', 'Translate: {{text}}')
    """
    provider, bracket, label = column.removeprefix("[").partition("] ")
    return (provider, label) if bracket and column.startswith("[") else (column, "")

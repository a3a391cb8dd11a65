"""Reads rows as they stand: JSON lines, a JSON array, CSV, TSV, and tables parted by semicolons.

judgeloop's own rows and Hugging Face's JSON lines are such rows.
`columns.py` says which column is what. A column `score`, or `scores` with an object of them, holds
recorded scores.
"""

from __future__ import annotations

from collections.abc import Iterator

from judgeloop.formats.format import Fields
from judgeloop.formats.source import Source
from judgeloop.formats.tables import Row


def recognises(source: Source) -> bool:
    """Return whether this is text at all: any rows may have columns with a meaning."""
    return not source.is_zip and not source.is_parquet


def read(source: Source) -> Iterator[Row]:
    """Yield the rows of a text."""
    document = source.document
    if document is not None and "\n" in source.text.strip():
        found = ", ".join(map(repr, list(document)[:8]))
        raise source.wrong(
            f"this JSON document is of no known format; found {found}. Expected JSON lines, a JSON "
            "array or CSV, or one of the formats in docs/reference/file-formats.md"
        )
    return source.rows()


def scores_of(fields: Fields) -> dict[str, object]:
    """Return the recorded scores of a plain row, by scorer: `scores`, else `score`."""
    many = fields.get("scores")
    if isinstance(many, dict):
        return many
    return {"score": fields["score"]} if "score" in fields else {}

"""Reads rows as they stand: JSON lines, a JSON array, CSV, TSV, and tables parted by semicolons.

judgeloop's own rows and Hugging Face's JSON lines are such rows.
`columns.py` says which column is what. A column `score`, or `scores` with an object of them, holds
recorded scores.
"""

from collections.abc import Iterator

from judgeloop.formats.catalogue import Fields
from judgeloop.formats.conversation import is_messages
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source
from judgeloop.formats.tables import form_of


def recognises(source: Source) -> bool:
    """Return whether this is text at all: any rows may have columns with a meaning."""
    return not source.is_zip and not source.is_parquet


def title_of(source: Source) -> str:
    """Return which form of rows a text has."""
    return form_of(source.text) if source.text.strip() else "rows"


def read(source: Source) -> Iterator[Row]:
    """Yield the rows of a text."""
    document = source.document
    if document is not None and (mending := _rows_inside(document)):
        raise source.wrong(mending)
    if document is not None and "\n" in source.text.strip():
        found = ", ".join(map(repr, list(document)[:8]))
        raise source.wrong(
            f"this JSON document is of no known format; found {found}. Expected JSON lines, a JSON "
            "array or CSV, or one of the formats in docs/reference/file-formats.md"
        )
    return source.rows()


def _rows_inside(document: Fields) -> str:
    """Return how to get at the rows that a document has inside; "" if it has none, or is a row."""
    values = list(document.values())
    listed = values[0] if len(values) == 1 and isinstance(values[0], list) else []
    if listed and all(isinstance(value, dict) for value in listed) and not is_messages(listed):
        return (
            f"this is one object, whose field {next(iter(document))!r} holds {len(listed)} rows; "
            "expected the list alone: jq '.[]' FILE > ROWS"
        )
    tables = [value for value in values if isinstance(value, dict) and value]
    keys = {tuple(table) for table in tables}
    if len(values) > 1 and len(tables) == len(values) and len(keys) == 1:
        return (
            "this is a whole table in one object, as pandas writes it unless told otherwise; expected "
            'rows: to_json(FILE, orient="records", lines=True)'
        )
    return ""


def scores_of(fields: Fields) -> dict[str, object]:
    """Return the recorded scores of a plain row, by scorer: `scores`, else `score`."""
    many = fields.get("scores")
    if isinstance(many, dict):
        return many
    return {"score": fields["score"]} if "score" in fields else {}

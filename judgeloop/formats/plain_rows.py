"""Reads rows as they stand: JSON lines, a JSON array, CSV, TSV, and tables parted by semicolons.

judgeloop's own rows and Hugging Face's JSON lines are such rows.
`columns.py` says which column is what. A column `score`, or `scores` with an object of them, holds
recorded scores.
"""

from collections.abc import Iterator
from typing import TypeGuard

from judgeloop.formats.catalogue import Fields
from judgeloop.formats.columns import OUTPUT, PROMPT, candidates_of
from judgeloop.formats.conversation import is_messages
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source
from judgeloop.formats.tables import form_of

DEEPEST = 7  # objects within each other


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
    known = candidates_of(document, ())
    alone = len(values) == 1
    if alone or not (known[OUTPUT] or known[PROMPT]):
        *others, (size, names) = [(1, ""), *sorted(_lists(document))]
        if (size > 1 and size > others[-1][0]) or (alone and names):
            return (
                f"this is one object, whose field {names!r} holds {size} rows; "
                f"expected the list alone: jq -c '.{names}[]' FILE > ROWS"
            )
    tables = [value for value in values if isinstance(value, dict) and value]
    keys = {tuple(table) for table in tables}
    if len(values) > 1 and len(tables) == len(values) and len(keys) == 1:
        return (
            "this is a whole table in one object, as pandas writes it unless told otherwise; expected "
            'rows: to_json(FILE, orient="records", lines=True)'
        )
    return ""


def _is_rows(value: object) -> TypeGuard[list[Fields]]:
    """Return whether a value is a list of objects that are no messages."""
    objects = isinstance(value, list) and all(isinstance(one, dict) for one in value)
    return objects and bool(value) and not is_messages(value)


def _lists(fields: Fields, above: str = "", depth: int = DEEPEST) -> Iterator[tuple[int, str]]:
    """Yield the length and the dotted path of each list of objects in an object, but for messages."""
    for name, value in fields.items():
        if isinstance(value, dict) and depth:
            yield from _lists(value, f"{above}{name}.", depth - 1)
        elif _is_rows(value):
            yield len(value), f"{above}{name}"


def scores_of(fields: Fields) -> dict[str, object]:
    """Return the recorded scores of a plain row, by scorer: `scores`, else `score`."""
    many = fields.get("scores")
    if isinstance(many, dict):
        return many
    return {"score": fields["score"]} if "score" in fields else {}

"""Reads tables of the form "split", as MLflow's `eval_results_table.json` and pandas write them.

One object holds the names of the columns, and a list of values for each row.
"""

from collections.abc import Iterator

from judgeloop.formats.row import Row
from judgeloop.formats.source import Source


def recognises(source: Source) -> bool:
    """Return whether this is one object with columns and a list of lists."""
    document = source.document or {}
    data = document.get("data")
    return isinstance(document.get("columns"), list) and isinstance(data, list) and bool(data)


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each list of values."""
    document = source.document or {}
    columns = [str(name) for name in document["columns"]]
    for number, values in enumerate(document["data"], start=1):
        if not isinstance(values, list) or len(values) != len(columns):
            raise source.wrong(f"expected {len(columns)} values as there are columns, found {values!r:.60}", number)
        yield Row(number, dict(zip(columns, values, strict=True)))

"""Reads the log of OpenAI's evals (`oaieval`): a line of `spec`, then a line for each event.

The output to an item is its last event of the type `sampling`, and the item is `sample_id`. The values of its
events `match` and `metrics` are its scores.
"""

from collections.abc import Iterator
from typing import Any

from judgeloop.formats.catalogue import Fields, only, within
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source

SCORING = {"match", "metrics"}


def recognises(source: Source) -> bool:
    """Return whether the first line is the specification of a run."""
    return isinstance(within(source.first, "spec", "eval_name"), str)


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each sample."""
    model, rows = None, dict[object, Row]()
    scores: dict[object, Fields] = {}
    for line in source.rows():
        if spec := line.fields.get("spec"):
            names = within(spec, "completion_fns")
            model = only(source, names, "completion functions", line.line)
        sample, kind, data = (line.fields.get(name) for name in ("sample_id", "type", "data"))
        if kind == "sampling":
            rows[sample] = _row(source, line, model)
        elif kind in SCORING and isinstance(data, dict):
            numbers = {name: value for name, value in data.items() if isinstance(value, bool | int | float)}  # fmt: skip
            scores.setdefault(sample, {}).update(numbers)
    for sample, row in rows.items():
        yield Row(row.line, row.fields, scores=scores.get(sample, {}))


def _row(source: Source, line: Row, model: Any) -> Row:
    data = line.fields.get("data")
    sampled = within(data, "sampled")
    answer = only(source, sampled, "samples", line.line) if isinstance(sampled, list) else sampled
    fields = {"id": line.fields.get("sample_id"), "prompt": within(data, "prompt")}
    return Row(line.line, {**fields, "model": model, "output": answer})

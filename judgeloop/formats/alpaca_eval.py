"""Reads AlpacaEval's `model_outputs.json`: rows with `instruction`, `output` and `generator`."""

from judgeloop.formats import plain_rows
from judgeloop.formats.source import Source

FIELDS = {"instruction", "output", "generator"}
read = plain_rows.read


def recognises(source: Source) -> bool:
    """Return whether the first row has AlpacaEval's fields."""
    return set(source.first) >= FIELDS

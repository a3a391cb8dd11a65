"""Reads a system's confidence in each of its outputs from a field of its output file.

The field holds a number or the log-probabilities of the generated tokens. Log-probabilities are a
list of numbers, or of objects with `token` and `logprob` as OpenAI's API returns them (also inside
an object, under `content`). This module does not check whether confidence predicts correctness.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.core.records import Item
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.rows import parse_output
from judgeloop.formats.tables import Row, Source, Table


def read_confidence(source: Source, items: Sequence[Item], field: str, rule: str) -> NDArray[np.float64]:
    """Read a confidence for each of `items` from `field` in the rows of `source`, shape (items,).

    Rows are joined to items by id or prompt. `rule` reduces a list of log-probabilities to a
    number. "geometric-mean" is the geometric mean of the tokens' probabilities. "first-token" is
    the probability of the first token that is not blank. Huang et al. 2024 (appendix A.1.3) use the
    mean for answers in words and the first token for choices, mathematics and code.

    Raises:
        DataError: a row lacks the field, or the field holds something else; names the line.
        InputError: an item has no row.
    """
    found: dict[str, float] = {}
    table = table_of(source)
    for read in table.rows:
        row, value = parse_output(table, read), _confidence(table, read, field, rule)
        for key in (row.id and f"id {row.id}", row.prompt and f"prompt {row.prompt}"):
            if key:
                found.setdefault(key, value)
    values = [found.get(f"id {item.id}", found.get(f"prompt {item.prompt}")) for item in items]
    missing = [item.id for item, value in zip(items, values, strict=True) if value is None]
    if missing:
        raise InputError(f"{table}: no confidence for {len(missing):,} items, such as {missing[0]!r}")
    return np.array(values, dtype=np.float64)


def _confidence(table: Table, row: Row, field: str, rule: str) -> float:
    value = row.fields.get(field)
    if value is None:
        raise table.wrong(
            f"the field {field!r} is missing or null, but the system's confidence is read from it; "
            "name another field with `confidence`, or use a selector that needs no confidence "
            "(stratified, random)",
            row.line,
        )
    try:
        return _of_tokens(value, rule) if isinstance(value, list | Mapping) else _number(value)
    except (TypeError, ValueError, KeyError) as error:
        why = f"no {error}" if isinstance(error, KeyError) else str(error)
        problem = f"expected a number or a list of log-probabilities in {field!r}: {why}"
        raise table.wrong(problem, row.line) from None


def _of_tokens(value: list[Any] | Mapping[str, Any], rule: str) -> float:
    listed = value["content"] if isinstance(value, Mapping) else value
    # Pairs of a token's text and its log-probability.
    tokens = [
        (str(entry.get("token", "")), _logprob(entry["logprob"]))
        if isinstance(entry, Mapping)
        else (None, _logprob(entry))
        for entry in listed
    ]
    if not tokens:
        return 0.0  # without tokens there is no evidence of confidence
    if rule == "geometric-mean":
        return math.exp(math.fsum(logprob for _, logprob in tokens) / len(tokens))
    first = next((pair for pair in tokens if pair[0] is None or pair[0].strip()), tokens[0])
    return math.exp(first[1])


def _logprob(value: Any) -> float:
    number = _number(value)
    if number > 0:
        raise ValueError(f"a log-probability is at most 0, found {number:g}")
    return number


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError(f"found {value!r}")
    return number

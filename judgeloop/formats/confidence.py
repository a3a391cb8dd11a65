"""How confident a system was of each of its outputs, from a field of its output file.

The field holds a number, or the log-probabilities of the generated tokens: a list of numbers, or of objects with `token` and `logprob`, as
OpenAI's API gives them (also under `content`). Whether confidence says anything about correctness is not asked here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Item
from judgeloop.formats.outputs import OutputRow
from judgeloop.formats.tables import parse_row, read_rows


@dataclass(frozen=True, slots=True)
class _Generated:
    """A token's log-probability, and the token where it is known."""

    logprob: float
    token: str | None = None


def read_confidence(
    path: Path, items: Sequence[Item], field: str, rule: str
) -> NDArray[np.float64]:
    """A confidence for each of `items`, shape (items,), from `field` of the rows of `path`, joined by id or prompt.

    A list of log-probabilities becomes one number by `rule`: the geometric mean of the probabilities, or the probability of the first
    token that is not empty (Huang et al. 2024, appendix A.1.3: the mean for answers in words, the first token for choices, mathematics
    and code).

    Raises:
        DataError: a row has no such field, or it holds something else; says the line.
        InputError: an item has no row.
    """
    found: dict[str, float] = {}
    for source in read_rows(path):
        row = parse_row(path, source, OutputRow)
        value = _confidence(path, source.line, source.fields, field, rule)
        for key in (row.id and f"id {row.id}", row.prompt and f"prompt {row.prompt}"):
            if key:
                found.setdefault(key, value)
    values = [found.get(f"id {item.id}", found.get(f"prompt {item.prompt}")) for item in items]
    missing = [item.id for item, value in zip(items, values, strict=True) if value is None]
    if missing:
        raise InputError(f"{path}: no confidence for {len(missing)} items, such as {missing[0]!r}")
    return np.array(values, dtype=np.float64)


def _confidence(path: Path, line: int, fields: Mapping[str, Any], field: str, rule: str) -> float:
    if field not in fields or fields[field] is None:
        raise DataError(
            path,
            f"the field {field!r} is missing or null, from which the system's confidence is read; name another with `confidence`, or "
            "use a selector that needs none (stratified, random)",
            line=line,
        )
    value = fields[field]
    try:
        confidence = (
            _number(value) if not isinstance(value, list | Mapping) else _of_tokens(value, rule)
        )
    except (TypeError, ValueError, KeyError) as error:
        raise DataError(
            path,
            f"expected a number or a list of log-probabilities in {field!r}: {_said(error)}",
            line=line,
        ) from None
    return confidence


def _of_tokens(value: list[Any] | Mapping[str, Any], rule: str) -> float:
    listed = value["content"] if isinstance(value, Mapping) else value
    tokens = [_generated(one) for one in listed]
    if not tokens:
        return 0.0  # nothing was generated, and nothing can be said for it
    if rule == "geometric-mean":
        return math.exp(math.fsum(one.logprob for one in tokens) / len(tokens))
    return math.exp(
        next((one for one in tokens if one.token is None or one.token.strip()), tokens[0]).logprob
    )


def _generated(one: Any) -> _Generated:
    if isinstance(one, Mapping):
        return _Generated(_logprob(one["logprob"]), str(one.get("token", "")))
    return _Generated(_logprob(one))


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


def _said(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)

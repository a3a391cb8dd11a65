"""Reads the scores that a finished run recorded, one for each item; `join.py` joins two such runs.

A file with several scorers is refused with the choice to make, as is a score outside [0, 1]. Outputs may be missing. Of
a log that repeats its items, each has the mean of its epochs, unless one is chosen.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

from judgeloop.formats.catalogue import table_of
from judgeloop.formats.columns import FAMILY, MODEL, OUTPUT, Map, RowReader, along_paths, candidates_of, found_text
from judgeloop.formats.rows import MEAN, NO_MAP, Located, OutputRow, Outputs, at, one_epoch, stem
from judgeloop.formats.tables import Row, Source, Table, says_nothing

LOOKED_AT = 100  # rows of a file that are looked at for the names of its scores


def scores_of(row: Row, chosen: str = "") -> dict[str, Any]:
    """The scores of a row by scorer; of a plain row those in its columns `scores` or `score`, or `chosen`."""
    if row.scores is not None:
        return dict(row.scores)
    many = row.fields.get("scores")
    if chosen in row.fields:
        return {chosen: row.fields[chosen]}
    if isinstance(many, dict):
        return many
    return {"score": row.fields["score"]} if "score" in row.fields else {}


def scorers_of(rows: Iterable[Row]) -> list[str]:
    """The names of the scores in the first rows of a file."""
    return list(dict.fromkeys(name for row in islice(rows, LOOKED_AT) for name in scores_of(row)))


def read_recorded(
    source: Source, scorer: str = "", mapped: Map = NO_MAP, *, epoch: str | None = None, name: str | None = None
) -> Outputs:
    """The rows of a finished run that have a score, of a file or in memory.

    `scorer` is the name of a scorer or of a column, "" for the only score of the file. `name` is
    the system's name, by default that in the rows.

    Raises:
        DataError: there are no scores, or several scorers of which none is chosen, or a score is not in [0, 1], or an
            item appears twice.
    """
    table = table_of(source)
    rows = list(along_paths(table.rows if epoch == MEAN else one_epoch(table, epoch), mapped))
    means = epoch == MEAN or (epoch is None and any(row.epoch > 1 for row in rows))
    scores = [scores_of(row, scorer) for row in rows]
    scorer = _only_scorer(table, scores, scorer, rows)
    by_item: dict[object, list[Located[OutputRow]]] = {}
    models: dict[str, None] = {}
    for row, values in zip(rows, scores, strict=True):
        reader = RowReader(table, row, candidates_of(row.fields, mapped))
        score = _number(table, row, scorer, values.get(scorer))
        item, model, output = reader.item(), reader.text(MODEL), reader.text(OUTPUT) or ""
        found = OutputRow(*item, model, output, score, family=reader.text(FAMILY))
        located = Located(row.line, found, table.unit)
        if model:
            models[model] = None
        if len(models) > 1:
            raise table.wrong(
                f"expected the scores of one system, found {' and '.join(map(repr, models))}; "
                "write each to a file of its own: judgeloop convert FILE --system NAME -o OUT"
            )
        key = located.row.id or located.row.prompt or object()  # `join.py` refuses a row without both
        same = by_item.setdefault(key, [])
        if same and not means:
            raise located.wrong(
                table.place,
                f"the item {key!r:.60} appears twice, first {at(same[0].line, same[0].unit)}; take one of the rows "
                "out, or compare each item's mean with `epoch=mean`",
            )
        same.append(located)
    scored = []
    for same in by_item.values():
        known = [one.row.score for one in same if one.row.score is not None]
        if len(known) == len(same):
            scored.append(replace(same[0], row=replace(same[0].row, score=math.fsum(known) / len(known))))
    system = name or next(iter(models), None) or stem(table.place)
    return Outputs(table.place, system, tuple(scored), failed=len(by_item) - len(scored), scorer=scorer)


def _only_scorer(table: Table, scores: Iterable[dict[str, object]], chosen: str, rows: list[Row]) -> str:
    names = list(dict.fromkeys(name for values in scores for name in values))
    if chosen in names:
        return chosen
    shown = ", ".join(f"`judge=recorded:{name}`" for name in names)
    columns = found_text(rows[0].fields if rows else ())
    if chosen:
        known = shown or f"the columns {columns}"
        raise table.wrong(f"there is no score {chosen!r}; found {known}")
    if not names:
        raise table.wrong(
            "no scores are recorded in this file; if a column holds them, name it with "
            f"`judge=recorded:COLUMN`; found {columns}"
        )
    if len(names) > 1:
        raise table.wrong(f"{len(names)} scores are recorded; choose one: {shown}")
    return names[0]


def _number(table: Table, row: Row, scorer: str, value: object) -> float | None:
    """A score in [0, 1]; None if it is absent."""
    if says_nothing(value):  # NaN: Inspect's unscored
        return None
    try:
        number = float(value)  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise table.wrong(
            f"expected a score in [0, 1] from {scorer!r}, found {value!r:.60}; choose another with "
            "`judge=recorded:NAME`, or rescale the scores: judgeloop does not guess their range",
            row.line,
        )
    return number

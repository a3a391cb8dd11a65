"""Reads the scores that two finished runs recorded, one for each item, and joins them.

A file with several scorers or epochs is refused with the choice to make, as is a score outside
[0, 1]. Outputs may be missing. Decides nothing: the judge `recorded:NAME` compares the scores.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from judgeloop.core.errors import InputError
from judgeloop.core.pool import Pool
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.column_map import along_paths
from judgeloop.formats.columns import MODEL, OUTPUT, Map, RowReader, candidates_of, found_text
from judgeloop.formats.join import Joined, align, name_apart
from judgeloop.formats.plain_rows import scores_of
from judgeloop.formats.row import Place, Row, Source, Table
from judgeloop.formats.rows import MEAN, NO_MAP, Located, OutputRow, Outputs, at, one_epoch, stem

Scores = dict[tuple[str, str], float]  # by the ids of items and the names of systems
LOOKED_AT = 100  # rows of a file that are looked at for the names of its scores


@dataclass(frozen=True, slots=True)
class ScoredRow(OutputRow):
    """A row with a recorded score in [0, 1], None if there is none; its output may be empty."""

    score: float | None = None


def scorers_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of the scores in the first rows of a file."""
    return list(dict.fromkeys(name for row in islice(rows, LOOKED_AT) for name in _scores(row, "")))


def read_recorded(
    source: Source, scorer: str = "", mapped: Map = NO_MAP, *, epoch: str | None = None, name: str | None = None
) -> tuple[Outputs, str]:
    """Return the rows of a finished run, of a file or in memory, and the name of their score.

    `scorer` is the name of a scorer or of a column, "" for the only score of the file. `name` is
    the system's name, by default that in the rows.

    Raises:
        DataError: there are no scores, or several scorers or epochs of which none is chosen, or a
            score is not in [0, 1], or an item appears twice.
    """
    table = table_of(source)
    rows = list(along_paths(table.rows if epoch == MEAN else one_epoch(table, epoch), mapped))
    scores = [_scores(row, scorer) for row in rows]
    scorer = _only_scorer(table, scores, scorer, rows)
    found = []
    for row, values in zip(rows, scores, strict=True):
        reader = RowReader(table, row, candidates_of(row.fields, mapped))
        score = _number(table, row, scorer, values.get(scorer))
        item, model, output = reader.item(), reader.text(MODEL), reader.text(OUTPUT) or ""
        found.append(Located(row.line, ScoredRow(*item, model, output, score), table.unit))
    models = list(dict.fromkeys(one.row.model for one in found if one.row.model))
    if len(models) > 1:
        raise table.wrong(
            f"expected the scores of one system, found {' and '.join(map(repr, models[:2]))}; "
            "write each to a file of its own: judgeloop convert FILE --system NAME -o OUT"
        )
    system = name or (models[0] if models else stem(table.place))
    return Outputs(table.place, system, tuple(_of_items(table.place, found, epoch))), scorer


def join_recorded(runs: Sequence[Outputs], *, allow_partial: bool) -> tuple[Joined, Scores]:
    """Join two finished runs, as `read_recorded` returns them, on the items that both scored.

    Raises:
        DataError: an item is not the same in both files.
        InputError: the runs scored different items and `allow_partial` is False, or none is shared.
    """
    systems = name_apart([(run.system, run.path) for run in runs])
    aligned = align(runs, texts=False)
    scored = [
        (item, rows) for item, *rows in zip(aligned.items, *aligned.rows, strict=True) if None not in map(_score, rows)
    ]
    left_out = _left_out(runs, aligned.rows, len(scored))
    if not scored:
        raise InputError(f"no item has a score in both files: {left_out}")
    if left_out and not allow_partial:
        raise InputError(
            f"the runs scored different items: {left_out}. Compare only the {len(scored)} that both "
            "scored with `allow_partial`"
        )
    outputs = zip(*([row.output for row in rows] for _, rows in scored), strict=True)
    pool = Pool(tuple(item for item, _ in scored), systems, tuple(outputs))
    return Joined(pool, left_out), {
        (item.id, system): row.score for item, rows in scored for system, row in zip(systems, rows, strict=True)
    }


def _score(row: OutputRow | None) -> float | None:
    return row.score if isinstance(row, ScoredRow) else None


def _left_out(runs: Sequence[Outputs], rows: Sequence[Sequence[OutputRow | None]], scored: int) -> str:
    """Return the counts of what is not compared, in words; empty if everything is."""
    counts = []
    for run, here, there in zip(runs, rows, rows[::-1], strict=True):
        alone = sum(other is None for own, other in zip(here, there, strict=True) if own)
        unscored = sum(_score(own) is None for own in here if own)
        counts += [f"{alone:,} only in {run.path}"] if alone else []
        counts += [f"{unscored:,} without a score in {run.path}"] if unscored else []
    return ", ".join([f"{scored:,} scored in both", *counts]) if counts else ""


def _scores(row: Row, chosen: str) -> dict[str, object]:
    """Return the scores of a row; of a plain row also the chosen column."""
    if row.scores is not None:
        return dict(row.scores)
    return {chosen: row.fields[chosen]} if chosen in row.fields else scores_of(row.fields)


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
    """Return a score in [0, 1]; None if it is absent."""
    if value is None or value == "" or value != value:  # noqa: PLR0124 - NaN: Inspect's unscored
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


def _of_items(path: Place, rows: list[Located[ScoredRow]], epoch: str | None) -> Iterator[Located[OutputRow]]:
    """Yield one row for each item: with the mean of its epochs, if that is asked for."""
    by_item: dict[str | None, list[Located[ScoredRow]]] = {}
    for located in rows:
        key = located.row.id or located.row.prompt
        known = by_item.setdefault(key, [])
        if known and key is not None and epoch != MEAN:
            place = at(known[0].line, known[0].unit)
            raise located.wrong(
                path,
                f"the item {key!r:.60} appears twice, first {place}; take one of the rows out, or "
                "compare each item's mean with `epoch=mean`",
            )
        known.append(located)
    for same in by_item.values():
        scores = [one.row.score for one in same if one.row.score is not None]
        mean = math.fsum(scores) / len(scores) if len(scores) == len(same) else None
        first = same[0]
        yield Located(first.line, replace(first.row, score=mean), first.unit)

"""Reads the scores that a finished run recorded, one for each item, and pairs those of two runs.

A file with several scorers or epochs is refused with the choice to make, as is a score outside
[0, 1]. Items pair by id, else by prompt; different items under one id are refused. Outputs may be
missing. Decides nothing: the judge `recorded:NAME` compares the scores.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.pool import Pool
from judgeloop.core.records import Item
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.column_map import along_paths
from judgeloop.formats.columns import MODEL, OUTPUT, Map, RowReader, candidates_of, found_text
from judgeloop.formats.join import Joined, name_apart
from judgeloop.formats.plain_rows import scores_of
from judgeloop.formats.row import Place, Row, Source
from judgeloop.formats.rows import MEAN, NO_MAP, ItemRow, at, one_epoch, stem

LOOKED_AT = 100  # rows of a file that are looked at for the names of its scores


@dataclass(frozen=True, slots=True)
class Scored:
    """An item, its output ("" if the file has none), and its score (None if there is none)."""

    item: ItemRow
    line: int
    unit: str
    score: float | None
    output: str = ""

    def wrong(self, path: Place, problem: str) -> DataError:
        """Return the error for this row of a file."""
        return DataError(path, problem, line=self.line, unit=self.unit)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The scores of a finished run, by item."""

    path: Place
    system: str
    scorer: str
    items: tuple[Scored, ...]


def scorers_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of the scores in the first rows of a file."""
    return list(dict.fromkeys(name for row in islice(rows, LOOKED_AT) for name in _scores(row, "")))


def read_recorded(
    source: Source,
    scorer: str = "",
    mapped: Map = NO_MAP,
    *,
    epoch: str | None = None,
    name: str | None = None,
) -> Recorded:
    """Return the recorded scores in the rows of a file, or in memory.

    `scorer` is the name of a scorer or of a column, "" for the only score of the file. `name` is
    the system's name, by default that in the rows.

    Raises:
        DataError: there are no scores, or several scorers or epochs of which none is chosen, or a
            score is not in [0, 1], or an item appears twice.
    """
    table = table_of(source)
    path, unit, opened = table.place, table.unit, along_paths(table.rows, mapped)
    rows = list(opened if epoch == MEAN else one_epoch(opened, path, unit, epoch))
    scores = [_scores(row, scorer) for row in rows]
    scorer = _only_scorer(path, scores, scorer, rows)
    models: dict[str, None] = {}
    items = []
    for row, values in zip(rows, scores, strict=True):
        reader = RowReader(path, row, candidates_of(row.fields, mapped), unit)
        if model := reader.text(MODEL):
            models[model] = None
        score = _number(path, row, unit, scorer, values.get(scorer))
        output = reader.text(OUTPUT) or ""
        items.append(Scored(ItemRow(*reader.item()), row.line, unit, score, output))
    if len(models) > 1:
        raise DataError(
            path,
            f"expected the scores of one system, found {' and '.join(map(repr, list(models)[:2]))}; "
            "write each to a file of its own: judgeloop convert FILE --system NAME -o OUT",
        )
    system = name or next(iter(models), None) or stem(path)
    return Recorded(path, system, scorer, tuple(_of_items(path, items, epoch)))


def _scores(row: Row, chosen: str) -> dict[str, object]:
    """Return the scores of a row; of a plain row also the chosen column."""
    if row.scores is not None:
        return dict(row.scores)
    return {chosen: row.fields[chosen]} if chosen in row.fields else scores_of(row.fields)


def _only_scorer(
    path: Place, scores: Iterable[dict[str, object]], chosen: str, rows: list[Row]
) -> str:
    names = list(dict.fromkeys(name for values in scores for name in values))
    if chosen in names:
        return chosen
    shown = ", ".join(f"`judge=recorded:{name}`" for name in names)
    columns = found_text(rows[0].fields if rows else ())
    if chosen:
        known = shown or f"the columns {columns}"
        raise DataError(path, f"there is no score {chosen!r}; found {known}")
    if not names:
        raise DataError(
            path,
            "no scores are recorded in this file; if a column holds them, name it with "
            f"`judge=recorded:COLUMN`; found {columns}",
        )
    if len(names) > 1:
        raise DataError(path, f"{len(names)} scores are recorded; choose one: {shown}")
    return names[0]


def _number(path: Place, row: Row, unit: str, scorer: str, value: object) -> float | None:
    """Return a score in [0, 1]; None if it is absent."""
    if value is None or value == "" or value != value:  # noqa: PLR0124 - NaN: Inspect's unscored
        return None
    try:
        number = float(value)  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise DataError(
            path,
            f"expected a score in [0, 1] from {scorer!r}, found {value!r:.60}; choose another with "
            "`judge=recorded:NAME`, or rescale the scores: judgeloop does not guess their range",
            line=row.line,
            unit=unit,
        )
    return number


def _of_items(path: Place, rows: list[Scored], epoch: str | None) -> Iterator[Scored]:
    """Yield one score for each item: the mean of its epochs, if that is asked for."""
    by_item: dict[str, list[Scored]] = {}
    for scored in rows:
        key = scored.item.id or scored.item.prompt
        if key is None:
            raise scored.wrong(path, "a row needs the field 'id' or 'prompt'")
        known = by_item.setdefault(key, [])
        if known and epoch != MEAN:
            place = at(known[0].line, known[0].unit)
            raise scored.wrong(
                path,
                f"the item {key!r:.60} appears twice, first {place}; take one of the rows out, or "
                "compare each item's mean with `epoch=mean`",
            )
        known.append(scored)
    for same in by_item.values():
        values = [one.score for one in same if one.score is not None]
        mean = math.fsum(values) / len(values) if len(values) == len(same) else None
        yield replace(same[0], score=mean)


@dataclass(frozen=True, slots=True)
class Paired:
    """The items that two runs both scored, and each system's scores, by position."""

    joined: Joined
    scores: tuple[tuple[float, ...], ...]


def pair(first: Recorded, second: Recorded, *, allow_partial: bool) -> Paired:
    """Pair the scores of two runs by item.

    Raises:
        DataError: an item is not the same in both files.
        InputError: the runs scored different items and `allow_partial` is False, or none is shared.
    """
    runs = first, second
    systems = name_apart([(run.system, run.path) for run in runs])
    by_key = _by_key(runs)
    shared = [(key, one, by_key[1][key]) for key, one in by_key[0].items() if key in by_key[1]]
    for _, one, other in shared:
        _check_same(first, one, second, other)
    scored = [row for row in shared if row[1].score is not None and row[2].score is not None]
    left_out = _left_out(runs, by_key, len(scored))
    if not scored:
        raise InputError(f"no item has a score in both files: {left_out}")
    if left_out and not allow_partial:
        raise InputError(
            f"the runs scored different items: {left_out}. Compare only the {len(scored)} that both "
            "scored with `allow_partial`"
        )
    items = tuple(
        Item(key, one.item.prompt or "", one.item.reference, one.item.group)
        for key, one, _ in scored
    )
    rows = [one for _, one, _ in scored], [other for *_, other in scored]
    outputs = tuple(tuple(one.output for one in own) for own in rows)
    scores = tuple(tuple(one.score or 0.0 for one in own) for own in rows)
    return Paired(Joined(Pool(items, systems, outputs), left_out), scores)


def _by_key(runs: Sequence[Recorded]) -> list[dict[str, Scored]]:
    """Return the items of both runs by id, if any id is in both; else by prompt."""
    ids = [{one.item.id: one for one in run.items if one.item.id} for run in runs]
    if ids[0].keys() & ids[1].keys():
        return ids
    return [{one.item.prompt: one for one in run.items if one.item.prompt} for run in runs]


def _check_same(first: Recorded, one: Scored, second: Recorded, other: Scored) -> None:
    """Refuse two items with one id; a prompt may differ where the reference is the same.

    Harnesses write the prompt as they sent it, with the chat template of the model.
    """
    mine, theirs = one.item, other.item
    if mine.prompt is None or theirs.prompt is None or mine.prompt == theirs.prompt:
        return
    if mine.reference is not None and mine.reference == theirs.reference:
        return
    raise other.wrong(
        second.path,
        f"the item {theirs.id!r} is not that of {first.path}, {one.unit} {one.line}: prompt and "
        "reference differ",
    )


def _left_out(runs: Sequence[Recorded], by_key: list[dict[str, Scored]], scored: int) -> str:
    """Return the counts of what is not compared, in words; empty if everything is."""
    counts = []
    for run, here, there in zip(runs, by_key, by_key[::-1], strict=True):
        alone = len(here.keys() - there.keys())
        unscored = sum(one.score is None for one in run.items)
        nameless = len(run.items) - len(here)
        counts += [f"{alone:,} only in {run.path}"] if alone else []
        counts += [f"{unscored:,} without a score in {run.path}"] if unscored else []
        counts += [f"{nameless:,} of {run.path} that cannot be joined"] if nameless else []
    return ", ".join([f"{scored:,} scored in both", *counts]) if counts else ""

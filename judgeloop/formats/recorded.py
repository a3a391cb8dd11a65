"""Reads the scores that a finished run recorded, one for each item, and pairs those of two runs.

A file with several scorers or epochs is refused with the choice to make, as is a score outside
[0, 1]. Items pair by id, else by prompt; different items under one id are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from judgeloop.core.errors import DataError, InputError
from judgeloop.formats.catalogue import open_rows
from judgeloop.formats.columns import MODEL, Map, RowReader, candidates_of, found_text
from judgeloop.formats.plain_rows import scores_of
from judgeloop.formats.rows import MEAN, ItemRow, at, one_epoch, stem
from judgeloop.formats.tables import Row


@dataclass(frozen=True, slots=True)
class Scored:
    """An item and its score; the score is None if the run has none."""

    item: ItemRow
    line: int
    unit: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The scores of a finished run, by item."""

    path: Path
    system: str
    scorer: str
    items: tuple[Scored, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user chose of a file: the columns, the scorer, the epoch."""

    mapped: Map = field(default_factory=dict)
    score: str | None = None
    epoch: str | None = None


def read_recorded(path: Path, choice: Choice) -> Recorded:
    """Read the recorded scores of a file.

    Raises:
        DataError: there are no scores, or several scorers or epochs of which none is chosen, or a
            score is not in [0, 1], or an item appears twice.
    """
    found, rows = open_rows(path)
    every = list(rows)
    if choice.epoch != MEAN:
        every = list(one_epoch(every, path, found.unit, choice.epoch))
    scores = [_scores(row, choice.score) for row in every]
    scorer = _scorer(path, scores, choice.score, every)
    models: dict[str, None] = {}
    items = []
    for row, values in zip(every, scores, strict=True):
        reader = RowReader(path, row, candidates_of(row.fields, choice.mapped), found.unit)
        if model := reader.text(MODEL):
            models[model] = None
        value = _number(path, row, found.unit, scorer, values.get(scorer))
        items.append(Scored(ItemRow(*reader.item()), row.line, found.unit, value))
    if len(models) > 1:
        raise DataError(
            path,
            f"expected the scores of one system, found {' and '.join(map(repr, list(models)[:2]))}; "
            "write each to a file of its own: judgeloop convert FILE --system NAME -o OUT",
        )
    system = next(iter(models), None) or stem(path)
    return Recorded(path, system, scorer, tuple(_of_items(path, items, choice.epoch)))


def _scores(row: Row, chosen: str | None) -> dict[str, object]:
    """Return the scores of a row; of a plain row also the chosen column."""
    if row.scores is not None:
        return dict(row.scores)
    if chosen is not None and chosen in row.fields:
        return {chosen: row.fields[chosen]}
    return scores_of(row.fields)


def _scorer(
    path: Path, scores: Iterable[dict[str, object]], chosen: str | None, rows: list[Row]
) -> str:
    names = list(dict.fromkeys(name for values in scores for name in values))
    shown = ", ".join(f"`score={name}`" for name in names)
    if chosen is not None and chosen in names:
        return chosen
    if chosen is not None:
        known = shown or f"the columns {found_text(rows[0].fields if rows else ())}"
        raise DataError(path, f"there is no score {chosen!r}; found {known}")
    if not names:
        raise DataError(
            path,
            "no scores are recorded in this file, and without them a `judge` is needed to compare; if "
            "a column holds them, name it with `score=COLUMN`; found "
            f"{found_text(rows[0].fields if rows else ())}",
        )
    if len(names) > 1:
        raise DataError(path, f"{len(names)} scores are recorded; choose one: {shown}")
    return names[0]


def _number(path: Path, row: Row, unit: str, scorer: str, value: object) -> float | None:
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
            "`score=NAME`, or rescale the scores: judgeloop does not guess their range",
            line=row.line,
            unit=unit,
        )
    return number


def _of_items(path: Path, rows: list[Scored], epoch: str | None) -> Iterator[Scored]:
    """Yield one score for each item: the mean of its epochs, if that is asked for."""
    by_item: dict[str, list[Scored]] = {}
    for scored in rows:
        key = scored.item.id or scored.item.prompt
        if key is None:
            raise DataError(
                path, "a row needs the field 'id' or 'prompt'", line=scored.line, unit=scored.unit
            )
        known = by_item.setdefault(key, [])
        if known and epoch != MEAN:
            place = at(known[0].line, known[0].unit)
            raise DataError(
                path,
                f"the item {key!r:.60} appears twice, first {place}; take one of the rows out, or "
                "compare each item's mean with `epoch=mean`",
                line=scored.line,
                unit=scored.unit,
            )
        known.append(scored)
    for same in by_item.values():
        values = [one.score for one in same if one.score is not None]
        whole = len(values) == len(same)
        mean = math.fsum(values) / len(values) if whole else None
        yield Scored(same[0].item, same[0].line, same[0].unit, mean)


@dataclass(frozen=True, slots=True)
class Paired:
    """The scores of two runs on the items that both scored, and a sentence on the others."""

    ids: tuple[str, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    left_out: str


def pair(first: Recorded, second: Recorded, *, allow_partial: bool) -> Paired:
    """Pair the scores of two runs by item.

    Raises:
        DataError: an item is not the same in both files.
        InputError: the runs scored different items and `allow_partial` is False, or none is shared.
    """
    mine, theirs = _by_key(first, second)
    shared = [key for key in mine if key in theirs]
    for key in shared:
        _check_same(first, mine[key], second, theirs[key])
    scored = [
        (key, one, other)
        for key in shared
        if (one := mine[key].score) is not None and (other := theirs[key].score) is not None
    ]
    left_out = _left_out(first, mine, second, theirs, len(scored))
    if not scored:
        raise InputError(f"no item has a score in both files: {left_out}")
    if left_out and not allow_partial:
        raise InputError(
            f"the runs scored different items: {left_out}. Compare only the {len(scored)} that both "
            "scored with `allow_partial`"
        )
    ids, ours, others = zip(*scored, strict=True)
    return Paired(ids, ours, others, left_out)


def _by_key(first: Recorded, second: Recorded) -> tuple[dict[str, Scored], dict[str, Scored]]:
    """Return the items of both runs by id, if any id is in both; else by prompt."""
    ids = [{one.item.id: one for one in run.items if one.item.id} for run in (first, second)]
    if ids[0].keys() & ids[1].keys():
        return ids[0], ids[1]
    prompts = [
        {one.item.prompt: one for one in run.items if one.item.prompt} for run in (first, second)
    ]
    return prompts[0], prompts[1]


def _check_same(first: Recorded, one: Scored, second: Recorded, other: Scored) -> None:
    """Refuse two items with one id; a prompt may differ where the reference is the same.

    Harnesses write the prompt as they sent it, with the chat template of the model.
    """
    mine, theirs = one.item, other.item
    if mine.prompt is None or theirs.prompt is None or mine.prompt == theirs.prompt:
        return
    if mine.reference is not None and mine.reference == theirs.reference:
        return
    raise DataError(
        second.path,
        f"the item {theirs.id!r} is not that of {first.path}, {one.unit} {one.line}: prompt and "
        "reference differ",
        line=other.line,
        unit=other.unit,
    )


def _left_out(
    first: Recorded,
    mine: dict[str, Scored],
    second: Recorded,
    theirs: dict[str, Scored],
    scored: int,
) -> str:
    """Return the counts of what is not compared, in words; empty if everything is."""
    counts = []
    for run, here, there in ((first, mine, theirs), (second, theirs, mine)):
        alone = [key for key in here if key not in there]
        unscored = sum(1 for one in run.items if one.score is None)
        nameless = len(run.items) - len(here)
        counts += [f"{len(alone):,} only in {run.path}"] if alone else []
        counts += [f"{unscored:,} without a score in {run.path}"] if unscored else []
        counts += [f"{nameless:,} of {run.path} that cannot be joined"] if nameless else []
    return ", ".join([f"{scored:,} scored in both", *counts]) if counts else ""

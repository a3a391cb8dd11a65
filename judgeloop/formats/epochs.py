"""Logs that repeat their items: keeps the rows of one epoch. Reads no file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from judgeloop.core.errors import DataError, InputError
from judgeloop.formats.tables import Row

MEAN = "mean"  # of recorded scores; texts have no mean


def one_epoch(rows: Iterable[Row], path: Path, unit: str, epoch: str | None) -> Iterator[Row]:
    """Yield the rows of one epoch; without `epoch`, the rows must all be of one.

    Raises:
        DataError: the rows are of several epochs and none is chosen, or none is of the chosen one.
        InputError: a mean is asked for.
    """
    if epoch == MEAN:
        raise InputError(
            "`epoch=mean` is a mean of recorded scores; a judge reads one answer to an item, as with "
            "`epoch=1`"
        )
    seen: set[int] = set()
    for row in rows:
        if epoch is None and not row.epoch:
            yield row
            continue
        seen.add(row.epoch)
        if epoch is None and len(seen) > 1:
            raise several_epochs(path, row, unit, seen)
        if epoch is None or row.epoch in {0, int(epoch)}:
            yield row
    if epoch is not None and not seen & {0, int(epoch)}:
        found = ", ".join(map(str, sorted(seen)))
        raise DataError(path, f"there is no epoch {epoch}; found {found}")


def several_epochs(path: Path, row: Row, unit: str, seen: Iterable[int]) -> DataError:
    """Return the error for a log that repeats its items, with the choices."""
    epochs = " and ".join(map(str, sorted(seen)))
    return DataError(
        path,
        f"the log repeats its items: epochs {epochs}; take one with `epoch=1`, or compare the means of "
        "recorded scores with `epoch=mean`",
        line=row.line,
        unit=unit,
    )

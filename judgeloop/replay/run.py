"""Runs a whole replay, on all cores or on a cluster, and returns its rows.

Every finished part is written to the journal, so that an interrupted replay can be resumed.
`compare.py`, `select.py` and `estimate.py` run a single part; `tables.py` sums up the rows.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from judgeloop.core.errors import InputError, JudgeloopError
from judgeloop.replay import cluster
from judgeloop.replay.compare import Row, recordings_for, run_pair
from judgeloop.replay.estimate import parts_of, read_systems, run_part
from judgeloop.replay.select import completed, field_for, realise
from judgeloop.replay.settings import (
    ReplayCompareSettings,
    ReplayEstimateSettings,
    ReplaySelectSettings,
    ReplaySettings,
)

# A part of a replay: two systems; the number of a realisation, twice; or a system and its part.
Part = tuple[int, int]
JOURNAL = "runs.jsonl"
Observe = Callable[[int, int], None]  # called with the numbers of finished and of all parts


@final
class Journal:
    """The rows of finished parts in one file, with the settings that made them."""

    def __init__(self, path: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
        """Read the file to resume, or prepare a new journal.

        A new file is written with the first finished part, so that a replay that is refused before
        leaves no file.

        Raises:
            InputError: there is a file and `resume` is False, or the file was made with other
                settings or is a link, or the folder cannot be written.
        """
        if path.is_symlink():
            raise InputError(f"-o: {path} is a link, to {path.readlink()}; remove it, or name another folder")
        self._path = path
        self._head: Mapping[str, Any] | None = None  # written before the first part
        self.finished: dict[Part, list[Row]] = {}
        settings = json.loads(json.dumps(settings))
        if path.exists():
            if not resume:
                raise InputError(f"-o: {path} exists already; continue it with `resume`, or name another folder")
            self._read(settings)
        else:
            self._prepare_folder()
            self._head = {"settings": settings}

    def add(self, part: Part, rows: list[Row]) -> None:
        """Write the rows of a finished part."""
        if self._head is not None:
            self._append(self._head)
            self._head = None
        self._append({"pair": part, "rows": rows})
        self.finished[part] = rows

    def _prepare_folder(self) -> None:
        folder = self._path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"-o: the folder {folder} cannot be created: {error.strerror}") from None
        if not os.access(folder, os.W_OK):
            raise InputError(f"-o: the folder {folder} cannot be written; name another")

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise JudgeloopError(f"{self._path} cannot be written: {error}") from error

    def _read(self, settings: Mapping[str, Any]) -> None:
        text = self._path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]  # the last line may be incomplete
        if whole != text:
            self._path.write_text(whole, encoding="utf-8")
        try:
            head, *entries = [json.loads(line) for line in whole.splitlines()]
            before = head["settings"]
            self.finished = {tuple(entry["pair"]): entry["rows"] for entry in entries}
        except (ValueError, LookupError, TypeError):
            raise InputError(f"`resume`: {self._path} is not the journal of a replay; name another folder") from None
        changed = sorted(name for name in settings.keys() | before if settings.get(name) != before.get(name))
        if changed:
            raise InputError(
                f"`resume`: {self._path} was made with other settings ({', '.join(changed)}); name another folder"
            )


def replay_compare(config: ReplayCompareSettings, observe: Observe) -> list[Row]:
    """Run every pair of systems; return the rows in the order of the pairs.

    The order does not depend on which pair finished first.

    Raises:
        InputError: a setting or a file is wrong.
    """
    journal = _journal(config)
    recordings = recordings_for(config)
    pairs = recordings.pairs(config.pairs, np.random.default_rng(config.seed))
    return _run_all(
        config, journal, pairs, lambda pair: (run_pair, recordings, pair, config), observe, shared=[recordings]
    )


def replay_select(config: ReplaySelectSettings, observe: Observe) -> list[Row]:
    """Run every realisation; return the rows in the order of the realisations.

    Raises:
        InputError: a setting or a file is wrong.
    """
    journal = _journal(config)
    field = field_for(config)
    plan = completed(config, field)
    numbers = [(number, number) for number in range(config.seeds)]
    return _run_all(config, journal, numbers, lambda part: (realise, field, part[0], plan), observe, shared=[field])


def replay_estimate(config: ReplayEstimateSettings, observe: Observe) -> list[Row]:
    """Run every system at every share.

    The rows are in the order of systems, selectors, shares and repetitions.

    Raises:
        InputError: a setting or a file is wrong.
    """
    journal = _journal(config)
    subjects, plan = read_systems(config)
    parts = [(number, part) for number in range(len(subjects)) for part in parts_of(plan)]
    rows = _run_all(
        config, journal, parts, lambda part: (run_part, subjects[part[0]], *part, plan), observe, shared=subjects
    )
    places = {name: place for place, name in enumerate(plan.selectors)}

    def order(row: Row) -> tuple[Any, ...]:
        return row["system"], places[row["selector"]], row["share"], row["repetition"]

    return sorted(rows, key=order)


def _journal(config: ReplaySettings) -> Journal:
    return Journal(config.output / JOURNAL, config.settings_of_rows(), resume=config.resume)


def _run_all(
    config: ReplaySettings,
    journal: Journal,
    parts: Sequence[Part],
    work: Callable[[Part], tuple[Any, ...]],
    observe: Observe,
    *,
    shared: Sequence[object],
) -> list[Row]:
    """Run all unfinished parts and return the rows of all parts.

    `work` returns the function that runs a part, and its arguments, some of which are `shared`.
    """
    wanted = set(parts)
    todo = [part for part in parts if part not in journal.finished]
    observe(len(parts) - len(todo), len(parts))
    calls = ((_run_one, part, *work(part)) for part in todo)
    if config.engine is None or not todo:
        from joblib import Parallel, delayed

        run = Parallel(n_jobs=config.jobs, return_as="generator_unordered")
        found = iter(run(delayed(function)(*given) for function, *given in calls))
    else:
        found = cluster.results(config.engine, calls, shared)
    for part, rows in found:
        journal.add(part, rows)
        observe(len(wanted & journal.finished.keys()), len(parts))
    return [row for part in parts for row in journal.finished[part]]


def _run_one(part: Part, function: Callable[..., list[Row]], *given: Any) -> tuple[Part, list[Row]]:
    return part, function(*given)

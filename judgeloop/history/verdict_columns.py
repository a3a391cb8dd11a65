"""Verdicts of other runs as columns of numbers, which a million of them need.

Reads them from a ledger, which numbers the texts that repeat: runs, judges, items, systems' names,
digests of outputs. Does not choose which of them to use (`comparisons.py`, `ratings.py`,
`calibration/run.py`), and makes no comparisons from them (`pairing.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.ledger import NO_VERDICTS, NOTHING, RecordedVerdicts
from judgeloop.core.records import TIE, preference
from judgeloop.core.verdict_key import KeyedJudge, Place, as_text
from judgeloop.engine import controls
from judgeloop.ledger.opening import Address, is_ledger, open_ledger, open_reader

Numbers = NDArray[np.int32]
Flags = NDArray[np.bool_]
UNKNOWN = -1  # in the place of the number of a text that no verdict has


@dataclass(frozen=True, eq=False)
class VerdictColumns:
    """n verdicts of other runs, in the order of their attempts.

    `texts` holds the number of each text, of outputs only those that were looked for. `run`,
    `judge` and `place` are numbers of texts, shape (n,). `systems` and `shown`, shape (n, 2), are
    those of the names and of the outputs, in the order shown to the judge; the second is `NOTHING`
    in a rating. `costs_p` is in picodollars.
    """

    texts: Mapping[str, int]
    run: Numbers
    judge: Numbers
    place: Numbers
    systems: Numbers
    shown: Numbers
    scores: NDArray[np.float64]
    costs_p: NDArray[np.int64]

    @classmethod
    def of(cls, recorded: RecordedVerdicts) -> VerdictColumns:
        """Make them from what a ledger returns; verdicts without ingredients are left out."""
        numbers = recorded.numbers
        found = cls(
            recorded.texts,
            run=numbers[:, 0],
            judge=numbers[:, 1],
            place=numbers[:, 2],
            systems=numbers[:, 3:5],
            shown=numbers[:, 5:7],
            scores=recorded.scores,
            costs_p=recorded.costs_p,
        )
        return found.only(found.place != NOTHING)

    def __len__(self) -> int:
        return len(self.scores)

    def only(self, chosen: Flags | NDArray[np.int64]) -> VerdictColumns:
        """Return some of the verdicts: by a flag for each, or by their numbers in a new order."""
        return replace(
            self,
            run=self.run[chosen],
            judge=self.judge[chosen],
            place=self.place[chosen],
            systems=self.systems[chosen],
            shown=self.shown[chosen],
            scores=self.scores[chosen],
            costs_p=self.costs_p[chosen],
        )

    @property
    def compares(self) -> Flags:
        """Which compare two systems' outputs, and are no control."""
        flags: Flags = (self.shown[:, 1] != NOTHING) & ~self._of_controls
        return flags

    @property
    def rates(self) -> Flags:
        """Which rate a system's output, and are no control."""
        flags: Flags = (self.shown[:, 1] == NOTHING) & ~self._of_controls
        return flags

    @property
    def _of_controls(self) -> Flags:
        flags: Flags = (self.systems == self.number(controls.NAME)).any(axis=1)
        return flags

    def by_judges(self, judges: Sequence[KeyedJudge]) -> Flags:
        """Which verdicts one of `judges` gave."""
        return np.isin(self.judge, [self.number(judge) for judge in judges])

    @property
    def preferences(self) -> NDArray[np.int8]:
        """1 where the first system is better, -1 where the second is, 0 for a tie."""
        return preference(self.scores - TIE).astype(np.int8)

    def number(self, value: object) -> int:
        """Return the number of what is written as `value`; `UNKNOWN` if no verdict has it."""
        return self.texts.get(as_text(value), UNKNOWN)

    def at_places(self, values: Mapping[Place, int]) -> Numbers:
        """Return the value of each verdict's place, shape (n,); `UNKNOWN` without a value."""
        by_number = np.full(1 + max(self.texts.values(), default=0), UNKNOWN, dtype=np.int32)
        for place, value in values.items():
            number = self.number(place)
            if number != UNKNOWN:
                by_number[number] = value
        return by_number[self.place]

    @cached_property
    def judges(self) -> dict[int, KeyedJudge]:
        """The judges by number."""
        return {number: KeyedJudge.from_json(value) for number, value in self._values(self.judge)}

    @cached_property
    def places(self) -> dict[int, Place]:
        """The places by number."""
        return {number: tuple(value) for number, value in self._values(self.place)}

    @cached_property
    def names(self) -> dict[int, str]:
        """The names of the systems by number."""
        return dict(self._values(self.systems))

    def _values(self, column: Numbers) -> Iterator[tuple[int, Any]]:
        """Yield each number in a column with the value that it stands for."""
        used = set(np.unique(column).tolist()) - {NOTHING}
        for text, number in self.texts.items():
            if number in used:
                yield number, json.loads(text)


def distinct(numbers: Numbers) -> tuple[list[int], list[int]]:
    """Return the distinct numbers in the order in which they first come, and their counts."""
    found, first, often = np.unique(numbers, return_index=True, return_counts=True)
    order = np.argsort(first)
    return found[order].tolist(), often[order].tolist()


def remembered_verdicts(
    ledger: Address,
    run: str | None,
    *,
    begin: bool,
    of_runs: Collection[str] = (),
    outputs: Collection[str] = (),
    only_on: bool = False,
) -> VerdictColumns:
    """Return other runs' verdicts that were recorded before `run` began, the oldest first.

    With `begin`, the start of `run` is recorded as now, unless it has begun already. For a run that
    has not begun, and for None, all recorded verdicts count. Only verdicts of `of_runs` are
    returned, if any are given. `outputs` are the digests of outputs that are looked for; with
    `only_on`, verdicts on others are left out. Without a ledger the result is empty; only `begin`
    creates one.

    Raises:
        LedgerError: the ledger cannot be opened, or a verdict is not as it was written.
    """
    if begin and run is not None:
        with closing(open_ledger(ledger)) as booking:
            booking.begin(run)
    elif not is_ledger(ledger):
        return VerdictColumns.of(NO_VERDICTS)
    with open_reader(ledger) as reader:
        return VerdictColumns.of(reader.history(run, of_runs, outputs, only_on=only_on))

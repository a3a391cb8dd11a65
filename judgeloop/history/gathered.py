"""Verdicts of other runs as columns of numbers, which a million of them need.

Texts that repeat (runs, judges, items, systems' names, digests of outputs) are kept once and named
by a number. `remembered.py` reads the verdicts; `matched.py` makes comparisons from them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import TIE
from judgeloop.core.verdict_key import KeyedJudge, Place
from judgeloop.engine import decoys
from judgeloop.history.notes import Noted
from judgeloop.ledger.bulk import Given

Numbers = NDArray[np.int32]
Flags = NDArray[np.bool_]
H = TypeVar("H", bound=Hashable)
ROW = 7  # numbers of each verdict
NOBODY = -1  # in the place of a second system where one is rated


@final
@dataclass(slots=True)
class Numbered(Generic[H]):
    """Distinct values, numbered in the order in which they came."""

    numbers: dict[H, int] = field(default_factory=dict)

    def number(self, value: H) -> int:
        """Return the number of `value`, a new one if it is new."""
        return self.numbers.setdefault(value, len(self.numbers))

    def values(self) -> list[H]:
        """Return the values by number."""
        return list(self.numbers)

    def mapped(self, to: Mapping[H, int], missing: int) -> Numbers:
        """Return what each value is mapped to, shape (values,)."""
        return np.array([to.get(value, missing) for value in self.numbers], dtype=np.int32)

    def renumbered(self, other: Numbered[H], numbers: Numbers) -> Numbers:
        """Return the numbers here of those of `other`, with the same shape; new values are added.

        `NOBODY` stays as it is.
        """
        used = np.zeros(len(other.numbers) + 1, dtype=np.bool_)  # `NOBODY` is -1: the last
        used[numbers] = True
        used[NOBODY] = False
        new = np.full(len(used), NOBODY, dtype=np.int32)
        own = self.numbers  # `number` written out, as a million calls of it take half a second
        new[used] = [own.setdefault(value, len(own)) for value in compress(other.numbers, used)]
        renumbered: Numbers = new[numbers]
        return renumbered


@dataclass(frozen=True, eq=False)
class Gathered:
    """n verdicts of other runs, the oldest first.

    `run`, `judge` and `place` are numbers of `runs`, `judges` and `places`, shape (n,). `systems`
    and `shown`, shape (n, 2), are numbers of `names` and `outputs`, in the order shown to the
    judge; the second is `NOBODY` in a rating. `charged_p` is the cost in picodollars.
    """

    runs: Numbered[str]
    judges: Numbered[KeyedJudge]
    places: Numbered[Place]
    names: Numbered[str]
    outputs: Numbered[str]
    run: Numbers
    judge: Numbers
    place: Numbers
    systems: Numbers
    shown: Numbers
    scores: NDArray[np.float64]
    charged_p: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.scores)

    def only(self, chosen: Flags | NDArray[np.int64]) -> Gathered:
        """Return some of the verdicts: by a flag for each, or by their numbers in a new order."""
        return replace(
            self,
            run=self.run[chosen],
            judge=self.judge[chosen],
            place=self.place[chosen],
            systems=self.systems[chosen],
            shown=self.shown[chosen],
            scores=self.scores[chosen],
            charged_p=self.charged_p[chosen],
        )

    @property
    def compares(self) -> Flags:
        """Which compare two systems' outputs, and not a decoy."""
        flags: Flags = (self.shown[:, 1] != NOBODY) & ~self._of_decoys
        return flags

    @property
    def rates(self) -> Flags:
        """Which rate a system's output, and not a decoy."""
        flags: Flags = (self.shown[:, 1] == NOBODY) & ~self._of_decoys
        return flags

    def by_judges(self, judges: Sequence[KeyedJudge]) -> Flags:
        """Which verdicts one of `judges` gave."""
        wanted = [self.judges.numbers[judge] for judge in judges if judge in self.judges.numbers]
        return np.isin(self.judge, wanted)

    @property
    def preferences(self) -> NDArray[np.int8]:
        """1 where the first system is better, -1 where the second is, 0 for a tie."""
        return (self.scores > TIE).astype(np.int8) - (self.scores < TIE).astype(np.int8)

    @cached_property
    def item(self) -> Numbers:
        """The number of each verdict's item id, shape (n,); one id may have several places."""
        ids: Numbered[str] = Numbered()
        by_place = [ids.number(place[0]) for place in self.places.numbers]
        return np.array(by_place, dtype=np.int32)[self.place]

    @property
    def _of_decoys(self) -> Flags:
        decoy = self.names.numbers.get(decoys.NAME, NOBODY - 1)
        flags: Flags = (self.systems == decoy).any(axis=1)
        return flags


@final
@dataclass(slots=True)
class Gatherer:
    """Takes verdicts one by one, in the order recorded, and keeps them as columns."""

    runs: Numbered[str] = field(default_factory=Numbered)
    judges: Numbered[KeyedJudge] = field(default_factory=Numbered)
    places: Numbered[Place] = field(default_factory=Numbered)
    names: Numbered[str] = field(default_factory=Numbered)
    outputs: Numbered[str] = field(default_factory=Numbered)
    last: int = 0  # the number of the last verdict that was looked at
    _numbers: array[int] = field(default_factory=lambda: array("i"))
    _seqs: array[int] = field(default_factory=lambda: array("q"))
    _attempts: array[int] = field(default_factory=lambda: array("q"))
    _costs: array[int] = field(default_factory=lambda: array("q"))
    _scores: array[float] = field(default_factory=lambda: array("d"))

    @property
    def columns(self) -> tuple[array[Any], ...]:
        """The columns of all verdicts: seven numbers each, then one value each."""
        return self._numbers, self._seqs, self._attempts, self._costs, self._scores

    def check(self) -> None:
        """Check that the columns are of one length, and name what there is.

        Raises:
            ValueError: they do not.
        """
        numbers = np.frombuffer(self._numbers, dtype=np.int32).reshape(len(self._seqs), ROW)
        many, least = np.zeros(ROW, dtype=np.int64), np.array([0, 0, 0, 0, NOBODY, 0, NOBODY])
        for kind, at in self._kinds:
            many[at] = len(kind.numbers)
        if (
            len({len(column) for column in self.columns[1:]}) > 1
            or not ((numbers >= least) & (numbers < many)).all()
        ):
            raise ValueError("the columns do not fit together")

    def add(self, given: Given, noted: Noted) -> None:
        """Add a verdict with what its note says; the judge's number is one of `judges`."""
        seq, attempt, run, item, _, charged_p, score = given
        judge, prompt, reference, systems, shown = noted
        names, outputs, two = self.names.numbers, self.outputs.numbers, len(shown) > 1
        place = item, prompt, reference
        # Written out, as `Numbered.number` would take a third of the time of a million verdicts.
        self._numbers.extend(
            (
                self.runs.numbers.setdefault(run, len(self.runs.numbers)),
                judge,
                self.places.numbers.setdefault(place, len(self.places.numbers)),
                names.setdefault(systems[0], len(names)),
                names.setdefault(systems[1], len(names)) if two else NOBODY,
                outputs.setdefault(shown[0], len(outputs)),
                outputs.setdefault(shown[1], len(outputs)) if two else NOBODY,
            )
        )
        self._seqs.append(seq)
        self._attempts.append(attempt)
        self._costs.append(charged_p)
        self._scores.append(score)

    def extend(self, later: Gatherer, begin: int = 0, end: int | None = None) -> None:
        """Add the verdicts of `later`, from the place `begin` to before `end`, behind these."""
        rows = slice(begin, end)
        numbers = np.frombuffer(later._numbers, dtype=np.int32).reshape(-1, ROW)[rows].copy()
        for (own, at), (other, _) in zip(self._kinds, later._kinds, strict=True):
            numbers[:, at] = own.renumbered(other, numbers[:, at])
        self._numbers.frombytes(numbers.tobytes())
        for mine, theirs in zip(self.columns[1:], later.columns[1:], strict=True):
            mine.extend(theirs[rows])
        self.last = max(self.last, later.last)  # there may be none

    def parts(self, after: int, longest: int) -> Iterator[Gatherer]:
        """Yield the verdicts behind the number `after`, at most `longest` at a time."""
        begin, end = bisect_right(self._seqs, after), len(self._seqs)
        for at in range(begin, max(end, begin + 1), longest):
            part, until = Gatherer(), min(at + longest, end)
            part.extend(self, at, until)
            part.last = self.last if until == end else self._seqs[until - 1]
            yield part

    @property
    def _kinds(self) -> tuple[tuple[Numbered[Any], slice], ...]:
        """What the numbers of each verdict name, and which of the seven numbers name it."""
        return (
            (self.runs, slice(0, 1)),
            (self.judges, slice(1, 2)),
            (self.places, slice(2, 3)),
            (self.names, slice(3, 5)),
            (self.outputs, slice(5, 7)),
        )

    def gathered(self, until: int, besides: str | None, of_runs: Collection[str]) -> Gathered:
        """Return the verdicts up to the number `until`, in the order of their attempts.

        Those of the run `besides` are left out, and if `of_runs` has any run, those of all others.
        """
        columns = np.frombuffer(self._numbers, dtype=np.int32).reshape(-1, ROW)
        there = np.frombuffer(self._seqs, dtype=np.int64) <= until
        wanted = [(not of_runs or run in of_runs) and run != besides for run in self.runs.numbers]
        there &= np.array(wanted, dtype=np.bool_)[columns[:, 0]]
        order = np.argsort(np.frombuffer(self._attempts, dtype=np.int64), kind="stable")
        order = order[there[order]]
        columns = columns[order]
        return Gathered(
            self.runs,
            self.judges,
            self.places,
            self.names,
            self.outputs,
            run=columns[:, 0],
            judge=columns[:, 1],
            place=columns[:, 2],
            systems=columns[:, 3:5],
            shown=columns[:, 5:7],
            scores=np.frombuffer(self._scores, dtype=np.float64)[order],
            charged_p=np.frombuffer(self._costs, dtype=np.int64)[order],
        )


def distinct(numbers: Numbers) -> tuple[list[int], list[int]]:
    """Return the distinct numbers in the order in which they first come, and their counts."""
    found, first, often = np.unique(numbers, return_index=True, return_counts=True)
    order = np.argsort(first)
    return found[order].tolist(), often[order].tolist()

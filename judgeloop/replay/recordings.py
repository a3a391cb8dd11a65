"""Recorded scores of many systems as arrays; their pairs, contests and random histories.

Files are read in `compare_inputs.py`; `compare.py` runs the contests.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import TIE
from judgeloop.history.past import Past, past_of_scores, signs
from judgeloop.methods.stats.decision_model import length_distances


@dataclass(frozen=True, slots=True)
class Contest:
    """Two systems on a pool of items, which a run treats as the whole test set.

    Both arrays have the shape (items,). `positions` are positions in the recordings. `preferences`
    are 1 for the system that wins on the whole pool, -1 for the other system, 0 for a tie.
    """

    pair: tuple[int, int]
    positions: NDArray[np.int64]
    preferences: NDArray[np.int8]

    @property
    def gap(self) -> float:
        """The gap ("win distance" in the papers) on the whole pool, winner minus loser; 0 for level systems."""
        return float(self.preferences.mean())

    def score(self, position: int) -> float:
        """Return the verdict's score at `position` of the pool: 1 for the winner on the pool."""
        return float(TIE + self.preferences[position] / 2)


@dataclass(frozen=True, slots=True)
class Earlier:
    """Systems with earlier scores, by the same or another judge; histories are drawn among them.

    `scores` has the shape (systems, items), on the items of the recordings, NaN where a score is
    missing. Scores that differ by at most `tie_margin` tie. `always` names systems that are in
    every history.
    """

    systems: tuple[str, ...]
    scores: NDArray[np.float64]
    tie_margin: float = 0.0
    always: tuple[str, ...] = ()

    def past(
        self,
        count: int,
        but: Collection[str],
        positions: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Past:
        """Return every comparison among `count` systems drawn at random, on items at `positions`.

        Systems in `but` are not drawn. With the same seed, the systems for a larger `count` contain
        those for a smaller `count`.

        Raises:
            ValueError: there are fewer than `count` systems to draw from.
        """
        free = [row for row, name in enumerate(self.systems) if name not in but]
        first = [row for row in free if self.systems[row] in self.always]
        others = [free[at] for at in rng.permutation(len(free)) if free[at] not in first]
        drawn = [*first, *others][:count]
        if len(drawn) < count:
            raise ValueError(f"a history of {count} systems among {len(free)}")
        names = [self.systems[row] for row in drawn]
        return past_of_scores(names, self.scores[np.ix_(drawn, positions)], self.tie_margin)


@dataclass(frozen=True, slots=True)
class Recordings:
    """Scores of systems on items, and vectors and lengths if a selector uses them.

    `scores` has the shape (systems, items), NaN where a score is missing. `outputs` has the shape
    (systems, items, dimensions): vectors of the outputs. `inputs` has the shape (items,
    dimensions): vectors of the prompts. `lengths` has the shape (systems, items): lengths of the
    outputs in characters. Scores that differ by at most `tie_margin` tie. Histories are drawn from
    `earlier`, or from the recorded systems if that is None.
    """

    systems: tuple[str, ...]
    scores: NDArray[np.float64]
    outputs: NDArray[np.floating] | None = None
    inputs: NDArray[np.floating] | None = None
    lengths: NDArray[np.float64] | None = None
    tie_margin: float = 0.0
    earlier: Earlier | None = None

    def pairs(self, most: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """Draw at most `most` pairs of systems with common items, without replacement."""
        every = list(combinations(range(len(self.systems)), 2))
        shuffled = (every[number] for number in rng.permutation(len(every)))
        return [pair for pair in shuffled if len(self._common(pair))][:most]

    def contest(self, pair: tuple[int, int], subset: float, rng: np.random.Generator) -> Contest:
        """Return two systems on a random share `subset` of their common items.

        The share is treated as the whole test set. So repetitions differ even for a selector
        without random draws (Ashury-Tahan et al. 2024, section 5).
        """
        common = self._common(pair)
        kept = np.sort(rng.permutation(common)[: max(1, round(subset * len(common)))])
        preferred = signs(self.scores[pair[0], kept], self.scores[pair[1], kept], self.tie_margin)
        return Contest(pair, kept, -preferred if preferred.sum(dtype=np.int64) < 0 else preferred)

    def past(self, contest: Contest, count: int, rng: np.random.Generator) -> Past:
        """Return earlier comparisons of `count` other systems on the contest's items.

        Raises:
            ValueError: there are fewer than `count` other systems.
        """
        earlier = self.earlier or Earlier(self.systems, self.scores, self.tie_margin)
        compared = [self.systems[system] for system in contest.pair]
        return earlier.past(count, compared, contest.positions, rng)

    def distances(self, contest: Contest) -> NDArray[np.float64] | None:
        """Return the distances of the two outputs' lengths, shape (items of the contest,).

        None if the lengths are not known.
        """
        if self.lengths is None:
            return None
        first, second = (self.lengths[system, contest.positions] for system in contest.pair)
        return length_distances(first, second)

    def output_vectors(self, contest: Contest) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return both systems' output vectors, each of shape (items of the contest, dimensions)."""
        assert self.outputs is not None, "read for every selector that uses outputs"
        first, second = (self.outputs[system][contest.positions] for system in contest.pair)
        return first, second

    def prompt_vectors(self, contest: Contest) -> NDArray[np.floating]:
        """Return the vectors of the prompts, shape (items of the contest, dimensions)."""
        assert self.inputs is not None, "read for every selector that uses prompts"
        return self.inputs[contest.positions]

    def _common(self, pair: tuple[int, int]) -> NDArray[np.int64]:
        return np.flatnonzero(~np.isnan(self.scores[list(pair)]).any(axis=0))

"""Recorded verdicts on many systems as arrays, the pairs among them, and histories of others.

Files are read in `compare_inputs.py`; what is run on a pair stands in `compare.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import TIE
from judgeloop.history.past import Past, past_of_scores, signs
from judgeloop.stats.decision_model import length_distances


@dataclass(frozen=True, slots=True)
class Contest:
    """Two systems on a pool of items: a run's whole world.

    `positions` are those of the recordings; `preferences` are 1, 0 or -1 from the view of the system that wins on the whole pool.
    """

    pair: tuple[int, int]
    positions: NDArray[np.int64]
    preferences: NDArray[np.int8]

    @property
    def distance(self) -> float:
        """The win distance on the whole pool; not negative, and 0 for level systems."""
        return float(self.preferences.mean())

    def score(self, position: int) -> float:
        """The verdict's score on the pool's item number `position`: 1 for the winner of the whole."""
        return float(TIE + self.preferences[position] / 2)


@dataclass(frozen=True, slots=True)
class Earlier:
    """Systems that were compared before, by whatever judge: histories are drawn among them.

    `scores` has the shape (systems, items), on the items of the recordings, NaN where there is none. `always` names those that are in
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
        """Every comparison among `count` systems drawn at random, none of them in `but`, on the items at `positions`.

        Those drawn with the same seed for a larger `count` hold those for a smaller.

        Raises:
            ValueError: there are not so many.
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
    """Scores of `systems` on items, NaN where there is none; and vectors and lengths of outputs, if any selector looks at them.

    `scores` has the shape (systems, items), `outputs` (systems, items, dimensions), `inputs` (items, dimensions), `lengths` that of `scores`. Scores that differ
    by no more than `tie_margin` tie. Histories are drawn from `earlier`, or by None from these very systems.
    """

    systems: tuple[str, ...]
    scores: NDArray[np.float64]
    outputs: NDArray[np.floating] | None = None
    inputs: NDArray[np.floating] | None = None
    lengths: NDArray[np.float64] | None = None
    tie_margin: float = 0.0
    earlier: Earlier | None = None

    def pairs(self, most: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """At most `most` pairs of systems with an item in common, drawn without replacement."""
        every = list(combinations(range(len(self.systems)), 2))
        shuffled = (every[number] for number in rng.permutation(len(every)))
        return [pair for pair in shuffled if len(self._common(pair))][:most]

    def contest(self, pair: tuple[int, int], subset: float, rng: np.random.Generator) -> Contest:
        """Two systems on a share of their common items, drawn at random and treated as the whole test set.

        So repetitions differ even for a selector that draws nothing (Ashury-Tahan et al. 2024, section 5).
        """
        common = self._common(pair)
        kept = np.sort(rng.permutation(common)[: max(1, round(subset * len(common)))])
        preferred = signs(self.scores[pair[0], kept], self.scores[pair[1], kept], self.tie_margin)
        return Contest(pair, kept, -preferred if preferred.sum(dtype=np.int64) < 0 else preferred)

    def past(self, contest: Contest, count: int, rng: np.random.Generator) -> Past:
        """Earlier comparisons of `count` other systems on the contest's items.

        Raises:
            ValueError: there are not so many others.
        """
        earlier = self.earlier or Earlier(self.systems, self.scores, self.tie_margin)
        compared = [self.systems[system] for system in contest.pair]
        return earlier.past(count, compared, contest.positions, rng)

    def distances(self, contest: Contest) -> NDArray[np.float64] | None:
        """How far the lengths of the two outputs are apart, shape (items of the contest,); None where lengths are not known."""
        if self.lengths is None:
            return None
        first, second = (self.lengths[system, contest.positions] for system in contest.pair)
        return length_distances(first, second)

    def output_vectors(self, contest: Contest) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """The vectors of both systems' outputs, each of shape (items of the contest, dimensions)."""
        assert self.outputs is not None, "read for every selector that looks at outputs"
        first, second = (self.outputs[system][contest.positions] for system in contest.pair)
        return first, second

    def prompt_vectors(self, contest: Contest) -> NDArray[np.floating]:
        """The vectors of the prompts, shape (items of the contest, dimensions)."""
        assert self.inputs is not None, "read for every selector that looks at prompts"
        return self.inputs[contest.positions]

    def _common(self, pair: tuple[int, int]) -> NDArray[np.int64]:
        return np.flatnonzero(~np.isnan(self.scores[list(pair)]).any(axis=0))

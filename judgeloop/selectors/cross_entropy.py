"""Cross-entropy sampling (CES): a sample whose neurons fire as those of the whole pool do.

Li et al. (2019), "Boosting Operational DNN Testing Efficiency through Conditioning"; constants are those of the authors' program.
Running the model for its last hidden layer is not done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import ONE_SYSTEM, Choice, Draws, Label, Step
from judgeloop.selectors.ingredients import ForOne

FIRST = 30  # items drawn at random before there is a sample to be improved
GROUP = 5  # items that enter together
TRIED = 30  # groups, of which the best enters
SECTIONS = 29  # intervals that each dimension is cut into, by 30 equidistant bounds
MOST_SECTIONS = 256  # an interval's number fits into a byte
ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True, eq=False)
class CrossEntropyState:
    """The positions not in the sample, the sample's histograms, and the part of it that has not been asked for so far."""

    seed: int
    left: NDArray[np.int64]
    counts: NDArray[np.int64]  # shape (dimensions * sections,)
    queued: tuple[int, ...]


@final
@dataclass(frozen=True, eq=False)
class CrossEntropy:
    """Groups of items, each the best of some random ones at making the sample's histograms like the pool's.

    `vectors` has the shape (items, dimensions). Each dimension is cut into `sections` equal intervals from its least to its largest value.
    The first items are drawn at random. Then the group enters, of those tried, with which the mean over the dimensions of
    the cross-entropy from sample to pool, less the sample's own entropy, is least: the Kullback-Leibler divergence, as the authors' program
    has it. The cross-entropy alone would be least for a sample with nothing but the commonest values. With which probability an item
    enters is not known, so that the choices count as picked.
    """

    vectors: NDArray[np.floating]
    sections: int = SECTIONS
    tried: int = TRIED
    name: str = "cross-entropy"
    draws: Draws = Draws.PICKED

    def __post_init__(self) -> None:
        """Refuse numbers that make no histogram or no choice.

        Raises:
            ValueError: the sections are not between 1 and 256, or no group is tried.
        """
        if not 1 <= self.sections <= MOST_SECTIONS:
            raise ValueError(f"expected from 1 to {MOST_SECTIONS} sections, found {self.sections}")
        if self.tried < 1:
            raise ValueError(f"expected at least one group to be tried, found {self.tried}")

    def init(self, items: int, rng: np.random.Generator) -> CrossEntropyState:
        """Draw the first items, and the seed of the groups.

        Raises:
            ValueError: there is not one finite vector for each item.
        """
        if len(self.vectors) != items:
            raise ValueError(f"{len(self.vectors)} vectors for {items} items")
        if not np.isfinite(self.vectors).all():
            raise ValueError("the vectors hold values that are not finite")
        shuffled = rng.permutation(items)
        first, left = shuffled[:FIRST], np.sort(shuffled[FIRST:])
        seed = int(rng.integers(2**31))
        return CrossEntropyState(
            seed, left, self._histograms(first[None, :])[0], tuple(first.tolist())
        )

    def ask(
        self, state: CrossEntropyState, rng: np.random.Generator
    ) -> tuple[Step | None, CrossEntropyState]:
        """The next of the sample, which grows by a group where it needs one."""
        del rng  # groups come from the seed: they do not depend on when they are asked for
        if not state.queued and len(state.left):
            state = self._grown(state)
        if not state.queued:
            return None, state
        position, *later = state.queued
        step = Step((Choice(position, None, ONE_SYSTEM),))
        return step, replace(state, queued=tuple(later))

    def tell(self, state: CrossEntropyState, labels: Sequence[Label]) -> CrossEntropyState:
        """Picks do not depend on answers."""
        del labels
        return state

    def _grown(self, state: CrossEntropyState) -> CrossEntropyState:
        """With the best of the groups tried, or with all that is left where that makes no more than one."""
        rng = np.random.default_rng((state.seed, len(state.left)))
        size = min(GROUP, len(state.left))
        places = np.stack(
            [rng.choice(len(state.left), size, replace=False) for _ in range(self.tried)]
        )
        groups = state.left[places]
        counts = state.counts + self._histograms(groups)
        best = int(self._divergences(counts, len(self.vectors) - len(state.left) + size).argmin())
        return replace(
            state,
            left=np.delete(state.left, places[best]),
            counts=counts[best],
            queued=(*state.queued, *groups[best].tolist()),
        )

    def _histograms(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each cell is hit, shape (groups, cells), by the items of each group, shape (groups, size)."""
        dimensions = self._intervals.shape[1]
        cells = dimensions * self.sections
        hit = self._intervals[groups] + np.arange(dimensions) * self.sections
        hit += np.arange(len(groups))[:, None, None] * cells
        return np.bincount(hit.ravel(), minlength=len(groups) * cells).reshape(len(groups), cells)

    def _divergences(self, counts: NDArray[np.int64], size: int) -> NDArray[np.float64]:
        """How far each sample of so many items is from the pool, in nats, summed over the dimensions."""
        from scipy.special import xlogy

        shares = counts / size
        return np.asarray(xlogy(shares, shares).sum(axis=1) - shares @ self._log_pool)

    @cached_property
    def _intervals(self) -> NDArray[np.uint8]:
        """The interval of each value, shape (items, dimensions)."""
        low = self.vectors.min(axis=0).astype(np.float64)
        width = self.vectors.max(axis=0) - low
        width[width == 0] = 1.0
        found = np.empty(self.vectors.shape, dtype=np.uint8)
        for begin in range(0, len(found), ROWS_AT_A_TIME):
            rows = slice(begin, begin + ROWS_AT_A_TIME)
            section = (self.vectors[rows] - low) / width * self.sections
            found[rows] = np.minimum(section, self.sections - 1)  # the largest value is in the last
        return found

    @cached_property
    def _log_pool(self) -> NDArray[np.float64]:
        """The logarithms of the pool's shares, shape (cells,); 0 where it has none, which no sample has either."""
        offsets = np.arange(self._intervals.shape[1]) * self.sections
        counts = np.zeros(len(offsets) * self.sections)
        for begin in range(0, len(self._intervals), ROWS_AT_A_TIME):
            hit = self._intervals[begin : begin + ROWS_AT_A_TIME] + offsets
            counts += np.bincount(hit.ravel(), minlength=len(counts))
        return np.log(counts / len(self._intervals), out=np.zeros_like(counts), where=counts > 0)


def for_one(given: ForOne) -> CrossEntropy:
    """To rate one system."""
    assert given.vectors is not None, "the catalogue asks for vectors"
    return CrossEntropy(given.vectors)

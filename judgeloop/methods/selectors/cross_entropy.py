"""Cross-entropy sampling (CES): a sample with the pool's distribution of neuron activations.

Li et al. (2019), "Boosting Operational DNN Testing Efficiency through Conditioning". The constants
are those of the authors' program. The vectors, from the model's last hidden layer, are not computed
here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.methods.selectors.ordered import Ordered, Picks, check_vectors

FIRST = 30  # items drawn at random before the first group
GROUP = 5  # items in a group
TRIED = 30  # groups compared; the best enters the sample
# Intervals that each dimension is cut into, by 30 equidistant bounds; the number is stored in a byte.
SECTIONS = 29
ROWS_AT_A_TIME = 4096


@final
@dataclass(frozen=True, eq=False)
class CrossEntropy(Ordered):
    """Adds groups of items, each the best of some random groups at matching the pool's histograms.

    `vectors` has the shape (items, dimensions). Each dimension is cut into `sections` equal
    intervals from its smallest to its largest value. The first items are drawn at random. Then
    `tried` random groups are compared, and the group enters that minimizes the mean over the
    dimensions of the cross-entropy from sample to pool minus the sample's entropy. That is the
    Kullback-Leibler divergence, as in the authors' program. The cross-entropy alone would be
    smallest for a sample that holds nothing but the most common values. The probability with which
    an item enters is not known, so the choices count as picked.
    """

    vectors: NDArray[np.floating]
    sections: int = SECTIONS
    tried: int = TRIED
    name: str = "cross-entropy"
    draws: Draws = Draws.PICKED

    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """Draw the first items and the seed for the groups; groups are added as they are needed."""
        check_vectors(self.vectors, items)
        return self._sample(rng.permutation(items), int(rng.integers(2**31)))

    def _sample(self, shuffled: NDArray[np.int64], seed: int) -> Iterator[int]:
        """Yield the first items, then the best of the groups tried, until none is left."""
        first, left = shuffled[:FIRST], np.sort(shuffled[FIRST:])
        counts = self._histograms(first[None, :])[0]
        yield from first.tolist()
        while len(left):
            rng = np.random.default_rng((seed, len(left)))
            size = min(GROUP, len(left))
            places = np.stack([rng.choice(len(left), size, replace=False) for _ in range(self.tried)])
            groups = left[places]
            tried = counts + self._histograms(groups)
            best = int(self._divergences(tried, len(shuffled) - len(left) + size).argmin())
            counts, left = tried[best], np.delete(left, places[best])
            yield from groups[best].tolist()

    def _histograms(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count how often each cell is hit by the items of each group, shape (groups, cells).

        `groups` holds positions, shape (groups, size).
        """
        dimensions = self._intervals.shape[1]
        cells = dimensions * self.sections
        hit = self._intervals[groups] + np.arange(dimensions) * self.sections
        hit += np.arange(len(groups))[:, None, None] * cells
        return np.bincount(hit.ravel(), minlength=len(groups) * cells).reshape(len(groups), cells)

    def _divergences(self, counts: NDArray[np.int64], size: int) -> NDArray[np.float64]:
        """Return the divergence of each sample of `size` items from the pool, in nats.

        It is summed over the dimensions; `counts` has the shape (groups, cells), the result
        (groups,).
        """
        from scipy.special import xlogy

        shares = counts / size
        return np.asarray(xlogy(shares, shares).sum(axis=1) - shares @ self._log_pool)

    @cached_property
    def _intervals(self) -> NDArray[np.uint8]:
        """The number of each value's interval, shape (items, dimensions)."""
        low = self.vectors.min(axis=0).astype(np.float64)
        width = self.vectors.max(axis=0) - low
        width[width == 0] = 1.0
        found = np.empty(self.vectors.shape, dtype=np.uint8)
        for begin in range(0, len(found), ROWS_AT_A_TIME):
            rows = slice(begin, begin + ROWS_AT_A_TIME)
            section = (self.vectors[rows] - low) / width * self.sections
            # The last interval includes the largest value.
            found[rows] = np.minimum(section, self.sections - 1)
        return found

    @cached_property
    def _log_pool(self) -> NDArray[np.float64]:
        """The logarithms of the pool's shares, shape (cells,).

        They are 0 for an empty cell: no sample has an item there either.
        """
        offsets = np.arange(self._intervals.shape[1]) * self.sections
        counts = np.zeros(len(offsets) * self.sections)
        for begin in range(0, len(self._intervals), ROWS_AT_A_TIME):
            hit = self._intervals[begin : begin + ROWS_AT_A_TIME] + offsets
            counts += np.bincount(hit.ravel(), minlength=len(counts))
        return np.log(counts / len(self._intervals), out=np.zeros_like(counts), where=counts > 0)

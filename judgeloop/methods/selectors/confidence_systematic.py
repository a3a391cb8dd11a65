"""A systematic sample by confidence: every prefix is spread evenly over the sorted confidences.

Huang et al. (2024), section 4.3, draw such a sample at random from bins of the confidence. Here the
bins get finer with every item. How the confidence is computed is not decided here.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.methods.selectors.ordered import Ordered, Picks


def spread_ranks(items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the ranks 0 to `items` - 1, shape (items,); every prefix is spread evenly.

    The order is a scrambled van der Corput sequence (Owen 1995): each of 2^k equal cells is visited
    once before any is visited again, in a random half of the cell. A random shift round the circle
    of ranks then makes every rank equally likely at every place. Sequences that differ only in
    their start, such as multiples of the golden ratio, are as even. But they visit nearly the same
    neighbours together from every start.
    """
    cells = np.zeros(1, dtype=np.int64)
    while len(cells) < items:
        half = rng.integers(2, size=len(cells))
        cells = np.concatenate([2 * cells + half, 2 * cells + 1 - half])
    ranks = np.empty(items, dtype=np.int64)
    ranks[np.argsort(cells[:items])] = np.arange(items)
    return (ranks + rng.integers(max(items, 1))) % max(items, 1)


@final
@dataclass(frozen=True, eq=False)
class ConfidenceSystematic(Ordered):
    """Picks items so that those judged so far are spread evenly over the ranks of the confidence.

    `confidence` has the shape (items,); items of equal confidence come in random order. Every item
    is equally likely at every place, so the mean of the judged items is unbiased. But neighbours
    hardly ever come together, so the variance of that mean cannot be estimated from one sample. No
    interval can be justified, and the choices count as picked.
    """

    confidence: NDArray[np.floating]
    name: str = "confidence-systematic"
    draws: Draws = Draws.PICKED

    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """Sort the items by confidence, and draw the order in which the ranks are visited.

        Raises:
            ValueError: there is not exactly one finite confidence for each item.
        """
        if self.confidence.shape != (items,):
            raise ValueError(f"confidence of the shape {self.confidence.shape} for {items} items")
        if not np.isfinite(self.confidence).all():
            raise ValueError("the confidence holds values that are not finite")
        shuffled = rng.permutation(items)
        ascending = shuffled[np.argsort(self.confidence[shuffled], kind="stable")]
        return ascending[spread_ranks(items, rng)]

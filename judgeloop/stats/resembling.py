"""Which item to add to a sample so that its values are spread as those of all.

What the values are (confidences) and of which items is the selector's business.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.strata import Floats

DECIMALS = 12  # distances that differ by rounding only are as good
Distances = Callable[[Floats, NDArray[np.bool_]], Floats]


def wasserstein_with_each(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """The Wasserstein distance of the chosen values from all, were each of them chosen too.

    `values` are sorted, shape (n,); `chosen` says which are in the sample. The integral of the difference of both distribution functions
    (Ramdas, García Trillos & Cuturi 2017, section 2.3), for all candidates at once.
    """
    below, above = _apart(chosen)
    gaps = np.diff(values)
    before = np.concatenate([[0.0], np.cumsum(below * gaps)])
    behind = np.concatenate([np.cumsum((above * gaps)[::-1])[::-1], [0.0]])
    together: Floats = before + behind
    return together


def kolmogorov_smirnov_with_each(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """The two-sample Kolmogorov-Smirnov statistic of the chosen values and all, were each of them chosen too; arguments as above."""
    below, above = _apart(chosen)
    between = np.diff(values) > 0  # equal values are one step of a distribution function
    before = np.concatenate([[0.0], np.maximum.accumulate(np.where(between, below, 0.0))])
    behind = np.concatenate(
        [np.maximum.accumulate(np.where(between, above, 0.0)[::-1])[::-1], [0.0]]
    )
    farthest: Floats = np.maximum(before, behind)
    return farthest


DISTANCES: dict[str, Distances] = {
    "wasserstein": wasserstein_with_each,
    "ks": kolmogorov_smirnov_with_each,
}


def next_to_resemble(values: Floats, chosen: NDArray[np.bool_], distances: Distances) -> int:
    """The place in the sorted `values` of the one to add, the first of several as good: Huang et al. (2024), algorithm 1, line 20."""
    found = np.round(distances(values, chosen), DECIMALS)
    return int(np.argmin(np.where(chosen, np.inf, found)))


def _apart(chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """How far the distribution functions are apart between neighbouring values, with one more value above and below there."""
    items = len(chosen)
    so_far = np.cumsum(chosen)[:-1]
    size = int(chosen.sum()) + 1
    share = np.arange(1, items) / items
    return np.abs(so_far / size - share), np.abs((so_far + 1) / size - share)

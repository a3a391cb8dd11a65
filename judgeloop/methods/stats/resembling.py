"""The item that brings the values of a sample nearest to the distribution of all values.

Takes sorted values, such as the system's confidences in one stratum, and which of them are sampled.
Returns the place of the next item. `methods/selectors/stratified.py` chooses the stratum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.strata import Floats

DECIMALS = 12  # so that distances that differ by rounding only count as equal
Distances = Callable[[Floats, NDArray[np.bool_]], Floats]


def wasserstein_with_each(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Return the Wasserstein distance of sample and all values, after adding each value in turn.

    `values`, shape (n,), are sorted; `chosen`, shape (n,), says which are in the sample. The result
    has shape (n,): one distance for each candidate. It is the integral of the difference of both
    distribution functions (Ramdas, García Trillos & Cuturi 2017, section 2.3), computed for all
    candidates at once.
    """
    below, above = _apart(chosen)
    gaps = np.diff(values)
    before = np.concatenate([[0.0], np.cumsum(below * gaps)])
    behind = np.concatenate([np.cumsum((above * gaps)[::-1])[::-1], [0.0]])
    together: Floats = before + behind
    return together


def kolmogorov_smirnov_with_each(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Return the two-sample Kolmogorov-Smirnov statistic after adding each value in turn.

    The two samples are the chosen values and all values. Arguments and shapes are those of
    `wasserstein_with_each`.
    """
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
    """Return the place, in the sorted `values`, of the value to add to the sample.

    Of several equally good values the first is taken. Huang et al. (2024), algorithm 1, line 20.
    """
    found = np.round(distances(values, chosen), DECIMALS)
    return int(np.argmin(np.where(chosen, np.inf, found)))


def _apart(chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the distances of both distribution functions between neighbouring values.

    Both results have shape (n - 1,). The first is for gaps below the added value, the second for
    gaps above it.
    """
    items = len(chosen)
    so_far = np.cumsum(chosen)[:-1]
    size = int(chosen.sum()) + 1
    share = np.arange(1, items) / items
    return np.abs(so_far / size - share), np.abs((so_far + 1) / size - share)

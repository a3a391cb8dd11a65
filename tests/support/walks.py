"""Where a walk of verdicts crosses a boundary."""

from __future__ import annotations

import numpy as np


def first_crossing(scores, spending):
    """Return for each level the side of the first crossing, 1 or -1; 0 if there is none.

    `scores`, shape (draws,), are the preferences 1, 0 or -1 in the order drawn. The walk is their
    sum. The result has shape (levels,).
    """
    if not len(scores):
        return np.zeros(len(spending.levels), dtype=np.int64)
    sums = np.cumsum(scores, dtype=np.int64)
    crossed = np.abs(sums)[:, None] >= spending.barriers(scores != 0)
    sides = np.sign(sums)[crossed.argmax(axis=0)]
    return np.where(crossed.any(axis=0), sides, 0)

"""Strata by equal-width sections of a number known for every item, such as a confidence.

`methods/stats/cluster_search.py` makes strata from clusters of vectors instead.
"""

from __future__ import annotations

import numpy as np

from judgeloop.methods.stats.strata import Floats, Strata

SECTIONS = 8


def by_sections(values: Floats, sections: int = SECTIONS) -> Strata:
    """Return strata of equal width between the lowest and the highest of `values`, shape (items,).

    Empty sections are left out. If all values are equal there is one stratum. Confidence-based
    stratified sampling (CSSampling; Li et al. 2019, section 4.1, as described by Huang et al. 2024,
    section 4.3).
    """
    low, high = float(values.min()), float(values.max())
    if low == high:
        return Strata.single(len(values))
    numbers = np.minimum(((values - low) / (high - low) * sections).astype(np.int64), sections - 1)
    return Strata(np.unique(numbers, return_inverse=True)[1].astype(np.int64))

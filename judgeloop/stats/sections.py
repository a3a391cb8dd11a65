"""A pool cut into sections of a number that is known of every item, such as a system's confidence.

Cutting it by clusters of vectors is the business of `clusearch.py`.
"""

from __future__ import annotations

import numpy as np

from judgeloop.stats.strata import Floats, Strata

SECTIONS = 8


def by_sections(values: Floats, sections: int = SECTIONS) -> Strata:
    """Strata of equal width between the least and the highest of `values`, shape (items,); sections that hold nothing are left out.

    Confidence-based stratified sampling (CSSampling; Li et al. 2019, section 4.1, as Huang et al. 2024, section 4.3, describe it).
    """
    low, high = float(values.min()), float(values.max())
    if low == high:
        return Strata.single(len(values))
    numbers = np.minimum(((values - low) / (high - low) * sections).astype(np.int64), sections - 1)
    return Strata(np.unique(numbers, return_inverse=True)[1].astype(np.int64))

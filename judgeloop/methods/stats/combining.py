"""Combination of two systems' output vectors into one vector per item.

The difference is DiffUse. The other combinations are the ablations of its paper. Texts become
vectors in `represent`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.names import COMBINATIONS

Vectors = NDArray[np.floating]


def combined(how: str, first: Vectors, second: Vectors) -> Vectors:
    """Combine the vectors of both systems' outputs into one vector per item.

    `first` and `second` have the shape (items, dimensions). `how` is one of `COMBINATIONS`.
    Ashury-Tahan et al. (2024), section 4.1: the difference; appendix A.4: concatenation and
    addition.

    Raises:
        ValueError: `how` is not one of `COMBINATIONS`.
    """
    if how == "difference":
        return first - second
    if how == "concatenation":
        return np.concatenate([first, second], axis=1)
    if how == "addition":
        return first + second
    raise ValueError(f"expected one of {', '.join(COMBINATIONS)}, found {how!r}")

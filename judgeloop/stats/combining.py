"""Two systems' output vectors to one vector an item: what of a comparison the clusters are to stand for.

The difference is DiffUse; the others are the ablations of its papers. Embedding texts is not done here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]

COMBINATIONS = ("difference", "concatenation", "addition")


def combined(how: str, first: Vectors, second: Vectors) -> Vectors:
    """One vector an item from those of both systems' outputs, each of shape (items, dimensions).

    Ashury-Tahan et al. (2024), section 4.1: the difference; appendix A.4: concatenation and addition.
    """
    if how == "difference":
        return first - second
    if how == "concatenation":
        return np.concatenate([first, second], axis=1)
    if how == "addition":
        return first + second
    raise ValueError(f"expected one of {', '.join(COMBINATIONS)}, found {how!r}")

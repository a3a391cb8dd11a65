"""Reduces vectors to few dimensions by principal component analysis (PCA).

AcTracer reduces hidden states to 64 dimensions (Huang et al. 2024, A.1.1). Dimensions are not
scaled, so directions with more variance weigh more. scikit-learn is imported on first use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 64
# Items or dimensions, whichever are fewer. Above it, a full decomposition takes minutes.
EXACT_UP_TO = 512


def reduced(
    vectors: NDArray[np.floating], dimensions: int = DIMENSIONS, *, seed: int = 0
) -> NDArray[np.float64]:
    """Return the scores of `vectors` on their first principal components.

    `vectors` has shape (items, hidden); the result has shape (items, min(`dimensions`, items,
    hidden)). Equal vectors give zeros. `seed` seeds the randomised decomposition of large inputs
    (Halko, Martinsson & Tropp 2011).

    Raises:
        ValueError: `vectors` is not a matrix, is empty or holds a value that is not finite, or
            `dimensions` is below 1.
    """
    from sklearn.decomposition import PCA

    exact = np.asarray(vectors, dtype=np.float64)
    if exact.ndim != 2 or not exact.size:  # noqa: PLR2004 - a matrix
        raise ValueError(f"expected vectors of shape (items, hidden), found {exact.shape}")
    if dimensions < 1:
        raise ValueError(f"expected at least 1 dimension, found {dimensions}")
    if bad := int((~np.isfinite(exact).all(axis=1)).sum()):
        raise ValueError(f"{bad} of {len(exact)} vectors hold a value that is not finite")
    kept = min(dimensions, *exact.shape)
    if (exact == exact[0]).all():
        return np.zeros((len(exact), kept))
    solver = "full" if min(exact.shape) <= EXACT_UP_TO else "randomized"
    # PCA computes shares of the total variance, which may be too small for a float.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(PCA(kept, svd_solver=solver, random_state=seed).fit_transform(exact))

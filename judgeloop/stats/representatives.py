"""One member to stand for a cluster.

What the clusters are, and what is asked about their representatives, is the selector's business.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]
Members = NDArray[np.int64]


def closest_in_cosine(vectors: Vectors, members: Members) -> int:
    """The member whose vector is closest in cosine to the members' mean; the first of those equally close.

    A zero vector has no direction and counts as orthogonal to everything.
    """
    inside = vectors[members]
    centre = inside.mean(axis=0, dtype=np.float64).astype(inside.dtype)
    norms = np.sqrt(np.einsum("ij,ij->i", inside, inside)) * np.linalg.norm(centre)
    similarity = np.divide(inside @ centre, norms, out=np.zeros(len(members)), where=norms > 0)
    return int(members[np.argmax(similarity)])


def closest_in_distance(vectors: Vectors, members: Members) -> int:
    """The member whose vector is closest in Euclidean distance to the members' mean; the first of those equally close."""
    inside = np.asarray(vectors[members], dtype=np.float64)
    return int(members[np.argmin(np.linalg.norm(inside - inside.mean(axis=0), axis=1))])


def largest_norm(vectors: Vectors, members: Members) -> int:
    """The member whose vector is longest; the first of those equally long."""
    return int(
        members[np.argmax(np.linalg.norm(np.asarray(vectors[members], dtype=np.float64), axis=1))]
    )


# By name, the choices of Ashury-Tahan et al. (2024), appendix A.4, that need no random numbers.
NAMED: dict[str, Callable[[Vectors, Members], int]] = {
    "cosine": closest_in_cosine,
    "euclidean": closest_in_distance,
    "largest-norm": largest_norm,
}
REPRESENTATIVES = (*NAMED, "random")


def representative(
    name: str, vectors: Vectors, members: Members, priority: NDArray[np.int64]
) -> int:
    """The member that the choice called `name` makes; `priority` is a random order of all items, for the choice `random`."""
    if name == "random":
        return int(members[np.argmin(priority[members])])
    return NAMED[name](vectors, members)

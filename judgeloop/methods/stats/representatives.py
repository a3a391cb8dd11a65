"""The member of a cluster that is judged in place of the whole cluster.

Takes vectors, shape (items, d), and the positions of the cluster's members, and returns one of
these positions. `methods/selectors/diffuse.py` and `methods/selectors/kmeans.py` say what the clusters are and how
a representative's verdict counts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]
Members = NDArray[np.int64]


def closest_in_cosine(vectors: Vectors, members: Members) -> int:
    """Return the member whose vector is closest in cosine to the members' mean.

    Of equally close members the first is taken. A zero vector has no direction and counts as
    orthogonal to everything.
    """
    inside = vectors[members]
    centre = inside.mean(axis=0, dtype=np.float64).astype(inside.dtype)
    norms = np.sqrt(np.einsum("ij,ij->i", inside, inside)) * np.linalg.norm(centre)
    similarity = np.divide(inside @ centre, norms, out=np.zeros(len(members)), where=norms > 0)
    return int(members[np.argmax(similarity)])


def closest_in_distance(vectors: Vectors, members: Members) -> int:
    """Return the member whose vector is closest in Euclidean distance to the members' mean.

    Of equally close members the first is taken.
    """
    inside = np.asarray(vectors[members], dtype=np.float64)
    return int(members[np.argmin(np.linalg.norm(inside - inside.mean(axis=0), axis=1))])


def largest_norm(vectors: Vectors, members: Members) -> int:
    """Return the member whose vector is longest; of equally long vectors, the first."""
    return int(
        members[np.argmax(np.linalg.norm(np.asarray(vectors[members], dtype=np.float64), axis=1))]
    )


# The choices of Ashury-Tahan et al. (2024), appendix A.4, that need no random numbers.
NAMED: dict[str, Callable[[Vectors, Members], int]] = {
    "cosine": closest_in_cosine,
    "euclidean": closest_in_distance,
    "largest-norm": largest_norm,
}


def representative(
    name: str, vectors: Vectors, members: Members, priority: NDArray[np.int64]
) -> int:
    """Return the member that the choice called `name` makes.

    `priority`, shape (items,), is a random order of all items, for the choice `random`.
    """
    if name == "random":
        return int(members[np.argmin(priority[members])])
    return NAMED[name](vectors, members)

"""The variants of DiffUse: how two systems' vectors become one, and which item stands for a cluster.

Ashury-Tahan et al. (2024), section 4.1; the ablations are of its appendix A.4. Takes vectors, shape
(items, d), and returns vectors or positions. Texts become vectors in `represent`. The clusters, and
how a representative's verdict counts, are in `methods/selectors/diffuse.py`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]
Members = NDArray[np.int64]

COMBINED: dict[str, Callable[[Vectors, Vectors], Vectors]] = {
    "difference": np.subtract,
    "concatenation": lambda first, second: np.concatenate([first, second], axis=1),
    "addition": np.add,
}


def combined(how: str, first: Vectors, second: Vectors) -> Vectors:
    """Combine the vectors of both systems' outputs into one vector per item.

    `first` and `second` have the shape (items, dimensions). `how` is a name in `COMBINED`.
    """
    return COMBINED[how](first, second)


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
    return int(members[np.argmax(np.linalg.norm(np.asarray(vectors[members], dtype=np.float64), axis=1))])


# The choices of Ashury-Tahan et al. (2024), appendix A.4, that need no random numbers.
NAMED: dict[str, Callable[[Vectors, Members], int]] = {
    "cosine": closest_in_cosine,
    "euclidean": closest_in_distance,
    "largest-norm": largest_norm,
}


def representative(name: str, vectors: Vectors, members: Members, priority: NDArray[np.int64]) -> int:
    """Return the member that the choice called `name` makes.

    `priority`, shape (items,), is a random order of all items, for the choice `random`.
    """
    if name == "random":
        return int(members[np.argmin(priority[members])])
    return NAMED[name](vectors, members)

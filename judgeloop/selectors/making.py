"""A selector by its name and its vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Selector
from judgeloop.selectors.decisive import decisive
from judgeloop.selectors.diffuse import DiffUse
from judgeloop.selectors.kmeans import KMeansDiffUse
from judgeloop.selectors.max_norm import MaxNorm
from judgeloop.selectors.random import Random
from judgeloop.stats.decisiveness import Prospects

SELECTORS = ("random", "decisive", "diffuse", "max-norm", "input-cluster")
DRAWING_EVENLY = {"random"}  # what a guaranteed rule needs
LOOKING_AT_VECTORS = {"diffuse", "max-norm", "input-cluster"}


@dataclass(frozen=True, slots=True)
class Variant:
    """How a selector that clusters does it: the papers' choices by default.

    `combine` says of which vectors (`stats/combining.py`), `clustering` how, `representative` which of a cluster is judged.
    """

    combine: str = "difference"
    clustering: str = "ward"
    representative: str = "cosine"


def make_selector(
    name: str,
    vectors: NDArray[np.floating] | None,
    *,
    start: int,
    variant: Variant,
    known: Prospects | None = None,
) -> Selector[Any]:
    """The selector called `name`; `vectors` has the shape (items, dimensions), None for one that looks at none.

    They are the combined vectors of the outputs, or for `input-cluster` those of the inputs. `start` is the number of clusters to
    begin with. `known` is what `decisive` knows of the items, None where that would prefer none.
    """
    if name == "random":
        return Random()
    if name == "decisive":
        return decisive(known)
    if vectors is None:
        raise ValueError(f"the selector {name!r} needs vectors")
    if name == "max-norm":
        return MaxNorm(vectors)
    if variant.clustering == "kmeans":
        return KMeansDiffUse(vectors, start, variant.representative, name)
    return DiffUse(vectors, start, variant.clustering, variant.representative, name)

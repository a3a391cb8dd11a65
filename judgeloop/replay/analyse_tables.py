"""DiffUse's picks on each pair of systems: its clusters, vector norms, and success by norm.

Takes recordings and returns arrays, from one contest per pair. The formulas are in
`methods/stats/anatomy.py`, the pictures in `pictures.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.anatomy import (
    Anatomy,
    Clusters,
    anatomy,
    clusters_by_number,
    named_by_norm_bin,
)
from judgeloop.methods.stats.diffuse_variants import combined
from judgeloop.replay.compare import Protocol, selector_for
from judgeloop.replay.recordings import Recordings

LEAST_A_BIN = 4  # items drawn from a bin; fewer say nothing


@dataclass(frozen=True, slots=True)
class PairAnalysis:
    """One pair's clusters and norms, and its success by norm.

    `preferences` has the shape (items,). `clusters` holds the clusters by their number. `named` has
    the shape (bins,), by ascending norm: 1 where the items drawn from a bin name the right system,
    else 0. It is empty if the pool is too small for bins.
    """

    anatomy: Anatomy
    preferences: NDArray[np.int8]
    clusters: dict[int, Clusters]
    named: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Picks:
    """One pair's vectors, its preferences, and the positions of the items that DiffUse picks.

    `vectors` has the shape (items, dimensions), `preferences` the shape (items,), `picked` the
    shape (picked items,).
    """

    vectors: NDArray[np.floating]
    preferences: NDArray[np.int8]
    picked: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Analysis:
    """What to analyse: picks at the first of `sizes`, clusters at each, success in `bins`."""

    sizes: tuple[int, ...]
    bins: int


def analyse_pair(
    recordings: Recordings, pair: tuple[int, int], protocol: Protocol, what: Analysis
) -> PairAnalysis | None:
    """Analyse one pair; return None for level systems."""
    size = what.sizes[0]
    found = picks_of(recordings, pair, protocol, size)
    if found is None:
        return None
    body = anatomy(found.vectors, size, found.picked)
    draws = min(size, len(found.preferences) // what.bins)
    rng = np.random.default_rng([*pair, 0, 2])
    named = (
        named_by_norm_bin(body.norms, found.preferences, what.bins, draws, rng)
        if draws >= LEAST_A_BIN
        else np.empty(0)
    )
    several = what.sizes if len(what.sizes) > 1 else ()
    clusters = clusters_by_number(found.vectors, several) if several else {}
    return PairAnalysis(body, found.preferences, clusters, named)


def picks_of(
    recordings: Recordings, pair: tuple[int, int], protocol: Protocol, size: int
) -> Picks | None:
    """Return the first `size` items that DiffUse picks on one pair; None for level systems."""
    contest = recordings.contest(pair, protocol.subset, np.random.default_rng([*pair, 0]))
    if contest.distance == 0:
        return None
    vectors = combined(protocol.variant.combine, *recordings.output_vectors(contest))
    at_size = replace(protocol, sizes=(size,))
    selector = selector_for("diffuse", recordings, contest, 0, at_size)
    rng = np.random.default_rng([*pair, 0, 1])
    step, _ = selector.ask(selector.init(len(vectors), rng), rng)
    assert step is not None, "the pool has items"
    picked = np.array([choice.position for choice in step.choices], dtype=np.int64)
    return Picks(vectors, contest.preferences, picked)

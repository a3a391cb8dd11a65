"""PACE: prototypes of each cluster of a system's inner states, in proportion to its size, and what lies apart from all clusters.

Chen et al. (2020), "Practical Accuracy Estimation for Efficient Deep Neural Network Testing"; prototypes are those of MMD-critic, Kim et al.
(2016), "Examples are not Enough, Learn to Criticize!". Running the model for its last hidden layer is not done here. scikit-learn is
imported on first use; its HDBSCAN takes time in the square of the items, about a minute for 100,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import ONE_SYSTEM, Choice, Draws, Label, Step
from judgeloop.selectors.ingredients import ForOne

DIMENSIONS = 8  # that the vectors are reduced to, and the two numbers for HDBSCAN below: as in the authors' program for 10,000 items
SMALLEST_SHARE = 0.008  # of the pool that makes a cluster
SMALLEST = 5  # items that make a cluster, in a pool however small
DENSE = 4  # items near each other that make a place dense
NEGLIGIBLE = 1e-4  # a component's spread, as a share of the largest, that is rounding
COMPARED = 4096  # members that each member of a larger cluster is compared with
ROWS_AT_A_TIME = 1024

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


def reduced(vectors: NDArray[np.floating]) -> Floats:
    """The main components of the vectors, each with variance 1; shape (items, at most `DIMENSIONS`).

    Every dimension is scaled to [0, 1] first. The original takes independent components: the same ones, rotated, and neither distances nor
    kernels change when their space is rotated.
    """
    from sklearn.utils.extmath import randomized_svd

    low = vectors.min(axis=0).astype(np.float32)
    width = vectors.max(axis=0) - low
    scaled = (vectors - low) / np.where(width > 0, width, 1)
    scaled -= scaled.mean(axis=0)
    scores, spreads, _ = randomized_svd(scaled, min(DIMENSIONS, *scaled.shape), random_state=0)
    kept = spreads > NEGLIGIBLE * spreads[0]
    if not kept.any():  # all the same
        return np.zeros((len(scores), 1))
    return np.asarray(scores[:, kept] * np.sqrt(len(scores)), dtype=np.float64)


def clusters_of(points: Floats) -> tuple[list[Positions], Positions]:
    """The positions in each cluster, and those in none (HDBSCAN); a pool in which no cluster is found is one."""
    from sklearn.cluster import HDBSCAN

    everything = np.arange(len(points))
    if len(points) < SMALLEST:
        return [everything], everything[:0]
    smallest = max(SMALLEST, round(SMALLEST_SHARE * len(points)))
    labels = HDBSCAN(min_cluster_size=smallest, min_samples=DENSE, copy=True).fit_predict(points)
    if labels.max() < 0:
        return [everything], everything[:0]
    return [np.flatnonzero(labels == label) for label in range(labels.max() + 1)], np.flatnonzero(
        labels < 0
    )


def kernel(points: Floats, others: Floats) -> Floats:
    """How alike points are to others, shape (points, others): exp(-d² / dimensions) at distance d, as of components with variance 1."""
    return np.asarray(np.exp(-squared_distances(points, others) / points.shape[1]))


def squared_distances(points: Floats, others: Floats) -> Floats:
    """Shape (points, others)."""
    squares = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * points @ others.T
    return np.asarray(np.maximum(squares, 0.0))


def mean_likeness(points: Floats) -> Floats:
    """How alike each point is to all of them in the mean, shape (points,).

    Of more than `COMPARED` points, to so many at equal steps through them, and in blocks: no matrix of all pairs is made.
    """
    steps = np.linspace(0, len(points), min(COMPARED, len(points)), endpoint=False).astype(np.int64)
    blocks = [
        kernel(points[begin : begin + ROWS_AT_A_TIME], points[steps]).mean(axis=1)
        for begin in range(0, len(points), ROWS_AT_A_TIME)
    ]
    return np.concatenate(blocks)


@dataclass(frozen=True, slots=True, eq=False)
class MMDCriticState:
    """How near each item is to those picked from its group, which are picked, and how many of each group; what comes first of those apart.

    Near means: in a cluster, the sum of kernels; among those apart, the squared distance to the nearest.
    """

    near: Floats  # shape (items,)
    picked: NDArray[np.bool_]  # shape (items,)
    given: NDArray[np.int64]  # shape (groups,)
    first_apart: int


@final
@dataclass(frozen=True, eq=False)
class MMDCritic:
    """Clusters by HDBSCAN, and from each the prototypes of MMD-critic; from the items in none of them the farthest first.

    `vectors` has the shape (items, dimensions). The next item comes from the group, a cluster or those apart, whose share of the picks is
    most behind its share of the pool. Random is only which item comes first of those apart (adaptive random testing).
    """

    vectors: NDArray[np.floating]
    name: str = "mmd-critic"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> MMDCriticState:
        """Cluster.

        Raises:
            ValueError: there is not one finite vector for each item.
        """
        if len(self.vectors) != items:
            raise ValueError(f"{len(self.vectors)} vectors for {items} items")
        if not np.isfinite(self.vectors).all():
            raise ValueError("the vectors hold values that are not finite")
        near = np.zeros(items)
        near[self._apart] = np.inf
        first = int(rng.choice(self._apart)) if len(self._apart) else -1
        return MMDCriticState(
            near, np.zeros(items, dtype=bool), np.zeros(len(self._groups), dtype=np.int64), first
        )

    def ask(
        self, state: MMDCriticState, rng: np.random.Generator
    ) -> tuple[Step | None, MMDCriticState]:
        """The next."""
        del rng
        if state.picked.all():
            return None, state
        after = MMDCriticState(
            state.near.copy(), state.picked.copy(), state.given.copy(), state.first_apart
        )
        return Step((Choice(self._pick(after), None, ONE_SYSTEM),)), after

    def tell(self, state: MMDCriticState, labels: Sequence[Label]) -> MMDCriticState:
        """Picks do not depend on answers."""
        del labels
        return state

    def _pick(self, state: MMDCriticState) -> int:
        """The next position; it is entered into the arrays of `state`."""
        due = (
            self._shares * (state.given.sum() + 1) - state.given
        )  # they sum to 1, and a group used up has none
        group = int(due.argmax())
        members = self._groups[group]
        apart = members is self._apart
        position = (
            self._farthest(state)
            if apart
            else self._prototype(state, members, int(state.given[group]))
        )
        here, there = self._points[members], self._points[position : position + 1]
        if apart:
            state.near[members] = np.minimum(
                state.near[members], squared_distances(here, there)[:, 0]
            )
        else:
            state.near[members] += kernel(here, there)[:, 0]
        state.picked[position] = True
        state.given[group] += 1
        return position

    def _prototype(self, state: MMDCriticState, members: Positions, given: int) -> int:
        """The member with which the prototypes of a cluster are most like it: the greedy step for J_b of Kim et al. (2016).

        J_b(S) = 2 / (n |S|) Σ k(x, s) - 1 / |S|² Σ k(s, s'): with all k(x, x) = 1, its largest value with one more is where
        the mean likeness to the cluster, less that to the prototypes as one of |S| + 1, is largest.
        """
        gain = self._likeness[members] - state.near[members] / (given + 1)
        gain[state.picked[members]] = -np.inf
        return int(members[gain.argmax()])

    def _farthest(self, state: MMDCriticState) -> int:
        """Of the items apart, the one farthest from all those picked."""
        if not state.picked[state.first_apart]:
            return state.first_apart
        distance = np.where(state.picked[self._apart], -np.inf, state.near[self._apart])
        return int(self._apart[distance.argmax()])

    @cached_property
    def _points(self) -> Floats:
        return reduced(self.vectors)

    @cached_property
    def _split(self) -> tuple[list[Positions], Positions]:
        return clusters_of(self._points)

    @cached_property
    def _groups(self) -> list[Positions]:
        """The clusters, and last those apart from them, if there are any."""
        clusters, apart = self._split
        return [*clusters, apart] if len(apart) else clusters

    @property
    def _apart(self) -> Positions:
        return self._split[1]

    @cached_property
    def _shares(self) -> Floats:
        """Of each group in the pool."""
        return np.array([len(group) for group in self._groups]) / len(self.vectors)

    @cached_property
    def _likeness(self) -> Floats:
        """How alike each item is to its cluster in the mean, shape (items,); of those apart it is not used."""
        likeness = np.zeros(len(self.vectors))
        for members in self._split[0]:
            likeness[members] = mean_likeness(self._points[members])
        return likeness


def for_one(given: ForOne) -> MMDCritic:
    """To rate one system."""
    assert given.vectors is not None, "the catalogue asks for vectors"
    return MMDCritic(given.vectors)

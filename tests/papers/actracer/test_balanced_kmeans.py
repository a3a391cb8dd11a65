"""Balanced k-means: clusters by hand, sizes in every case, and the inertia beside its two
definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from judgeloop.papers.actracer.clusters import balanced_kmeans, fair_prices, share_out, traded


def clustered(vectors, clusters, seed=0):
    return balanced_kmeans(np.asarray(vectors), clusters, np.random.default_rng(seed))


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def squared_distances(vectors, centres):
    return ((vectors[:, None, :] - centres[None]) ** 2).sum(axis=2)


def test_two_pairs_on_a_line():
    found = clustered([[0.0], [1.0], [10.0], [11.0]], 2)
    assert as_sets(found.labels) == {frozenset({0, 1}), frozenset({2, 3})}
    assert found.centres[found.labels].ravel().tolist() == [0.5, 0.5, 10.5, 10.5]
    assert found.inertia == 1.0  # four times a half squared
    assert found.labels.dtype == np.int64


def test_equal_sizes_come_before_a_low_inertia():
    # Plain k-means puts the first three together: 1 + 0 + 1. Halves cost 2 * 0.25 + 2 * 16.
    found = clustered([[0.0], [1.0], [2.0], [10.0]], 2)
    assert as_sets(found.labels) == {frozenset({0, 1}), frozenset({2, 3})}
    assert found.inertia == 32.5


@pytest.mark.parametrize("items", [1, 2, 3, 10, 31, 200])
@pytest.mark.parametrize(
    "kind", ["normal", "constant", "two places", "one far", "half precision", "far from zero", "tiny"]
)
def test_sizes_differ_by_at_most_one_whatever_the_vectors(items, kind):
    rng = np.random.default_rng(items)
    normal = rng.normal(size=(items, 3))
    vectors = {
        "normal": normal,
        "constant": np.full((items, 3), 0.1),
        "two places": np.eye(3)[rng.integers(2, size=items)],
        "one far": np.where(np.arange(items)[:, None] == 0, 1e6, normal),
        "half precision": normal.astype(np.float16),
        "far from zero": normal + 1e9,
        "tiny": normal * 1e-30,
    }[kind]
    for clusters in sorted({1, min(2, items), (items + 2) // 3, items}):
        found = clustered(vectors, clusters)
        sizes = np.bincount(found.labels)
        assert len(sizes) == clusters
        assert np.ptp(sizes) <= 1
        assert found.centres.shape == (clusters, 3)
        assert np.isfinite(found.inertia)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_groups_of_one_size_are_the_clusters(shift):
    rng = np.random.default_rng(1)
    group = rng.permutation(np.repeat(np.arange(6), 40))
    vectors = rng.normal(size=(6, 8))[group] * 50 + rng.normal(size=(240, 8)) + shift
    found = clustered(vectors, 6)
    assert as_sets(found.labels) == as_sets(group)
    for label in range(6):
        assert found.centres[label] == pytest.approx(vectors[found.labels == label].mean(axis=0))


def test_a_crowd_gets_the_clusters_that_its_share_of_the_items_is_worth():
    rng = np.random.default_rng(2)
    vectors = np.concatenate([rng.normal(size=(300, 4)) * 0.01, rng.normal(size=(100, 4)) * 3])
    found = clustered(vectors, 40)
    inside = np.bincount(found.labels[:300], minlength=40)
    assert np.sum(inside == 10) >= 25


def test_the_inertia_is_of_own_clusters_and_so_not_less_than_the_printed_one():
    vectors = np.random.default_rng(3).exponential(size=(100, 3))
    found = clustered(vectors, 7)
    squared = squared_distances(vectors, found.centres)
    assert found.inertia == pytest.approx(squared[np.arange(100), found.labels].sum())
    assert found.inertia > squared.min(axis=1).sum() * 1.01


def test_the_same_generator_gives_the_same_clusters_and_another_others():
    vectors = np.random.default_rng(5).normal(size=(200, 5))
    first, again, other = (clustered(vectors, 9, seed).labels.tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def as_costs(rows):
    return np.array(rows, dtype=np.float32)


def free(clusters):
    return np.zeros(clusters, dtype=np.float32)


def cost(costs, labels):
    return costs[np.arange(len(labels)), labels].sum(dtype=np.float64)


def least_cost(costs):
    """By the Hungarian method, with one column a seat; of the seats that not all clusters have,
    those not needed go to nobody."""
    items, clusters = costs.shape
    each, spare = divmod(items, clusters)
    columns = np.concatenate([np.repeat(np.arange(clusters), each), np.arange(clusters)])
    nobody = np.zeros((clusters - spare, len(columns)))
    nobody[:, : each * clusters] = 1e9
    seats = np.concatenate([costs[:, columns].astype(np.float64), nobody])
    rows, taken = linear_sum_assignment(seats)
    return seats[rows, taken].sum()


def near_least_cost(costs, rounds=5):
    prices = free(costs.shape[1])
    for _ in range(rounds):
        prices = fair_prices(costs, prices)
    return cost(costs, traded(costs, share_out(costs, prices)))


def test_who_would_lose_most_elsewhere_gets_the_seat():
    # Items at 0, 1, 2 and 10, centres at 0 and 10. Three want the first; they would lose 100, 81 -
    # 1 and 64 - 4 elsewhere.
    costs = as_costs([[0, 100], [1, 81], [4, 64], [100, 0]])
    assert share_out(costs, free(2)).tolist() == [0, 0, 1, 1]


def test_a_pair_swaps_what_is_better_off_on_the_other_side():
    costs = as_costs([[0, 9, 9], [5, 1, 9], [2, 6, 9], [9, 0, 9], [9, 9, 0], [9, 9, 0]])
    assert traded(costs, np.array([0, 0, 1, 1, 2, 2])).tolist() == [0, 1, 0, 1, 2, 2]


@pytest.mark.parametrize("larger", [0, 1])
def test_the_larger_of_two_gives_up_its_odd_item_where_that_is_cheaper(larger):
    costs = as_costs([[0, 9], [3, 1], [9, 0]])
    if larger:
        costs = costs[:, ::-1].copy()
    labels = np.array([0, 0, 1]) if larger == 0 else np.array([1, 1, 0])
    assert traded(costs, labels).tolist() == [larger, 1 - larger, 1 - larger]


@settings(deadline=None)
@given(items=st.integers(1, 60), share=st.floats(0, 1), seed=st.integers(0, 10_000), kinds=st.integers(1, 60))
def test_sizes_differ_by_at_most_one_and_trade_costs_nothing(items, share, seed, kinds):
    clusters = 1 + int(share * (items - 1))
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(kinds, clusters)).astype(np.float32)[rng.integers(kinds, size=items)]
    before = share_out(costs, fair_prices(costs, free(clusters)))
    after = traded(costs, before)
    for labels in (before, after):
        sizes = np.bincount(labels, minlength=clusters)
        assert len(sizes) == clusters
        assert np.ptp(sizes) <= 1
    assert cost(costs, after) <= cost(costs, before) + 1e-4


@settings(deadline=None)
@given(items=st.integers(2, 40), seed=st.integers(0, 10_000))
def test_between_two_clusters_it_is_exact(items, seed):
    costs = np.random.default_rng(seed).exponential(size=(items, 2)).astype(np.float32)
    assert near_least_cost(costs, rounds=1) == pytest.approx(least_cost(costs), rel=1e-4)


@pytest.mark.parametrize(("clusters", "above"), [(7, 0.002), (20, 0.005), (60, 0.02)])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_close_to_the_least_cost(seed, clusters, above):
    # Found: at most 0.1 %, 0.2 % and 0.9 % above, for eight seeds.
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(300, 8))
    costs = as_costs(squared_distances(items, items[:clusters] + 0.001))
    assert least_cost(costs) * 0.9999 <= near_least_cost(costs) <= least_cost(costs) * (1 + above)

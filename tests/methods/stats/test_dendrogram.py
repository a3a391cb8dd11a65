"""Golden: SciPy's own linkage, cuts and distances; and cases small enough to work by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from judgeloop.methods.stats import dendrogram as microclusters
from judgeloop.methods.stats.dendrogram import (
    approximate_ward,
    average_cosine,
    micro_clusters,
    ward,
    weighted_ward,
)

# On a line: {0, 1} are closest, then {4, 5}, then {9}: the tree can be drawn by hand.
LINE = np.array([[0.0], [1.0], [9.0], [4.0], [5.0]])


def as_sets(tree, clusters):
    return {frozenset(tree.members(node).tolist()) for node in tree.cut(clusters)}


def test_cuts_of_points_on_a_line_are_those_worked_by_hand():
    tree = ward(LINE)
    assert as_sets(tree, 5) == {frozenset({i}) for i in range(5)}
    assert as_sets(tree, 3) == {frozenset({0, 1}), frozenset({3, 4}), frozenset({2})}
    assert as_sets(tree, 1) == {frozenset(range(5))}


@pytest.mark.parametrize("clusters", [1, 2, 3, 7, 20, 59, 60])
def test_every_cut_is_the_one_that_scipy_makes(clusters):
    vectors = np.random.default_rng(11).normal(size=(60, 5))
    labels = fcluster(linkage(vectors, "ward"), clusters, criterion="maxclust")
    expected = {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels)}
    assert as_sets(ward(vectors), clusters) == expected


@pytest.mark.parametrize("clusters", [1, 2, 5, 20, 60])
def test_every_cut_by_cosine_is_the_one_that_scipy_makes(clusters):
    vectors = np.random.default_rng(12).normal(size=(60, 5))
    labels = fcluster(linkage(vectors, "average", metric="cosine"), clusters, criterion="maxclust")
    expected = {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels)}
    assert as_sets(average_cosine(vectors), clusters) == expected


def test_by_cosine_zero_vectors_are_alike_and_unlike_all_others():
    vectors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [2.0, 0.1]])
    assert as_sets(average_cosine(vectors), 2) == {frozenset({0, 2}), frozenset({1, 3})}
    assert as_sets(average_cosine(np.zeros((1, 2))), 1) == {frozenset({0})}


@pytest.mark.parametrize("clusters", [2, 3, 7, 20])
def test_with_equal_weights_it_is_scipys_ward(clusters):
    vectors = np.random.default_rng(3).normal(size=(40, 4))
    expected = linkage(vectors, "ward")
    found = weighted_ward(vectors, np.ones(40, dtype=np.int64))
    assert found[:, 2] == pytest.approx(expected[:, 2])
    sized = np.column_stack([found, np.zeros(39)])
    cut, scipys = (fcluster(tree, clusters, "maxclust") for tree in (sized, expected))
    assert len(set(zip(cut, scipys, strict=True))) == clusters


def test_a_weight_stands_for_so_many_items_at_one_place():
    rng = np.random.default_rng(4)
    centres, weights = rng.normal(size=(12, 3)), rng.integers(1, 6, size=12)
    items = np.repeat(centres, weights, axis=0)
    apart = linkage(items, "ward")[:, 2]
    assert weighted_ward(centres, weights)[:, 2] == pytest.approx(apart[-11:])


def test_groups_far_apart_are_found_as_exactly_as_by_ward_itself():
    rng = np.random.default_rng(5)
    vectors = (rng.normal(size=(6, 1, 8)) * 50 + rng.normal(size=(6, 60, 8))).reshape(-1, 8)
    assert as_sets(approximate_ward(vectors), 6) == as_sets(ward(vectors), 6)


@pytest.mark.parametrize("items", [1, 2, 3, 5, 37, 150])
@pytest.mark.parametrize("grown", [approximate_ward, ward])
def test_every_cut_is_a_partition_and_every_split_divides_one_cluster(grown, items):
    vectors = np.random.default_rng(6).normal(size=(items, 5)).astype(np.float32)
    tree = grown(vectors)
    before = as_sets(tree, 1)
    assert before == {frozenset(range(items))}
    for clusters in range(2, items + 1):
        after = as_sets(tree, clusters)
        assert len(after) == clusters
        (parent,) = before - after
        assert frozenset.union(*(after - before)) == parent
        before = after


def test_many_equal_vectors_make_one_large_cluster_that_still_splits(monkeypatch):
    monkeypatch.setattr(microclusters, "LARGEST_INSIDE", 20)
    vectors = np.concatenate([np.zeros((90, 3)), np.random.default_rng(7).normal(size=(30, 3))])
    tree = approximate_ward(vectors)
    assert len(as_sets(tree, 120)) == 120
    assert any(frozenset(range(90)) <= cluster for cluster in as_sets(tree, 2))


def test_micro_clusters_are_numbered_without_gaps_and_the_same_every_time():
    vectors = np.random.default_rng(8).normal(size=(300, 4))
    first, again = (micro_clusters(vectors, np.random.default_rng(1)) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert sorted(set(first)) == list(range(len(set(first))))

"""Ward's clustering by way of micro-clusters: exact where it can be, and a tree in every case."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from judgeloop.methods.stats import microclusters
from judgeloop.methods.stats.dendrogram import approximate_ward, ward
from judgeloop.methods.stats.microclusters import micro_clusters, weighted_ward


def as_sets(tree, clusters):
    return {frozenset(tree.members(node).tolist()) for node in tree.cut(clusters)}


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


@pytest.mark.parametrize("items", [1, 2, 3, 5, 37, 400])
def test_every_cut_is_a_partition_and_every_split_divides_one_cluster(items):
    vectors = np.random.default_rng(6).normal(size=(items, 5)).astype(np.float32)
    tree = approximate_ward(vectors)
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

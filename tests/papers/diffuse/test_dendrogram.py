"""Golden: SciPy's own linkage, cuts and distances; and cases small enough to work by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from judgeloop.papers.diffuse import tree
from judgeloop.papers.diffuse.tree import average_cosine, quarter_ward, sampled_ward, ward, ward_by_size

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


def test_groups_far_apart_are_found_as_exactly_as_by_ward_itself():
    rng = np.random.default_rng(5)
    vectors = (rng.normal(size=(6, 1, 8)) * 50 + rng.normal(size=(6, 60, 8))).reshape(-1, 8)
    assert as_sets(quarter_ward(vectors), 6) == as_sets(ward(vectors), 6)


@pytest.mark.parametrize("items", [1, 2, 3, 5, 37, 150])
@pytest.mark.parametrize("grown", [quarter_ward, ward])
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


def test_a_sample_is_clustered_by_ward_and_others_are_under_their_nearest():
    vectors = np.random.default_rng(7).normal(size=(90, 3))
    tree = sampled_ward(vectors, 30)
    drawn = np.random.default_rng(90).permutation(90)[:30]
    nearest = drawn[((vectors[:, None] - vectors[drawn]) ** 2).sum(axis=-1).argmin(axis=1)]
    for clusters in (1, 2, 7, 30):
        of_sample = [drawn[list(cluster)] for cluster in as_sets(ward(vectors[drawn]), clusters)]
        whole = {frozenset(np.flatnonzero(np.isin(nearest, part)).tolist()) for part in of_sample}
        assert as_sets(tree, clusters) == whole


def test_a_sample_of_all_is_ward_itself_and_equal_vectors_still_split():
    vectors = np.concatenate([np.zeros((90, 3)), np.random.default_rng(7).normal(size=(30, 3))])
    assert as_sets(sampled_ward(vectors, 120), 7) == as_sets(ward(vectors), 7)
    assert len(as_sets(sampled_ward(vectors, 20), 120)) == 120


def test_more_items_than_fit_are_sampled_the_same_every_time(monkeypatch):
    monkeypatch.setattr(tree, "MOST_EXACT", 50)
    monkeypatch.setattr(tree, "SAMPLE", 20)
    vectors = np.random.default_rng(8).normal(size=(60, 4))
    assert as_sets(ward_by_size(vectors), 9) == as_sets(sampled_ward(vectors, 20), 9)
    assert as_sets(ward_by_size(vectors[:50]), 9) == as_sets(ward(vectors[:50]), 9)

"""Golden: SciPy's own linkage, cuts and distances; and cases small enough to work by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from support.pools import differences

from judgeloop.methods.stats.dendrogram import average_cosine, ward

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


def test_each_split_makes_two_of_one_cluster_and_leaves_the_others():
    tree = ward(differences(30))
    for clusters in range(1, 30):
        before, after = as_sets(tree, clusters), as_sets(tree, clusters + 1)
        parent = frozenset(tree.members(tree.next_split(clusters)).tolist())
        assert before - after == {parent}
        assert frozenset.union(*(after - before)) == parent


def test_a_single_item_is_one_cluster():
    assert as_sets(ward(np.ones((1, 3))), 1) == {frozenset({0})}


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

"""Outlier scores: worked examples, and what hdbscan computes on the same points."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN

from judgeloop.methods.stats.outlier_scores import outlier_scores


def test_a_worked_example():
    # Items 0 and 1 merge at 1, 2 and 3 at 2, both pairs at 4, and item 4 joins at 10. Pairs are
    # clusters: item 4 leaves all items at 10, whose last cluster (0 and 1) falls apart at 1. Items
    # 2 and 3 leave their pair at the distance at which it falls apart, and so do 0 and 1.
    children = np.array([[0, 1], [2, 3], [5, 6], [7, 4]])
    scores = outlier_scores(children, np.array([1.0, 2.0, 4.0, 10.0]), smallest=2)
    assert scores == pytest.approx([0, 0, 0, 0, 1 - 1 / 10])


def test_an_item_that_leaves_a_cluster_early_has_a_score_by_how_early():
    # A chain: 0 and 1 merge at 1, then 2 at 2, 3 at 3 and 4 at 5. No part splits from the rest.
    children = np.array([[0, 1], [5, 2], [6, 3], [7, 4]])
    scores = outlier_scores(children, np.array([1.0, 2.0, 3.0, 5.0]), smallest=2)
    assert scores == pytest.approx([0, 0, 1 - 1 / 2, 1 - 1 / 3, 1 - 1 / 5])


def test_items_at_one_place_are_no_outliers():
    children = np.array([[0, 1], [4, 2], [5, 3]])
    assert outlier_scores(children, np.array([0.0, 0.0, 7.0]), smallest=2).tolist() == [0, 0, 0, 1]


# What hdbscan 0.8.44 finds: HDBSCAN(min_cluster_size=3, min_samples=2).fit(…).outlier_scores_.
POINTS = [0.0, 1.0, 2.1, 3.3, 20.0, 20.5, 21.1, 21.8, 9.0, 40.0]
PACKAGE = [0.0, 0.0, 0.0, 0.086957, 0.0, 0.0, 0.0, 0.153846, 0.695652, 0.941799]


def test_the_scores_are_those_of_hdbscan():
    found = HDBSCAN(min_cluster_size=3, min_samples=3, copy=True).fit(np.array(POINTS)[:, None])
    tree = found._single_linkage_tree_
    children = np.column_stack([tree["left_node"], tree["right_node"]]).astype(np.int64)
    scores = outlier_scores(children, tree["value"].astype(np.float64), 3)
    assert scores == pytest.approx(PACKAGE, abs=1e-5)

"""What clusters and picks look like: by hand, and on groups that are known."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.methods.stats.anatomy import (
    anatomy,
    clusters_by_number,
    named_by_norm_bin,
    projection,
    relative_norms,
)


def test_norms_are_in_units_of_their_mean():
    assert relative_norms(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 10.0]])).tolist() == [
        1.0,
        0.0,
        2.0,
    ]
    assert relative_norms(np.zeros((3, 2))).tolist() == [0.0, 0.0, 0.0]


def test_a_dense_middle_is_one_large_cluster_of_short_vectors():
    rng = np.random.default_rng(0)
    middle, far = rng.normal(size=(90, 4)) * 0.01, np.eye(4)[rng.integers(4, size=10)] * 10
    body = anatomy(np.concatenate([middle, far]), 5, np.array([0, 95]))
    largest = int(np.argmax(body.shares))
    assert body.shares[largest] == 0.9
    assert body.mean_norms[largest] == body.mean_norms.min()
    assert body.shares.sum() == pytest.approx(1)
    assert (body.shares * body.mean_norms).sum() == pytest.approx(1)
    assert body.picked.tolist() == [body.norms[0], body.norms[95]]


def test_each_number_of_clusters_is_the_cut_that_one_analysis_makes():
    vectors = np.random.default_rng(3).normal(size=(30, 4))
    cut = clusters_by_number(vectors, (2, 7, 40))
    assert [len(clusters.shares) for clusters in cut.values()] == [2, 7, 30]
    assert cut[7].shares.tolist() == anatomy(vectors, 7, np.array([0])).shares.tolist()
    assert cut[40].mean_norms.mean() == pytest.approx(1), "one item a cluster"


def test_only_the_bins_whose_items_prefer_the_winner_name_it():
    norms = np.array([5.0, 1.0, 4.0, 2.0, 3.0, 6.0])
    preferences = np.array([1, -1, 1, -1, 0, 1], dtype=np.int8)
    named = named_by_norm_bin(norms, preferences, 3, 2, np.random.default_rng(0))
    assert named.tolist() == [0.0, 1.0, 1.0]


def test_a_projection_is_on_a_plane_and_the_same_every_time():
    vectors = np.random.default_rng(1).normal(size=(20, 6))
    assert projection(vectors, 0).shape == (20, 2)
    assert projection(vectors, 0).tolist() == projection(vectors, 0).tolist()

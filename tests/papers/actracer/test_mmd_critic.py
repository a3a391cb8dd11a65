"""PACE: reduction, clusters, prototypes, what lies apart, and the shares of groups."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from support.selectors import order_of

from judgeloop.papers.actracer import rivals
from judgeloop.papers.actracer.rivals import (
    DIMENSIONS,
    MMDCritic,
    clusters_of,
    components,
    kernel,
    mean_likeness,
    outlier_scores,
    squared_distances,
)


def blobs(sizes, apart, seed=0):
    """Tight clusters on a circle, and items scattered far outside."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(len(sizes)) / len(sizes)
    centres = 10 * np.column_stack([np.cos(angles), np.sin(angles)])
    inside = [centre + rng.normal(scale=0.3, size=(size, 2)) for centre, size in zip(centres, sizes, strict=True)]
    far = rng.uniform(0, 2 * np.pi, size=apart)
    outside = (30 + 20 * rng.random((apart, 1))) * np.column_stack([np.cos(far), np.sin(far)])
    return np.concatenate([*inside, outside])


@pytest.fixture
def one_cluster(monkeypatch):
    monkeypatch.setattr(rivals, "clusters_of", lambda points: ([np.arange(len(points))], np.arange(0)))


@pytest.fixture
def all_apart(monkeypatch):
    monkeypatch.setattr(rivals, "clusters_of", lambda points: ([], np.arange(len(points))))


@pytest.fixture
def in_groups(monkeypatch):
    """Cuts the pool into clusters of given sizes, in the order of the items; the last is apart."""

    def cut(sizes):
        *clusters, apart = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
        monkeypatch.setattr(rivals, "clusters_of", lambda points: (clusters, apart))

    return cut


def test_prototypes_of_a_small_pool():
    # Places 0, 1, 2 and 9 have variance 12.5, so k = exp(-d² / 12.5): 0.923 at distance 1, 0.726 at
    # 2, 0.020 at 7, 0.006 at 8, 0.002 at 9.
    # Mean likeness: 0.663, 0.713, 0.667, 0.257: the second is first. Less half the likeness to it:
    # 0.201, -, 0.206, 0.254:
    # the fourth. Less a third of that to both: 0.663 - 0.308 = 0.354 for the first, 0.667 - 0.314 =
    # 0.353 for the third.
    assert order_of(MMDCritic(np.array([[0.0], [1.0], [2.0], [9.0]])), 4) == [1, 3, 0, 2]


@pytest.mark.parametrize("seed", range(4))
def test_each_prototype_makes_j_b_as_large_as_any_other_would(one_cluster, seed):
    vectors = np.random.default_rng(seed).normal(size=(30, 3))
    points = components(vectors)
    likeness = kernel(points, points)

    def j_b(chosen):
        to_all, among = likeness[:, chosen].mean(axis=0), likeness[np.ix_(chosen, chosen)]
        return 2 * to_all.mean() - among.mean()

    order = order_of(MMDCritic(vectors), 30)
    assert sorted(order) == list(range(30))
    for count in range(30):
        values = [j_b([*order[:count], other]) for other in order[count:]]
        assert values[0] == pytest.approx(max(values), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_after_the_first_outlier_comes_the_farthest_from_those_picked(all_apart, seed):
    vectors = np.random.default_rng(seed).normal(size=(25, 2))
    points = components(vectors)
    order = order_of(MMDCritic(vectors), 25)
    assert sorted(order) == list(range(25))
    assert order[0] == 0, "the outliers are in the order of their scores"
    for count in range(1, 25):
        nearest = squared_distances(points[order[count:]], points[order[:count]]).min(axis=1)
        assert nearest[0] == pytest.approx(nearest.max())


def test_clusters_and_what_is_apart_are_told_from_each_other():
    clusters, apart = clusters_of(components(blobs([40, 30, 20], apart=6)))
    assert sorted(sorted(cluster.tolist()) for cluster in clusters) == [
        list(range(40)),
        list(range(40, 70)),
        list(range(70, 90)),
    ]
    assert sorted(apart.tolist()) == list(range(90, 96))


def test_the_outlier_with_the_highest_score_is_the_first():
    # Two dense places, and outliers ever farther from them: the farther, the higher the score.
    dense = np.concatenate([np.linspace(0, 1, 40), np.linspace(3, 4, 40)])
    line = np.concatenate([dense, [8.0, 20.0, 60.0]])[:, None]
    assert clusters_of(line)[1].tolist() == [82, 81, 80]


@pytest.mark.parametrize("points", [np.zeros((20, 1)), np.zeros((4, 2)), np.arange(30.0)[:, None]])
def test_a_pool_without_clusters_is_one(points):
    clusters, apart = clusters_of(points)
    assert [cluster.tolist() for cluster in clusters] == [list(range(len(points)))]
    assert not len(apart)


def groups_given(order, sizes, judged):
    """How many of the first `judged` items are of each cluster, and of the outliers."""
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    return np.bincount(group_of[order[:judged]], minlength=len(sizes)).tolist()


def test_ten_judgments_are_divided_as_in_the_program_of_the_authors(in_groups):
    # a_unoise = 0.8: 10 (1 - 0.8) = 2 outliers, however many there are. The clusters get
    # round(size / (70 / 8)) of the other 8: 40 / 8.75 = 4.6, 20 / 8.75 = 2.3, 10 / 8.75 = 1.1.
    sizes = [40, 20, 10, 30]
    in_groups(sizes)
    order = order_of(MMDCritic(np.random.default_rng(0).normal(size=(100, 3))), 100)
    assert groups_given(order, sizes, 10) == [5, 2, 1, 2]


def test_outliers_get_a_fifth_until_none_is_left_and_clusters_the_rest_by_size(in_groups):
    sizes = np.array([60, 25, 10, 30, 8])
    in_groups(sizes)
    order = order_of(MMDCritic(np.random.default_rng(1).normal(size=(133, 3))), 133)
    assert sorted(order) == list(range(133))
    for judged in range(1, 133):
        *given, apart = groups_given(order, sizes, judged)
        assert abs(apart - min(0.2 * judged, 8)) <= 0.5 + 1e-9
        share = sizes[:4] / sizes[:4].sum() * (judged - apart)
        assert np.abs(given - share).max() < 1.5


def test_outliers_that_are_left_come_when_the_clusters_are_used_up(in_groups):
    sizes = [12, 8, 60]
    in_groups(sizes)
    order = order_of(MMDCritic(np.random.default_rng(2).normal(size=(80, 3))), 80)
    assert sorted(order) == list(range(80))
    assert groups_given(order, sizes, 25) == [12, 8, 5]


def test_on_a_language_model_the_mean_error_is_under_3_percent(recorded_data):
    ids, states = (np.load(recorded_data / "tiny-lm" / "hidden.npz")[key] for key in ("ids", "layer4"))
    with gzip.open(recorded_data / "tiny-lm" / "verdicts-exact.csv.gz", "rt") as file:
        scores = {row["item_id"]: float(row["score"]) for row in csv.DictReader(file)}
    known = np.array([scores[name] for name in ids])
    judged = known[order_of(MMDCritic(states.astype(float)), len(known))]
    means = np.cumsum(judged) / np.arange(1, len(judged) + 1)
    sizes = len(known) * np.arange(5, 51) // 100
    assert np.abs(means[sizes - 1] / known.mean() - 1).mean() < 0.03


def test_components_have_variance_one_and_no_more_of_them_than_there_are():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 12)) + 5.0
    assert components(flat).shape == (50, 2)
    full = components(rng.normal(size=(60, 20)).astype(np.float16))
    assert full.shape == (60, DIMENSIONS)
    assert full.mean(axis=0) == pytest.approx(np.zeros(DIMENSIONS), abs=1e-4)
    assert np.cov(full.T, bias=True) == pytest.approx(np.eye(DIMENSIONS), abs=1e-3)


@pytest.mark.parametrize("items", [1, 2, 12])
def test_items_that_are_all_the_same_come_in_their_order(items):
    assert order_of(MMDCritic(np.full((items, 3), 2.5)), items) == list(range(items))


def test_mean_likeness_is_to_all_members_or_to_some_at_equal_steps(monkeypatch):
    points = np.random.default_rng(0).normal(size=(100, 2))
    expected = kernel(points, points)
    monkeypatch.setattr(rivals, "ROWS_AT_A_TIME", 7)
    assert mean_likeness(points) == pytest.approx(expected.mean(axis=1))
    monkeypatch.setattr(rivals, "COMPARED", 10)
    assert mean_likeness(points) == pytest.approx(expected[:, ::10].mean(axis=1))


def test_a_worked_example():
    # Items 0 and 1 merge at 1, 2 and 3 at 2, both pairs at 4, and item 4 joins at 10. Pairs are
    # clusters: item 4 leaves all items at 10, whose last cluster (0 and 1) falls apart at 1. Items
    # 2 and 3 leave their pair at the distance at which it falls apart, and so do 0 and 1.
    children = np.array([[0, 1], [2, 3], [5, 6], [7, 4]])
    scores = outlier_scores(children, np.array([1.0, 2.0, 4.0, 10.0]), smallest=2)
    assert scores == pytest.approx([0, 0, 0, 0, 1 - 1 / 10])


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

"""CluSearch as a whole: the strata that it makes."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.methods.stats.balanced_kmeans import balanced_kmeans
from judgeloop.methods.stats.cluster_search import strata_by_clusters


@pytest.fixture
def six_groups():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 8))[np.repeat(np.arange(6), 40)] * 20 + rng.normal(size=(240, 8))


def strata(vectors, most, *arguments, seed=0):
    return strata_by_clusters(vectors, most, np.random.default_rng(seed), *arguments)


def test_groups_of_one_size_are_the_strata(six_groups):
    labels, searched = strata(six_groups, 30)
    assert searched.clusters == 6
    assert (
        len(
            {
                (group, label)
                for group, label in zip(np.repeat(np.arange(6), 40), labels, strict=True)
            }
        )
        == 6
    )


def test_strata_are_as_many_as_found_and_of_one_size():
    vectors = np.random.default_rng(1).normal(size=(203, 5))
    labels, searched = strata(vectors, 50, 9)
    sizes = np.bincount(labels)
    assert len(sizes) == searched.clusters
    assert np.ptp(sizes) <= 1
    assert len(searched.curve) == 9
    assert (searched.curve[0][0], searched.curve[-1][0]) == (2, 50)


def test_the_strata_have_the_inertia_of_the_elbow():
    vectors = np.random.default_rng(2).normal(size=(120, 4))
    labels, searched = strata(vectors, 30)
    apart = [
        ((part - part.mean(axis=0)) ** 2).sum()
        for part in (vectors[labels == one] for one in set(labels))
    ]
    assert sum(apart) == pytest.approx(dict(searched.curve)[searched.clusters])


@pytest.mark.parametrize("most", [-1, 0, 1])
def test_without_room_for_two_there_is_one(most):
    vectors = np.random.default_rng(3).normal(size=(7, 2))
    labels, searched = strata(vectors, most)
    assert labels.tolist() == [0] * 7
    assert searched.curve == ((1, balanced_kmeans(vectors, 1, np.random.default_rng(0)).inertia),)


def test_vectors_that_are_all_the_same_make_two():
    assert strata(np.ones((40, 3)), 10)[1].clusters == 2


def test_what_a_number_of_clusters_looks_like_does_not_depend_on_the_other_looks():
    vectors = np.random.default_rng(5).normal(size=(90, 4))
    narrow, wide = (dict(strata(vectors, most, 5)[1].curve) for most in (16, 30))
    assert set(narrow) & set(wide) == {2, 9, 16}
    assert all(narrow[clusters] == wide[clusters] for clusters in (2, 9, 16))


def test_the_same_generator_gives_the_same_strata(six_groups):
    first, again = (strata(six_groups, 30, seed=4)[0].tolist() for _ in range(2))
    assert first == again

"""The search for the number of clusters: elbows and looks by hand, and what holds for any curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.papers.actracer.clusters import balanced_kmeans, elbow, next_look, search_clusters, strata_by_clusters

# Inertia 36 / k. Scaled, clusters are 0, 1/8, 2/8, 3/8, 5/8, 1 and inertia is 1, 14/32, 8/32, 5/32,
# 2/32, 0.
# Kneedle's difference curve, 1 - inertia - clusters: 0, 14/32, 16/32, 15/32, 10/32, 0.
HYPERBOLA = ((1, 36.0), (2, 18.0), (3, 12.0), (4, 9.0), (6, 6.0), (9, 4.0))


def test_the_elbow_is_the_peak_of_kneedles_difference_curve():
    assert elbow(HYPERBOLA) == 3


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_it_has_no_unit(scale):
    assert elbow(tuple((clusters, 5 + inertia * scale) for clusters, inertia in HYPERBOLA)) == 3


def test_more_clusters_that_came_out_worse_count_as_if_they_were_fewer():
    # At 4 the running minimum is 12 still, at 6 it is 4: the difference curve is 0, 14/32, 16/32,
    # 12/32, 12/32, 0.
    noisy = (*HYPERBOLA[:3], (4, 300.0), (6, 4.0), (9, 4.5))
    assert elbow(noisy) == 3


def test_a_false_early_peak_is_not_the_elbow():
    # The inertia stands still from 2 to 6, so that the difference curve falls from 0.2 - 0.1 to
    # below 0 before it rises to 0.5.
    assert elbow(((1, 10.0), (2, 8.0), (6, 8.0), (7, 0.5), (11, 0.0))) == 7


@pytest.mark.parametrize(
    "inertias", [[3.0], [3.0, 1.0], [9.0, 6.0, 3.0, 0.0], [2.0, 2.0, 2.0], [1.0, 2.0, 3.0], [0.3, 0.2, 0.1]]
)
def test_without_a_bend_it_is_the_fewest_clusters(inertias):
    assert elbow(tuple(enumerate(inertias, start=2))) == 2


def test_the_next_look_is_in_the_interval_of_largest_loss_with_both_axes_scaled():
    # Scaled: (0, 1), (0.5, 0.2), (1, 0). Losses sqrt(0.25 + 0.64) and sqrt(0.25 + 0.04).
    curve = ((2, 100.0), (10, 20.0), (18, 0.0))
    assert next_look(curve) == 6
    # sqrt(0.0625 + 0.25) = 0.56, sqrt(0.0625 + 0.09) = 0.39, sqrt(0.25 + 0.04) = 0.54.
    curve = ((2, 100.0), (6, 50.0), *curve[1:])
    assert next_look(curve) == 4
    # sqrt(0.0156 + 0.09) = 0.33, sqrt(0.0156 + 0.04) = 0.24, then 0.39 and 0.54 as before. In raw
    # units the third would be largest.
    curve = ((2, 100.0), (4, 70.0), *curve[1:])
    assert next_look(curve) == 14


def test_an_interval_without_a_number_inside_is_not_looked_at_however_large():
    assert next_look(((2, 100.0), (3, 5.0), (5, 0.0))) == 4
    assert next_look(((2, 100.0), (3, 5.0), (4, 0.0))) is None
    assert next_look(((2, 100.0),)) is None


def test_a_flat_curve_is_looked_at_evenly():
    assert next_look(((2, 7.0), (6, 7.0), (14, 7.0))) == 10


def searched(inertia, *arguments):
    asked = []

    def recorded(clusters):
        asked.append(clusters)
        return inertia(clusters)

    return search_clusters(recorded, *arguments), asked


def test_the_first_looks_are_equally_spaced_and_the_rest_where_it_bends():
    found, asked = searched(lambda clusters: 1000 / clusters, 2, 42, 8)
    # Scaled inertia at 2, 12, 22, 32, 42: 1, 0.125, 0.0455, 0.0156, 0; each interval is 0.25 wide.
    # Twice the first is halved;
    # at 2, 4, 7 and 12 inertia is 1, 0.475, 0.25, 0.125: losses 0.53 and 0.24 are followed by 0.18
    # and four of at most 0.27.
    assert asked == [2, 12, 22, 32, 42, 7, 4, 3]
    assert found.curve == tuple((clusters, 1000 / clusters) for clusters in sorted(asked))


@given(low=st.integers(1, 30), more=st.integers(0, 300), looks=st.integers(1, 40), seed=st.integers(0, 1000))
def test_it_never_looks_twice_nor_more_often_than_it_may_nor_stops_early(low, more, looks, seed):
    rng = np.random.default_rng(seed)
    found, asked = searched(lambda clusters: rng.normal() + 50 / clusters, low, low + more, looks)
    assert len(asked) == len(set(asked)) == min(looks, more + 1)
    assert all(low <= clusters <= low + more for clusters in asked)
    assert [clusters for clusters, _ in found.curve] == sorted(asked)
    assert found.clusters in asked
    if len(asked) > 1:
        assert {low, low + more} <= set(asked)


@pytest.fixture
def six_groups():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 8))[np.repeat(np.arange(6), 20)] * 20 + rng.normal(size=(120, 8))


def strata(vectors, most, *arguments, seed=0):
    return strata_by_clusters(vectors, most, np.random.default_rng(seed), *arguments)


def test_groups_of_one_size_are_the_strata(six_groups):
    labels, searched = strata(six_groups, 30)
    assert searched.clusters == 6
    assert len({(group, label) for group, label in zip(np.repeat(np.arange(6), 20), labels, strict=True)}) == 6


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
    apart = [((part - part.mean(axis=0)) ** 2).sum() for part in (vectors[labels == one] for one in set(labels))]
    assert sum(apart) == pytest.approx(dict(searched.curve)[searched.clusters])


@pytest.mark.parametrize("most", [-1, 0, 1])
def test_without_room_for_two_there_is_one(most):
    vectors = np.random.default_rng(3).normal(size=(7, 2))
    labels, searched = strata(vectors, most)
    assert labels.tolist() == [0] * 7
    assert searched.curve == ((1, balanced_kmeans(vectors, 1, np.random.default_rng(0)).inertia),)


def test_what_a_number_of_clusters_looks_like_does_not_depend_on_the_other_looks():
    vectors = np.random.default_rng(5).normal(size=(90, 4))
    narrow, wide = (dict(strata(vectors, most, 5)[1].curve) for most in (16, 30))
    assert set(narrow) & set(wide) == {2, 9, 16}
    assert all(narrow[clusters] == wide[clusters] for clusters in (2, 9, 16))

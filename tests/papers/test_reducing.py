from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from judgeloop.papers import vectors as reducing
from judgeloop.papers.vectors import reduced


def distances(vectors):
    return np.linalg.norm(vectors[:, None] - vectors[None], axis=2)


def test_points_on_a_line_are_their_places_on_it():
    # The mean is (2, 4, 4); from it the points are -5, -5/3, 5/3 and 5 times (2, 1, 2) / 3 away, so
    # -5, … in length.
    line = np.array([-5, -5 / 3, 5 / 3, 5])[:, None] * np.array([2, 1, 2]) / 3 + np.array([2, 4, 4])
    found = reduced(line, 1)
    assert np.abs(found[:, 0]) == pytest.approx([5, 5 / 3, 5 / 3, 5])
    assert found[0, 0] == pytest.approx(-found[3, 0])


@pytest.mark.parametrize(("shape", "kept"), [((100, 80), 64), ((10, 80), 10), ((100, 5), 5), ((1, 7), 1)])
def test_there_are_no_more_dimensions_than_items_or_than_there_were(rng, shape, kept):
    found = reduced(rng.normal(size=shape).astype(np.float32))
    assert found.shape == (shape[0], kept)
    assert found.dtype == np.float64


@given(arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.floats(-100, 100, width=16)))
def test_with_all_dimensions_kept_distances_stay(vectors):
    np.testing.assert_allclose(distances(reduced(vectors, 9)), distances(vectors.astype(float)), atol=1e-4)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e30])
def test_equal_vectors_are_zeros(value):
    for items in (7, 10, 12):  # of some of these, the mean differs from each by rounding
        assert np.array_equal(reduced(np.full((items, 5), value), 3), np.zeros((items, 3)))


def test_vectors_that_hardly_differ_raise_no_warning():
    vectors = np.zeros((5, 4))
    vectors[0, 0] = 1e-200
    assert np.isfinite(reduced(vectors, 2)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(rng, bad):
    vectors = rng.normal(size=(6, 4))
    vectors[2, 1] = vectors[2, 3] = vectors[5, 0] = bad
    with pytest.raises(ValueError, match="2 of 6 vectors hold a value that is not finite"):
        reduced(vectors)


def test_large_tables_are_reduced_at_random_from_the_seed_and_close_to_exactly(rng, monkeypatch):
    spread = np.geomspace(100, 0.01, 60)
    vectors = (rng.normal(size=(90, 60)) * spread) @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    exact = reduced(vectors, 8)
    monkeypatch.setattr(reducing, "EXACT_UP_TO", 10)
    one, same, other = (reduced(vectors, 8, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    np.testing.assert_allclose(distances(one), distances(exact), rtol=1e-3)

"""Which member stands for a cluster: cases small enough to work by hand."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.papers.diffuse.tree import COMBINED, HIERARCHIES, NAMED, closest_in_cosine, representative
from judgeloop.papers.settings import CLUSTERINGS, COMBINATIONS, REPRESENTATIVES

# Centre (2, 1.1). The second points its way best though the first lies nearer to it, and the second
# is longest.
APART = np.array([[2.0, 0.5], [4.0, 2.2], [0.0, 0.6]])


@pytest.mark.parametrize(("name", "chosen"), [("cosine", 1), ("euclidean", 0), ("largest-norm", 1), ("random", 2)])
def test_each_choice_is_the_one_worked_by_hand(name, chosen):
    assert representative(name, APART, np.arange(3), np.array([7, 5, 1])) == chosen


def test_of_equally_close_ones_the_first_represents():
    assert closest_in_cosine(np.array([[1.0, 0], [2.0, 0], [3.0, 0]]), np.array([1, 2])) == 1


def test_zero_vectors_have_no_direction():
    assert closest_in_cosine(np.array([[0.0, 0], [1.0, 1]]), np.arange(2)) == 1
    assert closest_in_cosine(np.zeros((3, 2)), np.array([1, 2])) == 1


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_a_cluster_of_one_is_represented_by_it(name):
    assert representative(name, APART, np.array([2]), np.array([7, 5, 1])) == 2


def test_random_representatives_are_uniform_and_a_part_keeps_its_wholes():
    rng = np.random.default_rng(0)
    drawn = [representative("random", APART, np.arange(3), rng.permutation(3)) for _ in range(3000)]
    assert np.bincount(drawn) == pytest.approx([1000] * 3, abs=100)
    priority = np.array([2, 0, 1])
    assert representative("random", APART, np.arange(3), priority) == 1
    assert representative("random", APART, np.array([1, 2]), priority) == 1


def test_settings_offer_the_variants_that_the_formulas_know():
    assert set(CLUSTERINGS) == {*HIERARCHIES, "kmeans"}
    assert set(REPRESENTATIVES) == {*NAMED, "random"}
    assert set(COMBINATIONS) == set(COMBINED)

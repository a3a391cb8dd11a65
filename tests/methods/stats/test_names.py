"""The names of variants that settings offer are those that the formulas know."""

import numpy as np
import pytest

from judgeloop.methods.stats.combining import combined
from judgeloop.methods.stats.dendrogram import HIERARCHIES as BUILT
from judgeloop.methods.stats.names import CLUSTERINGS, COMBINATIONS, HIERARCHIES, REPRESENTATIVES
from judgeloop.methods.stats.representatives import NAMED


def test_every_hierarchy_is_built_and_offered():
    assert set(HIERARCHIES) == set(BUILT)
    assert set(CLUSTERINGS) == {*HIERARCHIES, "kmeans"}


def test_every_representative_is_chosen_by_a_function_or_at_random():
    assert set(REPRESENTATIVES) == {*NAMED, "random"}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_every_combination_combines(name):
    vectors = np.ones((2, 3))
    assert len(combined(name, vectors, vectors)) == 2

"""The item that makes a sample most like the whole: by hand, and against SciPy's distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp, wasserstein_distance

from judgeloop.methods.stats.resembling import (
    DISTANCES,
    kolmogorov_smirnov_with_each,
    next_to_resemble,
    wasserstein_with_each,
)


def test_the_first_pick_is_the_median_as_worked_by_hand():
    # Of 0, 1, 2, 3 and 10, one alone is as far from all as they are from it on average: 16/5, 13/5,
    # 12/5, 13/5, 34/5.
    values = np.array([0.0, 1, 2, 3, 10])
    nobody = np.zeros(5, dtype=bool)
    assert wasserstein_with_each(values, nobody) == pytest.approx([3.2, 2.6, 2.4, 2.6, 6.8])
    assert next_to_resemble(values, nobody, DISTANCES["wasserstein"]) == 2


def test_the_next_pick_as_worked_by_hand():
    # With 2 in the sample, at the gaps of 1, 1, 1 and 7 the whole's distribution function is 0.2,
    # 0.4, 0.6 and 0.8.
    # Adding 0: 0.5, 0.5, 1, 1 there, so 0.3 + 0.1 + 0.4 + 7 · 0.2 = 2.2. Adding 1: 0, 0.5, 1, 1:
    # 0.2 + 0.1 + 0.4 + 1.4 = 2.1.
    # Adding 3: 0, 0, 0.5, 1: 0.2 + 0.4 + 0.1 + 1.4 = 2.1. Adding 10: 0, 0, 0.5, 0.5: 0.2 + 0.4 +
    # 0.1 + 2.1 = 2.8.
    values, chosen = np.array([0.0, 1, 2, 3, 10]), np.array([False, False, True, False, False])
    found = wasserstein_with_each(values, chosen)
    assert found[[0, 1, 3, 4]] == pytest.approx([2.2, 2.1, 2.1, 2.8])
    assert next_to_resemble(values, chosen, DISTANCES["wasserstein"]) == 1, (
        "the first of two as good"
    )


@settings(deadline=None)
@given(
    values=st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=2, max_size=9),
    bits=st.integers(0, 511),
)
def test_both_distances_are_scipys(values, bits):
    values = np.sort(np.array(values))
    chosen = np.array([bool(bits >> i & 1) for i in range(len(values))])
    for with_each, scipys in (
        (wasserstein_with_each, wasserstein_distance),
        (kolmogorov_smirnov_with_each, lambda a, b: ks_2samp(a, b, method="exact").statistic),
    ):
        found = with_each(values, chosen)
        for candidate in np.flatnonzero(~chosen):
            sample = np.append(values[chosen], values[candidate])
            assert found[candidate] == pytest.approx(scipys(sample, values), abs=1e-12)


def test_who_is_in_the_sample_is_not_picked_again():
    values = np.linspace(0, 1, 7)
    chosen = np.zeros(7, dtype=bool)
    for distances in DISTANCES.values():
        chosen[:] = False
        for _ in range(7):
            place = next_to_resemble(values, chosen, distances)
            assert not chosen[place]
            chosen[place] = True

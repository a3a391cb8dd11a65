"""The belief by win rates: against draws from the model, and that it follows the win rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.methods.stats.belief import best_probabilities

HALF = 0.5


def drawn(rates, queries, baseline, draws=200_000):
    """How often each system is the best, in draws from the posterior."""
    rng = np.random.default_rng(0)
    wins = queries * np.asarray(rates)[:, None]
    thetas = rng.beta(1 + wins, 1 + queries - wins, size=(len(rates), draws))
    thetas[baseline] = HALF
    return np.bincount(thetas.argmax(axis=0), minlength=len(rates)) / draws


@pytest.mark.parametrize(
    ("rates", "queries", "baseline"),
    [
        ([0.3, 0.5, 0.45, 0.2], 30, 1),
        ([0.978, 0.968, 0.95, 0.5, 0.85], 100, 3),
        ([1.0, 0.0, 0.5, 1.0], 2, 2),
        ([0.52, 0.5], 400, 1),
        ([0.9, 0.5, 0.7], 0, 1),
    ],
)
def test_it_is_how_often_each_system_is_the_best_in_draws_from_the_posterior(
    rates, queries, baseline
):
    found = best_probabilities(np.array(rates), queries, baseline)
    # Four standard errors of the draws, and the error of the integral.
    assert found == pytest.approx(drawn(rates, queries, baseline), abs=0.006)
    assert found.sum() == pytest.approx(1)


@given(data=st.data(), queries=st.integers(0, 5000), systems=st.integers(2, 12))
@settings(max_examples=200, deadline=None)
def test_no_system_is_believed_in_unless_its_win_rate_is_the_highest(data, queries, systems):
    points = data.draw(
        st.lists(st.integers(0, 2 * queries), min_size=systems, max_size=systems), label="points"
    )
    rates = np.array(points) / max(1, 2 * queries)
    baseline = data.draw(st.integers(0, systems - 1), label="baseline")
    belief = best_probabilities(rates, queries, baseline)
    rates[baseline] = HALF
    for system in np.flatnonzero(belief > HALF + 1e-3):
        assert rates[system] == rates.max()


def test_the_baselines_own_ties_do_not_raise_the_belief_in_it():
    rates = np.array([0.79, 0.7, HALF])
    assert best_probabilities(rates, 40, 2)[2] < 1e-3


def test_a_narrow_lead_is_told_apart_in_a_large_pool():
    found = best_probabilities(np.array([0.981, 0.98, HALF]), 1_000_000, 2)
    assert found[0] > 0.999

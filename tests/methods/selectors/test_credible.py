"""Random draws for the systems that can still be the best: who is dropped, and what is believed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.selectors import answered, oracle, steps_of

from judgeloop.methods.selectors.credible import DOUBT, Credible, best_probabilities
from judgeloop.methods.selectors.random import Random

BASELINE = 1


def field(seed, rates, items):
    """Scores, shape (systems, items); the baseline ties with itself."""
    rng = np.random.default_rng(seed)
    scores = (rng.random((len(rates), items)) < np.array(rates)[:, None]).astype(float)
    scores[rng.random(scores.shape) < 0.1] = 0.5
    scores[BASELINE] = 0.5
    return scores


def walk(scores, seed=0):
    """Yield the steps told together, and the state after them, until nothing is left to ask."""
    systems, items = scores.shape
    selector, rng = Credible(systems, BASELINE), np.random.default_rng(seed)
    state = selector.init(items, rng)
    while True:
        steps, state = steps_of(selector, state, items, rng)
        if not steps:
            return
        state = selector.tell(state, answered(steps, oracle(scores)))
        yield steps, state, selector


def asked(step):
    return {choice.systems[0] for choice in step.choices}


def test_it_draws_what_random_draws():
    scores = field(0, [0.9, 0.5, 0.88, 0.3], 50)
    found = [step.choices[0].position for steps, _, _ in walk(scores) for step in steps]
    rng = np.random.default_rng(0)
    random = Random(((0, 1), (2, 1), (3, 1)))
    steps, _ = steps_of(random, random.init(50, rng), 50, rng)
    assert found == [step.choices[0].position for step in steps][: len(found)]
    assert len(found) > 20


def test_a_system_that_is_improbable_to_be_the_best_is_asked_about_no_more():
    scores = field(1, [0.9, 0.5, 0.1, 0.85], 200)
    steps = [step for steps, _, _ in walk(scores) for step in steps]
    assert asked(steps[0]) == {0, 2, 3}
    assert 2 not in asked(steps[30])
    groups = [asked(step) for step in steps]
    assert all(later <= earlier for earlier, later in pairwise(groups))


def test_it_ends_when_one_candidate_is_left_and_that_is_the_leader():
    scores = field(2, [0.95, 0.5, 0.2, 0.3], 400)
    *_, (_, state, selector) = walk(scores)
    assert np.flatnonzero(state.credible).tolist() == [0]
    assert state.drawn < 60
    assert selector.belief(state).probabilities[0] > 1 - DOUBT


def test_the_baseline_becomes_a_candidate_again():
    # After one query, one of 30 systems is all but sure to be above ½; after ten the leader is not.
    scores = np.zeros((32, 200))
    scores[BASELINE] = 0.5
    scores[0] = np.arange(200) % 2 == 0
    *_, (_, state, _) = walk(scores)
    assert np.flatnonzero(state.credible).tolist() == [0, BASELINE]
    assert state.drawn == 200


def test_a_system_without_a_verdict_is_kept():
    scores = field(5, [0.95, 0.5, 0.2, 0.9], 80)
    scores[3] = np.nan
    *_, (_, state, _) = walk(scores)
    assert state.credible[3]


def test_the_queries_asked_in_parallel_are_a_tenth_of_those_before():
    sizes = [len(steps) for steps, _, _ in walk(field(6, [0.8, 0.5, 0.8, 0.8], 100))]
    before = 0
    for size in sizes[:-1]:
        assert size == max(1, before // 10)
        before += size


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
@settings(max_examples=80, deadline=None)
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

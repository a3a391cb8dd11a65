"""Draws that prefer some items."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare
from support.walking import all_steps

from judgeloop.errors import InputError
from judgeloop.estimators.preferences import Preferences
from judgeloop.past import past_of_scores
from judgeloop.records import Draws
from judgeloop.selectors import decisive as decisive_module
from judgeloop.selectors.decisive import Decisive, decisive, preferred_by
from judgeloop.selectors.random import Random
from judgeloop.session import Limits, Session
from judgeloop.stopping import make_rule

WEIGHTS = np.array([8.0, 4.0, 2.0, 1.0])


def orders(count):
    return [
        tuple(step.choices[0].position for step in all_steps(Decisive(WEIGHTS), 4, seed=seed))
        for seed in range(count)
    ]


def test_orders_come_up_as_often_as_successive_draws_by_weight_give():
    draws = orders(6000)
    expected = {}
    for order in itertools.permutations(range(4)):
        left = WEIGHTS[list(order)]
        expected[order] = np.prod([left[i] / left[i:].sum() for i in range(4)])
    observed = [draws.count(order) for order in expected]
    assert chisquare(observed, 6000 * np.array(list(expected.values()))).pvalue > 0.001


def test_a_propensity_is_the_weight_over_all_that_is_left():
    steps = all_steps(Decisive(WEIGHTS), 4, seed=5)
    left = WEIGHTS.sum()
    for step in steps:
        choice = step.choices[0]
        assert choice.propensity == pytest.approx(WEIGHTS[choice.position] / left)
        left -= WEIGHTS[choice.position]


def test_weights_of_a_long_past_rest_on_some_of_it_spread_over_all(monkeypatch):
    seen = []
    monkeypatch.setattr(decisive_module, "MOST_WEIGHED", 10)
    monkeypatch.setattr(decisive_module, "draw_weights", lambda *arrays, **rest: seen.append(arrays[0]))
    scores = np.arange(30.0)[:, None] * np.ones((30, 4))
    past = past_of_scores([f"s{i}" for i in range(30)], scores, 0.0)
    preferred_by(past, ("x", "y"))
    assert seen[0].shape == (10, 4)


def test_without_weights_it_draws_what_random_draws():
    assert all_steps(decisive(None), 50, seed=3) == all_steps(Random(), 50, seed=3)
    assert decisive(None).name == "decisive"
    assert decisive(None).draws is Draws.EVEN


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_weight_that_would_leave_an_item_out_is_refused(bad):
    with pytest.raises(ValueError, match="positive"):
        Decisive(np.array([1.0, bad]))


def test_weights_of_another_pool_are_refused():
    with pytest.raises(ValueError, match="4 items for 5"):
        Decisive(WEIGHTS).init(5, np.random.default_rng(0))


@pytest.mark.parametrize("rule", ["sequential", "anytime"])
def test_a_guarantee_for_even_draws_is_not_stated_for_it(rule):
    with pytest.raises(InputError, match="prefers some items"):
        Session(
            items=4,
            selector=Decisive(WEIGHTS),
            estimator=Preferences(),
            rule=make_rule(rule, risk=0.1, items=4, limit=4),
            limits=Limits(),
            rng=np.random.default_rng(0),
        )

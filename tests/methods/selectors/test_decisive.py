"""Draws that prefer some items."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare
from support.rules import make_rule
from support.selectors import answered as labelled
from support.selectors import steps_of
from support.walking import all_steps

from judgeloop.core.choices import Draws
from judgeloop.core.errors import InputError
from judgeloop.core.records import Abstention, Label, Verdict
from judgeloop.engine.session import Limits, Session
from judgeloop.history import past as prospects_module
from judgeloop.history.past import past_of_scores, prospects_of
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.decisive import FIRST_LOOK, Decisive, decisive
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.decision_model import DecisionModel
from judgeloop.methods.stats.decisiveness import Prospects

WEIGHTS = np.array([8.0, 4.0, 2.0, 1.0])


def test_orders_come_up_as_often_as_successive_draws_by_weight_give():
    every = (all_steps(Decisive(WEIGHTS), 4, seed=seed) for seed in range(3000))
    draws = [tuple(step.choices[0].position for step in steps) for steps in every]
    expected = {}
    for order in itertools.permutations(range(4)):
        left = WEIGHTS[list(order)]
        expected[order] = np.prod([left[i] / left[i:].sum() for i in range(4)])
    observed = [draws.count(order) for order in expected]
    assert chisquare(observed, 3000 * np.array(list(expected.values()))).pvalue > 0.001


def test_a_propensity_is_the_weight_over_all_that_is_left():
    steps = all_steps(Decisive(WEIGHTS), 4, seed=5)
    left = WEIGHTS.sum()
    for step in steps:
        choice = step.choices[0]
        assert choice.propensity == pytest.approx(WEIGHTS[choice.position] / left)
        left -= WEIGHTS[choice.position]


def test_weights_of_a_long_past_rest_on_some_of_it_spread_over_all(monkeypatch):
    seen = []
    monkeypatch.setattr(prospects_module, "MOST_WEIGHED", 10)
    monkeypatch.setattr(prospects_module, "prospects", lambda *arrays, **rest: seen.append(arrays[0]))
    scores = np.arange(30.0)[:, None] * np.ones((30, 4))
    past = past_of_scores([f"s{i}" for i in range(30)], scores, 0.0)
    prospects_of(past, ("x", "y"))
    assert seen[0].shape == (10, 4)


def test_with_nothing_known_it_draws_what_random_draws():
    assert all_steps(decisive(None), 50, seed=3) == all_steps(Random(), 50, seed=3)
    assert decisive(None).name == "decisive"
    assert decisive(None).draws is Draws.EVEN


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


ITEMS = 60
KNOWN = Prospects(
    shares=np.linspace(0.05, 0.95, ITEMS),
    agreements=np.full(ITEMS, 0.5),
    power=1.5,
    distances=np.random.default_rng(4).exponential(size=ITEMS),
    patterns=np.random.default_rng(5).normal(size=(2, ITEMS)),
)


def answered(steps, decided):
    """Labels of the items that these steps ask about."""
    return labelled(steps, lambda choice: Verdict(1.0 if decided(choice.position) else 0.5))


def test_it_waits_for_answers_after_ten_draws_and_whenever_they_have_doubled():
    selector, rng = decisive(KNOWN), np.random.default_rng(2)
    state = selector.init(ITEMS, rng)
    asked = []
    while True:
        steps, state = steps_of(selector, state, 1000, rng)
        if not steps:
            break
        assert steps_of(selector, state, 1, rng)[0] == [], "nothing while answers are out"
        state = selector.tell(state, answered(steps[:-1], lambda at: True))
        assert len(asked) == 3 or steps_of(selector, state, 1, rng)[0] == [], "nor while one is"
        state = selector.tell(state, answered(steps[-1:], lambda at: True))
        asked.append(len(steps))
    assert asked == [FIRST_LOOK, 10, 20, 20]


def test_what_it_learned_is_what_it_draws_by():
    selector, rng = decisive(KNOWN), np.random.default_rng(2)
    state = selector.init(ITEMS, rng)
    first, state = steps_of(selector, state, FIRST_LOOK, rng)
    decided = {step.choices[0].position: number % 3 == 0 for number, step in enumerate(first)}
    state = selector.tell(state, answered(first, decided.get))
    [step], _ = steps_of(selector, state, 1, rng)
    weights = DecisionModel(KNOWN).weights_after(np.array(list(decided)), np.array(list(decided.values())))
    choice = step.choices[0]
    left = np.setdiff1d(np.arange(ITEMS), list(decided))
    assert choice.propensity == pytest.approx(weights[choice.position] / weights[left].sum())


def test_an_abstention_counts_as_answered_and_teaches_nothing():
    selector = decisive(KNOWN)
    found = []
    for answers in (lambda step: Abstention("no"), lambda step: Verdict(0.5)):
        rng = np.random.default_rng(2)
        state = selector.init(ITEMS, rng)
        steps, state = steps_of(selector, state, FIRST_LOOK, rng)
        state = selector.tell(state, [Label(step.choices[0], answers(step)) for step in steps])
        [step], _ = steps_of(selector, state, 1, rng)
        found.append(step.choices[0])
    none = DecisionModel(KNOWN).weights_after(np.array([], dtype=int), np.array([], dtype=bool))
    left = np.setdiff1d(np.arange(ITEMS), [step.choices[0].position for step in steps])
    assert found[0].propensity == pytest.approx(none[found[0].position] / none[left].sum())
    assert found[1] != found[0], "ten ties teach something"


def test_where_history_misleads_a_run_learns_to_do_without_it():
    """Items that decided before never do, and the others always: later draws come upon more of
    these than draws that learn nothing."""
    items = 200
    known = Prospects(np.linspace(0.05, 0.95, items), np.full(items, 0.5), power=1.5)
    found = []
    for seed in range(40):
        learning, rng = decisive(known), np.random.default_rng(seed)
        state = learning.init(items, rng)
        for _ in range(4):
            steps, state = steps_of(learning, state, items, rng)
            state = learning.tell(state, answered(steps, lambda at: at < items / 2))
        fixed = Decisive(learning.weights).init(items, np.random.default_rng(seed)).order[40:80]
        found.append([np.mean(order < items / 2) for order in (state.order[40:80], fixed)])
    learned, not_learned = np.mean(found, axis=0)
    assert learned > 1.3 * not_learned


def test_a_run_finds_out_which_way_of_the_past_its_comparison_goes():
    """Hard items decide between some past systems, easy ones between others: a run where hard ones
    do turns to them, once it has seen that."""
    items, hard = 200, np.arange(200) < 100
    rng = np.random.default_rng(3)
    strong, weak = (np.where(of, rng.integers(2, size=(8, items)), 0.5) for of in (hard, ~hard))
    past = past_of_scores([f"s{one}" for one in range(16)], np.concatenate([strong, weak]), 0.0)
    known = prospects_of(past, ("new", "newer"))
    found = []
    for one in (known, known._replace(patterns=None)):
        selector = decisive(one)
        for seed in range(20):
            rng = np.random.default_rng(seed)
            state = selector.init(items, rng)
            for _ in range(3):
                steps, state = steps_of(selector, state, items, rng)
                state = selector.tell(state, answered(steps, lambda at: hard[at] and at % 3))
            found.append(hard[state.order[20:40]].mean())
    assert np.mean(found[:20]) > 0.8, "with the patterns of the past"
    assert np.mean(found[20:]) < 0.6, "without"

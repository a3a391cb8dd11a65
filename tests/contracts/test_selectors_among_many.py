"""What every selector for many systems against one baseline promises (`protocols.Selector`)."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from support.selectors import PICKERS, make_picker, steps_of

from judgeloop.core.records import Abstention, Label, Verdict
from judgeloop.methods.selectors.credible import Credible
from judgeloop.methods.selectors.halving import Halving
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.selectors.random import Random

SYSTEMS, BASELINE, RISK = 5, 2, 0.1
OTHERS = [system for system in range(SYSTEMS) if system != BASELINE]
SIZES = [1, 2, 3, 17, 37]


def opinions_of(items):
    opinions = (
        np.random.default_rng(items).integers(-1, 2, size=(3, items, SYSTEMS)).astype(np.int8)
    )
    opinions[:, :, BASELINE] = 0
    return opinions


def picker(name):
    return lambda items: make_picker(name, opinions_of(items), BASELINE, (0.2, 0.3))


SELECTORS = {
    "race": lambda items: Racing(SYSTEMS, BASELINE, RISK),
    "credible": lambda items: Credible(SYSTEMS, BASELINE),
    "random": lambda items: Random(tuple((one, BASELINE) for one in OTHERS)),
    "halving": lambda items: Halving(
        np.random.default_rng(items).integers(1, 999, (SYSTEMS, items)), BASELINE, 3 * items
    ),
    **{name: picker(name) for name in PICKERS},
}
WHOLE_POOL = ("random", *PICKERS)


@pytest.fixture(params=SELECTORS)
def name(request):
    return request.param


def answers(seed, items, *, level=False):
    """Scores, shape (systems, items), a few of them hidden; or all the same."""
    rng = np.random.default_rng(seed)
    if level:
        return np.full((SYSTEMS, items), 0.5)
    return rng.choice([0, 0.5, 1, np.nan], size=(SYSTEMS, items), p=[0.3, 0.3, 0.35, 0.05])


def told(steps, scores):
    labels = []
    for step in steps:
        for choice in step.choices:
            score = scores[choice.systems[0], choice.position]
            answer = Abstention("no") if np.isnan(score) else Verdict(float(score))
            labels.append(Label(choice, answer))
    return labels


def all_steps(name, items, *, at_a_time=1, seed=1, level=False):
    """Ask until nothing is left; answers are told whenever the selector waits for them."""
    selector, rng, scores = (
        SELECTORS[name](items),
        np.random.default_rng(seed),
        answers(7, items, level=level),
    )
    state, steps, waiting = selector.init(items, rng), [], []
    while True:
        more, state = steps_of(selector, state, at_a_time, rng)
        assert len(more) <= at_a_time
        if not more and not waiting:
            return steps
        steps += more
        waiting += more
        if not more:
            state, waiting = selector.tell(state, told(waiting, scores)), []


@pytest.mark.parametrize("items", SIZES)
def test_it_ends_and_asks_nothing_twice(name, items):
    keys = [choice.key for step in all_steps(name, items) for choice in step.choices]
    assert len(set(keys)) == len(keys) <= items * len(OTHERS)


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("name", WHOLE_POOL)
def test_it_exhausts_the_pool_for_all_systems(name, items):
    keys = {choice.key for step in all_steps(name, items) for choice in step.choices}
    assert keys == {(position, system, BASELINE) for position in range(items) for system in OTHERS}


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("name", ["race", "credible"])
def test_level_systems_are_asked_about_to_the_end_of_the_pool(name, items):
    keys = {choice.key for step in all_steps(name, items, level=True) for choice in step.choices}
    assert keys == {(position, system, BASELINE) for position in range(items) for system in OTHERS}


@pytest.mark.parametrize("items", SIZES)
def test_a_step_is_one_query_for_systems_in_order_without_the_baseline(name, items):
    for step in all_steps(name, items):
        assert step.choices
        assert step.leave == ()
        assert len({choice.position for choice in step.choices}) == 1
        systems = [choice.systems[0] for choice in step.choices]
        assert systems == sorted(set(systems) & set(OTHERS))
        assert {choice.systems[1] for choice in step.choices} == {BASELINE}


def test_the_same_generator_and_answers_give_the_same_steps(name):
    assert all_steps(name, 37, seed=3) == all_steps(name, 37, seed=3)


@pytest.mark.parametrize("at_a_time", [2, 7, 1000])
def test_the_steps_do_not_depend_on_how_many_are_asked_for_at_a_time(name, at_a_time):
    assert all_steps(name, 37, at_a_time=at_a_time) == all_steps(name, 37)


def test_nothing_asked_for_is_nothing_given(name):
    selector, rng = SELECTORS[name](17), np.random.default_rng(0)
    assert list(steps_of(selector, selector.init(17, rng), 0, rng)[0]) == []


def test_propensities_are_probabilities_of_a_draw_or_none_for_a_pick(name):
    selector = SELECTORS[name](37)
    for step in all_steps(name, 37):
        for choice in step.choices:
            if selector.draws:
                assert choice.propensity is not None
                assert 0 < choice.propensity <= 1
            else:
                assert choice.propensity is None


def test_asking_and_telling_leave_the_state_they_were_given_alone(name):
    selector, rng = SELECTORS[name](37), np.random.default_rng(0)
    state = selector.init(37, rng)
    for _ in range(3):
        before = pickle.dumps(state)
        steps, asked = steps_of(selector, state, 4, rng)
        assert pickle.dumps(state) == before
        before = pickle.dumps(asked)
        state = selector.tell(asked, told(steps, answers(7, 37)))
        assert pickle.dumps(asked) == before


def test_its_state_survives_pickling(name):
    selector, rng = SELECTORS[name](37), np.random.default_rng(0)
    steps, state = steps_of(selector, selector.init(37, rng), 2, rng)
    state = selector.tell(state, told(steps, answers(7, 37)))
    again = pickle.loads(pickle.dumps(state))
    assert (
        steps_of(selector, again, 3, copy.deepcopy(rng))[0] == steps_of(selector, state, 3, rng)[0]
    )


def test_positions_and_systems_are_plain_integers(name):
    # NumPy's own would break JSON and compare as arrays.
    for step in all_steps(name, 5):
        for choice in step.choices:
            assert [type(number) for number in choice.key] == [int, int, int]

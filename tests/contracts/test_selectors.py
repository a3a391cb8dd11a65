"""What every selector promises (`protocols.Selector`)."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from support.pools import differences, known_beforehand
from support.selectors import make_selector, steps_of
from support.walking import all_steps

from judgeloop.methods.selectors.catalogue import COMBINATIONS, REPRESENTATIVES
from judgeloop.methods.selectors.ingredients import Variant
from judgeloop.methods.stats.diffuse_variants import combined


def variant(name="diffuse", **how):
    def make(items):
        vectors = differences(items)
        if "combine" in how:
            vectors = combined(how["combine"], vectors, differences(items, seed=6))
        return make_selector(name, vectors, start=4, variant=Variant(**how))

    return make


def foreseen(items):
    return make_selector(
        "decisive", None, start=4, variant=Variant(), known=known_beforehand(items)
    )


SELECTORS = {
    "random": variant("random"),
    "decisive": foreseen,
    "decisive without a history": variant("decisive"),
    "diffuse": variant(),
    "max-norm": variant("max-norm"),
    "input-cluster": variant("input-cluster"),
    **{combine: variant(combine=combine) for combine in COMBINATIONS},
    **{
        f"{clustering}, {representative}": variant(
            clustering=clustering, representative=representative
        )
        for clustering in ("ward", "cosine", "kmeans", "micro-ward")
        for representative in REPRESENTATIVES
    },
}
SIZES = [1, 2, 3, 5, 23]


@pytest.fixture(params=SELECTORS)
def make(request):
    return SELECTORS[request.param]


@pytest.mark.parametrize("items", SIZES)
def test_it_exhausts_the_pool_and_leaves_every_item_in_the_decision(make, items):
    active = set()
    for step in all_steps(make(items), items):
        assert set(step.leave) <= active, "only what entered may leave"
        active -= set(step.leave)
        active |= {choice.position for choice in step.choices}
    assert active == set(range(items))


@pytest.mark.parametrize("items", SIZES)
def test_no_step_is_empty_and_none_names_a_position_twice(make, items):
    for step in all_steps(make(items), items):
        positions = [choice.position for choice in step.choices]
        assert positions
        assert len(set(positions)) == len(positions)
        assert not set(positions) & set(step.leave)


def test_the_same_generator_gives_the_same_steps(make):
    assert all_steps(make(23), 23, seed=3) == all_steps(make(23), 23, seed=3)


@pytest.mark.parametrize("at_a_time", [2, 7, 1000])
def test_the_steps_do_not_depend_on_how_many_are_asked_for_at_a_time(make, at_a_time):
    assert all_steps(make(23), 23, at_a_time=at_a_time) == all_steps(make(23), 23)


def test_propensities_are_probabilities_of_a_draw_or_none_for_a_pick(make):
    selector = make(23)
    for step in all_steps(selector, 23):
        for choice in step.choices:
            if selector.draws:
                assert choice.propensity is not None
                assert 0 < choice.propensity <= 1
            else:
                assert choice.propensity is None


def test_asking_leaves_the_state_it_was_given_alone(make):
    rng = np.random.default_rng(0)
    selector = make(23)
    state = selector.init(23, rng)
    before = pickle.dumps(state)
    steps_of(selector, state, 5, rng)
    assert pickle.dumps(state) == before


def test_its_state_survives_pickling(make):
    rng = np.random.default_rng(0)
    selector = make(23)
    _, state = steps_of(selector, selector.init(23, rng), 6, rng)
    again = pickle.loads(pickle.dumps(state))
    assert (
        steps_of(selector, again, 3, copy.deepcopy(rng))[0] == steps_of(selector, state, 3, rng)[0]
    )


def test_positions_are_plain_integers(make):
    # NumPy's own would break JSON and compare as arrays.
    for step in all_steps(make(5), 5):
        assert all(type(choice.position) is int for choice in step.choices)
        assert all(type(position) is int for position in step.leave)

"""What every selector for two systems or for one promises (`protocols.Selector`)."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from support.pools import differences, known_beforehand
from support.selectors import make_selector, steps_of
from support.walking import all_steps

from judgeloop.methods.selectors.catalogue import COMBINATIONS, REPRESENTATIVES
from judgeloop.methods.selectors.confidence_systematic import ConfidenceSystematic
from judgeloop.methods.selectors.cross_entropy import CrossEntropy
from judgeloop.methods.selectors.diffuse import DiffUse
from judgeloop.methods.selectors.ingredients import Variant
from judgeloop.methods.selectors.mmd_critic import MMDCritic
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.selectors.stratified import Stratified
from judgeloop.methods.stats.diffuse_variants import combined
from judgeloop.methods.stats.strata import Strata


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

ONE = (0,)


def confidence(items):
    return np.random.default_rng(items).random(items).round(1)


def strata(items):
    return Strata(np.unique(np.arange(items) % 7 // 2, return_inverse=True)[1].astype(np.int64))


SELECTORS |= {
    "random, of one": lambda items: Random((ONE,)),
    "confidence-systematic": lambda items: ConfidenceSystematic(confidence(items)),
    "cross-entropy": lambda items: CrossEntropy(differences(items), tried=4),
    "mmd-critic": lambda items: MMDCritic(differences(items)),
    "diffuse, of one": lambda items: DiffUse(differences(items), start=4, systems=ONE),
    "stratified": lambda items: Stratified(strata(items), items),
    "stratified, in proportion": lambda items: Stratified(strata(items), items, "proportional"),
    "actracer": lambda items: Stratified(strata(items), items, confidence=confidence(items)),
    "actracer, first token": lambda items: Stratified(
        strata(items), items, confidence=confidence(items), distance="ks"
    ),
}
SIZES = [1, 2, 3, 5, 29, 30, 31, 53]


@pytest.fixture(params=SELECTORS)
def make(request):
    return SELECTORS[request.param]


@pytest.mark.parametrize("items", SIZES)
def test_it_exhausts_the_pool_and_leaves_every_item_in_the_decision(make, items):
    active = set()
    for step in all_steps(make(items), items):
        assert set(step.leave) <= active, "only what entered may leave"
        active -= set(step.leave)
        entering = {choice.position for choice in step.choices}
        assert not entering & active, "what is in the decision may not enter again"
        active |= entering
    assert active == set(range(items))


@pytest.mark.parametrize("items", SIZES)
def test_no_step_is_empty_and_none_names_a_position_twice(make, items):
    for step in all_steps(make(items), items):
        positions = [choice.position for choice in step.choices]
        assert positions
        assert len(set(positions)) == len(positions)
        assert not set(positions) & set(step.leave)


def test_the_same_generator_gives_the_same_steps(make):
    assert all_steps(make(53), 53, seed=3) == all_steps(make(53), 53, seed=3)


@pytest.mark.parametrize("at_a_time", [2, 7, 33, 1000])
def test_the_steps_do_not_depend_on_how_many_are_asked_for_at_a_time(make, at_a_time):
    assert all_steps(make(53), 53, at_a_time=at_a_time) == all_steps(make(53), 53)


def test_propensities_are_probabilities_of_a_draw_or_none_for_a_pick(make):
    selector = make(53)
    for step in all_steps(selector, 53):
        for choice in step.choices:
            if selector.draws:
                assert choice.propensity is not None
                assert 0 < choice.propensity <= 1
            else:
                assert choice.propensity is None


@pytest.mark.parametrize("asked", [0, 5, 37])
def test_asking_leaves_the_state_it_was_given_alone(make, asked):
    rng = np.random.default_rng(0)
    selector = make(53)
    _, state = steps_of(selector, selector.init(53, rng), asked, rng)
    before = pickle.dumps(state)
    steps_of(selector, state, 11, rng)
    assert pickle.dumps(state) == before


@pytest.mark.parametrize("asked", [0, 6, 37])
def test_its_state_survives_pickling(make, asked):
    rng = np.random.default_rng(0)
    selector = make(53)
    _, state = steps_of(selector, selector.init(53, rng), asked, rng)
    again = pickle.loads(pickle.dumps(state))
    assert (
        steps_of(selector, again, 11, copy.deepcopy(rng))[0]
        == steps_of(selector, state, 11, rng)[0]
    )


def test_a_selector_serves_several_runs(make):
    selector = make(53)
    first = all_steps(selector, 53, seed=1)
    all_steps(selector, 53, seed=2)
    assert all_steps(selector, 53, seed=1) == first


def test_positions_are_plain_integers(make):
    # NumPy's own would break JSON and compare as arrays.
    for step in all_steps(make(5), 5):
        assert all(type(choice.position) is int for choice in step.choices)
        assert all(type(position) is int for position in step.leave)

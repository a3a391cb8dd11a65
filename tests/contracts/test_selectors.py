"""What every selector promises (`protocols.Selector`), for one system, for two and for many."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from support.pools import differences, known_beforehand
from support.selectors import PICKERS, make_picker, make_selector, steps_of

from judgeloop.core.records import Abstention, Label, Verdict
from judgeloop.methods.selectors.catalogue import CLUSTERINGS, COMBINATIONS, REPRESENTATIVES
from judgeloop.methods.selectors.confidence_systematic import ConfidenceSystematic
from judgeloop.methods.selectors.credible import Credible
from judgeloop.methods.selectors.cross_entropy import CrossEntropy
from judgeloop.methods.selectors.diffuse import DiffUse
from judgeloop.methods.selectors.halving import Halving
from judgeloop.methods.selectors.ingredients import Variant
from judgeloop.methods.selectors.mmd_critic import MMDCritic
from judgeloop.methods.selectors.race import Racing
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
    **{clustering: variant(clustering=clustering) for clustering in CLUSTERINGS},
    **{f"by {one}": variant(representative=one) for one in REPRESENTATIVES},
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
SIZES = [1, 2, 5, 30, 53]

SYSTEMS, BASELINE, RISK = 5, 2, 0.1
OTHERS = [system for system in range(SYSTEMS) if system != BASELINE]


def opinions_of(items):
    opinions = (
        np.random.default_rng(items).integers(-1, 2, size=(3, items, SYSTEMS)).astype(np.int8)
    )
    opinions[:, :, BASELINE] = 0
    return opinions


def picker(name):
    return lambda items: make_picker(name, opinions_of(items), BASELINE, (0.2, 0.3))


AMONG_MANY = {
    "race": lambda items: Racing(SYSTEMS, BASELINE, RISK),
    "credible": lambda items: Credible(SYSTEMS, BASELINE),
    "random": lambda items: Random(tuple((one, BASELINE) for one in OTHERS)),
    "halving": lambda items: Halving(
        np.random.default_rng(items).integers(1, 999, (SYSTEMS, items)), BASELINE, 3 * items
    ),
    **{name: picker(name) for name in PICKERS},
}
WHOLE_POOL = ("random", *PICKERS)
EVERY = SELECTORS | {f"{name}, of many": made for name, made in AMONG_MANY.items()}


def answer(choice):
    """Scores by item and system, and an abstention now and then."""
    number = 7 * choice.position + 3 * choice.systems[0]
    return Abstention("no") if number % 19 == 0 else Verdict(number % 5 / 4)


def told(steps, answer=answer):
    return [Label(choice, answer(choice)) for step in steps for choice in step.choices]


def all_steps(selector, items, *, at_a_time=1, seed=1, answer=answer):
    """Ask until nothing is left; answers are told whenever the selector waits for them."""
    rng = np.random.default_rng(seed)
    state, steps, waiting = selector.init(items, rng), [], []
    while True:
        more, state = steps_of(selector, state, at_a_time, rng)
        assert len(more) <= at_a_time
        if not more and not waiting:
            return steps
        steps += more
        waiting += more
        if not more:
            state, waiting = selector.tell(state, told(waiting, answer)), []


@pytest.fixture(params=EVERY)
def make(request):
    return EVERY[request.param]


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("name", SELECTORS)
def test_it_exhausts_the_pool_and_leaves_every_item_in_the_decision(name, items):
    active = set()
    for step in all_steps(SELECTORS[name](items), items):
        positions = [choice.position for choice in step.choices]
        assert positions, "no step is empty"
        assert len(set(positions)) == len(positions)
        assert not set(positions) & set(step.leave)
        assert set(step.leave) <= active, "only what entered may leave"
        active -= set(step.leave)
        assert not set(positions) & active, "what is in the decision may not enter again"
        active |= set(positions)
    assert active == set(range(items))


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("name", AMONG_MANY)
def test_of_many_a_step_is_one_query_for_systems_in_order_and_none_comes_twice(name, items):
    seen = set()
    for step in all_steps(AMONG_MANY[name](items), items):
        assert step.choices
        assert step.leave == ()
        assert len({choice.position for choice in step.choices}) == 1
        systems = [choice.systems[0] for choice in step.choices]
        assert systems == sorted(set(systems) & set(OTHERS))
        assert {choice.systems[1] for choice in step.choices} == {BASELINE}
        keys = {choice.key for choice in step.choices}
        assert not keys & seen
        seen |= keys
    if name in WHOLE_POOL:
        assert len(seen) == items * len(OTHERS)


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("name", ["race", "credible"])
def test_level_systems_are_asked_about_to_the_end_of_the_pool(name, items):
    steps = all_steps(AMONG_MANY[name](items), items, answer=lambda choice: Verdict(0.5))
    assert len({choice.key for step in steps for choice in step.choices}) == items * len(OTHERS)


@pytest.mark.parametrize("at_a_time", [7, 1000])
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


def test_asking_and_telling_leave_the_state_they_were_given_alone(make):
    rng, selector = np.random.default_rng(0), make(53)
    state = selector.init(53, rng)
    for most in (5, 32, 11):
        before = pickle.dumps(state)
        steps, asked = steps_of(selector, state, most, rng)
        assert pickle.dumps(state) == before
        before = pickle.dumps(asked)
        state = selector.tell(asked, told(steps))
        assert pickle.dumps(asked) == before


@pytest.mark.parametrize("asked", [0, 37])
def test_its_state_survives_pickling(make, asked):
    rng, selector = np.random.default_rng(0), make(53)
    steps, state = steps_of(selector, selector.init(53, rng), asked, rng)
    state = selector.tell(state, told(steps))
    again = pickle.loads(pickle.dumps(state))
    further = steps_of(selector, again, 11, copy.deepcopy(rng))[0]
    assert further == steps_of(selector, state, 11, rng)[0]


def test_a_selector_serves_several_runs(make):
    selector = make(53)
    first = all_steps(selector, 53, seed=1)
    all_steps(selector, 53, seed=2)
    assert all_steps(selector, 53, seed=1) == first


def test_positions_and_systems_are_plain_integers(make):
    # NumPy's own would break JSON and compare as arrays.
    for step in all_steps(make(5), 5):
        numbers = [number for choice in step.choices for number in choice.key]
        assert {type(number) for number in (*numbers, *step.leave)} == {int}

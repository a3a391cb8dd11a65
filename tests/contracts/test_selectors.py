"""What every selector promises (`protocols.Selector`), for one system, for two and for many: each
row of the catalogue, made of what it says it looks at."""

from __future__ import annotations

from collections import Counter
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from support.pools import differences
from support.selectors import PICKERS, answered, steps_of
from support.walking import all_steps as all_steps_told

from judgeloop.catalogue import SELECTORS, selector_names, selector_row, selectors_of
from judgeloop.core.errors import InputError
from judgeloop.core.records import Abstention, Draws, Verdict
from judgeloop.methods.rows import Draft
from judgeloop.methods.stats.strata import Strata
from judgeloop.papers.settings import CLUSTERINGS, COMBINATIONS, REPRESENTATIVES

SIZES = [1, 2, 5, 30]
SYSTEMS, BASELINE = 5, 2
OTHERS = [system for system in range(SYSTEMS) if system != BASELINE]


def draft_for(row, items):
    """What a row is made of: what it says that it looks at, and nothing else."""
    systems, baseline = {"compare": (2, 1), "select": (SYSTEMS, BASELINE), "estimate": (1, None)}[row.question]
    rng = np.random.default_rng(items)
    opinions = rng.integers(-1, 2, size=(3, items, SYSTEMS)).astype(np.int8)
    opinions[:, :, BASELINE] = 0
    labels = np.unique(np.arange(items) % 7 // 2, return_inverse=True)[1].astype(np.int64)
    both = (differences(items), differences(items, seed=6))
    found = {row.vectors: both if row.vectors == "outputs" and row.question == "compare" else both[0]}
    if row.vectors == "states":
        found |= {"elbow": 4, ("clusters", 4): Strata(labels), ("clusters", 8): Strata(labels)}
    if "confidence" in row.takes:
        found["confidence"] = rng.random(items).round(1)
    if "weak_judges" in row.takes:
        found["opinions"] = opinions
    settings = {"epsilon": (0.2, 0.3)} if "epsilon" in row.takes else {}
    return Draft(
        items,
        items,
        0.1,
        start=4,
        systems=systems,
        baseline=baseline,
        settings=SimpleNamespace(**settings),
        found=found,
    )


def made(row, items=53, **settings):
    """The selector of a row, made of what the row says it looks at and of nothing else."""
    draft = draft_for(row, items)
    vars(draft.settings).update(settings)
    return row.make(draft)


def titled(row):
    return f"{row.question}-{row.name}"


DIFFUSE, ACTRACER = selector_row("compare", "diffuse"), selector_row("estimate", "actracer")
VARIANTS = [
    *({"combine": combine} for combine in COMBINATIONS),
    *({"clustering": clustering} for clustering in CLUSTERINGS),
    *({"representative": representative} for representative in REPRESENTATIVES),
]
FEW = (
    {titled(row): partial(made, row) for row in SELECTORS if row.question != "select"}
    | {f"diffuse {variant}": partial(made, DIFFUSE, **variant) for variant in VARIANTS}
    | {"actracer by the first token": partial(made, ACTRACER, confidence_by="first-token")}
)
AMONG_MANY = {row.name: partial(made, row) for row in SELECTORS if row.question == "select"}
WHOLE_POOL = ("random", *PICKERS)
EVERY = FEW | {f"{name}, of many": make for name, make in AMONG_MANY.items()}
every_row = pytest.mark.parametrize("row", SELECTORS, ids=titled)


def answer(choice):
    """Scores by item and system, and an abstention now and then."""
    number = 7 * choice.position + 3 * choice.systems[0]
    return Abstention("no") if number % 19 == 0 else Verdict(number % 5 / 4)


all_steps = partial(all_steps_told, answer=answer)


@pytest.fixture(params=EVERY)
def make(request):
    return EVERY[request.param]


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("name", FEW)
def test_it_exhausts_the_pool_and_leaves_every_item_in_the_decision(name, items):
    active = set()
    for step in all_steps(FEW[name](items), items):
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
def test_of_many_a_step_asks_about_systems_in_order_and_none_twice(name, items):
    seen = set()
    for step in all_steps(AMONG_MANY[name](items), items):
        assert step.choices
        assert step.leave == ()
        systems = [choice.systems[0] for choice in step.choices]
        assert set(systems) <= set(OTHERS)
        if name != "race":  # a race asks on several items at once
            assert len({choice.position for choice in step.choices}) == 1
            assert systems == sorted(set(systems))
        assert {choice.systems[1] for choice in step.choices} == {BASELINE}
        keys = {choice.key for choice in step.choices}
        assert not keys & seen
        seen |= keys
    if name in WHOLE_POOL:
        assert len(seen) == items * len(OTHERS)


@pytest.mark.parametrize("items", SIZES)
def test_level_systems_are_asked_about_to_the_end_of_the_pool(items):
    steps = all_steps(AMONG_MANY["race"](items), items, answer=lambda choice: Verdict(0.5))
    assert len({choice.key for step in steps for choice in step.choices}) == items * len(OTHERS)


@pytest.mark.parametrize("at_a_time", [7, 1000])
def test_the_steps_do_not_depend_on_how_many_are_asked_for_at_a_time(make, at_a_time):
    assert all_steps(make(30), 30, at_a_time=at_a_time) == all_steps(make(30), 30)


def test_propensities_are_probabilities_of_a_draw_or_none_for_a_pick(make):
    selector = make(30)
    for step in all_steps(selector, 30):
        for choice in step.choices:
            if selector.draws:
                assert choice.propensity is not None
                assert 0 < choice.propensity <= 1
            else:
                assert choice.propensity is None


def test_asking_and_telling_leave_the_state_they_were_given_alone(make):
    def steps_from(state, most):
        return steps_of(selector, state, most, np.random.default_rng(most))

    selector = make(53)
    state = selector.init(53, np.random.default_rng(0))
    for most in (5, 32, 11):
        steps, asked = steps_from(state, most)
        after = selector.tell(asked, answered(steps, answer))
        later = steps_from(after, 3)[0]
        assert steps_from(state, most)[0] == steps
        assert steps_from(selector.tell(asked, answered(steps, answer)), 3)[0] == later
        state = after


def test_a_selector_serves_several_runs(make):
    selector = make(30)
    first = all_steps(selector, 30, seed=1)
    all_steps(selector, 30, seed=2)
    assert all_steps(selector, 30, seed=1) == first


def test_positions_and_systems_are_plain_integers(make):
    # NumPy's own would break JSON and compare as arrays.
    for step in all_steps(make(5), 5):
        numbers = [number for choice in step.choices for number in choice.key]
        assert {type(number) for number in (*numbers, *step.leave)} == {int}


@pytest.mark.smoke
@every_row
def test_a_row_makes_a_selector_of_its_name_that_comes_by_its_choices_as_it_says(row):
    selector = made(row)
    assert (selector.name, selector.draws) == (row.name, row.draws)
    systems = {choice.systems for step in all_steps(selector, 53) for choice in step.choices}
    others = {(one, BASELINE) for one in OTHERS}
    assert systems <= {"compare": {(0, 1)}, "select": others, "estimate": {(0,)}}[row.question]


@pytest.mark.parametrize("row", [row for row in SELECTORS if row.draws is not Draws.PICKED], ids=titled)
def test_another_seed_gives_other_draws(row):
    assert all_steps(made(row), 53, seed=3) != all_steps(made(row), 53, seed=4)


def test_a_name_stands_once_a_question_and_is_found_by_both():
    names = Counter((row.question, row.name) for row in SELECTORS)
    assert set(names.values()) == {1}
    assert all(selector_row(*name).name == name[1] for name in names)


@pytest.mark.parametrize("question", sorted({row.question for row in SELECTORS}))
def test_variants_without_one_of_their_parts_are_listed_where_they_are_asked_for(question):
    ablations = [row.name for row in SELECTORS if row.question == question and row.ablation]
    assert selector_names(question, ablations=True) == (*selector_names(question), *ablations)
    assert not any(row.ablation for row in selectors_of(question))


@pytest.mark.parametrize(("question", "name"), [("compare", "race"), ("estimate", "best"), ("", "random")])
def test_a_name_that_a_question_does_not_have_is_an_error(question, name):
    with pytest.raises(InputError, match=rf"a selector of {question}.*'{name}'"):
        selector_row(question, name)


LOOKING = [row for row in SELECTORS if row.vectors or row.takes & {"confidence", "weak_judges"}]


@pytest.mark.parametrize("row", LOOKING, ids=titled)
def test_what_it_looks_at_of_another_pool_is_refused(row):
    with pytest.raises(ValueError, match=r"53\b.* 54\b|54\b.* 53\b"):
        made(row).init(54, np.random.default_rng(0))


FINITE = [row for row in LOOKING if row.vectors not in {"", "states"} or row.name == "confidence-systematic"]


@pytest.mark.parametrize("row", FINITE, ids=titled)
def test_values_that_are_not_finite_are_refused(row):
    draft = draft_for(row, 53)
    for what, values in draft.found.items():
        draft.found[what] = (
            tuple(np.full_like(one, np.nan) for one in values)
            if isinstance(values, tuple)
            else np.full_like(values, np.nan)
        )
    with pytest.raises(ValueError, match="not finite"):
        row.make(draft).init(53, np.random.default_rng(0))

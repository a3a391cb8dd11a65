"""Every row of the selectors' catalogue: it makes the selector that it names, of what it says the
selector looks at."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.pools import differences, known_beforehand
from support.walking import all_steps

from judgeloop.core.records import Draws
from judgeloop.methods.selectors.catalogue import (
    SELECTORS,
    Need,
    names_of,
    selector_row,
    selectors_of,
)
from judgeloop.methods.selectors.ingredients import ForMany, ForOne, ForTwo
from judgeloop.methods.stats.strata import Strata

pytestmark = pytest.mark.smoke

ITEMS, SYSTEMS, BASELINE = 37, 5, 2
every_row = pytest.mark.parametrize("row", SELECTORS, ids=lambda row: f"{row.question}-{row.name}")


def to_compare(row):
    return ForTwo(
        start=4,
        vectors=differences(ITEMS) if row.looks_at_vectors else None,
        prospects=known_beforehand(ITEMS) if Need.HISTORY in row.needs else None,
    )


def to_select(row):
    rng = np.random.default_rng(3)
    opinions = rng.integers(-1, 2, size=(3, ITEMS, SYSTEMS)).astype(np.int8)
    opinions[:, :, BASELINE] = 0
    return ForMany(
        SYSTEMS,
        BASELINE,
        level=0.1 if Need.RISK in row.needs else None,
        limit=3 * ITEMS,
        lengths=rng.integers(1, 999, (SYSTEMS, ITEMS)) if Need.LENGTHS in row.needs else None,
        opinions=opinions if Need.OPINIONS in row.needs else None,
        epsilons=(0.2, 0.3) if Need.EPSILONS in row.needs else None,
    )


def to_estimate(row):
    parts = row.needs & {Need.CLUSTERS, Need.SECTIONS}
    states = row.needs & {Need.OUTPUT_VECTORS, Need.LAST_STATES}
    return ForOne(
        strata=Strata(np.arange(ITEMS) % 4) if parts else Strata.single(ITEMS),
        limit=20,
        start=4,
        vectors=differences(ITEMS) if states else None,
        confidence=np.random.default_rng(4).random(ITEMS) if Need.CONFIDENCE in row.needs else None,
        allocation=row.allocation or "mc-ucb",
    )


GIVEN = {"compare": to_compare, "select": to_select, "estimate": to_estimate}


def made(row):
    """The selector of a row, made of what the row says it looks at and of nothing else."""
    return row.make(GIVEN[row.question](row))


@every_row
def test_it_makes_a_selector_of_its_name_that_comes_by_its_choices_as_it_says(row):
    selector = made(row)
    assert selector.name == row.name
    assert selector.draws is row.draws


@every_row
def test_the_same_seed_gives_the_same_draws_whichever_was_made_first(row):
    steps = all_steps(made(row), ITEMS, seed=3)
    assert steps
    assert all_steps(made(row), ITEMS, seed=3) == steps


@pytest.mark.parametrize("row", [row for row in SELECTORS if row.draws is not Draws.PICKED])
def test_another_seed_gives_other_draws(row):
    assert all_steps(made(row), ITEMS, seed=3) != all_steps(made(row), ITEMS, seed=4)


@every_row
def test_its_choices_are_about_the_systems_of_the_question(row):
    systems = {choice.systems for step in all_steps(made(row), ITEMS) for choice in step.choices}
    others = {(one, BASELINE) for one in range(SYSTEMS) if one != BASELINE}
    assert systems <= {"compare": {(0, 1)}, "select": others, "estimate": {(0,)}}[row.question]


def test_a_name_stands_once_a_question_and_is_found_by_both():
    names = Counter((row.question, row.name) for row in SELECTORS)
    assert set(names.values()) == {1}
    assert all(selector_row(*name).name == name[1] for name in names)


@pytest.mark.parametrize("question", GIVEN)
def test_variants_without_one_of_their_parts_are_listed_where_they_are_asked_for(question):
    ablations = [row.name for row in SELECTORS if row.question == question and row.ablation]
    assert names_of(question, ablations=True) == (*names_of(question), *ablations)
    assert not any(row.ablation for row in selectors_of(question))


@pytest.mark.parametrize(
    ("question", "name"), [("compare", "race"), ("estimate", "best"), ("", "random")]
)
def test_a_name_that_a_question_does_not_have_is_an_error(question, name):
    with pytest.raises(KeyError, match=name):
        selector_row(question, name)


LOOKING = [row for row in SELECTORS if row.needs - {Need.RISK, Need.EPSILONS, Need.LENGTHS}]


@pytest.mark.parametrize("row", LOOKING, ids=lambda row: f"{row.question}-{row.name}")
def test_what_it_looks_at_of_another_pool_is_refused(row):
    with pytest.raises(ValueError, match=rf"{ITEMS}\b.* {ITEMS + 1}\b|{ITEMS + 1}\b.* {ITEMS}\b"):
        made(row).init(ITEMS + 1, np.random.default_rng(0))


FINITE = [
    row
    for row in LOOKING
    if not row.needs & {Need.CLUSTERS, Need.SECTIONS}
    and (row.looks_at_vectors or row.needs & {Need.CONFIDENCE})
]


@pytest.mark.parametrize("row", FINITE, ids=lambda row: f"{row.question}-{row.name}")
def test_values_that_are_not_finite_are_refused(row):
    given = GIVEN[row.question](row)
    name = "vectors" if given.vectors is not None else "confidence"
    unknown = replace(given, **{name: np.full_like(getattr(given, name), np.nan)})
    with pytest.raises(ValueError, match="not finite"):
        row.make(unknown).init(ITEMS, np.random.default_rng(0))

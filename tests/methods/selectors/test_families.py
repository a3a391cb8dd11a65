from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from judgeloop.core.records import Draws, Item, Label, Pool, Verdict
from judgeloop.methods.selectors.families import ByFamily, by_family, members_of
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.selectors.random import Random

pytestmark = pytest.mark.smoke


def pool(*items):
    return Pool(tuple(Item(f"q{at}", prompt, family=family) for at, (prompt, family) in enumerate(items)), (), ())


def test_items_with_the_same_prompt_are_a_family_whatever_their_white_space():
    assert pool(("a b", None), ("c", None), (" a\n b ", None), ("", None), ("", None)).families == (
        (0, 2),
        (1,),
        (3,),
        (4,),
    )


@pytest.mark.parametrize(
    "copy",
    ["WHAT is it", "What is it?!", "What\u200b is it?", "“What is it?”", "What is\u00a0it \uff1f", "…what is it"],
)
def test_a_prompt_is_the_same_whatever_its_case_and_the_marks_around_it(copy):
    others = [("What is C++?", None), ("What is C#?", None), ("What is C - D?", None), ("What is C + D?", None)]
    assert pool(("What is it?", None), *others, (copy, None)).families == ((0, 5), (1,), (2,), (3,), (4,))


def test_a_copy_with_its_outputs_is_of_one_family_whatever_is_said():
    items = [Item(f"q{at}", f"prompt {at % 3}", family=f"conversation {at}") for at in range(9)]
    same = [f"output {at % 3}" for at in range(9)]
    other = [f"output {at}" for at in range(9)]
    assert Pool(tuple(items), ("a", "b"), (tuple(same), tuple(same))).families == ((0, 3, 6), (1, 4, 7), (2, 5, 8))
    assert len(Pool(tuple(items), ("a", "b"), (tuple(same), tuple(other))).families) == 9
    assert len(Pool(tuple(items), ("a",), (("",) * 9,)).families) == 9, "answers that are not there are no copies"


def test_where_an_item_names_its_family_prompts_make_none():
    assert pool(("a", "x"), ("a", None), ("b", "x"), ("a", None)).families == ((0, 2), (1,), (3,))


FAMILIES = ((0, 3, 4), (1,), (2, 5))


def drawn(selector, seed):
    rng, order = np.random.default_rng(seed), []
    state = selector.init(len(FAMILIES), rng)
    while (found := selector.ask(state, rng))[0] is not None:
        step, state = found
        order += [(choice.position, choice.propensity) for choice in step.choices]
    return order


def test_each_order_of_families_and_each_member_is_equally_likely():
    family_of = {at: family for family, members in enumerate(FAMILIES) for at in members}
    orders, members = Counter(), Counter()
    for seed in range(3000):
        order = drawn(by_family(Random(), members_of(FAMILIES, 1, seed)), seed)
        assert [propensity for _, propensity in order] == [1 / 3, 1 / 2, 1]
        orders[tuple(family_of[at] for at, _ in order)] += 1
        members.update(at for at, _ in order)
    assert all(abs(count - 500) < 100 for count in orders.values())
    assert len(orders) == 6
    assert all(abs(members[at] * len(FAMILIES[family]) - 3000) < 300 for at, family in family_of.items())


def test_without_families_the_selector_stays_as_it_is():
    selector = Random()
    assert by_family(selector, ()) is selector


def test_a_race_is_told_of_families():
    members = members_of([(at, at + 30) for at in range(30)], 1, 0)
    selector = by_family(Racing(systems=3, baseline=0, risk=0.1, sampled=True), members)
    assert isinstance(selector, ByFamily)
    assert selector.draws is Draws.EVEN
    rng = np.random.default_rng(0)
    state, asked = selector.init(30, rng), []
    while (found := selector.ask(state, rng))[0] is not None:
        step, state = found
        asked += step.choices
        state = selector.tell(state, [Label(choice, Verdict(1.0)) for choice in step.choices])
    assert {choice.position for choice in asked} <= {member for (member,) in members}
    assert len({choice.key for choice in asked}) == len(asked)
    with pytest.raises(ValueError, match="30 families"):
        selector.init(60, rng)

from __future__ import annotations

import numpy as np
import pytest
from support.pools import make_pool

from judgeloop.core.outcomes import DecoyTally
from judgeloop.core.pool import Pool
from judgeloop.core.records import Abstention, Verdict
from judgeloop.engine.decoys import NAME, TEXTS, decoy_queries, tally


def queries(items=40, count=10, seed=0):
    return decoy_queries(make_pool(items), count, np.random.default_rng(seed))


def test_a_decoy_is_set_against_a_real_answer_to_its_own_item():
    pool = make_pool(40)
    for query in queries():
        position = pool.items.index(query.item)
        real, decoy = query.systems
        assert decoy == NAME
        assert query.outputs[0] == pool.outputs[pool.systems.index(real)][position]
        assert query.outputs[1] in TEXTS


def test_decoys_are_on_distinct_items_while_there_are_enough():
    assert len({query.item.id for query in queries(items=10, count=10)}) == 10
    twice = [query.item.id for query in queries(items=4, count=8)]
    assert {twice.count(item) for item in twice} == {2}


def test_decoys_take_turns_with_both_systems_and_with_every_text():
    made = queries(count=2 * len(TEXTS))
    assert [query.systems[0] for query in made] == ["a", "b"] * len(TEXTS)
    assert [query.outputs[1] for query in made] == [*TEXTS, *TEXTS]


def test_the_same_generator_draws_the_same_decoys_and_another_others():
    assert queries(seed=1) == queries(seed=1) != queries(seed=2)


@pytest.mark.parametrize("count", [0, 1])
def test_as_many_decoys_are_made_as_are_asked_for(count):
    assert len(queries(count=count)) == count


def test_decoys_are_counted_by_how_they_fared_as_the_second_of_their_query():
    answers = [
        Verdict(0.0),
        Verdict(0.25),
        Verdict(0.5),
        Verdict(0.75),
        Verdict(1.0),
        Verdict(1.0),
        Abstention("no"),
    ]
    found = tally(answers)
    assert found == DecoyTally(won=2, tied=1, lost=3, abstained=1)
    assert found.asked == len(answers)


def test_no_decoys_are_no_count():
    assert tally([]) == tally([], rated=True) == DecoyTally(0, 0, 0, 0)


def rated_alone(count):
    pool = make_pool(40)
    one = Pool(pool.items, pool.systems[:1], pool.outputs[:1])
    return decoy_queries(one, count, np.random.default_rng(0))


def test_where_one_system_is_rated_a_decoy_is_rated_alone():
    made = rated_alone(2 * len(TEXTS))
    assert [(query.systems, query.outputs) for query in made] == [
        ((NAME,), (text,)) for text in TEXTS * 2
    ]


def test_a_decoy_rated_alone_is_on_the_item_on_which_it_would_be_set_against_an_answer():
    assert [query.item for query in rated_alone(10)] == [query.item for query in queries()]


def test_decoys_rated_alone_are_counted_by_whether_they_got_more_than_half():
    answers = [
        Verdict(0.0),
        Verdict(0.49),
        Verdict(0.25),
        Verdict(0.5),
        Verdict(0.51),
        Verdict(1.0),
        Abstention("no"),
    ]
    assert tally(answers, rated=True) == DecoyTally(won=2, tied=1, lost=3, abstained=1)

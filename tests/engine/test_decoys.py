"""Decoys: how they are made and counted; asked first, paid for, and never in the decision."""

from __future__ import annotations

import numpy as np
import pytest
from support.driving import AT_ONCE, run, script_from
from support.pools import make_pool, scores

from judgeloop.core.outcomes import DecoyTally, StopKind
from judgeloop.core.pool import Pool
from judgeloop.core.records import Abstention, Verdict
from judgeloop.engine.decoys import NAME, TEXTS, decoy_queries, tally
from judgeloop.engine.terms import Terms
from judgeloop.judges.scripted import ScriptedJudge

pytestmark = pytest.mark.usefixtures("no_task_is_lost")


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


@pytest.mark.parametrize(
    ("scores", "rated"),
    [((0, 0.25, 0.5, 0.75, 1, 1), False), ((0, 0.49, 0.25, 0.5, 0.51, 1), True)],
)
def test_decoys_are_counted_by_how_they_fared_second_or_against_a_half(scores, rated):
    answers = [*map(Verdict, scores), Abstention("no")]
    found = tally(answers, rated=rated)
    assert found == DecoyTally(won=2, tied=1, lost=3, abstained=1)
    assert found.asked == len(answers)


def rated_alone(count):
    pool = make_pool(40)
    one = Pool(pool.items, pool.systems[:1], pool.outputs[:1])
    return decoy_queries(one, count, np.random.default_rng(0))


def test_where_one_system_is_rated_a_decoy_is_rated_alone():
    made = rated_alone(2 * len(TEXTS))
    assert [(query.systems, query.outputs) for query in made] == [
        ((NAME,), (text,)) for text in TEXTS * 2
    ]


def test_a_decoy_rated_alone_is_on_the_same_item_as_one_that_is_compared():
    assert [query.item for query in rated_alone(10)] == [query.item for query in queries()]


def content_first(call):
    """Prefers any answer of a system to a decoy, and between systems the first."""
    if NAME in call.systems:
        return Verdict(float(call.systems[1] == NAME))
    return Verdict(float(call.systems[0] == "a"))


def test_decoys_are_asked_first_paid_for_and_never_in_the_decision():
    with_decoys = ScriptedJudge(content_first, cost_p=3)
    finished = run(with_decoys, terms=Terms("run", decoys=6, policy=AT_ONCE))
    kinds = [NAME in call.systems for call in with_decoys.calls]
    assert kinds == [True] * 12 + [False] * 10
    assert finished.decoys == DecoyTally(won=0, tied=0, lost=6, abstained=0)
    assert finished.spend.charged_p == 3 * len(with_decoys.calls)
    assert finished.outcome.asked == 5


@pytest.mark.parametrize("selector", ["random", "diffuse"])
def test_a_run_draws_the_same_items_with_decoys_as_without(selector):
    table = scores(40, 3)
    script = script_from(table)
    one, other = (
        run(ScriptedJudge(lambda call: Verdict(0.5) if NAME in call.systems else script(call)), selector=selector,
            terms=Terms("run", decoys=decoys))
        for decoys in (0, 7)
    )  # fmt: skip
    assert one.outcome == other.outcome
    assert (one.decoys, other.decoys) == (None, DecoyTally(won=0, tied=7, lost=0, abstained=0))


def test_decoys_that_the_budget_does_not_cover_halt_the_run():
    judge = ScriptedJudge(content_first, cost_p=3)
    finished = run(judge, terms=Terms("run", decoys=6, budget_p=20, concurrency=1))
    assert finished.outcome.stop.kind is StopKind.BUDGET
    assert finished.outcome.asked == 0
    assert finished.decoys.asked == 3
    assert finished.spend.charged_p == 18

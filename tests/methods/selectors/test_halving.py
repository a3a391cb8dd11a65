"""Successive halving: its limit, its rounds, who goes on, and which queries come first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.selectors import answered, oracle, steps_of

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.halving import KEPT, SHRINKING, Halving
from judgeloop.methods.stopping.best_of_many import FixedBudget


def lengths_of(systems, items, seed=0):
    return np.random.default_rng(seed).integers(1, 5000, size=(systems, items))


def rounds_of(selector, items, scores, *, at_a_time=1000, seed=0):
    """Steps and the states before and after them, round by round, until nothing is asked."""
    rng = np.random.default_rng(seed)
    state = selector.init(items, rng)
    while True:
        steps, asked = steps_of(selector, state, at_a_time, rng)
        if not steps:
            return
        told = selector.tell(asked, answered(steps, oracle(scores)))
        yield steps, state, told
        state = told


@settings(max_examples=60, deadline=None)
@given(
    systems=st.integers(2, 30),
    items=st.integers(1, 60),
    limit=st.integers(0, 900),
    seed=st.integers(0, 1000),
)
def test_no_more_judgments_than_the_limit_and_no_query_twice(systems, items, limit, seed):
    rng = np.random.default_rng(seed)
    scores = rng.choice([0, 0.5, 1, np.nan], size=(systems, items))
    selector = Halving(lengths_of(systems, items, seed), 0, limit)
    asked = [
        choice
        for steps, _, _ in rounds_of(selector, items, scores)
        for step in steps
        for choice in step.choices
    ]
    assert len(asked) <= limit
    assert len({choice.key for choice in asked}) == len(asked)


def test_the_limit_is_used_up_but_for_what_makes_no_whole_query():
    # 8 systems, of which 4, 2 and 1 go on: rounds of so many whole queries as their shares pay for;
    # the last takes all that is left.
    shares = SHRINKING ** np.arange(3)
    first, second = (
        int(301 * share / shares.sum() / each) for share, each in zip(shares, (8, 4), strict=False)
    )
    selector = Halving(lengths_of(9, 500), 8, 301)
    asked = [
        steps for steps, _, _ in rounds_of(selector, 500, np.random.default_rng(0).random((9, 500)))
    ]
    sizes = [(len(steps), len(steps[0].choices)) for steps in asked]
    assert sizes == [(first, 8), (second, 4), ((301 - 8 * first - 4 * second) // 2, 2)]
    assert sum(queries * each for queries, each in sizes) == 300


@settings(max_examples=30, deadline=None)
@given(
    systems=st.integers(2, 20), seed=st.integers(0, 1000), at_a_time=st.sampled_from([1, 3, 1000])
)
def test_every_round_keeps_the_better_half_by_the_win_rates_so_far(systems, seed, at_a_time):
    rng = np.random.default_rng(seed)
    scores = rng.choice([0, 0.5, 1, np.nan], size=(systems, 80), p=[0.35, 0.2, 0.35, 0.1])
    selector = Halving(lengths_of(systems, 80, seed), 0, 40 * systems)
    points, heard = np.zeros(systems), np.zeros(systems)
    for steps, before, after in rounds_of(selector, 80, scores, at_a_time=at_a_time, seed=seed):
        for step in steps:
            assert tuple(choice.systems[0] for choice in step.choices) == before.systems
            for choice in step.choices:
                score = scores[choice.systems[0], choice.position]
                points[choice.systems[0]] += np.nan_to_num(score)
                heard[choice.systems[0]] += not np.isnan(score)
        if after.number == before.number:
            assert after.systems == before.systems, "nobody goes in the middle of a round"
            continue
        assert set(after.systems) <= set(before.systems)
        assert len(after.systems) == max(1, -int(-len(before.systems) * KEPT // 1))
        rates = points / np.maximum(heard, 1)
        gone = set(before.systems) - set(after.systems)
        assert all(rates[kept] >= rates[lost] for kept in after.systems for lost in gone)


def test_level_systems_at_the_cut_go_on_in_the_order_drawn():
    found = set()
    for seed in range(30):
        selector = Halving(lengths_of(5, 40), 4, 80)
        (_, before, after), *_ = rounds_of(selector, 40, np.full((5, 40), 0.5), seed=seed)
        found.add(after.systems)
        first = sorted(before.systems, key=lambda one, order=before.order: order[one])[:2]
        assert after.systems == tuple(sorted(first))
    assert len(found) > 3, "and that order is another one for another seed"


def test_queries_come_first_where_the_lengths_of_those_in_question_differ_most():
    # Logarithms of 1 + length: the third query's are spread most, then the first's; the second's
    # are alike.
    lengths = np.array([[9, 99, 9], [99, 99, 999], [9, 99, 99]])
    rng = np.random.default_rng(0)
    selector = Halving(lengths, 2, 6)
    steps, _ = steps_of(selector, selector.init(3, rng), 10, rng)
    assert [step.choices[0].position for step in steps] == [2, 0, 1]


def test_the_length_of_who_is_out_no_longer_counts():
    # The third system is long on the first three queries and comes last there; the other two differ
    # on the last ones.
    lengths = np.full((4, 8), 99)
    lengths[2, :4] = [9999, 9998, 9997, 9996]
    lengths[1, 6:] = [999, 998]
    scores = np.vstack([np.full(8, 1.0), np.full(8, 0.5), np.zeros(8), np.full(8, 0.5)])
    selector = Halving(lengths, 3, 18)
    (first, _, _), (second, before, _) = rounds_of(selector, 8, scores)
    assert [step.choices[0].position for step in first] == [0, 1, 2]
    assert before.systems == (0, 1)
    assert [step.choices[0].position for step in second] == [6, 7, 3, 4]


def test_an_abstention_is_no_loss():
    # The first wins once and abstains otherwise; the second wins two of three. One goes on.
    scores = np.array([[1, np.nan, np.nan], [1, 1, 0], [0.5, 0.5, 0.5]])
    ((_, _, after),) = rounds_of(Halving(lengths_of(3, 3), 2, 6), 3, scores)
    assert after.systems == (0,)


@pytest.mark.parametrize("limit", [8, 60, 200, 10_000])
def test_in_a_session_the_best_is_named_at_the_end_of_the_budget(limit):
    scores = np.repeat([[1.0], [0.0], [0.5], [0.0], [0.0]], 30, axis=1)
    session = Session(
        items=30,
        selector=Halving(lengths_of(5, 30), 2, limit),
        estimator=WinRates(5, 2),
        rule=FixedBudget(),
        limits=Limits(1, limit, 1.0),
        rng=np.random.default_rng(0),
    )
    outcome = replay(session, lambda choice: Verdict(scores[choice.systems[0], choice.position]))
    assert outcome.winner == 0
    assert outcome.asked <= limit
    assert outcome.stop.kind is (
        StopKind.ALL_JUDGED if limit == 10_000 else StopKind.POOL_EXHAUSTED
    )

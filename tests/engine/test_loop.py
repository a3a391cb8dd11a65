"""The async driver: one outcome at every concurrency, a budget that holds, nothing paid for twice,
nothing lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.driving import AT_ONCE, jitter, run, script_from
from support.pools import make_pool, make_session, scores

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Item, Order, Pool, Verdict
from judgeloop.engine import asks, generating
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.papers.diffuse.rules import TieAware

pytestmark = pytest.mark.usefixtures("no_task_is_lost")


@pytest.mark.parametrize("selector", ["random", "diffuse"])
@pytest.mark.parametrize("seed", range(3))
def test_live_and_replay_end_the_same_at_concurrency_1_and_64(selector, seed):
    table = scores(60, seed)
    recorded = replay(
        make_session(60, selector, seed=seed),
        lambda choice: Verdict(table[choice.position], both=table[choice.position] != 0.5),
    )
    spends = set()
    for concurrency in (1, 64):
        judge = ScriptedJudge(script_from(table), cost_p=3, worst_p=5, delay_s=jitter)
        finished = run(
            judge, items=60, selector=selector, seed=seed,
            terms=Terms("run", concurrency=concurrency, policy=AT_ONCE),
        )  # fmt: skip
        assert finished.ending == recorded
        spends.add(finished.spend)
    assert len(spends) == 1, "and cost the same"


@pytest.mark.parametrize(("silent", "most", "counted"), [((5, 22), 0.05, 22), ((5, 22), 0.1, 60), ((5, 41), 0.05, 60)])
def test_as_many_abstentions_end_a_run_live_as_in_a_replay(silent, most, counted):
    """At 5 %, two of the first 22 are too many, and two of the first 41 are not."""
    limits = Limits(60, 60, max_abstentions=most)
    order = list(islice((choice.position for choice in make_session(60, limits=limits).ahead()), 60))
    table = [1.0 if order.index(place) + 1 in silent else 0.5 for place in range(60)]

    def answer(score):
        return Abstention("refused") if score == 1.0 else Verdict(score)

    recorded = replay(make_session(60, limits=limits), lambda choice: answer(table[choice.position]))
    judge = ScriptedJudge(lambda call: answer(table[int(call.item.id.removeprefix("item-"))]), delay_s=jitter)
    assert run(judge, items=60, limits=limits).ending == recorded
    ended = StopKind.ABSTENTIONS if counted == 22 else StopKind.POOL_EXHAUSTED
    assert (recorded.stop.kind, len(recorded.labels)) == (ended, counted)


@settings(max_examples=8)
@given(seed=st.integers(0, 1000), budget=st.integers(0, 400), concurrency=st.sampled_from([1, 2, 3, 8, 64]))
def test_the_budget_holds_and_cuts_at_the_same_place_at_every_concurrency(seed, budget, concurrency):
    table = scores(40, seed)

    def spend(concurrency):
        judge = ScriptedJudge(script_from(table), cost_p=3, worst_p=10, delay_s=lambda call: 0)
        finished = run(
            judge, seed=seed, rule=TieAware(0.01),
            terms=Terms("run", budget_p=budget, concurrency=concurrency, policy=AT_ONCE),
        )  # fmt: skip
        assert finished.spend.charged_p == 3 * len(judge.calls) <= budget
        return finished

    one, other = spend(1), spend(concurrency)
    assert (one.ending, one.spend) == (other.ending, other.spend)
    if one.ending.stop.kind is StopKind.BUDGET:
        assert budget - one.spend.charged_p < 20, "what is left would not cover another query"


@pytest.mark.smoke
def test_a_second_run_asks_nobody_and_spends_nothing(tmp_path):
    table = scores(40, 1)
    first, second = (ScriptedJudge(script_from(table), cost_p=4) for _ in range(2))
    before = run(first, ledger=tmp_path / "l.sqlite")
    after = run(second, ledger=tmp_path / "l.sqlite")
    assert first.calls
    assert not second.calls
    assert after.ending == before.ending
    assert (after.spend.now_p, after.spend.run_p) == (0, before.spend.run_p)
    assert after.spend.remembered == len(first.calls)


def test_a_run_that_ran_out_of_money_stays_out_until_its_budget_is_raised(tmp_path):
    table = scores(40, 1)

    def again(budget):
        judge = ScriptedJudge(script_from(table), cost_p=10)
        terms = Terms("run", budget_p=budget, policy=AT_ONCE)
        return run(judge, ledger=tmp_path / "l.sqlite", rule=TieAware(0.01), terms=terms), judge

    poor, _ = again(100)
    assert poor.ending.stop.kind is StopKind.BUDGET
    still, judge = again(100)
    assert not judge.calls
    assert still.ending == poor.ending
    rich, judge = again(200)
    bought = rich.spend.run_p - poor.spend.run_p
    assert 10 * len(judge.calls) == bought > 0, "only what the first runs had not bought"
    assert 180 <= rich.spend.run_p <= 200


def test_identical_outputs_are_a_tie_that_nobody_is_asked_about():
    pool = replace(make_pool(6), outputs=(("same",) * 6, ("same",) * 6))
    judge = ScriptedJudge(lambda call: Verdict(1.0))
    outcome = run(judge, items=6, pool=pool).ending
    assert not judge.calls
    assert outcome.estimate.tally.ties == 6


@pytest.mark.parametrize("concurrency", [1, 8])
def test_items_with_the_same_texts_are_asked_about_once(concurrency):
    items = tuple(Item(f"item-{i}", "the same prompt") for i in range(8))
    pool = Pool(items, ("a", "b"), (("x",) * 8, ("y",) * 8))
    judge = ScriptedJudge(lambda call: Verdict(1.0 if call.systems[0] == "a" else 0.0), delay_s=jitter)
    outcome = run(judge, items=8, pool=pool, terms=Terms("run", concurrency=concurrency)).ending
    assert len(judge.calls) == 2
    assert outcome.winner == 0


@pytest.mark.parametrize("concurrency", [1, 2, 3, 8])
def test_no_more_calls_are_in_flight_than_allowed(concurrency):
    now, most = 0, 0

    class Counting(ScriptedJudge):
        async def judge(self, call):
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1
            return await super().judge(call)

    judge = Counting(script_from([1.0, 0.0] * 20))
    run(judge, limits=Limits(20, 20), terms=Terms("run", concurrency=concurrency))
    assert most == concurrency


def test_progress_is_reported_and_ends_at_the_total():
    seen = []
    judge = ScriptedJudge(script_from(scores(40, 5)), cost_p=2, delay_s=jitter)
    finished = run(judge, observe=seen.append)
    assert [progress.asked for progress in seen] == sorted(progress.asked for progress in seen)
    assert seen[-1].asked == finished.ending.asked
    assert seen[-1].spent_p == finished.spend.now_p
    assert seen[-1].estimate == finished.ending.estimate


def test_the_attempts_counted_are_those_that_were_sent():
    """A second call that is not needed was reserved, and is no attempt."""
    judge = ScriptedJudge(script_from([0.5, 1.0] * 10), cost_p=1)
    finished = run(judge, items=20, terms=Terms("run"), limits=Limits(20, 20))
    assert finished.spend.attempts == len(judge.calls) == 10 * 1 + 10 * 2


def test_a_query_is_planned_shortly_before_it_is_admitted(monkeypatch):
    planned, seen = [], []

    def noted(query, *rest):
        planned.append(query.item.id)
        return asks.plan_for(query, *rest)

    def script(call):
        seen.append((len(planned), call.item.id in planned))
        return Verdict(1.0)

    monkeypatch.setattr(generating, "plan_for", noted)
    outcome = run(
        ScriptedJudge(script, cost_p=1), limits=Limits(20, 20),
        terms=Terms("run", order=Order.FIXED, concurrency=2),
    ).ending  # fmt: skip
    assert outcome.rounds == 1
    assert [ahead for ahead, _ in seen] == sorted(ahead for ahead, _ in seen)
    assert all(before for _, before in seen)
    assert seen[0][0] == 3, "half as many again as may be in flight, of the round's twenty"
    assert len(planned) == len(set(planned)) == 20

"""The async driver: one outcome at every concurrency, a budget that holds, nothing paid for twice, nothing lost."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pools import make_pool, make_session, scores

from judgeloop.core.errors import JudgeQuitError, JudgeRejectedError, TransientJudgeError
from judgeloop.core.pool import Pool
from judgeloop.core.records import Abstention, DecoyTally, Item, StopKind, Verdict
from judgeloop.engine.batch import AHEAD
from judgeloop.engine.decoys import NAME
from judgeloop.engine.halt import Interruption
from judgeloop.engine.loop import drive
from judgeloop.engine.panel import Vote
from judgeloop.engine.presentation import Order
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits
from judgeloop.engine.terms import Terms
from judgeloop.judges.retrying import RetryPolicy
from judgeloop.judges.scripted import ScriptedJudge
from judgeloop.ledger.sqlite import SqliteLedger
from judgeloop.stopping.tie_aware import TieAware


@pytest.fixture(autouse=True)
def _no_task_is_lost(caplog):
    """asyncio only logs an exception that nobody looked at, or a task that nobody waited for."""
    yield
    gc.collect()
    assert not [
        record.getMessage()
        for record in caplog.records
        if record.name == "asyncio" and record.levelno >= 40
    ]


AT_ONCE = RetryPolicy(first_wait_s=0.0)


def script_from(table):
    """A judge that always agrees with itself: the score of the item, turned round where the order is."""

    def script(call):
        score = table[int(call.item.id.removeprefix("item-"))]
        return Verdict(score if call.systems[0] == "a" else 1 - score)

    return script


def jitter(call):
    """Replies that arrive out of order, the same way every time."""
    return (hash((call.item.id, call.systems)) % 7) / 2000


def run(
    judge,
    *,
    items=40,
    pool=None,
    terms=None,
    ledger=":memory:",
    interruption=None,
    observe=None,
    **session,
):
    async def story():
        book = SqliteLedger(ledger)
        try:
            return await drive(
                make_session(items, **session),
                pool or make_pool(items),
                judge,
                book,
                terms or Terms("run", policy=AT_ONCE),
                interruption=interruption,
                observe=observe or (lambda progress: None),
            )
        finally:
            await book.aclose()

    return asyncio.run(story())


@pytest.mark.parametrize("selector", ["random", "diffuse"])
@pytest.mark.parametrize("seed", range(6))
def test_live_and_replay_end_the_same_at_concurrency_1_and_64(selector, seed):
    table = scores(60, seed)
    recorded = replay(
        make_session(60, selector, seed=seed), lambda choice: Verdict(table[choice.position])
    )
    spends = set()
    for concurrency in (1, 64):
        judge = ScriptedJudge(script_from(table), cost_p=3, worst_p=5, delay_s=jitter)
        finished = run(
            judge, items=60, selector=selector, seed=seed,
            terms=Terms("run", concurrency=concurrency, policy=AT_ONCE),
        )  # fmt: skip
        assert finished.outcome == recorded
        spends.add(finished.spend)
    assert len(spends) == 1, "and cost the same"


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    budget=st.integers(0, 400),
    concurrency=st.sampled_from([1, 2, 3, 8, 64]),
)
def test_the_budget_is_never_exceeded_and_cuts_at_the_same_place_at_every_concurrency(
    seed, budget, concurrency
):
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
    assert (one.outcome, one.spend) == (other.outcome, other.spend)
    if one.outcome.stop.kind is StopKind.BUDGET:
        assert budget - one.spend.charged_p < 20, "what is left would not cover another query"


def test_a_second_run_asks_nobody_and_spends_nothing(tmp_path):
    table = scores(40, 1)
    first, second = (ScriptedJudge(script_from(table), cost_p=4) for _ in range(2))
    before = run(first, ledger=tmp_path / "l.sqlite")
    after = run(second, ledger=tmp_path / "l.sqlite")
    assert first.calls
    assert not second.calls
    assert after.outcome == before.outcome
    assert (after.spend.now_p, after.spend.run_p) == (0, before.spend.run_p)
    assert after.spend.remembered == len(first.calls)


def test_a_run_that_ran_out_of_money_stays_out_until_its_budget_is_raised(tmp_path):
    table = scores(40, 1)

    def again(budget):
        judge = ScriptedJudge(script_from(table), cost_p=10)
        terms = Terms("run", budget_p=budget, policy=AT_ONCE)
        return run(judge, ledger=tmp_path / "l.sqlite", rule=TieAware(0.01), terms=terms), judge

    poor, _ = again(100)
    assert poor.outcome.stop.kind is StopKind.BUDGET
    still, judge = again(100)
    assert not judge.calls
    assert still.outcome == poor.outcome
    rich, judge = again(200)
    assert len(judge.calls) == 10, "only what the first runs had not bought"
    assert rich.spend.run_p == 200


def test_both_orders_are_asked_and_a_judge_that_favours_a_place_gives_ties_that_are_counted():
    judge = ScriptedJudge(lambda call: Verdict(1.0))
    outcome = run(judge, limits=Limits(max_judgments=10)).outcome
    assert Counter(call.systems for call in judge.calls) == {("a", "b"): 10, ("b", "a"): 10}
    assert (outcome.estimate.tally.ties, outcome.estimate.tally.flips) == (10, 10)


@pytest.mark.parametrize(
    ("order", "matters"), [(Order.RANDOM, True), (Order.FIXED, True), (Order.BOTH, False)]
)
def test_one_order_costs_one_call(order, matters):
    judge = ScriptedJudge(script_from([1.0] * 40), order_matters=matters)
    outcome = run(judge, terms=Terms("run", order=order)).outcome
    assert len(judge.calls) == outcome.asked == 5
    assert outcome.winner == 0


def test_identical_outputs_are_a_tie_that_nobody_is_asked_about():
    pool = replace(make_pool(6), outputs=(("same",) * 6, ("same",) * 6))
    judge = ScriptedJudge(lambda call: Verdict(1.0))
    outcome = run(judge, items=6, pool=pool).outcome
    assert not judge.calls
    assert outcome.estimate.tally.ties == 6


@pytest.mark.parametrize("concurrency", [1, 8])
def test_items_with_the_same_texts_are_asked_about_once(concurrency):
    items = tuple(Item(f"item-{i}", "the same prompt") for i in range(8))
    pool = Pool(items, ("a", "b"), (("x",) * 8, ("y",) * 8))
    judge = ScriptedJudge(
        lambda call: Verdict(1.0 if call.systems[0] == "a" else 0.0), delay_s=jitter
    )
    outcome = run(judge, items=8, pool=pool, terms=Terms("run", concurrency=concurrency)).outcome
    assert len(judge.calls) == 2
    assert outcome.winner == 0


@pytest.mark.parametrize("concurrency", [1, 2, 3, 8])
def test_no_more_calls_are_in_flight_than_allowed(concurrency):
    now, most = 0, 0

    class Counting:
        def __init__(self):
            self.inner = ScriptedJudge(script_from([1.0, 0.0] * 20))
            self.identity, self.order_matters = self.inner.identity, True
            self.blind, self.priced, self.quote = True, True, self.inner.quote

        async def judge(self, call):
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1
            return await self.inner.judge(call)

    run(Counting(), limits=Limits(20, 20), terms=Terms("run", concurrency=concurrency))
    assert most == concurrency


def failing(times, error):
    """A script that fails so many times on each call before it answers."""
    failed = Counter()

    def script(call):
        key = (call.item.id, call.systems)
        if failed[key] < times:
            failed[key] += 1
            raise error
        return Verdict(1.0 if call.systems[0] == "a" else 0.0)

    return script


@pytest.mark.parametrize(("billed", "cost_p"), [(False, 2), (True, 2 + 2 * 7)])
def test_every_attempt_is_a_reservation_of_its_own(billed, cost_p):
    judge = ScriptedJudge(
        failing(2, TransientJudgeError("busy", billed=billed)), cost_p=2, worst_p=7
    )
    finished = run(judge, items=5)
    assert finished.outcome.winner == 0
    assert len(judge.calls) == 10 * 3
    assert finished.spend.charged_p == 10 * cost_p


def test_a_call_that_fails_to_its_last_attempt_abstains_and_is_asked_again_next_time(tmp_path):
    error = TransientJudgeError("busy", billed=False)

    def script(call):
        if call.item.id == "item-3":
            raise error
        return Verdict(1.0 if call.systems[0] == "a" else 0.0)

    ledger = tmp_path / "l.sqlite"
    terms = Terms("run", policy=AT_ONCE, order=Order.FIXED)
    outcome = run(ScriptedJudge(script), items=5, ledger=ledger, terms=terms).outcome
    assert outcome.estimate.tally.abstentions == 1
    judge = ScriptedJudge(script_from([1.0] * 5))
    outcome = run(judge, items=5, ledger=ledger, terms=terms).outcome
    assert [call.item.id for call in judge.calls] == ["item-3"]
    assert outcome.estimate.tally.abstentions == 0


def test_a_judge_that_is_down_stops_the_run():
    judge = ScriptedJudge(failing(10**6, TransientJudgeError("no reply", billed=False)))
    outcome = run(judge, limits=Limits(30, 30, 1.0)).outcome
    assert outcome.stop.kind is StopKind.JUDGE_FAILED
    assert "no reply" in outcome.stop.sentence
    assert len(judge.calls) <= 4 * (5 + round(AHEAD * 8)), (
        "five calls, and what was in flight with them"
    )


def test_a_rejection_stops_at_once_and_keeps_what_was_in_flight(tmp_path):
    def script(call):
        if call.item.id == "item-7":
            raise JudgeRejectedError("the key is not accepted", billed=False)
        return Verdict(1.0 if call.systems[0] == "a" else 0.0)

    judge = ScriptedJudge(
        script, cost_p=1, delay_s=lambda call: 0.0 if call.item.id == "item-7" else 0.02
    )
    finished = run(judge, limits=Limits(40, 40), ledger=tmp_path / "l.sqlite")
    assert finished.outcome.stop.kind is StopKind.JUDGE_FAILED
    assert "not accepted" in finished.outcome.stop.sentence
    assert finished.spend.charged_p == sum(call.item.id != "item-7" for call in judge.calls)
    again = ScriptedJudge(script_from([1.0] * 40))
    run(again, limits=Limits(40, 40), ledger=tmp_path / "l.sqlite")
    assert len(again.calls) == 80 - finished.spend.charged_p


def test_a_charge_above_the_worst_case_stops_the_run():
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=9, worst_p=5)
    outcome = run(judge).outcome
    assert outcome.stop.kind is StopKind.JUDGE_FAILED
    assert "more than the worst case" in outcome.stop.sentence


def test_a_judge_that_never_answers_is_timed_out_and_stays_charged():
    judge = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1, worst_p=6, delay_s=lambda call: 60)
    terms = Terms("run", timeout_s=0.05, policy=RetryPolicy(attempts=1), order=Order.FIXED)
    finished = run(judge, items=2, terms=terms)
    assert finished.outcome.stop.kind is StopKind.ABSTENTIONS
    assert "no reply within" in finished.outcome.stop.sentence
    assert finished.spend.charged_p == 12


def test_a_fault_in_a_judge_surfaces_after_what_was_in_flight_has_landed(tmp_path):
    def script(call):
        if call.item.id == "item-2":
            raise ZeroDivisionError
        return Verdict(1.0)

    ledger = tmp_path / "l.sqlite"
    judge = ScriptedJudge(
        script, cost_p=1, worst_p=4, delay_s=lambda c: 0.0 if c.item.id == "item-2" else 0.02
    )
    with pytest.raises(ZeroDivisionError):
        run(judge, items=5, ledger=ledger, terms=Terms("run", order=Order.FIXED))
    again = ScriptedJudge(script_from([1.0] * 5), cost_p=1)
    finished = run(again, items=5, ledger=ledger, terms=Terms("run", order=Order.FIXED))
    assert [call.item.id for call in again.calls] == ["item-2"]
    assert finished.spend.run_p == 4 + 4 + 1, (
        "four verdicts, the fault at its worst case, and the one asked again"
    )


def test_an_interruption_drains_what_is_in_flight_and_keeps_it(tmp_path):
    async def story(ledger):
        interruption, book = Interruption(), SqliteLedger(ledger)
        judge = ScriptedJudge(script_from([1.0, 0.0] * 20), cost_p=1, delay_s=lambda call: 0.03)
        asyncio.get_running_loop().call_later(0.04, interruption.request)
        finished = await drive(
            make_session(40, limits=Limits(40, 40)), make_pool(40), judge, book,
            Terms("run", concurrency=4), interruption=interruption,
        )  # fmt: skip
        await book.aclose()
        return finished, judge

    finished, judge = asyncio.run(story(tmp_path / "l.sqlite"))
    assert finished.outcome.stop.kind is StopKind.INTERRUPTED
    assert 0 < finished.outcome.asked < 40
    assert finished.spend.charged_p == len(judge.calls) == 2 * finished.outcome.asked


def test_a_second_interruption_abandons_what_is_in_flight_and_leaves_it_charged(tmp_path):
    async def story():
        interruption, book = Interruption(), SqliteLedger(tmp_path / "l.sqlite")
        judge = ScriptedJudge(
            lambda call: Verdict(1.0), cost_p=1, worst_p=5, delay_s=lambda call: 60
        )
        loop = asyncio.get_running_loop()
        loop.call_later(0.05, interruption.request)
        loop.call_later(0.1, interruption.request)
        finished = await drive(
            make_session(40),
            make_pool(40),
            judge,
            book,
            Terms("run", concurrency=4),
            interruption=interruption,
        )
        await book.aclose()
        return finished, judge

    finished, judge = asyncio.run(asyncio.wait_for(story(), 10))
    assert finished.outcome.stop.kind is StopKind.INTERRUPTED
    assert finished.outcome.asked == 0
    assert finished.spend.charged_p == 5 * len(judge.calls) > 0


def test_a_deadline_drains_what_is_in_flight_and_keeps_it(tmp_path):
    async def story():
        book = SqliteLedger(tmp_path / "l.sqlite")
        judge = ScriptedJudge(script_from([1.0, 0.0] * 20), cost_p=1, delay_s=lambda call: 0.05)
        finished = await drive(
            make_session(40, limits=Limits(40, 40)), make_pool(40), judge, book,
            Terms("run", concurrency=4, deadline_s=0.5),
        )  # fmt: skip
        await book.aclose()
        return finished, judge

    finished, judge = asyncio.run(story())
    assert finished.outcome.stop.kind is StopKind.DEADLINE
    assert finished.outcome.stop.sentence == "the deadline of 0.5 s is reached"
    assert 0 < finished.outcome.asked < 40
    assert finished.spend.charged_p == len(judge.calls) == 2 * finished.outcome.asked


def test_a_deadline_that_is_not_reached_changes_nothing_and_leaves_nothing_behind(tmp_path):
    interruption = Interruption()
    finished = run(
        ScriptedJudge(script_from([1.0] * 10), cost_p=1), items=10, interruption=interruption,
        ledger=tmp_path / "l.sqlite", terms=Terms("run", deadline_s=60.0),
    )  # fmt: skip
    assert finished.outcome.winner == 0
    assert not interruption.requested.is_set()


def test_an_interruption_ends_the_wait_for_another_attempt():
    async def story():
        interruption, book = Interruption(), SqliteLedger(":memory:")
        error = TransientJudgeError("busy", billed=False, retry_after_s=50)
        asyncio.get_running_loop().call_later(0.05, interruption.request)
        finished = await drive(
            make_session(40), make_pool(40), ScriptedJudge(failing(9, error)), book, Terms("run"),
            interruption=interruption,
        )  # fmt: skip
        await book.aclose()
        return finished

    finished = asyncio.run(asyncio.wait_for(story(), 10))
    assert finished.outcome.stop.kind is StopKind.INTERRUPTED


def test_a_cancelled_run_books_what_was_in_flight(tmp_path):
    async def story():
        book = SqliteLedger(tmp_path / "l.sqlite")
        judge = ScriptedJudge(
            lambda call: Verdict(1.0), cost_p=1, worst_p=5, delay_s=lambda call: 60
        )
        running = asyncio.create_task(
            drive(make_session(40), make_pool(40), judge, book, Terms("run"))
        )
        await asyncio.sleep(0.1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        spend = await book.spend("run", None)
        await book.aclose()
        return spend, judge

    spend, judge = asyncio.run(story())
    assert spend.charged_p == 5 * len(judge.calls) > 0


def test_offline_answers_from_the_ledger_and_halts_where_it_has_nothing(tmp_path):
    table, ledger = scores(40, 3), tmp_path / "l.sqlite"
    run(
        ScriptedJudge(script_from(table)),
        ledger=ledger,
        limits=Limits(max_judgments=7),
        rule=TieAware(-1),
    )
    judge = ScriptedJudge(script_from(table))
    terms = Terms("run", offline=True)
    outcome = run(
        judge, ledger=ledger, limits=Limits(max_judgments=20), rule=TieAware(-1), terms=terms
    ).outcome
    assert outcome.stop.kind is StopKind.DRY_RUN
    assert outcome.asked == 7
    assert not judge.calls


def test_an_abstention_is_asked_again_next_time(tmp_path):
    ledger, terms = tmp_path / "l.sqlite", Terms("run", order=Order.FIXED)
    run(ScriptedJudge(lambda call: Abstention("refused")), items=3, ledger=ledger, terms=terms)
    judge = ScriptedJudge(script_from([1.0] * 3))
    assert run(judge, items=3, ledger=ledger, terms=terms).outcome.winner == 0
    assert len(judge.calls) == 3


def test_progress_is_reported_and_ends_at_the_total():
    seen = []
    judge = ScriptedJudge(script_from(scores(40, 5)), cost_p=2, delay_s=jitter)
    finished = run(judge, observe=seen.append)
    assert [progress.asked for progress in seen] == sorted(progress.asked for progress in seen)
    assert seen[-1].asked == finished.outcome.asked
    assert seen[-1].spent_p == finished.spend.now_p
    assert seen[-1].estimate == finished.outcome.estimate


def test_the_models_that_answered_are_named():
    judge = ScriptedJudge(script_from([1.0] * 40), model="judge-2026-01-01")
    assert run(judge).models == (("judge-2026-01-01",),)


def panel_of(*tables, cost_p=0, worst_p=None):
    return [
        ScriptedJudge(script_from(table), cost_p=cost_p, worst_p=worst_p, model=f"judge-{number}")
        for number, table in enumerate(tables)
    ]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_each_judge_of_a_panel_is_asked_in_both_orders(size, concurrency):
    panel = panel_of(*[[1.0] * 40] * size, cost_p=2)
    finished = run(panel, terms=Terms("run", concurrency=concurrency))
    assert finished.outcome.winner == 0
    for judge in panel:
        assert Counter(call.systems for call in judge.calls) == {("a", "b"): 5, ("b", "a"): 5}
    assert finished.spend.charged_p == size * 10 * 2
    assert finished.models == tuple((f"judge-{number}",) for number in range(size))
    assert {label.answer.votes for label in finished.outcome.labels} == {(1.0,) * size}


@pytest.mark.parametrize(
    ("vote", "score"), [(Vote.MAJORITY, 1.0), (Vote.MEAN, 1.75 / 3), (Vote.UNANIMOUS, 0.5)]
)
def test_a_panel_decides_each_item_by_its_vote_and_keeps_the_votes(vote, score):
    finished = run(panel_of([1.0] * 40, [0.75] * 40, [0.0] * 40), terms=Terms("run", vote=vote),
                   limits=Limits(5, 5), rule=TieAware(-1))  # fmt: skip
    for label in finished.outcome.labels:
        assert label.answer.votes == (1.0, 0.75, 0.0)
        assert label.answer.score == pytest.approx(score)


def test_a_panel_outlives_one_judge_that_abstains_and_not_two():
    def silent(call):
        return Abstention("refused")

    def panel(silents):
        speaking = [script_from([1.0] * 40)] * (3 - silents)
        scripts = [silent] * silents + speaking
        return [ScriptedJudge(script, model=str(number)) for number, script in enumerate(scripts)]

    one = run(panel(1), limits=Limits(5, 5))
    assert {label.answer.votes for label in one.outcome.labels} == {(None, 1.0, 1.0)}
    two = run(panel(2), limits=Limits(5, 5, 1.0))
    assert two.outcome.estimate.tally.abstentions == 5


@settings(max_examples=15)
@given(budget=st.integers(0, 300), concurrency=st.sampled_from([1, 3, 16]))
def test_a_budget_covers_all_the_calls_of_a_panels_query_or_none(budget, concurrency):
    panel = panel_of([1.0, 0.0] * 20, [1.0, 0.0] * 20, [0.0, 1.0] * 20, cost_p=3, worst_p=10)
    terms = Terms("run", budget_p=budget, concurrency=concurrency)
    finished = run(panel, terms=terms, rule=TieAware(-1), limits=Limits(5, 40))
    asked = [sorted((call.item.id, call.systems) for call in judge.calls) for judge in panel]
    assert asked[0] == asked[1] == asked[2]
    assert {len(asked[0]), finished.spend.charged_p / 9} == {2 * finished.outcome.asked}
    assert finished.spend.charged_p <= budget
    if finished.outcome.stop.kind is StopKind.BUDGET:
        assert budget - finished.spend.charged_p < 60, "what is left would not cover another query"


def test_a_panel_that_answers_from_the_ledger_asks_only_the_judge_that_is_new(tmp_path):
    old, new = panel_of([1.0] * 40, [1.0] * 40)
    run([old], ledger=tmp_path / "l.sqlite")
    asked = len(old.calls)
    finished = run([old, new], ledger=tmp_path / "l.sqlite")
    assert len(old.calls) == asked == len(new.calls)
    assert finished.spend.remembered == asked


def unreadable(times):
    """A script whose replies cannot be read so many times on each call."""
    failed = Counter()

    def script(call):
        key = (call.item.id, call.systems)
        failed[key] += 1
        if failed[key] <= times:
            return Abstention("unparsable", again=True)
        return Verdict(1.0 if call.systems[0] == "a" else 0.0)

    return script


@pytest.mark.parametrize(
    ("times", "calls_each", "abstentions"), [(0, 1, 0), (1, 2, 0), (2, 2, 5), (9, 2, 5)]
)
def test_a_reply_that_cannot_be_read_is_asked_for_once_more_and_charged(
    times, calls_each, abstentions
):
    judge = ScriptedJudge(unreadable(times), cost_p=2, worst_p=5)
    finished = run(judge, items=5, terms=Terms("run", order=Order.FIXED), limits=Limits(5, 5, 1.0))
    assert len(judge.calls) == 5 * calls_each
    assert finished.spend.charged_p == 2 * len(judge.calls)
    assert finished.outcome.estimate.tally.abstentions == abstentions


def test_an_abstention_that_asking_again_would_not_mend_is_not_asked_again():
    judge = ScriptedJudge(lambda call: Abstention("refused"), cost_p=2)
    run(judge, items=5, terms=Terms("run", order=Order.FIXED), limits=Limits(5, 5, 1.0))
    assert len(judge.calls) == 5


def test_a_reply_that_cannot_be_read_stays_so_where_no_money_is_left_to_ask_again():
    judge = ScriptedJudge(unreadable(1), cost_p=4, worst_p=4)
    terms = Terms("run", order=Order.FIXED, budget_p=7, concurrency=1)
    finished = run(judge, items=1, terms=terms, limits=Limits(1, 1, 1.0))
    assert len(judge.calls) == 1
    assert finished.outcome.estimate.tally.abstentions == 1


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


def test_a_judge_that_prefers_whatever_is_a_decoy_is_seen():
    judge = ScriptedJudge(lambda call: Verdict(float(call.systems[0] == NAME)))
    assert run(judge, terms=Terms("run", decoys=4)).decoys.won == 4


def test_decoys_that_the_budget_does_not_cover_halt_the_run():
    judge = ScriptedJudge(content_first, cost_p=3)
    finished = run(judge, terms=Terms("run", decoys=6, budget_p=20, concurrency=1))
    assert finished.outcome.stop.kind is StopKind.BUDGET
    assert finished.outcome.asked == 0
    assert finished.decoys.asked == 3
    assert finished.spend.charged_p == 18


def test_a_crowded_server_is_asked_again_beyond_four_attempts_at_a_lower_pace():
    now, seen = 0, []

    class Crowded:
        """Bears two calls at a time."""

        inner = ScriptedJudge(script_from([1.0] * 40))
        identity, order_matters, blind, priced = inner.identity, True, True, True

        def quote(self, call):
            return self.inner.quote(call)

        async def judge(self, call):
            nonlocal now
            now += 1
            seen.append(now)
            try:
                await asyncio.sleep(0.001)
                if len(seen) < 60:
                    raise TransientJudgeError("HTTP 429", billed=False, crowded=True)
                return await self.inner.judge(call)
            finally:
                now -= 1

    policy = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.01)
    finished = run(
        Crowded(), terms=Terms("run", concurrency=10, policy=policy), limits=Limits(5, 5)
    )
    assert finished.outcome.winner == 0
    assert len(seen) > 4 * 10
    assert max(seen[:10]) == 10
    assert max(seen[20:60]) <= 7, "fewer at a time once it is crowded"
    assert finished.spend.charged_p == 0


def test_a_crowded_server_is_given_up_once_patience_is_at_its_end():
    error = TransientJudgeError("HTTP 429", billed=False, crowded=True)
    judge = ScriptedJudge(failing(10**9, error))
    policy = RetryPolicy(first_wait_s=0.01, longest_wait_s=0.01, patience_s=0.1)
    finished = run(
        judge,
        items=1,
        terms=Terms("run", order=Order.FIXED, policy=policy),
        limits=Limits(1, 1, 1.0),
    )
    assert finished.outcome.estimate.tally.abstentions == 1
    assert len(judge.calls) > 4


def test_a_judge_that_leaves_halts_the_run_as_if_interrupted_and_keeps_what_was_answered(tmp_path):
    def script(call):
        if len(judge.calls) > 3:
            raise JudgeQuitError
        return Verdict(1.0)

    judge = ScriptedJudge(script, cost_p=1)
    terms = Terms("run", order=Order.FIXED, concurrency=1)
    finished = run(judge, ledger=tmp_path / "l.sqlite", terms=terms, limits=Limits(9, 9))
    assert finished.outcome.stop.kind is StopKind.INTERRUPTED
    assert finished.outcome.asked == 3
    assert finished.spend.charged_p == 3
    again = ScriptedJudge(lambda call: Verdict(1.0), cost_p=1)
    run(again, ledger=tmp_path / "l.sqlite", terms=terms, limits=Limits(9, 9))
    assert len(again.calls) == 6


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_a_second_asking_waits_for_what_others_give_back_before_it_is_given_up(concurrency):
    asked = Counter()

    def script(call):
        asked[call.item.id] += 1
        return Abstention("unparsable", again=True) if asked[call.item.id] == 1 else Verdict(1.0)

    judge = ScriptedJudge(script, cost_p=1, worst_p=10, delay_s=lambda call: 0.002)
    finished = run(
        judge, items=8, rule=TieAware(-1), limits=Limits(8, 8, 1.0),
        terms=Terms("run", budget_p=80, order=Order.FIXED, concurrency=concurrency, policy=AT_ONCE),
    )  # fmt: skip
    assert finished.outcome.estimate.tally.abstentions == 0
    assert finished.spend.charged_p == 16


def test_where_no_money_comes_back_a_second_asking_is_given_up_and_nothing_hangs():
    judge = ScriptedJudge(lambda call: Abstention("unparsable", again=True), cost_p=10, worst_p=10)
    finished = run(
        judge, items=8, limits=Limits(8, 8, 1.0),
        terms=Terms("run", budget_p=80, order=Order.FIXED, concurrency=8, policy=AT_ONCE),
    )  # fmt: skip
    assert finished.outcome.estimate.tally.abstentions == 8
    assert finished.spend.charged_p == 80

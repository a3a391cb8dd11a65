"""Runs whose systems answer live: what is booked, how failures end, and what goes on later."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.driving import script_from
from support.systems import ScriptedSystem, run_live

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Item, Order, Output, Query, Quote
from judgeloop.engine.generating import Sources
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption, Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.providers.redaction import MASK

pytestmark = pytest.mark.usefixtures("no_task_is_lost")


ALL = frozenset(f"item-{n}" for n in range(40))


def failing_on(items):
    """Fails by itself on these items."""
    return lambda call: Output(None, "no key") if call.item.id in items else Output("an answer")


def billed_failure(call):
    raise JudgeError(ErrorKind.RETRY, "the stream ended early", billed=True)


def test_attempts_of_systems_that_brought_no_output_are_no_judging():
    system = ScriptedSystem(billed_failure, cost_p=3, worst_p=5)
    judge = ScriptedJudge(script_from([1.0] * 40), cost_p=2)
    spend = run_live(b=system, judge=judge, concurrency=1).spend
    assert judge.calls == []
    assert spend.outputs_p == spend.now_p == 5 * len(system.calls) > 0


def test_transport_failures_name_the_system_and_not_the_judge():
    stop = run_live(b=ScriptedSystem(billed_failure), concurrency=1).ending.stop
    assert stop.kind is StopKind.SYSTEM_FAILED
    assert stop.sentence == (
        "no verdict on 2 of 2 items, more than 5 %; the last reason: b gave no output: failed: the stream ended early"
    )


def test_where_both_systems_fail_it_is_a_tie_and_no_judge_is_asked():
    judge = ScriptedJudge(script_from([1.0] * 40))
    first, second = (ScriptedSystem(failing_on(ALL), model=name) for name in "ab")
    tally = run_live(a=first, b=second, judge=judge, max_failed=1.0).ending.estimate.tally
    assert (tally.ties, tally.wins, judge.calls) == (40, (0, 0), [])


@pytest.mark.parametrize("shared", [True, False])
def test_a_judge_and_a_system_at_one_server_share_its_pace(shared):
    now, most = 0, 0
    crowded = asyncio.Event()  # the server has as many calls at once as it may

    async def asked(reply, first):
        nonlocal now, most
        now += 1
        most = max(most, now)
        if most >= (2 if shared else 3):
            crowded.set()
        if not first:  # all but the first take until then
            await asyncio.wait_for(crowded.wait(), 30)
        now -= 1
        return await reply

    class OfAServer(ScriptedSystem):
        server = ("http://one", "key")

        async def answer(self, call):
            return await asked(super().answer(call), first=most == 0)

    class JudgeOfAServer(ScriptedJudge):
        server = ("http://one", "key" if shared else "another key")

        async def judge(self, call):
            return await asked(super().judge(call), first=False)

    run_live(b=OfAServer(), judge=JudgeOfAServer(script_from([1.0, 0.0] * 20)), concurrency=2)
    assert (most == 2) is shared
    assert most <= 4


@pytest.mark.parametrize("at_once", [1, 3])
def test_code_runs_as_many_at_a_time_as_its_caller_says(at_once):
    now, most = 0, 0

    class Counting(ScriptedSystem):
        async def answer(self, call):
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.002)
            now -= 1
            return await super().answer(call)

    run_live(b=Counting(at_once=at_once), concurrency=8)
    assert most == at_once


@pytest.mark.parametrize("abstains", [False, True])
def test_who_gives_no_output_has_lost_the_item_or_it_is_left_out(abstains):
    judge, failing = ScriptedJudge(script_from([1.0] * 40)), ScriptedSystem(failing_on(ALL))
    found = run_live(
        b=failing, judge=judge, max_failed=1.0, missing_abstains=abstains,
        limits=Limits(40, 40, 1.0),
    )  # fmt: skip
    (gave,), tally = found.generated, found.ending.estimate.tally
    assert judge.calls == []
    assert (gave.failed, gave.lost, gave.spared) == ((40, 0, 40) if abstains else (40, 40, 0))
    assert gave.why == (("no key", 40),)
    assert (tally.wins, tally.abstentions) == (((0, 0), 40) if abstains else ((40, 0), 0))


def test_text_that_arrived_is_judged_however_it_is_and_counted():
    given = {
        "item-1": Output("half", ended=OutputEnd.CUT),
        "item-2": Output(" "),
        "item-3": Output("<think>hm</think>good"),
        "item-4": Output(f"the key is {MASK}"),
    }
    judge = ScriptedJudge(script_from([1.0] * 40), order_matters=False)
    system = ScriptedSystem(lambda call: given.get(call.item.id, Output("plain")))
    (gave,) = run_live(b=system, judge=judge).generated
    assert len(judge.calls) == 40
    assert (gave.ended, gave.empty, gave.thoughts, gave.masked, gave.failed) == ({"cut": 1}, 1, 1, 1, 0)


@pytest.mark.parametrize("default", [True, False])
def test_a_default_limit_that_cuts_outputs_stops_the_run_and_ones_own_does_not(default):
    system = ScriptedSystem(lambda call: Output("half", ended=OutputEnd.CUT), limit_is_default=default)
    stop = run_live(b=system).ending.stop
    assert (stop.kind is StopKind.SYSTEM_FAILED) is default
    assert ("`system=b.toml.max-tokens=NUMBER`" in stop.sentence) is default


@pytest.mark.parametrize("cut", [1, 2])
def test_one_cut_output_among_the_first_twenty_is_not_too_many_and_two_are(cut):
    drawn = [label.choice.position for label in run_live(b=ScriptedSystem()).ending.labels]
    ids = {f"item-{at}" for at in drawn[:cut]}
    system = ScriptedSystem(
        lambda call: Output("some text", ended=OutputEnd.CUT if call.item.id in ids else OutputEnd.WHOLE),
        limit_is_default=True,
    )
    stop = run_live(b=system, limits=Limits(20, 20)).ending.stop
    assert (stop.kind is StopKind.SYSTEM_FAILED) is (cut > 1)


def test_identical_outputs_tie_without_a_judge_and_their_earmark_comes_back():
    judge = ScriptedJudge(script_from([1.0] * 40), cost_p=2)
    one, other = (ScriptedSystem(model=name, cost_p=1) for name in "ab")
    found = run_live(a=one, b=other, judge=judge, budget_p=10**6)
    assert judge.calls == []
    assert found.ending.estimate.tally.ties == len(one.calls) == found.ending.asked
    assert found.spend.run_p == len(one.calls) + len(other.calls)


def test_an_earmark_is_for_each_judge_and_order_at_twice_the_longest_output():
    """At first, the outputs are taken to be as long as the limit of tokens allows."""

    def quote(self, call):
        return Quote(sum(map(len, call.outputs)), 0)

    judges = [ScriptedJudge(script_from([1.0])), ScriptedJudge(script_from([1.0]))]
    judges[0].quote = judges[1].quote = quote.__get__(judges[0])
    query = Query(Item("i", "p"), ("a", "b"), ("own", ""), missing=(1,))
    system = ScriptedSystem()
    sources = Sources({"b": system}, judges, Terms("run", order=Order.BOTH))
    calls, known = 4, len("own") + len("1")  # the supposed text ends in the system's number
    assert sources.earmark(query).cost_p == calls * (known + system.longest_bytes)
    (ask,) = sources.asks(query)
    sources.learn(ask, Output("x" * 30))
    sources.plan(query)
    another = replace(query, item=Item("j", "p"))
    assert sources.earmark(another).cost_p == calls * (known + 2 * 30)


@pytest.mark.parametrize("judges", [1, 2])
def test_what_is_too_long_for_the_judge_counts_for_the_system_of_the_longest_text(judges):
    def too_long(call):
        raise JudgeError(ErrorKind.ITEM, "too long for the model", billed=False, too_long=True)

    panel = [ScriptedJudge(too_long, model=str(number)) for number in range(judges)]
    system = ScriptedSystem(lambda call: Output("x" * 900))
    found = run_live(b=system, judge=panel, limits=Limits(40, 40, 1.0))
    assert [one.too_long for one in found.generated] == [40]


def test_a_system_whose_model_changes_within_a_run_stops_it():
    models = ["m-1"] * 3 + ["m-2"] * 40
    system = ScriptedSystem(lambda call: Output("good", model=models[len(system.calls)]))
    stop = run_live(b=system, concurrency=1).ending.stop
    assert stop.kind is StopKind.SYSTEM_FAILED
    assert "the server of b answered as m-1, and then as m-2" in stop.sentence
    assert "`system=b.toml.version=TEXT`" in stop.sentence


def test_items_too_long_to_be_judged_are_counted_by_the_system_of_the_longest_text():
    long = ScriptedSystem(lambda call: Output("x" * (900 if call.item.id < "item-2" else 9)))
    limits = Limits(40, 40, 1.0)
    gave = run_live(a=long, b=ScriptedSystem(model="b"), limits=limits, max_item_bytes=500).generated
    assert [one.too_long for one in gave] == [12, 0]  # item-0, item-1, and item-10 to item-19


class ByTheByte(ScriptedJudge):
    """A judge whose calls cost a picodollar a byte of the outputs."""

    def quote(self, call):
        size = sum(map(len, call.outputs))
        return Quote(size, size)

    async def judge(self, call):
        return replace(await super().judge(call), cost_p=self.quote(call).cost_p)


@pytest.mark.parametrize(("budget_p", "concurrency"), [(300, 8), (1_000, 1), (1_800, 8)])
def test_no_budget_is_exceeded_by_outputs_longer_than_the_earmark(tmp_path, budget_p, concurrency):
    system = ScriptedSystem(lambda call: Output("x" * (9 if len(system.calls) % 3 else 900)), cost_p=20)
    judge = ByTheByte(script_from([1.0, 0.0] * 20))
    given = {"b": system, "judge": judge, "ledger": tmp_path / "l.sqlite", "concurrency": concurrency}
    found = run_live(**given, budget_p=budget_p)
    assert found.ending.stop.kind is StopKind.BUDGET
    assert found.spend.run_p <= budget_p
    more = run_live(**given)
    assert len(system.calls) == len(set(system.calls)) == 40, "all outputs stayed in the ledger"
    assert more.ending.asked == 40


@pytest.mark.parametrize(("budget_p", "asked"), [(2_500, 1), (2_200, 0)])
@pytest.mark.parametrize("slow", [0, 1])
def test_money_beyond_the_earmarks_goes_to_earlier_items_first(slow, budget_p, asked):
    """Outputs of 900 bytes, for which 200 are set aside: there is money for one item, and for none."""
    drawn = [label.choice.position for label in run_live(b=ScriptedSystem()).ending.labels]
    last = f"item-{drawn[slow]}"

    class Uneven(ScriptedSystem):
        async def answer(self, call):
            await asyncio.sleep(0.05 if call.item.id == last else 0.0)
            return await super().answer(call)

    judge = ByTheByte(script_from([1.0] * 40))
    system = Uneven(lambda call: Output("x" * 900))
    found = run_live(b=system, judge=judge, budget_p=budget_p, concurrency=2)
    assert found.ending.stop.kind is StopKind.BUDGET
    assert found.ending.asked == asked
    assert {call.item.id for call in judge.calls} == {f"item-{at}" for at in drawn[:asked]}


def test_a_judge_that_fails_beside_a_system_is_not_passed_over():
    def at_first(call):
        return billed_failure(call) if call.item.id == first else Output("an answer")

    position = run_live(b=ScriptedSystem()).ending.labels[0].choice.position
    first = f"item-{position}"
    judge = ScriptedJudge(lambda call: Abstention("cannot read it"))
    stop = run_live(b=ScriptedSystem(at_first), judge=judge, concurrency=1).ending.stop
    assert stop.kind is StopKind.ABSTENTIONS
    assert stop.sentence.startswith("no verdict on 2 of 2 items")


def test_a_cost_above_its_maximum_is_the_systems():
    spend = run_live(b=ScriptedSystem(cost_p=9, worst_p=5), concurrency=1).spend
    assert (spend.outputs_p, spend.now_p) == (9, 9)


def test_what_an_interruption_abandons_of_a_system_is_the_systems():
    interruption = Interruption()

    def script(call):
        raise AssertionError("it is abandoned")

    class Interrupting(ScriptedSystem):
        async def answer(self, call):
            loop = asyncio.get_running_loop()
            loop.call_soon(interruption.request)
            loop.call_later(0.05, interruption.request)
            return await super().answer(call)

    system = Interrupting(script, worst_p=5, delay_s=60)
    finished = run_live(b=system, interruption=interruption, concurrency=1)
    assert finished.ending.stop.kind is StopKind.INTERRUPTED
    assert finished.spend.outputs_p == finished.spend.now_p == 5


def test_outputs_and_verdicts_are_booked_apart():
    judge = ScriptedJudge(script_from([1.0] * 10), cost_p=2)
    spend = run_live(10, a=ScriptedSystem(cost_p=3), b=ScriptedSystem(cost_p=4, model="b"), judge=judge).spend
    assert (spend.outputs_p, spend.now_p) == (70, 70 + 2 * len(judge.calls))


def test_a_mended_system_is_asked_again_where_it_failed_too_often(tmp_path):
    broken = ScriptedSystem(failing_on({f"item-{n}" for n in range(0, 40, 2)}), lasts=False)
    stuck = run_live(b=broken, ledger=tmp_path / "l.sqlite")
    assert stuck.ending.stop.kind is StopKind.SYSTEM_FAILED
    mended = ScriptedSystem(lasts=False)
    done = run_live(b=mended, ledger=tmp_path / "l.sqlite")
    (gave,) = done.generated
    assert (done.ending.asked, gave.failed) == (40, 0)
    assert gave.remembered == 40 - len(mended.calls) > 0, "what it gave is kept"
    again = ScriptedSystem(lasts=False)
    assert run_live(b=again, ledger=tmp_path / "l.sqlite").generated[0].failed == 0
    assert again.calls == []


@pytest.mark.parametrize("lasts", [False, True])
def test_few_failures_stay_so_that_no_second_sample_takes_their_place(tmp_path, lasts):
    system = ScriptedSystem(failing_on({"item-3"}), lasts=lasts)
    for most in (20, 40):
        found = run_live(b=system, ledger=tmp_path / "l.sqlite", limits=Limits(most, most))
    assert found.generated[0].failed == 1
    assert len(system.calls) == len(set(system.calls)) == 40


@pytest.mark.parametrize(("good", "concurrency"), [(0, 1), (0, 64), (8, 1), (24, 64), (56, 1), (120, 64)])
def test_a_system_that_breaks_is_found_after_8_16_32_or_64_items(good, concurrency):
    def script(call):
        return Output("an answer") if len(system.calls) <= good else Output(None, "no key")

    system = ScriptedSystem(script)
    run_live(200, b=system, concurrency=concurrency)
    assert len(system.calls) == {0: 8, 8: 24, 24: 56, 56: 120, 120: 184}[good]


def test_a_failed_system_whose_outputs_last_needs_another_version(tmp_path):
    broken = ScriptedSystem(lambda call: Output(None, "no key"))
    for _ in range(2):
        stop = run_live(b=broken, ledger=tmp_path / "l.sqlite").ending.stop
    assert stop.kind is StopKind.SYSTEM_FAILED
    assert "once that is fixed, `system=b.toml.version=TEXT` has it asked anew" in stop.sentence
    assert len(broken.calls) == len(set(broken.calls))


@pytest.mark.parametrize("given", [" \n", "an answer"])
def test_a_system_that_says_nothing_has_no_verdicts_and_stops_the_run(given):
    judge = ScriptedJudge(script_from([1.0] * 40))
    stop = run_live(b=ScriptedSystem(lambda call: Output(given)), judge=judge).ending.stop
    assert (stop.kind is StopKind.SYSTEM_FAILED) is (given != "an answer")


@pytest.mark.parametrize("silent", [1, 2])
def test_one_empty_output_among_the_first_twenty_is_judged_and_two_stop_the_run(silent):
    drawn = [label.choice.position for label in run_live(b=ScriptedSystem()).ending.labels]
    ids = {f"item-{at}" for at in drawn[:silent]}
    system = ScriptedSystem(lambda call: Output("" if call.item.id in ids else "an answer"))
    found = run_live(b=system, limits=Limits(20, 20))
    assert (found.ending.stop.kind is StopKind.SYSTEM_FAILED) is (silent > 1)
    assert found.generated[0].empty == silent


def test_what_a_server_broke_off_is_counted_and_is_no_output():
    def broken_off(call):
        return Abstention("the server broke the reply off", again=True)

    found = run_live(b=ScriptedSystem(broken_off), limits=Limits(40, 40, 1.0), max_failed=1.0)
    assert found.generated[0].ended == {"failed": found.ending.asked}
    assert found.generated[0].failed == 0
    assert found.pool.count_ends(1) == {"failed": found.ending.asked}

"""One window for all judges: places are filled as answers return, and ahead; the decision is that of rounds."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pytest
from support.driving import AT_ONCE, run
from support.pools import differences, make_pool, make_session
from support.rules import make_rule

from judgeloop.catalogue import rules_of
from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Abstention, Item, Order, Pool, Reply, Verdict
from judgeloop.engine.loop import drive
from judgeloop.engine.pace import RetryPolicy
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import WASTED, WASTED_OF_FEW, Limits, Session
from judgeloop.engine.state import Interruption, Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.ledger.opening import open_ledger
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.selectors.stratified import Stratified
from judgeloop.methods.stats.strata import Strata
from judgeloop.methods.stopping.best_of_many import Separated
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.methods.stopping.precise import Precise
from judgeloop.papers.diffuse.rules import TieAware
from judgeloop.papers.diffuse.selector import DiffUse

pytestmark = pytest.mark.usefixtures("no_task_is_lost")

ITEMS, LIMIT = 40, 36
NAMES = ("a", "b", "c", "d")
COMPARED = [row for row in rules_of("compare") if not row.recorded]


def of_compare(row):
    def parts():
        rule = make_rule(row.name, risk=0.1, items=ITEMS, limit=LIMIT, near_tie=0.2, gap=0.2)
        return {"selector": Random(), "estimator": Preferences(), "rule": rule}

    return parts


def of_estimate(selector):
    strata = Strata(np.arange(ITEMS) % 4)
    return {
        "selector": selector(strata),
        "estimator": MeanScore(strata),
        "rule": Precise(0.1, ITEMS, half_width=0.12, first_look=12),
    }


KINDS = {row.name: of_compare(row) for row in COMPARED} | {
    "tie-aware, picked": lambda: {
        "selector": DiffUse(differences(ITEMS), start=5), "estimator": Preferences(), "rule": TieAware(0.1),
    },
    "given up": lambda: {
        "selector": Random(), "estimator": Preferences(), "rule": TieAware(0.01),
        "check": GivingUp(TieAware(0.01), 0.4, LIMIT),
    },
    "a race": lambda: {
        "selector": Racing(4, 0, 0.1, 0.1), "estimator": WinRates(4, 0, 0.1), "rule": Separated(0.1, 0.1),
    },
    "all of many": lambda: {
        "selector": Random(((1, 0), (2, 0), (3, 0))), "estimator": WinRates(4, 0, 0.1), "rule": Separated(0.1, 0.1),
    },
    "a mean": lambda: of_estimate(lambda strata: Random(((0,),))),
    "a mean of strata": lambda: of_estimate(lambda strata: Stratified(strata, LIMIT)),
}  # fmt: skip


def session_of(kind, seed, ahead):
    most = 3 * LIMIT if "many" in kind or "race" in kind else LIMIT
    rng = np.random.default_rng(seed)
    return Session(items=ITEMS, limits=Limits(5, most, 0.2), rng=rng, ahead=ahead, **KINDS[kind]())


@dataclass(frozen=True)
class Table:
    """What is said of an item and its systems: drawn, the same in every run."""

    seed: int
    gap: float

    def answer(self, item: str, systems: tuple[str, ...]):
        draw = random.Random(f"{self.seed} {item} {sorted(systems)}").random()
        if draw < 0.03:
            return Abstention("no")
        score = 1.0 if draw < 0.35 + self.gap / 2 else 0.0 if draw > 0.65 + self.gap / 2 else 0.5
        return Verdict(score if list(systems) == sorted(systems) else 1 - score)

    def delay_s(self, call) -> float:
        return random.Random(f"{self.seed} {call.item.id} {call.systems} late").choice([0, 0, 0.0005, 0.002, 0.006])


# Tables, and so the ends of runs, are others for each kind of rule.
TABLES = dict(zip(KINDS, map(Table, range(len(KINDS)), cycle([0.0, 0.2, 0.6])), strict=True))


def in_turn(names, *each):
    """Every kind of rule with one of each of these, so that all of them come."""
    return pytest.mark.parametrize(("kind", *names.split()), list(zip(KINDS, *map(cycle, each), strict=False)))


POOL = Pool(make_pool(ITEMS).items, NAMES, tuple(tuple(f"{name}'s answer {i}" for i in range(ITEMS)) for name in NAMES))


def judge_of(table, **costs):
    return ScriptedJudge(lambda call: table.answer(call.item.id, call.systems), delay_s=table.delay_s, **costs)


def asked(kind, table, ahead, *, judge=None, concurrency=8, ledger=":memory:", interruption=None, **terms):
    judge = judge or judge_of(table, cost_p=3, worst_p=10)

    async def story():
        book = open_ledger(ledger)
        try:
            return await drive(
                session_of(kind, table.seed, ahead), POOL, judge, book,
                Terms("run", order=Order.FIXED, concurrency=concurrency, policy=AT_ONCE, **terms),
                interruption=interruption,
            )  # fmt: skip
        finally:
            await book.aclose()

    return asyncio.run(story()), judge


def decision(outcome):
    """All that a run says, but how fast it was."""
    labels = [(label.choice.key, getattr(label.answer, "score", None)) for label in outcome.labels]
    return outcome.winner, outcome.stop, labels, outcome.deciding, outcome.estimate.risk, outcome.estimate.interval


def in_rounds(kind, table):
    return replay(
        session_of(kind, table.seed, 0),
        lambda choice: table.answer(f"item-{choice.position}", tuple(NAMES[one] for one in choice.systems)),
    )


@in_turn("ahead concurrency", [None, 0, 3, 50, None], [8, 3, 64, 1])
def test_the_decision_is_that_of_rounds_whatever_is_asked_ahead_and_when_answers_come(kind, ahead, concurrency):
    table = TABLES[kind]
    (finished, judge), rounds = asked(kind, table, ahead, concurrency=concurrency), in_rounds(kind, table)
    assert decision(finished.ending) == decision(rounds)
    assert len(judge.calls) == len(rounds.labels) + finished.ending.ahead
    assert finished.spend.now_p == 3 * len(judge.calls)
    if ahead == 0:
        assert finished.ending.ahead <= rounds.ahead


@in_turn("ahead concurrency", [None, 50], [64, 8])
def test_replies_to_what_was_asked_ahead_are_not_among_those_that_count(kind, ahead, concurrency):
    table = TABLES[kind]
    judge = judge_of(table)
    judge.answers_as = "named"
    finished, _ = asked(kind, table, ahead, judge=judge, concurrency=concurrency)
    (of_judge,) = finished.answered_by
    assert sum(one.verdicts for one in of_judge) == sum(
        isinstance(label.answer, Verdict) for label in finished.ending.labels
    )


@in_turn("ahead concurrency money", [None, 4, 50], [3, 64], [57, 0, 119, 250, 30])
def test_a_budget_ends_a_run_where_it_ends_it_without_anything_ahead(kind, ahead, concurrency, money):
    table = TABLES[kind]
    one, _ = asked(kind, table, 0, concurrency=1, budget_p=money)
    other, judge = asked(kind, table, ahead, concurrency=concurrency, budget_p=money)
    assert decision(other.ending) == decision(one.ending)
    assert other.spend.charged_p == 3 * len(judge.calls) <= money
    if other.ending.stop.kind is StopKind.BUDGET:
        assert other.spend == one.spend, "the money went to what is needed"


@in_turn("ahead at twice", [None, 4, None], [9, 1, 20, 14], [False, True])
def test_an_interrupted_run_goes_on_to_the_same_decision_and_a_third_command_asks_nobody(
    kind, ahead, at, twice, tmp_path
):
    table, interruption, ledger = TABLES[kind], Interruption(), tmp_path / "l.sqlite"

    def delay_s(call):
        if len(judge.calls) == at:
            interruption.request()
            if twice:
                interruption.request()
        return table.delay_s(call)

    judge = judge_of(table, cost_p=3, worst_p=10)
    judge.delay_s = delay_s
    first, _ = asked(kind, table, ahead, judge=judge, ledger=ledger, interruption=interruption)
    whole = in_rounds(kind, table)
    cut = decision(first.ending)[2]
    assert cut == decision(whole)[2][: len(cut)]
    second, again = asked(kind, table, ahead, ledger=ledger)
    assert decision(second.ending) == decision(whole)
    third, nobody = asked(kind, table, ahead, ledger=ledger)
    assert decision(third.ending) == decision(whole)
    if any(isinstance(label.answer, Abstention) for label in whole.labels):
        return  # who gave no verdict is asked again
    assert nobody.calls == [], "what is known is told before anything is asked ahead"
    assert third.ending.ahead == 0
    if not twice:
        calls = [call.item.id + call.systems[0] for call in (*judge.calls, *again.calls)]
        assert len(calls) == len(set(calls)), "a verdict that is paid for is kept"


class Counting(ScriptedJudge):
    """Notes how many calls were made before the first answer came."""

    def __init__(self, *given, **more):
        super().__init__(lambda call: Verdict(0.5), *given, **more)
        self.begun = self.before_an_answer = 0

    async def judge(self, call):
        self.begun += 1
        before = 0
        while before != self.begun and not self.before_an_answer:  # until no more begin, however slow the machine is
            before = self.begun
            await asyncio.sleep(0.1)
        self.before_an_answer = self.before_an_answer or self.begun
        return Reply(self.script(call), cost_p=self.cost_p)


class Never:
    """A rule that may be met once there are four verdicts, but never is."""

    name, guarantee, needs_draws, threshold, decides_at = "never", None, False, 0.1, frozenset()

    def can_be_met(self, tally, unknown):
        return tally.judged + unknown >= 4

    def chance(self, tally, more):
        return 0.0

    def risk(self, tally):
        return 1.0

    def interval(self, tally):
        return None

    def reason_to_stop(self, tally):
        return None


def begun_at_once(*, ahead=None, cost_p=1, concurrency=16, priced=True, **terms):
    judge = Counting(cost_p=cost_p)
    judge.priced = priced
    run(
        judge, rule=Never(), ahead=ahead, limits=Limits(1, 40),
        terms=Terms("run", order=Order.FIXED, concurrency=concurrency, **terms),
    )  # fmt: skip
    return judge.before_an_answer


def test_idle_places_are_filled_and_not_where_nothing_is_asked_ahead():
    assert begun_at_once(ahead=0) == 4
    assert begun_at_once(ahead=3) == 7
    assert begun_at_once() == 16


def test_nothing_is_asked_ahead_where_a_verdict_costs_more_than_a_dollar():
    dollar = 10**12
    assert begun_at_once(cost_p=dollar) == 16
    assert begun_at_once(cost_p=dollar + 1) == 4


def test_near_the_cap_nothing_is_asked_ahead_of_what_is_needed():
    """With two attempts a call, 8 more are kept for the four that are needed."""
    once = {"policy": RetryPolicy(attempts=2), "cost_p": 10}
    assert begun_at_once(budget_p=120, **once) == 4
    assert begun_at_once(budget_p=130, **once) == 5
    assert begun_at_once(budget_p=110, **once) == 4
    assert begun_at_once(budget_p=1000, **once) == 16


def test_of_a_free_judge_everything_is_asked_and_of_one_whose_price_is_unknown_no_more():
    class Sure(Never):
        def chance(self, tally, more):
            return float(more >= 4)

    def begun(**more):
        judge = Counting(cost_p=0)
        judge.priced = more.pop("priced")
        run(judge, rule=Sure(), ahead=None, limits=Limits(1, 40), terms=Terms("run", order=Order.FIXED, concurrency=16))
        return judge.before_an_answer

    assert begun(priced=True) == 16
    assert begun(priced=False) == 4 + 1, "two fifths of four that may be wasted, each surely"


def test_queries_with_the_same_texts_are_asked_once_also_ahead():
    texts = tuple(Item(f"item-{i}", f"prompt {i % 3}") for i in range(ITEMS))
    pool = Pool(texts, ("a", "b"), (("x",) * ITEMS, ("y",) * ITEMS))
    judge = ScriptedJudge(lambda call: Verdict(0.5), cost_p=1, delay_s=lambda call: 0.002)
    finished = run(judge, pool=pool, rule=Never(), ahead=None, limits=Limits(1, ITEMS))
    assert len(finished.ending.labels) == ITEMS
    assert len(judge.calls) == 3
    assert finished.spend.now_p == 3


def test_after_the_decision_nothing_more_is_sent():
    """Both orders: the second calls of what was asked ahead are not made."""

    class Fourth(Never):
        def reason_to_stop(self, tally):
            return StopReason(StopKind.RISK_MET, "enough") if tally.judged == 4 else None

    needed = {f"item-{choice.position}" for choice in make_session(rule=Fourth(), limits=Limits(1, 40)).ask()}
    calls_left, enough = 2 * len(needed), asyncio.Event()

    class Late(ScriptedJudge):
        """Answers what was asked ahead some time after all that was needed."""

        async def judge(self, call):
            nonlocal calls_left
            calls_left -= call.item.id in needed
            if not calls_left:
                enough.set()
            if call.item.id not in needed:
                await enough.wait()
                await asyncio.sleep(0.5)
            return await super().judge(call)

    judge = Late(lambda call: Verdict(1.0 if call.systems[0] == "a" else 0.0), cost_p=1)
    finished = run(judge, rule=Fourth(), ahead=4, limits=Limits(1, 40), terms=Terms("run", concurrency=8))
    calls = Counter(call.item.id for call in judge.calls)
    assert [calls.pop(item) for item in needed] == [2, 2, 2, 2]
    assert 0 < len(calls) <= 8
    assert set(calls.values()) == {1}
    assert finished.spend.charged_p == len(judge.calls)
    assert finished.ending.ahead == 0, "a verdict takes both calls"


@pytest.mark.parametrize("hazard", [0.002, 0.02, 0.1])
def test_in_the_mean_few_verdicts_are_asked_for_that_are_not_needed(hazard):
    """A rule that stops at each verdict with the same chance, which it knows."""
    rng = np.random.default_rng(1)

    class Geometric(Never):
        def can_be_met(self, tally, unknown):
            return True

        def chance(self, tally, more):
            return 1 - (1 - hazard) ** more

        def reason_to_stop(self, tally):
            return StopReason(StopKind.RISK_MET, "chance") if rng.random() < hazard else None

    ahead = needed = 0
    for seed in range(50):
        session = Session(
            items=300, selector=Random(), estimator=Preferences(), rule=Geometric(), limits=Limits(1, 300),
            rng=np.random.default_rng(seed), ahead=None,
        )  # fmt: skip
        outcome = replay(session, lambda choice: Verdict(0.5), places=64)
        ahead, needed = ahead + outcome.ahead / 50, needed + len(outcome.labels) / 50
    assert 0.2 < ahead < 1.1 * max(WASTED_OF_FEW, WASTED * (needed + ahead))

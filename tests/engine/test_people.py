"""People in a run: they let go of what is in hand at its end, and are not given more than they can hold."""

from __future__ import annotations

import asyncio
import math

import pytest
from support.driving import run

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import JudgeIdentity, Order, Quote, Reply, Verdict
from judgeloop.engine.readings import RECENT
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption, Terms
from judgeloop.judges.base import BaseJudge

WORST_P, COST_P = 5 * 10**12, 2 * 10**12  # a call that may cost more than $1


class Team(BaseJudge):
    """Answers so many calls one after another, and then sits there."""

    by_hand, at_once = True, 4
    identity = JudgeIdentity("human", "")
    doubts = None  # the item of which a second reading says the opposite

    def __init__(self, answers, then=None):
        self.answers, self.then = answers, then
        self.shown, self.most, self.hand, self.left, self.readings, self.systems = [], 0, [], False, [], []
        self.lacked = []  # what it heard of money

    def quote(self, call):
        return Quote(WORST_P, COST_P)

    def hear(self, so_far):
        pass

    def begin(self, run, folder, before=()):
        pass

    async def judge(self, call):
        if self.left:
            raise JudgeError(ErrorKind.QUIT, "gone", billed=False)
        if call.reading is None:
            self.shown.append(call.item.id)
            self.systems.append(call.systems)
        given = asyncio.get_running_loop().create_future()
        self.hand.append(given)
        self.most = max(self.most, len(self.hand))
        try:
            if self.answers:
                self.answers -= 1
                await asyncio.sleep(0.001)
                score = 1.0 if call.systems[0] == "a" else 0.0
                if call.reading is not None:
                    self.readings.append(call)
                    score = abs(score - (call.item.id == self.doubts))
                return Reply(Verdict(score), cost_p=COST_P, person="anna", seconds=3.0)
            if self.then is not None:
                self.then()
            return await given
        finally:
            self.hand.remove(given)

    def lacks_money(self, lacks):
        self.lacked.append(lacks)

    def let_go(self):
        for given in self.hand:
            given.set_exception(JudgeError(ErrorKind.QUIT, "gone", billed=False))

    def checked(self):
        return ()

    def leave(self, why, *, left=False):
        self.left, self.why, self.readings_left = True, why, left
        for given in self.hand:
            given.set_exception(JudgeError(ErrorKind.QUIT, "gone", billed=False))


def judged(team, tmp_path, *, ahead=4, interruption=None, budget_p=None, shared=0.0, repeated=0.0, **session):
    limits = {"concurrency": team.at_once, "timeout_s": None, "budget_p": budget_p}
    terms = Terms("run", order=Order.RANDOM, **limits, shared=shared, repeated=repeated)
    return run(team, terms=terms, ledger=tmp_path / "l.sqlite", interruption=interruption, ahead=ahead, **session)


@pytest.mark.parametrize("answers", [0, 1, 5])
def test_an_interruption_waits_for_nobody_and_charges_no_call_in_hand(answers, tmp_path):
    interruption = Interruption()
    team = Team(answers, then=interruption.request)
    finished = judged(team, tmp_path, interruption=interruption, limits=Limits(40, 40))
    assert finished.ending.stop.kind is StopKind.INTERRUPTED
    assert finished.ending.asked == answers
    assert finished.spend.charged_p == answers * COST_P
    assert len(team.shown) > answers, "some were in hand"
    assert team.why is StopKind.INTERRUPTED
    assert finished.ending.stop == interruption.why, "that they leave is no failed call"


def test_what_is_in_hand_at_a_decision_is_let_go_and_changes_nothing(tmp_path):
    team = Team(200)
    whole = judged(team, tmp_path, limits=Limits(5, 40))
    assert whole.ending.winner is not None
    enough = whole.ending.estimate.tally.judged
    sits = Team(enough)
    finished = judged(sits, tmp_path / "other", limits=Limits(5, 40))
    assert finished.ending.stop.kind is whole.ending.stop.kind, "the end is the decision's, not that somebody left"
    assert finished.ending.winner == whole.ending.winner
    assert finished.spend.charged_p == enough * COST_P
    assert len(sits.shown) >= enough, "whoever is quick has the next in hand, too"
    assert sits.why is None


def test_people_are_given_what_they_can_hold_however_much_it_may_cost(tmp_path):
    team = Team(200)
    judged(team, tmp_path, limits=Limits(40, 40))
    assert team.most == 4
    assert len(team.shown) == 40


@pytest.mark.parametrize("calls", [1, 3, 7])
def test_no_more_is_set_aside_than_the_budget_has(calls, tmp_path):
    team = Team(200)
    finished = judged(team, tmp_path, budget_p=WORST_P + (calls - 1) * COST_P, limits=Limits(40, 40))
    assert finished.ending.stop.kind is StopKind.BUDGET
    assert finished.ending.asked == calls
    assert all(team.lacked), "of four places most stay free from the first on"


def test_people_hear_of_money_only_where_it_holds_a_call_back(tmp_path):
    team = Team(200)
    judged(team, tmp_path, budget_p=100 * WORST_P, limits=Limits(40, 40))
    assert team.lacked
    assert not any(team.lacked)


def test_some_items_are_read_again_after_the_decision_which_they_do_not_enter(tmp_path):
    alone = judged(Team(200), tmp_path, limits=Limits(20, 40))
    team = Team(200)
    drawn = judged(team, tmp_path / "first", limits=Limits(20, 40), shared=0.25).read_again
    team = Team(200)
    team.doubts = f"item-{drawn[0].choice.position}"
    both = judged(team, tmp_path / "other", limits=Limits(20, 40), shared=0.25, repeated=0.1)
    assert both.ending == alone.ending, "what is read again changes nothing"
    deciding = {label.choice.position for label in both.ending.labels if label.choice.key in both.ending.deciding}
    another, same = ([one for one in both.read_again if one.same is wanted] for wanted in (False, True))
    assert len(another) == math.ceil(len(deciding) / 4)
    assert len(same) == math.ceil((len(deciding) - RECENT) / 10)
    assert {one.choice.position for one in both.read_again} <= deciding
    assert all(call.reading.by == "anna" for call in team.readings)
    shown = dict(zip(team.shown, team.systems, strict=True))
    assert all(call.systems == shown[call.item.id][::-1] for call in team.readings), "the other way round"
    assert both.spend.charged_p >= alone.spend.charged_p + len(both.read_again) * COST_P
    for one in both.read_again:
        equal = one.first.preference == one.second.preference
        assert equal is (one.choice != drawn[0].choice), "a second reading is turned round, as the first is"
    again = judged(Team(0), tmp_path / "other", limits=Limits(20, 40), shared=0.25, repeated=0.1)
    assert again.read_again == both.read_again, "the ledger remembers them"
    assert not again.spend.attempts


def test_a_budget_that_ends_in_the_second_readings_leaves_the_decision(tmp_path):
    whole = judged(Team(200), tmp_path, limits=Limits(20, 40))
    asked = whole.ending.asked
    short = judged(Team(200), tmp_path / "other", limits=Limits(20, 40), budget_p=asked * COST_P + WORST_P, shared=0.5)
    assert short.ending.winner == whole.ending.winner
    assert short.ending.stop.kind is whole.ending.stop.kind
    assert len(short.read_again) < asked / 2
    assert short.spend.charged_p <= short.spend.budget_p


def test_ctrl_c_in_the_second_readings_keeps_the_decision_and_charges_nothing(tmp_path):
    interruption = Interruption()
    enough = judged(Team(200), tmp_path, limits=Limits(20, 40)).ending.asked
    team = Team(enough, then=interruption.request)
    finished = judged(team, tmp_path / "other", limits=Limits(20, 40), interruption=interruption, shared=0.5, ahead=0)
    assert finished.ending.winner is not None
    assert finished.read_again == ()
    assert finished.spend.charged_p == enough * COST_P
    assert (team.why, team.readings_left) == (None, True), "it has its end"
    assert finished.to_read_again == math.ceil(enough / 2)

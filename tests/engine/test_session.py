"""The rules of a run, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pools import make_session, scores

from judgeloop.core.errors import InputError, SessionError
from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Abstention, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import WASTED, WASTED_OF_FEW, Limits, Waste
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.papers.diffuse.rules import TieAware

SELECTORS = ["random", "diffuse"]
NEVER = TieAware(-1.0)  # a threshold that no risk is under
UP_TO_60 = Limits(max_judgments=60)
CHECKS = [None, GivingUp(TieAware(0.1), 0.4, 60)]


def answers_from(choices, table):
    return [Verdict(table[choice.position]) for choice in choices]


def by(table):
    """Answers by the scores of a table."""
    return lambda choice: Verdict(table[choice.position])


@pytest.mark.smoke
@pytest.mark.parametrize("selector", SELECTORS)
def test_a_clear_winner_is_named_with_a_risk_at_or_under_the_threshold(selector):
    outcome = replay(make_session(200, selector), lambda choice: Verdict(1.0))
    assert outcome.winner == 0
    assert outcome.stop.kind is StopKind.RISK_MET
    assert outcome.estimate.risk <= 0.1
    assert outcome.asked == 5, "five wins of five are enough at risk 0.1"


@pytest.mark.smoke
@pytest.mark.parametrize("selector", SELECTORS)
def test_nothing_is_asked_twice(selector):
    session, seen = make_session(60, selector, rule=NEVER), set()
    while choices := session.ask():
        positions = {choice.position for choice in choices}
        assert len(positions) == len(choices)
        assert not positions & seen
        seen |= positions
        session.tell(answers_from(choices, scores(60, 1)))
    assert len(seen) == 60


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("selector", SELECTORS)
def test_asking_one_at_a_time_gives_the_same_outcome(selector, check):
    """Batches are for speed: the rule looks after every step as if each had been asked alone."""
    ends = set()
    for seed in range(12):
        table, more = scores(80, seed), {"check": check, "limits": UP_TO_60, "seed": seed}
        outcome = replay(make_session(80, selector, **more), by(table))
        alone = _one_at_a_time(make_session(80, selector, **more), table)
        assert (outcome.winner, outcome.estimate, outcome.stop) == (alone.winner, alone.estimate, alone.stop)
        assert (outcome.asked, outcome.ahead) == (alone.asked, 0)
        ends.add(outcome.stop.kind)
    assert (StopKind.FUTILITY in ends) == (check is not None)


@pytest.mark.parametrize("selector", SELECTORS)
@given(
    check=st.sampled_from(CHECKS),
    ahead=st.sampled_from([1, 4, 200]),
    seed=st.integers(0, 10_000),
    abstaining=st.sampled_from([0.0, 0.04, 0.12]),
)
@settings(max_examples=20)
def test_looking_ahead_changes_the_wait_and_the_price_and_nothing_else(selector, check, ahead, seed, abstaining):
    table, rng = scores(80, seed), np.random.default_rng(seed)
    silent = rng.random(80) < abstaining

    def oracle(choice):
        return Abstention("no") if silent[choice.position] else Verdict(table[choice.position])

    more = {"check": check, "limits": UP_TO_60, "seed": seed}
    plain = replay(make_session(80, selector, **more), oracle)
    faster = replay(make_session(80, selector, **more, ahead=ahead), oracle, places=200)
    for field in ("winner", "estimate", "stop", "deciding"):
        assert getattr(faster, field) == getattr(plain, field)
    if plain.stop.kind is not StopKind.ABSTENTIONS:  # they may halt a run in the middle of a batch
        assert plain.ahead == 0
    reached = plain.asked - plain.ahead
    assert faster.rounds <= plain.rounds
    assert faster.asked == reached + faster.ahead
    assert faster.labels[:reached] == plain.labels[:reached]


@pytest.mark.smoke
def test_between_looks_that_may_give_up_queries_are_asked_side_by_side():
    outcome = replay(
        make_session(80, rule=NEVER, check=GivingUp(NEVER, 1e-9, 60), limits=UP_TO_60), lambda choice: Verdict(0.5)
    )
    assert (outcome.asked, outcome.rounds) == (10, 1)
    assert outcome.winner is None


def _one_at_a_time(session, table):
    session._could_stop = lambda: bool(session._pending)
    return replay(session, by(table))


@pytest.mark.smoke
def test_diffuse_drops_a_parents_verdict_from_the_decision_and_still_reports_it():
    outcome = replay(make_session(40, "diffuse", rule=NEVER), by(scores(40, 3)))
    session = make_session(40, "diffuse", rule=NEVER, limits=Limits(max_judgments=12))
    limited = replay(session, by(scores(40, 3)))
    assert outcome.asked == outcome.estimate.tally.judged == 40
    assert limited.asked <= 12
    assert limited.estimate.tally.judged == len(limited.deciding) < limited.asked
    assert {label.choice.key for label in limited.labels} > limited.deciding


@pytest.mark.smoke
def test_a_fixed_budget_cuts_into_so_many_clusters_and_judges_them_all():
    outcome = replay(make_session(60, "diffuse", rule=TieAware(1.0), limits=Limits(30, 30)), by(scores(60, 1)))
    assert outcome.asked == outcome.estimate.tally.judged == 30
    assert outcome.winner is not None


@pytest.mark.smoke
@pytest.mark.parametrize("selector", SELECTORS)
def test_the_judgment_limit_is_kept_to_the_last_one(selector):
    for limit in (5, 6, 7, 11, 30):
        session = make_session(60, selector, rule=NEVER, limits=Limits(max_judgments=limit))
        outcome = replay(session, by(scores(60, 2)))
        assert outcome.asked <= limit
        assert outcome.asked >= limit - 1, "a split may need two judgments where one is left"
        assert outcome.stop.kind is StopKind.JUDGMENT_LIMIT
        said = "limit of {} judgments is reached" if outcome.asked == limit else "of {} judgments are left"
        assert said.format(limit) in outcome.stop.sentence
        assert outcome.winner is None


def test_a_limit_that_nobody_gave_says_that_it_is_the_default():
    session = make_session(60, "diffuse", rule=NEVER, limits=Limits(max_judgments=12, usual="why 12"))
    assert "why 12" in replay(session, by(scores(60, 2))).stop.sentence


@pytest.mark.smoke
@pytest.mark.parametrize("selector", SELECTORS)
def test_a_fully_judged_pool_is_certain(selector):
    table = [1.0] * 11 + [0.0] * 10
    outcome = replay(make_session(21, selector, rule=NEVER), by(table))
    assert outcome.stop.kind is StopKind.ALL_JUDGED
    assert (outcome.winner, outcome.estimate.risk) == (0, 0.0)


@pytest.mark.smoke
def test_a_fully_judged_pool_without_a_difference_has_none():
    table = [1.0] * 6 + [0.0] * 6
    outcome = replay(make_session(12, rule=NEVER), by(table))
    assert outcome.stop.kind is StopKind.NO_DIFFERENCE
    assert outcome.winner is None
    assert "level" in outcome.stop.sentence


@pytest.mark.smoke
def test_abstentions_that_could_turn_a_fully_judged_pool_leave_it_undecided():
    def oracle(choice):
        return Abstention("refused") if choice.position < 2 else Verdict(1.0 if choice.position < 8 else 0.0)

    session = make_session(12, rule=NEVER, limits=Limits(max_abstentions=1.0))
    outcome = replay(session, oracle)
    assert outcome.estimate.tally.wins == (6, 4)
    assert outcome.winner is None
    assert "abstentions" in outcome.stop.sentence


@pytest.mark.smoke
def test_too_many_abstentions_stop_the_run_and_say_why():
    outcome = replay(make_session(100), lambda choice: Abstention("cannot read it"))
    assert outcome.stop.kind is StopKind.ABSTENTIONS
    assert "cannot read it" in outcome.stop.sentence
    assert outcome.asked == 5, "the first batch already shows it"


@pytest.mark.smoke
def test_a_single_early_abstention_is_borne():
    first = []

    def oracle(choice):
        first.append(choice.position)
        return Abstention("once") if len(first) == 1 else Verdict(1.0)

    outcome = replay(make_session(100), oracle)
    assert (outcome.winner, outcome.estimate.tally.abstentions) == (0, 1)


@pytest.mark.smoke
def test_a_halt_keeps_the_answers_before_it_and_is_final():
    session = make_session(60)
    session.ask()
    session.tell([Verdict(1.0), Verdict(0.0)], halt=StopReason(StopKind.BUDGET, "no money"))
    assert session.ask() == ()
    outcome = session.ending()
    assert outcome.stop == StopReason(StopKind.BUDGET, "no money")
    assert outcome.estimate.tally.wins == (1, 1)
    assert outcome.winner is None


@pytest.mark.smoke
def test_answers_that_meet_the_rule_decide_even_when_told_with_a_halt():
    session = make_session(60)
    session.tell([Verdict(1.0)] * len(session.ask()), halt=StopReason(StopKind.INTERRUPTED, "stopped"))
    assert session.ending().winner == 0


@pytest.mark.smoke
def test_a_split_that_is_only_half_answered_changes_no_decision():
    session, table = make_session(40, "diffuse"), [0.0, 1.0] * 20
    session.tell(answers_from(session.ask(), table))
    choices = session.ask()
    assert [asked.new for asked in session._pending][:3] == [1, 1, 2], "the third step asks for two"
    session.tell(answers_from(choices[:3], table), halt=StopReason(StopKind.BUDGET, "no money"))
    outcome = session.ending()
    assert outcome.asked == 5 + 3, "what was paid for is reported"
    assert len(outcome.deciding) == 5 + 2, "half a split decides nothing"


@pytest.mark.smoke
def test_answers_must_match_what_was_asked():
    session = make_session(60)
    with pytest.raises(SessionError):
        session.tell([Verdict(1.0)])
    with pytest.raises(SessionError):
        session.ending()
    choices = session.ask()
    assert session.ask() == (), "those that are needed are asked already"
    with pytest.raises(SessionError):
        session.tell([Verdict(1.0)] * (len(choices) + 1))
    session.tell([Verdict(1.0)] * (len(choices) - 1))
    with pytest.raises(SessionError):
        session.tell([Verdict(1.0)] * 2)
    session.tell([Verdict(1.0)])
    assert session.ending().winner == 0


@pytest.mark.smoke
def test_a_rule_that_needs_draws_is_refused_with_a_selector_that_picks():
    class NeedsDraws:
        name, guarantee, needs_draws, threshold = "anytime", "a promise", True, 0.1

        def risk(self, tally):
            return 1.0

    make_session(10, "random", rule=NeedsDraws())
    with pytest.raises(InputError, match="random draws"):
        make_session(10, "diffuse", rule=NeedsDraws())


@pytest.mark.smoke
@pytest.mark.parametrize("values", [(0, 5, 0.05), (6, 5, 0.05), (5, 10, 1.5), (5, 10, -0.1)])
def test_limits_that_make_no_sense_are_refused(values):
    with pytest.raises(InputError):
        Limits(*values)


@pytest.mark.smoke
@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("items", [1, 2, 3])
def test_pools_smaller_than_the_minimum_are_judged_whole(selector, items):
    outcome = replay(make_session(items, selector), lambda choice: Verdict(1.0))
    assert outcome.asked == items
    assert outcome.winner == 0


def test_answers_ahead_are_few_and_steps_that_are_likely_wasted_wait_for_all_that_were_asked_with_them():
    waste = Waste()
    assert waste.renewed(0)
    assert [waste.allows(0.5, 1, 0, lambda most: False) for _ in range(4)] == [True, True, False, False]
    waste.known_at = 5
    waste.told()
    assert not waste.renewed(4)
    assert not waste.allows(0.5, 1, 0, lambda most: True)
    assert waste.renewed(5)
    assert waste.allows(0.5, 1, 0, lambda most: True)
    unlikely = [waste.allows(0.04, 1, 0, lambda most: False) for _ in range(100)]
    assert sum(unlikely) == int((WASTED_OF_FEW - 1.5) / 0.04), "what is likely counts, too"
    assert waste.allows(0.04, 1, int((WASTED_OF_FEW + 1) / WASTED), lambda most: False), "of many, more"

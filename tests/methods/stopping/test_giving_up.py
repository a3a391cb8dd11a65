"""Giving up: where a decision is unlikely, and never instead of one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.pools import make_session, scores
from support.rules import RULES, make_rule
from support.tallies import tally_of

from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits
from judgeloop.methods.stats.predictive import chance_of_lead
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.giving_up import LOOK_EVERY, GivingUp
from judgeloop.papers.diffuse.rules import TieAware

ITEMS, LIMIT = 400, 100
LEVEL = Tally(ITEMS, (18, 17), ties=35)


def giving_up(name="bets", chance=0.2, limit=LIMIT, **changes):
    return GivingUp(make_rule(name, risk=0.1, items=ITEMS, limit=limit, **changes), chance, limit)


@pytest.mark.parametrize("name", RULES)
def test_a_level_pair_is_given_up(name):
    reason = giving_up(name).reason_to_stop(LEVEL)
    assert reason.kind is StopKind.FUTILITY
    assert "the chance of a decision within 100 judgments is about 0." in reason.sentence
    assert reason.sentence.endswith(", under 0.2")


def test_the_chance_is_that_of_the_least_lead_at_which_the_rule_is_met_at_the_limit():
    # 35 of 70 decisive: of the next 30, round(30 · 36 / 72) = 15 are, 50 in all. Of 400 items 200
    # would be, half of them wins: a lead of
    # 10, 30:20, is the least at which tie-aware is met: sf(29, 200, 100, 50) = 0.0706, sf(28, 200,
    # 100, 50) = 0.1264.
    met = [TieAware(0.1).is_met(Tally(ITEMS, wins, ties=50)) for wins in ((29, 21), (30, 20))]
    assert met == [False, True]
    assert giving_up("tie-aware").rule.chance_at_the_end(LEVEL, LIMIT - 70) == pytest.approx(
        chance_of_lead(18, 17, 15, 10)
    )


def test_abstentions_are_no_ties_to_come():
    # A rule for which they count against the leader is met less often.
    rule = giving_up()
    tally = replace(LEVEL, ties=30, abstentions=5, wins=(22, 13))
    assert (
        0
        < rule.rule.chance_at_the_end(tally, 30)
        < rule.rule.chance_at_the_end(replace(tally, ties=35, abstentions=0), 30)
    )


def test_after_ties_alone_some_verdicts_to_come_are_still_taken_to_be_decisive():
    # Of 90 to come round(90 · 1 / 12) = 8, of round(400 · 8 / 100) = 32 among all items: 6:2 is not
    # enough, sf(5, 32, 16, 8) = 0.1100,
    # and 7:1 is, sf(6, 32, 16, 8) = 0.0186. A lead of 6 or more comes of 0, 1, 7 or 8 wins, each
    # number with a chance of 1/9.
    assert giving_up("tie-aware").rule.chance_at_the_end(tally_of([0] * 10, ITEMS), LIMIT - 10) == pytest.approx(4 / 9)


@pytest.mark.parametrize("name", RULES)
def test_where_the_rule_stops_its_reason_is_given(name):
    check = giving_up(name, 1.0)
    session = make_session(ITEMS, rule=check.rule, check=check, limits=Limits(LOOK_EVERY, LIMIT))
    assert replay(session, lambda choice: Verdict(1.0)).stop.kind is StopKind.RISK_MET


@pytest.mark.parametrize(
    ("judged", "looks"), [(10, True), (11, False), (19, False), (20, True), (90, True), (100, False)]
)
def test_it_looks_at_every_tenth_judgment_before_the_limit(judged, looks):
    tally = tally_of([1, -1] * (judged // 2) + [0] * (judged % 2), ITEMS)
    assert (giving_up(chance=0.999).reason_to_stop(tally) is not None) == looks


def test_where_the_limit_covers_all_items_nothing_is_given_up():
    for limit in (ITEMS, ITEMS + 1):
        assert giving_up(chance=0.999, limit=limit).reason_to_stop(LEVEL) is None
    assert giving_up(chance=0.999, limit=ITEMS - 1).reason_to_stop(LEVEL) is not None


def test_a_clear_lead_that_is_not_met_yet_is_not_given_up():
    ahead = tally_of([1, 0, 0, 0, 1, 0, 0, 0, 1, 0], ITEMS)
    rule = giving_up()
    assert not rule.rule.is_met(ahead)
    assert rule.reason_to_stop(ahead) is None
    assert rule.rule.chance_at_the_end(ahead, 90) > 0.5


def test_a_pair_about_to_have_no_practical_difference_is_not_given_up():
    level = tally_of([1, 0, 0, -1, 0, 0] * 5, ITEMS)
    without, near = (GivingUp(Bets(0.1, ITEMS, LIMIT, near_tie=within), 0.3, LIMIT) for within in (None, 0.2))
    assert without.reason_to_stop(level).kind is StopKind.FUTILITY
    assert near.reason_to_stop(level) is None
    assert near.rule.chance_at_the_end(level, 70) > without.rule.chance_at_the_end(level, 70) + 0.3


@pytest.mark.simulation
def test_giving_up_changes_no_winner_and_saves_judgments():
    outcomes = {chance: [_run(chance, seed) for seed in range(30)] for chance in (None, 0.2)}
    for plain, ending in zip(outcomes[None], outcomes[0.2], strict=True):
        if ending.winner is None:
            assert ending.asked <= plain.asked
        else:
            assert (ending.winner, ending.asked) == (plain.winner, plain.asked)
    given_up = [one.stop.kind for one in outcomes[0.2]].count(StopKind.FUTILITY)
    named = sum(one.winner is not None for one in outcomes[0.2])
    assert min(given_up, named) > 6
    asked, without = (sum(one.asked for one in outcomes[chance]) for chance in (0.2, None))
    assert asked < 0.85 * without


def _run(chance, seed):
    """Systems that are level or nearly so, by the guaranteed rule."""
    rule = make_rule("bets", risk=0.2, items=ITEMS, limit=LIMIT)
    session = make_session(
        ITEMS,
        rule=rule,
        check=None if chance is None else GivingUp(rule, chance, LIMIT),
        limits=Limits(max_judgments=LIMIT),
        seed=seed,
    )
    table = scores(ITEMS, seed, wins=0.2 + 0.05 * (seed % 6), losses=0.2)
    return replay(session, lambda choice: Verdict(table[choice.position]))

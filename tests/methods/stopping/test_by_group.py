"""Groups tested by Holm's procedure; `tests/statistical/test_by_group.py` simulates the promise."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.betting import interval_of_bounds, risk_by_bets
from judgeloop.methods.stats.corrected import controls, of_pool
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.by_group import ByGroup


def labels_of(preferences, start=0):
    answers = [Abstention("no") if one is None else Verdict((1 + one) / 2) for one in preferences]
    return [Label(Choice(start + n, None), answer) for n, answer in enumerate(answers)]


def made_for(*sizes, sampled=True, risk=0.1):
    groups = [number for number, size in enumerate(sizes) for _ in range(size)]
    return ByGroup(dict(enumerate(groups)), risk, sampled=sampled)


@pytest.mark.parametrize("sampled", [True, False])
def test_a_side_is_named_at_the_level_of_all_nulls_first(sampled):
    """Of two groups, the first name needs a p-value of risk / 4."""
    tests = made_for(40, 40, sampled=sampled)
    labels = []
    while not tests.rejected():
        labels += labels_of([1], start=len(labels))
        tests.follow(labels)
    assert tests.rejected() == {(0, 0)}
    assert 0.5 ** len(labels) <= 0.1 / 4, "so many wins in a row are that unlikely between equals"
    assert len(labels) < 40


@pytest.mark.parametrize("sampled", [True, False])
def test_once_named_stays_named_whatever_comes(sampled):
    tests = made_for(60, 20, sampled=sampled)
    labels = labels_of([1] * 25)
    tests.follow(labels)
    assert (0, 0) in tests.rejected()
    tests.follow([*labels, *labels_of([-1] * 10, start=25)])
    assert (0, 0) in tests.rejected()


def test_a_rejection_makes_the_next_level_larger():
    """Holm: after one of four nulls, the others are tested at a third of the risk."""
    one, both = made_for(40, 40), made_for(40, 40)
    weak = labels_of([-1] * 12, start=40)
    one.follow(weak)
    both.follow([*labels_of([1] * 40), *weak])
    assert both.rejected() >= one.rejected()
    assert list(one.levels) == pytest.approx([0.1 / 4, 0.1 / 3, 0.1 / 2, 0.1])


def test_abstentions_count_against_both_systems():
    wins, silent = made_for(40, 40), made_for(40, 40)
    wins.follow(labels_of([1] * 12))
    silent.follow(labels_of([1, None] * 12))
    assert (0, 0) in wins.rejected()
    assert not silent.rejected()


def test_the_group_nearest_to_a_name_is_asked_next_in_the_order_drawn():
    tests = made_for(30, 30, 30)
    tests.follow([*labels_of([1, -1] * 4), *labels_of([-1] * 6, start=30), *labels_of([0] * 8, start=60)])
    order = np.random.default_rng(1).permutation(90).tolist()
    left = [Choice(n, None) for n in order if n % 30 >= 8]
    asked = [choice.position for choice in tests.ask(left)]
    assert {position // 30 for position in asked} == {1}
    own = [choice.position for choice in left if choice.position // 30 == 1]
    assert asked == own[: len(asked)]


def test_a_group_is_asked_as_far_as_it_could_be_decided_and_no_further():
    tests = made_for(200, 200)
    labels = labels_of([1] * 5)
    tests.follow(labels)
    asked = tests.ask([Choice(n, None) for n in range(5, 400)])
    fewer = [*labels, *labels_of([1] * (len(asked) - 1), start=5)]
    tests.follow(fewer)
    assert not tests.rejected()
    tests.follow([*fewer, *labels_of([1], start=len(fewer))])
    assert tests.rejected()


def test_a_group_that_no_verdicts_could_decide_is_not_asked():
    tests = made_for(3, 3)
    assert tests.ask([Choice(n, None) for n in range(6)]) == ()


def test_of_these_items_a_group_judged_whole_is_certain():
    tests = made_for(5, 5, sampled=False)
    tests.follow([*labels_of([1, 1, 1, -1, -1]), *labels_of([1, -1, 0, 0, 0], start=5)])
    first, second = tests.findings().values()
    assert (first.better, first.interval) == (0, pytest.approx((0.2, 0.2), abs=1e-9))
    assert (second.better, second.interval) == (None, pytest.approx((0.0, 0.0), abs=1e-9))


def test_a_bound_that_excludes_the_gap_of_its_verdicts_is_widened_to_it():
    """As the earlier verdicts of a group may have spoken for the other system."""
    tests = made_for(400)
    tests.follow(labels_of([-1] * 6 + [1] * 194))
    (found,) = tests.findings().values()
    assert (found.better, found.interval) == (0, (0.0, 0.94))


def test_an_open_group_says_what_it_would_take_and_a_level_one_does_not():
    tests = made_for(60, 60)
    tests.follow([*labels_of([1, 0, 1, -1] * 5), *labels_of([1, -1] * 5, start=60)])
    leading, level = tests.findings().values()
    assert leading.better is level.better is None
    assert leading.more.even > 0
    assert level.more is None
    assert leading.interval[0] <= 0 < leading.interval[1]


def test_cheap_verdicts_on_all_items_take_off_each_label_what_they_foresee():
    """As bets on the scores less their controls have it, group by group; and those bounds go with the names."""
    rng, groups = np.random.default_rng(4), {n: "ab"[n % 3 == 0] for n in range(90)}
    dear = rng.choice([1, 0, -1], size=90, p=[0.5, 0.3, 0.2])
    cheap = np.where(rng.random(90) < 0.7, dear, 0).astype(float)
    order = [int(n) for n in rng.permutation(90)][:60]
    labels = [
        Label(Choice(n, None), Abstention("refused") if n == order[7] else Verdict((1 + dear[n]) / 2)) for n in order
    ]
    tests = ByGroup(groups, 0.1, sampled=False, proxy=dict(enumerate(cheap.tolist())))
    tests.follow(labels[:25])
    tests.follow(labels)
    for group in "ab":
        places = [n for n, own in groups.items() if own == group]
        drawn = [n for n in order if n in places]
        scores = [None if n == order[7] else float(dear[n]) for n in drawn]
        own = controls(scores, of_pool(cheap[places], [places.index(n) for n in drawn]))
        seen = np.array([[-1.0 if one is None else sign * one for one in scores] for sign in (1, -1)])
        risks = [risk_by_bets(seen[side], len(places), controls=own.of(side)) for side in (0, 1)]
        assert [tests._evidence[group].risk(side) for side in (0, 1)] == pytest.approx(risks)
        low, high = interval_of_bounds(*seen, len(places), 0.1 / 4, own)
        found = tests.findings()[group]
        assert found.interval == pytest.approx((max(low, 0) if found.better == 0 else min(low, 0), high), abs=1e-6)
        assert risks != [risk_by_bets(seen[side], len(places)) for side in (0, 1)]


def test_what_groups_take_after_a_limit_comes_in_batches_of_which_all_answers_are_told():
    """A driver that tells answers as they come takes none of them: their order would be that of arrival."""
    groups = {n: "ab"[n % 2] for n in range(60)}
    tests = ByGroup(groups, 0.1, sampled=False)
    session = Session(
        items=60,
        selector=Random(),
        estimator=Preferences(),
        rule=Bets(0.1, 60, 10),
        limits=Limits(5, 10),
        rng=np.random.default_rng(1),
        further=tests,
    )
    while choices := session.ask(later=False):
        session.tell([Verdict(float(n % 2)) for n, _ in enumerate(choices)])
    assert session.over
    assert session.asked == 10
    batch = session.ask()
    assert len({groups[one.position] for one in batch}) == 1
    session.tell([Verdict(1.0)] * len(batch))
    assert [label.choice.position for label in session.ending().further] == [one.position for one in batch]

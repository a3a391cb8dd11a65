"""Betting: its promise counted over all orders of small populations, its interval, and the third
answer."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.tallies import tally_of

from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.stats.betting import BETS, STAKES, bound, log_wealth_path, risk_by_bets
from judgeloop.methods.stopping.anytime import Anytime, BetPair, gap_bounds


def orders(wins, losses, ties):
    return sorted(set(itertools.permutations([1] * wins + [-1] * losses + [0] * ties)))


def test_the_first_bets_are_won_or_lost_by_hand():
    # Nothing is known yet, so m = 0: a win makes 1 + c of every unit, a loss 1 - c, a tie leaves
    # it.
    assert sum(STAKES) == pytest.approx(1)
    assert log_wealth_path(np.array([1]), 10)[-1] == pytest.approx(np.log(STAKES @ (1 + BETS)))
    assert log_wealth_path(np.array([0]), 10)[-1] == pytest.approx(0)
    # After one win of 10, the other 9 have a mean of at most -1/9: a tie is then a small win.
    room, gain = 8 / 9, 1 / 9
    twice = STAKES @ ((1 + BETS) * (1 + BETS * gain / room))
    assert log_wealth_path(np.array([1, 0]), 10)[-1] == pytest.approx(np.log(twice))


@pytest.mark.parametrize(("wins", "losses", "ties"), [(1, 1, 0), (2, 2, 3), (4, 4, 0), (3, 3, 2), (2, 3, 2)])
@pytest.mark.parametrize("risk", [0.05, 0.1, 0.2, 0.5])
def test_over_all_orders_a_system_that_is_not_better_is_named_with_at_most_the_risk(wins, losses, ties, risk):
    everything = orders(wins, losses, ties)
    items = wins + losses + ties
    named = np.mean([risk_by_bets(np.array(order), items) <= risk for order in everything])
    assert named <= risk


@pytest.mark.parametrize(
    ("wins", "losses", "ties"),
    [
        (5, 1, 1),
        *(pytest.param(*counts, marks=pytest.mark.simulation) for counts in ((3, 1, 3), (2, 4, 1), (0, 3, 4))),
        (6, 0, 0),
    ],
)
@pytest.mark.parametrize("risk", [0.1, 0.3])
def test_over_all_orders_each_bound_is_ever_wrong_with_at_most_the_risk(wins, losses, ties, risk):
    items = wins + losses + ties
    truth = (wins - losses) / items
    ever_wrong = np.zeros(2)
    everything = orders(wins, losses, ties)
    for order in everything:
        intervals = [gap_bounds(tally_of(order[:t], items), items, risk) for t in range(1, items + 1)]
        ever_wrong += [
            any(low > truth + 1e-9 for low, _ in intervals), any(high < truth - 1e-9 for _, high in intervals)
        ]  # fmt: skip
    assert (ever_wrong / len(everything) <= risk).all()


@given(history=st.lists(st.sampled_from([1, 0, -1, None]), max_size=20), more=st.integers(1, 30))
@example(history=[1] * 6 + [-1] * 2, more=1)  # the wins alone rule out what is left possible
def test_an_interval_is_in_order_and_the_same_from_both_sides(history, more):
    items = len(history) + more
    tally = tally_of(history, items)
    if not tally.judged:
        assert gap_bounds(tally, items, 0.2) is None
        return
    low, high = gap_bounds(tally, items, 0.2)
    assert -1 <= low <= high <= 1
    mirrored = tally_of([None if one is None else -one for one in history], items)
    assert gap_bounds(mirrored, items, 0.2) == pytest.approx((-high, -low))


def test_a_winner_is_named_just_when_the_lower_bound_passes_zero():
    history = [1, 1, 0, 1, -1, 1, 1, 0, 1, 1, 1, 1]
    rule = Anytime(0.1, 400)
    for t in range(1, len(history) + 1):
        tally = tally_of(history[:t], 400)
        assert rule.is_met(tally) == (gap_bounds(tally, 400, 0.1)[0] > 0)
    assert rule.is_met(tally_of(history, 400))


def test_what_was_won_once_is_not_lost_again():
    won = [1] * 8
    assert Anytime(0.1, 400).risk(tally_of([*won, -1, -1, -1], 400)) == Anytime(0.1, 400).risk(tally_of(won, 400))


def test_a_lead_that_what_remains_cannot_undo_is_certain():
    assert Anytime(1e-9, 12).risk(tally_of([1] * 7, 12)) == 0.0
    assert Anytime(1e-9, 12).risk(tally_of([1] * 6, 12)) > 0.0
    assert bound(np.ones(12, dtype=np.int8), 12, 0.1) == pytest.approx(1.0)


def test_once_every_item_is_judged_the_gap_is_known():
    history = [1, 1, 0, -1]
    assert gap_bounds(tally_of(history, 4), 4, 0.1) == (0.25, 0.25)
    low, high = gap_bounds(tally_of([*history, None], 5), 5, 0.1)
    assert low == pytest.approx(0.0, abs=1e-9), "an abstention may have been a loss"
    assert high == pytest.approx(0.4), "or a win"


def test_systems_that_tie_on_and_on_are_no_different_for_practical_purposes():
    rule = Anytime(0.1, 400, near_tie=0.1)
    tied = tally_of([0] * 200, 400)
    assert rule.no_difference(tied)
    assert not rule.no_difference(tally_of([0] * 10, 400))
    assert not replace(rule, near_tie=None).no_difference(tied)
    low, high = gap_bounds(tied, 400, 0.1)
    assert -0.1 < low < 0 < high < 0.1


def test_each_verdict_of_a_tally_that_grows_is_looked_at_once(monkeypatch):
    looked = []
    follow = BetPair.follow
    monkeypatch.setattr(BetPair, "follow", lambda *given: looked.append(1) or follow(*given))
    rule = Anytime(1e-6, 100)
    tally = Preferences().tally((), 100)
    for at in range(50):
        tally = Preferences().extended(tally, [Label(Choice(at, 1 / (100 - at)), Verdict(0.5))])
        rule.reason_to_stop(tally)
        rule.can_be_met(tally, 1 + at % 7)
    assert len(looked) == 50


def likelihood_ratio(wins, losses, won, lost):
    """How much more probable so many wins and losses are from an urn than with a fair coin."""
    found = 2.0 ** (wins + losses)
    for at in range(wins):
        found *= (won - at) / (won + lost - at)
    for at in range(losses):
        found *= (lost - at) / (won + lost - wins - at)
    return found


@pytest.mark.parametrize("decisive", [*range(2, 41), 80, 81, 200, 201])
def test_a_lead_of_the_root_is_no_more_probable_without_replacement(decisive):
    """The lemma of `methods/stats/betting.py`, for the level pool, and the one with a loss more if that cannot be."""
    won, lost = decisive // 2, decisive - decisive // 2
    for wins in range(1, won + 1):
        for losses in range(min(wins, lost)):
            if (wins - losses) ** 2 >= wins + losses:
                assert likelihood_ratio(wins, losses, won, lost) <= 1 + 1e-9


@pytest.mark.parametrize("risk", [0.05, 0.1, 0.2, 0.36])
@pytest.mark.parametrize(("wins", "losses"), [(4, 4), (8, 8), (15, 15), (15, 16), (30, 30), (20, 25)])
def test_a_name_by_the_bets_for_like_items_holds_for_these_items(wins, losses, risk):
    """Exactly: the chance that the wealth for items without end ever names the first system."""
    alive, named = {(0, 0): 1.0}, 0.0
    for drawn in range(wins + losses):
        after: dict[tuple[int, int], float] = {}
        for (w, lost), chance in alive.items():
            left = wins + losses - drawn
            for then, share in (((w + 1, lost), (wins - w) / left), ((w, lost + 1), (losses - lost) / left)):
                if share <= 0:
                    continue
                wealth = STAKES @ ((1 + BETS) ** then[0] * (1 - BETS) ** then[1])
                if wealth >= 1 / risk:
                    named += chance * share
                    assert (then[0] - then[1]) ** 2 >= sum(then)
                else:
                    after[then] = after.get(then, 0.0) + chance * share
        alive = after
    assert named <= risk

"""Hedged bets: the null they are fair against, certainty, and how soon they end."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stopping.bets import Bets

FORMS = {
    "winner": {"null": 0.0},
    "zone": {"null": -0.1, "zone": 0.1},
    "of a grid": {"null": 0.35, "of_grid": True},
    "far below": {"null": -0.4, "of_grid": True},
}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20)
@given(
    seen=st.lists(st.sampled_from([1.0, 0.0, -1.0, 0.4]), max_size=25),
    items=st.sampled_from([math.inf, 26.0, 60.0]),
    control=st.floats(0, 0.3),
    share=st.floats(0, 1),
)
def test_the_next_draw_never_raises_the_wealth_in_the_mean_if_the_null_is_true(form, seen, items, control, share):
    bets = HedgedBets(0.1, limit=30, items=items, **FORMS[form])
    for score in seen:
        bets = bets.after(score)
    mean = float(bets.remaining)
    if not -1 <= mean <= 1 or bets.ruled_out:
        return
    # The mean by two outcomes, and a control of mean 0 beside them.
    high = mean + share * (1 - mean)
    chance = (mean + 1) / (high + 1) if high > -1 else 1.0
    outcomes = itertools.product([(high, chance), (-1.0, 1 - chance)], [control, -control])
    wealths = [(bets.after(score, aside, control), weight / 2) for (score, weight), aside in outcomes]
    assert all(after.wealth >= 0 for after, _ in wealths)
    assert sum(float(after.wealth) * weight for after, weight in wealths) == pytest.approx(float(bets.wealth), rel=1e-9)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(3, 3, 0), (2, 2, 3), (4, 4, 0), (1, 1, 5), (3, 4, 0)])
@pytest.mark.parametrize("risk", [0.05, 0.2, 0.4])
def test_over_all_orders_a_system_that_is_not_better_is_named_with_at_most_the_risk(wins, losses, ties, risk):
    pool = [1] * wins + [-1] * losses + [0] * ties
    orders = np.array(sorted(set(itertools.permutations(pool)))).T
    bets = HedgedBets(risk, np.zeros(orders.shape[1]), len(pool), len(pool))
    for scores in orders:
        bets = bets.after(scores.astype(float))
    assert bets.ruled_out.mean() <= risk


def test_what_the_rest_cannot_undo_is_certain():
    bets = HedgedBets(0.001, 0.0, 10, items=10)
    for number in range(1, 7):
        bets = bets.after(1.0)
        assert bool(bets.ruled_out) == (number > 5)


def test_many_runs_at_once_have_the_wealth_of_each_by_itself_to_the_last_bit():
    rng = np.random.default_rng(1)
    draws = rng.choice([1.0, 0.0, -1.0, 0.25], size=(20, 60))
    together = HedgedBets(0.1, np.array([0.0, 0.0]), 50, items=200)
    for scores in draws.T:
        together = together.after(np.stack([scores, -scores], axis=-1))
    for run in range(20):
        alone = HedgedBets(0.1, np.array([0.0, 0.0]), 50, items=200)
        for score in draws[run]:
            alone = alone.after(np.array([score, -score]))
        assert alone.wealth.tolist() == together.wealth[run].tolist()
        assert alone.ruled_out.tolist() == together.ruled_out[run].tolist()


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20)
@given(
    seen=st.lists(st.sampled_from([1.0, 0.0, -1.0, 0.25]), max_size=40),
    ahead=st.lists(st.sampled_from([1.0, 1.0, 1.0, 0.0, -1.0]), min_size=1, max_size=60),
    items=st.sampled_from([math.inf, 100.0, 400.0]),
    most=st.sampled_from([0.0, 0.4]),
)
def test_when_known_scores_rule_a_null_out_is_what_each_draw_after_the_other_finds(form, seen, ahead, items, most):
    bets = HedgedBets(0.2, limit=100, items=items, **FORMS[form] | {"null": np.full(2, FORMS[form]["null"])})
    for score in seen:
        bets = bets.after(np.array([score, -score]), np.array([most / 2, -most / 2]), most)
    scores = np.array(ahead)[:, None] * (1.0, -1.0)
    found = bets.falls(scores, -most, most)
    fallen = []
    for score in scores:
        bets = bets.after(score, -most, most)
        fallen.append(bets.ruled_out)
    assert list(found) == [1 + len(ahead) - sum(side) for side in zip(*fallen, strict=True)]


@pytest.mark.parametrize("limit", [4, 20, 5000])
def test_there_are_stakes_for_every_limit(limit):
    for form in FORMS.values():
        bets = HedgedBets(0.1, limit=limit, **form)
        for score in (1.0, 0.0, 1.0, 1.0, -1.0):
            assert 0 <= bets.stake() <= 0.98 / (1 + bets.null)
            bets = bets.after(score)
        assert 0 < bets.wealth < 20


def test_after_the_limit_nothing_is_staked():
    bets = HedgedBets(0.1, 0.0, 3)
    for score in (1.0, -1.0, 1.0):
        bets = bets.after(score)
    assert bets.stake() == 0


# Mean judgments of 20,000 runs with a limit of 200 at a risk of 0.1 a side, gap and share of ties. The exact boundary
# that the stakes copy takes 173.9, 149.9 and 95.4 without ties, and 140.2 and 37.4 if it is told how many there will be
# (`benchmarks/exact_boundary.py`). An independent implementation of the same bets took 143.8 and 42.1 with ties.
MEANS = {(0.0, 0.0): 176.6, (0.1, 0.0): 152.6, (0.2, 0.0): 97.4, (0.1, 0.3): 143.4, (0.2, 0.7): 41.5}


@pytest.mark.parametrize(("gap", "ties"), MEANS)
def test_they_end_as_soon_as_the_best_boundary(gap, ties):
    found = Bets(0.1, UNLIMITED, 200).outlook(gap, ties)
    assert found.judgments == pytest.approx(MEANS[gap, ties], abs=5.0)  # three standard errors of 1,500 runs


def test_a_limit_is_spent_on_what_is_left_to_draw():
    """Of the same lead more is left to chance the more is drawn without replacement."""
    ends = Counter()
    for items in (200, 100_000):
        bets = HedgedBets(0.1, 0.0, 200, items=items)
        for number in itertools.count(1):
            bets = bets.after(1.0 if number % 5 < 3 else -1.0)
            if bets.ruled_out:
                ends[items] = number
                break
    assert ends[200] < ends[100_000]


def test_several_draws_at_once_follow_single_ones():
    bets = HedgedBets(0.05, np.array([0.0, -0.1]), 50, 400)
    for score in (1, 0, 1, -1, 1):
        single = bets.after(np.array([score, -score], dtype=float))
        won, lost = np.array([score == 1, score == -1]).astype(float), np.array([score == -1, score == 1]).astype(float)
        at_once = bets.after_several(won, 1 - won - lost, lost, np.ones(2))
        for name in ("wealth", "total", "square", "fourth", "ruled_out", "drawn"):
            assert np.array_equal(np.asarray(getattr(single, name)), np.asarray(getattr(at_once, name))), name
        bets = single
    rich, several = replace(bets, wealth=np.array([19.9, 1.0])), (np.full(2, 3.0), np.zeros(2), np.full(2, 3.0))
    assert rich.after_several(*several, np.full(2, 0.2)).ruled_out.tolist() == [True, False]
    assert not rich.after_several(*several, np.ones(2)).ruled_out.any()


def test_runs_with_different_shares_of_ties_have_each_its_own_stakes_on_a_grid():
    null, moved = np.linspace(-0.9, 0.9, 7), np.array([20.0, 9.0, 3.0, 1.0])

    def stakes(wealth, square):
        return HedgedBets(0.1, null, 60, of_grid=True, drawn=20, wealth=wealth, square=square, fourth=square).stake()

    together = stakes(np.ones((4, 7)), moved[:, None])
    assert together.tolist() == [stakes(np.ones(7), square).tolist() for square in moved]
    assert len(np.unique(together[:, 3])) == 4


def test_nulls_far_below_the_mean_so_far_fall_early_where_most_draws_are_ties():
    """Seven of ten are. Where a bound is to be narrow after the last draw they take longer."""
    scores = np.zeros(200)
    scores[[at for at in range(200) if at % 10 in {3, 6, 9}]] = np.tile([1.0, -1.0], 30)
    nulls = np.array([-0.8, -0.6, -0.4, -0.2, 0.1])
    bets = HedgedBets(0.1, nulls, 200, of_grid=True)
    early, late = (one.falls(np.tile(scores[:, None], 5)) for one in (bets, replace(bets, late=True)))
    assert early == [5, 6, 10, 37, 201]
    assert late == [9, 11, 19, 57, 201]

"""A judge corrected by labels: the interval over all orders, and its figures against those of ppi_py."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.corrected import (
    Aside,
    Slope,
    bounds,
    controls,
    corrected_by_pool,
    gap_of_judge,
    of_blocks,
    of_pool,
)
from judgeloop.methods.stats.hedged import HedgedBets

DEAR = [1, 0, 1, -1, 1, 1, 0, -1, 1, 0, 1, 1, -1, 0, 1, -1, 1, 1, 0, 1]
CHEAP = [1, 1, 0, -1, 1, 1, 0, 0, 1, -1, 1, 0, -1, 0, 1, 1, 1, 1, 0, 1]
REST = [1, 0, -1, 1, 0, 0, 1, -1, 1, 1, 0, 1, -1, -1, 0, 1, 0, 1, 0, -1, 1, 0, 0, 1, -1, 0, 1, 0, 0, 1]
POOL = np.array(CHEAP + REST, dtype=np.float64)
PPI = 0.27461538  # ppi_mean_pointestimate(DEAR, CHEAP, REST) of ppi_py 0.2.3


def by_pool(**changes):
    return corrected_by_pool(DEAR, range(20), POOL, 0.05, **({"sampled": False} | changes))


@pytest.mark.parametrize("sampled", [False, True])
def test_the_estimate_is_that_of_prediction_powered_inference(sampled):
    assert by_pool(sampled=sampled).gap == pytest.approx(PPI, abs=1e-8)


def test_the_figures_of_a_judge():
    found = by_pool()
    assert (found.labels, found.cheap, found.alone) == (20, 50, pytest.approx(0.28))
    assert found.r2 == pytest.approx(np.corrcoef(DEAR, CHEAP)[0, 1] ** 2)
    # So many of 50 items have a mean with the variance that 20 have with the judge.
    alone = 20 + found.saved
    assert 1 / alone - 1 / 50 == pytest.approx((1 - found.r2) * (1 / 20 - 1 / 50))
    assert found.saved_interval[0] < found.saved < found.saved_interval[1] < 30
    low, high = found.interval
    assert low < found.gap < high
    assert found.off_interval == pytest.approx((0.28 - high, 0.28 - low))
    assert found.off == pytest.approx(0.28 - found.gap)
    assert (found.to_halve, by_pool(sampled=True).to_halve) == (math.ceil(80 / (1 + 3 * 20 / 50)), 80)


def test_a_block_explains_less_than_all_items():
    every, blocks = by_pool(), by_pool(sampled=True)
    assert blocks.saved == pytest.approx(20 * every.r2 / 2 / (1 - every.r2 / 2))  # blocks of two


PAIRS = {
    "good": ([1, 1, 1, -1, -1, -1, 0], [1, 1, 0, -1, -1, 0, 1]),
    "misleading": ([1, 0, 0, -1, 1, -1, 0], [-1, 0, 1, 1, -1, 1, 0]),
    "graded": ([1, 1, -1, 0.5, -1, 0, -0.5], [0.5, 0.25, -0.75, 0.5, 0.25, -1, 0]),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("risk", [0.1, 0.3])
def test_over_all_orders_a_true_null_is_ruled_out_with_at_most_the_risk(pair, risk):
    dear, cheap = np.array(PAIRS[pair])
    orders = np.array(list(itertools.permutations(range(len(dear)))))
    signs, gap = np.array([[1.0], [-1.0]]), dear.mean()
    bets, slope = HedgedBets(risk, signs * gap, len(dear), len(dear)), Slope()
    left = np.full(len(orders), cheap.sum())
    for at, drawn in enumerate(orders.T):
        aside = Aside(cheap[drawn], left / (len(dear) - at))  # of all orders at once
        score, control, most = dear[drawn], aside.control(slope.value), np.stack(aside.most(slope.value))
        bets = bets.after(signs * score, signs * control, most)
        slope, left = slope.after(score, cheap[drawn]), left - cheap[drawn]
    assert (bets.ruled_out.mean(axis=1) <= risk).all()
    assert bets.ruled_out.any() or risk < 0.2


def test_over_all_orders_each_bound_is_ever_wrong_with_at_most_the_risk():
    items = [(1, 1), (1, 1), (1, 0), (-1, -1), (0, 1), (0, 1)]
    wrong, cheap = np.zeros(2), np.array([one for _, one in items], dtype=np.float64)
    orders = {tuple(items[at] for at in order): order for order in itertools.permutations(range(len(items)))}
    for order in orders.values():
        scores = [items[at][0] for at in order]
        own, both = controls(scores, of_pool(cheap, order)), np.array([scores, [-one for one in scores]])
        low, high = lower_bounds(both, 0.2, len(items), len(items), controls=own)
        wrong += [(low > 1 / 3 + 1e-9).any(), (high > -1 / 3 + 1e-9).any()]
    assert (wrong <= 0.2 * len(orders)).all()


@settings(max_examples=25)
@given(
    seen=st.lists(st.tuples(st.sampled_from([1.0, 0.0, -1.0]), st.sampled_from([1.0, 0.0, -1.0, 0.3])), max_size=12),
    pool=st.lists(st.floats(-1, 1), min_size=1, max_size=6),
    block=st.booleans(),
)
def test_a_control_is_0_on_average_and_never_more_than_it_could_be(seen, pool, block):
    slope = Slope()
    for dear, cheap in seen:
        slope = slope.after(dear, cheap)
    mean = float(np.mean(pool))
    asides = [Aside(one, mean, len(pool) if block else 0) for one in pool]
    values = [aside.control(slope.value) for aside in asides]
    assert np.mean(values) == pytest.approx(0, abs=1e-12)
    for value, aside in zip(values, asides, strict=True):
        of_first, of_second = aside.most(slope.value)
        assert -of_second - 1e-12 <= value <= of_first + 1e-12


def test_a_slope_is_learned_of_the_labels_before_and_is_never_negative():
    slope = Slope()
    assert slope.value == 0.2
    for _ in range(60):
        slope = slope.after(1.0, 1.0).after(-1.0, -1.0)
    assert slope.value == pytest.approx(1.0, abs=0.06)
    for _ in range(200):
        slope = slope.after(-1.0, 1.0).after(1.0, -1.0)
    assert slope.value == 0


def test_the_interval_leaves_0_out_when_the_bets_of_a_comparison_name():
    rng = np.random.default_rng(3)
    dear = rng.choice([1.0, 0.0, -1.0], size=80, p=[0.5, 0.3, 0.2])
    cheap = np.where(rng.random(80) < 0.7, dear, 0.0)
    asides, slope = of_pool(cheap, range(80)), Slope()
    bets = HedgedBets(0.05, np.zeros(2), 80, 80)
    for score, aside in zip(dear, asides, strict=True):
        control, (first, second) = aside.control(slope.value), aside.most(slope.value)
        most = np.array([first, second])
        bets = bets.after(np.array([score, -score]), np.array([control, -control]), most)
        slope = slope.after(score, aside.cheap)
    asked = [HedgedBets(0.05, np.zeros(2), 80, 80)]
    own = controls(dear.tolist(), asides)
    found = lower_bounds(np.array([dear, -dear]), 0.05, 80, 80, asked, own)[:, -1]
    assert ((found >= 0) == bets.ruled_out).all()
    assert bets.ruled_out[0]


def test_a_judge_that_agrees_makes_the_interval_narrow_and_a_useless_one_does_it_little_harm():
    rng = np.random.default_rng(1)
    dear = rng.choice([1.0, 0.0, -1.0], size=400, p=[0.45, 0.2, 0.35])
    first = dear[:100].tolist()
    widths = []
    for cheap in (dear, rng.permutation(dear), np.zeros(400)):
        low, high = bounds(first, of_pool(cheap, range(100)), 0.05, 200, 400)
        widths.append(high - low)
    assert widths[0] < 0.5 * widths[2]
    assert widths[1] < 1.1 * widths[2]


@pytest.mark.parametrize("sampled", [False, True])
def test_by_how_much_a_judge_widens_the_interval_is_beside_that_of_the_labels_alone(sampled):
    found, scores = by_pool(sampled=sampled), np.array(DEAR, dtype=np.float64)
    low, high = lower_bounds(np.array([scores, -scores]), 0.05, *((20, math.inf) if sampled else (40, 50.0)))[:, -1]
    assert found.widened == pytest.approx((found.interval[1] - found.interval[0]) / (-high - low) - 1)
    assert corrected_by_pool(DEAR, range(20), POOL[:20], 0.05, sampled=True).widened is None


def test_labels_that_somebody_chose_have_no_interval_and_an_abstention_widens_it():
    assert by_pool(drawn=False).interval is None
    with_none = corrected_by_pool([*DEAR[:-1], None], range(20), POOL, 0.05, sampled=False)
    assert (with_none.labels, by_pool().labels) == (19, 20)
    assert with_none.interval[0] < by_pool().interval[0]


def test_without_labels_or_a_varying_judge_nothing_is_made_up():
    none = corrected_by_pool([], [], POOL, 0.05, sampled=False)
    assert (none.gap, none.interval, none.r2, none.saved) == (None, None, None, None)
    level = corrected_by_pool(DEAR, range(20), np.zeros(50), 0.05, sampled=False)
    assert (level.gap, level.r2) == (pytest.approx(np.mean(DEAR)), None)


def test_items_without_a_label_are_shared_out_to_blocks():
    asides = of_blocks(POOL, range(8), 1)
    assert {aside.block for aside in asides} == {1 + 42 // 8}
    assert [aside.cheap for aside in asides] == CHEAP[:8]
    assert {aside.block for aside in of_blocks(POOL, range(30), 1)} == {1}


def test_the_gap_of_a_judge_less_that_of_people_is_bounded_for_items_like_these():
    rng = np.random.default_rng(5)
    dear = rng.choice([1.0, -1.0], size=300)
    cheap = np.where(rng.random(300) < 0.2, 1.0, dear)  # favours the first
    low, high = gap_of_judge(dear[:150].tolist(), of_blocks(cheap, range(150), 1), 0.05, 200)
    assert low < np.mean(cheap - dear) < high
    assert low > 0

"""Items shared out: small cases by hand, and beside the exact least cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from judgeloop.methods.stats.balanced_assignment import fair_prices, share_out, traded


def as_costs(rows):
    return np.array(rows, dtype=np.float32)


def free(clusters):
    return np.zeros(clusters, dtype=np.float32)


def squared_distances(items, centres):
    return as_costs(((items[:, None, :] - centres[None]) ** 2).sum(axis=2))


def cost(costs, labels):
    return costs[np.arange(len(labels)), labels].sum(dtype=np.float64)


def least_cost(costs):
    """By the Hungarian method, with one column a seat; of the seats that not all clusters have,
    those not needed go to nobody."""
    items, clusters = costs.shape
    each, spare = divmod(items, clusters)
    columns = np.concatenate([np.repeat(np.arange(clusters), each), np.arange(clusters)])
    nobody = np.zeros((clusters - spare, len(columns)))
    nobody[:, : each * clusters] = 1e9
    seats = np.concatenate([costs[:, columns].astype(np.float64), nobody])
    rows, taken = linear_sum_assignment(seats)
    return seats[rows, taken].sum()


def near_least_cost(costs, rounds=5):
    prices = free(costs.shape[1])
    for _ in range(rounds):
        prices = fair_prices(costs, prices)
    return cost(costs, traded(costs, share_out(costs, prices)))


def test_who_would_lose_most_elsewhere_gets_the_seat():
    # Items at 0, 1, 2 and 10, centres at 0 and 10. Three want the first; they would lose 100, 81 -
    # 1 and 64 - 4 elsewhere.
    costs = as_costs([[0, 100], [1, 81], [4, 64], [100, 0]])
    assert share_out(costs, free(2)).tolist() == [0, 0, 1, 1]


def test_a_price_counts_as_cost():
    costs = as_costs([[0, 1], [0, 2], [0, 3]])
    # All want the first, and who would lose 3 elsewhere gets it; who pays 1 gets the second; the
    # third may choose, and takes the first.
    assert share_out(costs, free(2)).tolist() == [1, 0, 0]
    # Seven dearer, all want the second: who saves 6 gets it; of two alike the first of them the
    # first; the third takes the second.
    assert share_out(costs, as_costs([7, 0])).tolist() == [1, 0, 1]


def test_prices_rise_where_too_many_want_a_cluster_until_about_equally_many_want_each():
    # All want the first, by 1, 2, 3 and 4: 2.5 in the mean, so the first step is 0.75, up and down:
    # 1.5 between the prices.
    # Three still want it, the step grows to 0.9: 3.3 between them. Now one does, the step shrinks
    # to 0.45: 2.4, and two do.
    costs = as_costs([[0, 1], [0, 2], [0, 3], [0, 4]])
    assert fair_prices(costs, free(2)).tolist() == pytest.approx([1.2, -1.2])


def test_fair_prices_stay_as_they_are():
    costs = as_costs([[0, 1], [0, 2], [0, 3], [0, 4]])
    assert fair_prices(costs, as_costs([2.5, 0])).tolist() == [2.5, 0]


def test_a_pair_swaps_what_is_better_off_on_the_other_side():
    costs = as_costs([[0, 9, 9], [5, 1, 9], [2, 6, 9], [9, 0, 9], [9, 9, 0], [9, 9, 0]])
    assert traded(costs, np.array([0, 0, 1, 1, 2, 2])).tolist() == [0, 1, 0, 1, 2, 2]


@pytest.mark.parametrize("larger", [0, 1])
def test_the_larger_of_two_gives_up_its_odd_item_where_that_is_cheaper(larger):
    costs = as_costs([[0, 9], [3, 1], [9, 0]])
    if larger:
        costs = costs[:, ::-1].copy()
    labels = np.array([0, 0, 1]) if larger == 0 else np.array([1, 1, 0])
    assert traded(costs, labels).tolist() == [larger, 1 - larger, 1 - larger]


def test_nobody_trades_at_the_least_cost():
    costs = as_costs([[0, 9, 4], [5, 1, 9], [7, 8, 2]])
    assert traded(costs, np.array([0, 1, 2])).tolist() == [0, 1, 2]


@settings(deadline=None)
@given(
    items=st.integers(1, 60),
    share=st.floats(0, 1),
    seed=st.integers(0, 10_000),
    kinds=st.integers(1, 60),
)
def test_sizes_differ_by_at_most_one_and_trade_costs_nothing(items, share, seed, kinds):
    clusters = 1 + int(share * (items - 1))
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(kinds, clusters)).astype(np.float32)[rng.integers(kinds, size=items)]
    before = share_out(costs, fair_prices(costs, free(clusters)))
    after = traded(costs, before)
    for labels in (before, after):
        sizes = np.bincount(labels, minlength=clusters)
        assert len(sizes) == clusters
        assert np.ptp(sizes) <= 1
    assert cost(costs, after) <= cost(costs, before) + 1e-4


@settings(deadline=None)
@given(items=st.integers(2, 40), seed=st.integers(0, 10_000))
def test_between_two_clusters_it_is_exact(items, seed):
    costs = np.random.default_rng(seed).exponential(size=(items, 2)).astype(np.float32)
    assert near_least_cost(costs, rounds=1) == pytest.approx(least_cost(costs), rel=1e-4)


@pytest.mark.parametrize(("clusters", "above"), [(7, 0.002), (20, 0.005), (60, 0.02)])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_close_to_the_least_cost(seed, clusters, above):
    # Found: at most 0.1 %, 0.2 % and 0.9 % above, for eight seeds.
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(300, 8))
    costs = squared_distances(items, items[:clusters] + 0.001)
    assert least_cost(costs) * 0.9999 <= near_least_cost(costs) <= least_cost(costs) * (1 + above)


def test_where_all_cost_the_same_the_clusters_fill_in_turn():
    labels = share_out(np.zeros((11, 4), dtype=np.float32), free(4))
    assert sorted(np.bincount(labels).tolist()) == [2, 3, 3, 3]

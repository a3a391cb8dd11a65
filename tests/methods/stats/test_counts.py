from __future__ import annotations

from math import comb

import pytest

from judgeloop.methods.stats.intervals import p_value, share_interval


def binomial(n, p):
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize(
    ("wins", "losses", "p"), [(10, 0, 2 / 2**10), (8, 2, 2 * 56 / 2**10), (5, 5, 1.0), (0, 0, 1.0)]
)
def test_the_p_value_is_twice_the_smaller_tail(wins, losses, p):
    assert p_value(wins, losses) == pytest.approx(p)
    assert p_value(losses, wins) == pytest.approx(p)


@pytest.mark.parametrize("risk", [0.01, 0.05, 0.1, 0.32])
def test_two_level_systems_are_told_apart_with_at_most_the_stated_risk(risk):
    for decisive in range(80):
        chances = binomial(decisive, 0.5)
        wrong = sum(chances[won] for won in range(decisive + 1) if p_value(won, decisive - won) <= risk)
        assert wrong <= risk + 1e-12


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.77])
def test_each_bound_of_the_interval_is_wrong_with_at_most_half_the_risk(share):
    risk = 0.1
    for decisive in (1, 5, 23, 60):
        chances = binomial(decisive, share)
        bounds = [share_interval(won, decisive - won, risk) for won in range(decisive + 1)]
        above = sum(chance for chance, (low, _) in zip(chances, bounds, strict=True) if low > share)
        below = sum(chance for chance, (_, high) in zip(chances, bounds, strict=True) if high < share)
        assert max(above, below) <= risk / 2 + 1e-12


@pytest.mark.parametrize("risk", [0.05, 0.1])
def test_the_interval_leaves_out_one_half_when_the_test_decides(risk):
    for decisive in range(1, 50):
        for won in range(decisive + 1):
            low, high = share_interval(won, decisive - won, risk)
            assert (low > 0.5 or high < 0.5) == (p_value(won, decisive - won) < risk)

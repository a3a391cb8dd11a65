from __future__ import annotations

from math import comb, factorial

import pytest

from judgeloop.methods.stats.intervals import gap_bound, p_value, share_interval


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


def test_the_bound_of_a_gap_is_wrong_with_at_most_the_risk():
    """Exact, over all counts of some items, where the gap is 0, near it, and large."""
    risk = 0.1
    for items in (4, 11):
        counts = [(w, n, items - w - n) for w in range(items + 1) for n in range(items + 1 - w)]
        bounds = [gap_bound(*one, risk) for one in counts]
        ways = [factorial(items) // (factorial(w) * factorial(n) * factorial(t)) for w, n, t in counts]
        for gap, decided in ((0.0, 1.0), (0.0, 0.3), (-0.05, 0.5), (0.05, 0.1), (0.4, 0.9), (-0.7, 0.7)):
            won, lost = (decided + gap) / 2, (decided - gap) / 2
            chances = [way * won**w * lost**n * (1 - decided) ** t for way, (w, n, t) in zip(ways, counts, strict=True)]
            wrong = sum(chance for chance, bound in zip(chances, bounds, strict=True) if bound > gap + 1e-9)
            assert wrong <= risk


def test_the_bound_of_a_gap_leaves_out_0_exactly_where_the_sign_test_does():
    for wins, losses, ties in ((60, 40, 0), (59, 41, 0), (58, 42, 200), (30, 20, 5), (9, 1, 90), (4, 0, 50), (5, 0, 0)):
        assert (gap_bound(wins, losses, ties, 0.1) >= 0) == (p_value(wins, losses) <= 0.1)
        assert gap_bound(losses, wins, ties, 0.1) < 0


def test_the_bounds_of_a_gap_are_about_those_of_the_normal_distribution():
    """1.645 standard errors; 268 wins, 243 losses and 139 ties have one of 0.0347."""
    low, high = gap_bound(268, 243, 139, 0.1), -gap_bound(243, 268, 139, 0.1)
    assert (low, high) == pytest.approx((0.0385 - 0.0571, 0.0385 + 0.0571), abs=0.004)
    assert gap_bound(0, 0, 40, 0.1) < 0 < -gap_bound(0, 0, 40, 0.1)

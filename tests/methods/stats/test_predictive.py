"""The predictive chances of a lead and of its loss: by hand, against SciPy, and what holds
of any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom

from judgeloop.methods.stats.predictive import chance_of_lead, chance_to_reach, further_decisive

COUNTS = st.integers(0, 60)


def test_two_further_verdicts_by_hand():
    # After 2:1 a win is as likely as 3/5, and after 3:1 as 4/6: 4:1 with 3/5 · 4/6 = 2/5. A loss,
    # then another: 2/5 · 3/6 = 1/5, to 2:3.
    # So a lead of 3 has a chance of 2/5, and one of at least 1 is sure, as 3:2 leads too.
    assert chance_of_lead(2, 1, 2, 3) == pytest.approx(2 / 5)
    assert chance_of_lead(2, 1, 2, 1) == pytest.approx(1.0)
    assert chance_of_lead(2, 1, 2, 5) == 0.0


@given(wins=COUNTS, losses=COUNTS, further=st.integers(0, 200), least=st.integers(0, 200))
def test_it_is_scipys_beta_binomial(wins, losses, further, least):
    won = np.arange(further + 1)
    leads = np.abs(wins - losses - further + 2 * won)
    expected = betabinom.pmf(won, further, wins + 1, losses + 1)[leads >= least].sum()
    assert chance_of_lead(wins, losses, further, least) == pytest.approx(expected, abs=1e-10)


@given(wins=COUNTS, losses=COUNTS, further=st.integers(0, 200), least=st.integers(0, 200))
def test_it_is_a_chance_the_same_from_both_sides_that_falls_as_the_lead_rises(wins, losses, further, least):
    chance = chance_of_lead(wins, losses, further, least)
    assert 0 <= chance <= 1
    assert chance == pytest.approx(chance_of_lead(losses, wins, further, least))
    assert chance_of_lead(wins, losses, further, least + 1) <= chance + 1e-12


def test_counts_in_the_thousands_do_not_overflow():
    further = betabinom(10_000, 5001, 5001)
    assert chance_of_lead(5000, 5000, 10_000, 100) == pytest.approx(further.sf(5049) + further.cdf(4950), abs=1e-9)


def test_further_verdicts_are_decisive_as_those_so_far_with_one_of_each_kind_added():
    assert further_decisive(2, 4, 6) == 3
    assert further_decisive(0, 8, 100) == 10
    assert further_decisive(8, 8, 0) == 0


@pytest.mark.parametrize(
    ("counts", "more", "each"), [((6, 4, 14), 5, 0.0), ((30, 20, 70), 8, 0.0), ((9, 9, 25), 7, 0.1)]
)
def test_a_lead_reaches_a_bound_as_often_as_walks_do(counts, more, each):
    """Walks whose gap is what so many verdicts, and those before them, leave open."""
    wins, losses, judged = counts
    seen, runs, rng = judged + 10, 20_000, np.random.default_rng(1)
    decisive = (wins + losses + 7) / seen
    gaps = rng.normal((wins - losses) / seen, (decisive / seen) ** 0.5, (runs, 1)).clip(-decisive, decisive)
    draws = rng.random((runs, 40))
    steps = np.where(draws < (decisive + gaps) / 2, 1, np.where(draws < decisive, -1, 0)) + each
    reached = np.maximum.accumulate(np.cumsum(steps, axis=1), axis=1) >= more - 1e-9
    for further in (10, 20, 40):
        assert chance_to_reach(*counts, further, more, each) == pytest.approx(reached[:, further - 1].mean(), abs=0.04)

"""The predictive chances of a lead and of its loss: by hand, against SciPy, and what holds
of any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import betabinom

from judgeloop.methods.stats.predictive import chance_of_lead, chance_overtaken, further_decisive

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


def test_to_be_overtaken_by_two_further_verdicts_by_hand():
    # As if four wins of each were known, two losses after 2:0 have a chance of 4/10 · 5/11, which
    # only levels: half of that.
    assert chance_overtaken(2, 0, 2) == pytest.approx(4 / 10 * 5 / 11 / 2)
    assert chance_overtaken(1, 0, 2) == pytest.approx(4 / 9 * 5 / 10)
    assert chance_overtaken(3, 0, 2) == 0.0


@given(wins=COUNTS, losses=COUNTS, further=st.integers(0, 200))
def test_to_be_overtaken_is_scipys_beta_binomial_for_who_leads_or_not(wins, losses, further):
    won = np.arange(further + 1)
    leads, further_wins = (wins - losses - further + 2 * won, betabinom(further, wins + 4, losses + 4))
    expected = further_wins.pmf(won[leads < 0]).sum() + further_wins.pmf(won[leads == 0]).sum() / 2
    assert chance_overtaken(wins, losses, further) == pytest.approx(expected, rel=1e-7, abs=1e-13)


def test_who_is_too_far_behind_does_not_lead_whatever_comes():
    assert chance_overtaken(5, 8, 2) == 1.0
    assert chance_overtaken(5, 8, 3) == pytest.approx(1 - betabinom(3, 9, 12).pmf(3) / 2)
    assert chance_overtaken(3, 3, 0) == 0.5


def test_with_very_many_to_come_it_is_the_incomplete_beta_function():
    assert chance_overtaken(30, 20, 100_000) == pytest.approx(betainc(34, 24, 0.5), rel=1e-3)


@given(losses=COUNTS, lead=st.integers(1, 60), further=st.integers(0, 200))
def test_a_lead_is_likelier_kept_than_lost_and_the_more_so_the_larger(losses, lead, further):
    chance = chance_overtaken(losses + lead, losses, further)
    assert 0 <= chance < 0.5
    assert chance_overtaken(losses + lead + 1, losses, further) <= chance * (1 + 1e-9)


def test_further_verdicts_are_decisive_as_those_so_far_with_one_of_each_kind_added():
    assert further_decisive(2, 4, 6) == 3
    assert further_decisive(0, 8, 100) == 10
    assert further_decisive(8, 8, 0) == 0

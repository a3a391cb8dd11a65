"""The test of a judge by controls: its exact chances, its bounds, and what counts."""

from __future__ import annotations

import numpy as np
import pytest
from support.control_chances import chances

from judgeloop.core.outcomes import Control
from judgeloop.methods.stats.controls import MOST, USUAL, counted, end_of, fewest_left

TABLE = {
    "never wrong": ((1.0,), (1.0, 0.0, 0.0, 9.0)),
    "95 % right": ((0.95,), (0.9936, 0.0001, 0.0063, 12.8)),
    "90 % right, else tie": ((0.9, 0.1), (1.0, 0.0, 0.0, 11.1)),
    "90 % right": ((0.9,), (0.886, 0.003, 0.111, 19.0)),
    "90 % right, no verdict in 5 %, asked again": ((0.9 * 0.9975, 0.0, 0.0025), (0.886, 0.003, 0.111, 19.0)),
    "90 % right, never a verdict in 5 %": ((0.855, 0.0, 0.05), (0.847, 0.003, 0.150, 20.3)),
    "95 % right, takes the first in 20 %, in both orders": (
        (0.8 * 0.95**2, 1 - 0.8 * (0.95**2 + 0.05**2)),
        (0.987, 0.012, 0.001, 17.4),
    ),
    "95 % right, takes the first in 20 %, in one order": ((0.86,), (0.685, 0.020, 0.295, 24.4)),
    "80 % right, else tie": ((0.8, 0.2), (0.9995, 0.0005, 0.0, 13.9)),
    "80 % right": ((0.8,), (0.357, 0.128, 0.516, 29.6)),
    "60 % right": ((0.6,), (0.014, 0.921, 0.064, 17.4)),
    "blind to the question": ((0.5,), (0.0023, 0.9942, 0.0035, 11.5)),
    "always a tie": ((0.0, 1.0), (0.0, 1.0, 0.0, 7.0)),
    "refuses half": ((0.5, 0.0, 0.5), (0.034, 0.0, 0.966, 15.6)),
}


@pytest.mark.parametrize(("judge", "figures"), TABLE.values(), ids=TABLE)
def test_the_chances_of_a_judge_are_those_of_the_page(judge, figures):
    found = chances(*judge)
    assert found[:3] == pytest.approx(figures[:3], abs=6e-4)
    assert found.calls == pytest.approx(figures[3], abs=0.06)
    assert sum(found[:3]) == pytest.approx(1)


def shares(mean):
    """Chances of right and tie with right - wrong = `mean`, from few ties to as many as possible."""
    return [((1 + mean - tied) / 2, tied) for tied in np.linspace(0, 1 - mean, 12)]


def test_a_judge_right_in_two_thirds_passes_with_5_per_cent_at_most():
    passes = [chances(*one).passed for one in shares(1 / 3)]
    assert 0.03 < max(passes) <= 0.05


def test_all_tries_together_pass_a_judge_right_in_two_thirds_with_10_per_cent_at_most():
    """The k-th try needs a product of 20 * 2^(k - 1), so its chance is at most half of the chance before."""
    tries = [max(chances(*one, number=number).passed for one in shares(1 / 3)[:4]) for number in range(1, 6)]
    assert all(later <= 0.05 / 2**n for n, later in enumerate(tries))
    assert 0.07 < sum(tries) <= 0.1
    assert [end_of(right, 0, 0, number=2) for right in (10, 11)] == [None, Control.PASSED]


def test_silence_does_not_help_a_judge_that_is_right_in_two_thirds():
    """It is thinned at random: two that are left out, and others that count as wrong."""
    assert chances(0.8 * 2 / 3, 0.0, 0.2).passed <= 0.05


def test_a_judge_right_in_85_per_cent_fails_with_5_per_cent_at_most():
    fails = [chances(*one).failed for one in shares(0.7)]
    assert 0.02 < max(fails) <= 0.05


@pytest.mark.simulation
@pytest.mark.parametrize("judge", [(0.5, 0.0), (0.8, 0.0), (0.6, 0.4)])
def test_seeded_judges_end_as_often_as_computed(judge):
    right, tied = judge
    rng = np.random.default_rng(32)
    draws = rng.choice([1, 0, -1], size=(2000, MOST), p=[right, tied, 1 - right - tied])
    ends = [counted(own).end for own in draws.tolist()]
    for end, chance in zip(Control, chances(*judge), strict=False):
        off = 4 * np.sqrt(chance * (1 - chance) / len(ends)) + 1 / len(ends)
        assert ends.count(end) / len(ends) == pytest.approx(chance, abs=off)


def test_what_follows_the_end_does_not_count():
    tally = counted([1] * 9 + [-1] * 9)
    assert (tally.right, tally.wrong, tally.end) == (9, 0, Control.PASSED)
    assert fewest_left(tally) == 0


def test_a_missing_verdict_helps_neither_to_pass_nor_to_fail():
    assert counted([None] * MOST).end is Control.NOT_SHOWN
    assert counted([1] * 9 + [None]).end is Control.PASSED
    assert counted([None, None, *[1] * 9]).end is Control.PASSED, "two are left out"
    assert counted([None, None, None, *[1] * 9]).end is None
    assert counted([-1] * 4).end is Control.FAILED
    assert counted([*[None] * 5, -1, -1, -1, -1]).end is None


def test_the_usual_number_is_that_of_a_judge_right_in_95_per_cent():
    assert round(chances(0.95).calls) == USUAL

"""The gap as shown where the draws preferred some items."""

from __future__ import annotations

import numpy as np
from support.results import make_result

from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.methods.estimators.preferences import Preferences, weighted_gap

ITEMS = 100


def tally_of(preferences, weights, items=ITEMS):
    """Of items drawn in this order; the weights of those left make up the rest of 1."""
    left = 1 - np.concatenate([[0], np.cumsum(weights)[:-1]])
    answers = [Abstention("no") if one is None else Verdict((1 + one) / 2) for one in preferences]
    labels = [
        Label(Choice(at, float(w / rest)), answer)
        for at, (w, rest, answer) in enumerate(zip(weights, left, answers, strict=True))
    ]
    return Preferences().tally(labels, items)


MOSTLY_SECOND = tally_of([-1, -1, 0, -1, 1, -1, 0, -1, -1, -1, 0, -1], np.full(12, 0.04))
# Three wins of the first that were likely to come, and two of the second that were not, so that
# they stand for many.
AGAINST = tally_of([1, 1, -1, 1, -1], np.array([0.2, 0.2, 0.002, 0.2, 0.002]))


def gap(result):
    return result.page.text("gap")


def test_it_is_an_estimate_for_the_leader_with_an_interval():
    estimate = weighted_gap(MOSTLY_SECOND)
    low, high = estimate.interval
    assert gap(make_result(tally=MOSTLY_SECOND)) == (
        f"large {-100 * estimate.value:+.0f} points against small, estimated from draws that prefer some items "
        f"(90 % interval {-100 * high:+.0f} to {-100 * low:+.0f}, approximate)"
    )


def test_the_json_has_the_estimate_the_interval_and_how_it_came_about():
    fields = make_result(tally=MOSTLY_SECOND).to_json()
    estimate = weighted_gap(MOSTLY_SECOND)
    assert fields["gap"] == -estimate.value > 0
    assert fields["gap_interval"] == [-estimate.interval[1], -estimate.interval[0]]
    assert fields["gap_weighted"] is True
    assert fields["gap_biased"] is False


def test_an_estimate_against_the_leader_says_so():
    result = make_result(tally=AGAINST, winner=0)
    low, high = weighted_gap(AGAINST).interval
    assert result.leader == "small"
    assert result.gap == weighted_gap(AGAINST).value < 0
    assert gap(result) == (
        f"small {100 * result.gap:+.0f} points against large, estimated from draws that prefer some items "
        f"(90 % interval {100 * low:+.0f} to {100 * high:+.0f}, approximate); it contradicts the votes, where small leads"
    )


def test_without_a_leader_it_is_of_the_second():
    level = tally_of([1, 0, -1, 0], np.array([0.2, 0.1, 0.002, 0.1]))
    result = make_result(tally=level, winner=None)
    assert (result.leader, result.gap) == (None, weighted_gap(level).value)
    assert gap(result).startswith(f"large {-100 * result.gap:+.0f} points against small, estimated")
    assert "beware" not in gap(result)


def test_of_one_verdict_it_has_no_interval():
    assert gap(make_result(tally=tally_of([1], np.array([0.1])), winner=None)) == (
        "small +100 points against large, estimated from draws that prefer some items, with no interval, as too few are judged"
    )


def test_all_ties_favour_nobody_and_are_no_minus_nothing():
    result = make_result(tally=tally_of([0, 0, 0], np.array([0.1, 0.2, 0.05])), winner=None)
    assert gap(result).startswith("large +0 points against small, estimated")
    assert str(result.gap) == "0.0"


def test_once_every_item_is_judged_it_is_plain():
    result = make_result(tally=tally_of([1, 1, -1, 1], np.array([0.4, 0.3, 0.2, 0.1]), items=4), winner=0)
    assert gap(result) == "small +50 points against large"
    assert (result.gap_weighted, result.gap) == (False, 0.5)


def test_of_even_draws_it_is_plain():
    even = Preferences().tally([Label(Choice(n, 1 / (100 - n)), Verdict(1.0)) for n in range(5)], ITEMS)
    plain = "small +100 points against large ("
    assert gap(make_result(tally=even, winner=0)).startswith(plain)

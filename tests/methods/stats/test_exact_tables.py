"""Exactly calibrated tables: the errors counted by hand, the conditions of the proofs, and the
figures of the study that the shapes come from (zone.md and not-worse.md, 2026-11-23)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from judgeloop.methods.stats.exact_tables import NEVER, calibrated, not_worse, within

SETTINGS = [
    (within(0.3), 0.2, 8, None),
    (within(0.25), 0.2, 8, 8),
    (not_worse(0.4), 0.2, 8, None),
    (not_worse(0.3), 0.2, 7, 10),
]
WIDER = [
    (within(0.1), 0.1, 60, None),
    (within(0.1), 0.1, 60, 60),
    (not_worse(0.1), 0.1, 60, None),
    (not_worse(0.2), 0.1, 60, 60),
    (not_worse(0.05), 0.05, 40, 300),
]


def first_answer(table, order):
    """The side that gives its answer first along an order of verdicts, seen from side 0."""
    for n in range(1, len(order) + 1):
        m, lead = sum(map(abs, order[:n])), sum(order[:n])
        for side, own in enumerate((lead, -lead)):
            if own >= table.leads[side, n, m]:
                return side
    return None


@pytest.mark.parametrize(("zone", "risk", "limit", "items"), SETTINGS)
def test_the_chances_are_those_of_all_orders_of_verdicts(zone, risk, limit, items):
    table = calibrated(zone, risk, limit, items)
    orders = list(itertools.product((1, 0, -1), repeat=limit))
    answers = [first_answer(table, order) for order in orders]
    assert {0, 1} <= set(answers)
    if items is None:
        shares = {1: 0.3, 0: 0.25, -1: 0.45}
        weights = [math.prod(shares[one] for one in order) for order in orders]
        found = table.outlook(-0.15, 0.75)
    else:
        counts = {1: 3, 0: 2, -1: items - 5}
        weights = [
            math.prod(math.perm(count, order.count(one)) for one, count in counts.items()) / math.perm(items, limit)
            for order in orders
        ]
        found = table.outlook((counts[1] - counts[-1]) / items, 1 - 2 / items)
    for side in (0, 1):
        counted = sum(w for w, given in zip(weights, answers, strict=True) if given == side)
        assert found.answers[side] == pytest.approx(counted, abs=1e-12)


@pytest.mark.parametrize(("zone", "risk", "limit", "items"), SETTINGS + WIDER)
def test_no_share_errs_more_than_the_risk_and_the_proved_bound_is_above_all(zone, risk, limit, items):
    table, rng = calibrated(zone, risk, limit, items), np.random.default_rng(1)
    for side, null in enumerate(zone.nulls):
        worst = 0.0
        for decisive in rng.uniform(-null, 1, size=60):
            gap = rng.uniform(-decisive, min(null, decisive)) if rng.random() < 0.5 else null
            if items is not None:
                gap = min(gap, -math.ceil(-null * items) / items)
            seen = table.outlook(gap if side == 0 else -gap, max(decisive, -gap))
            worst = max(worst, seen.answers[side])
        assert worst <= table.error(side) + 1e-9 <= risk + 2e-9


@pytest.mark.parametrize(("zone", "risk", "limit", "items"), SETTINGS + WIDER)
def test_a_table_keeps_the_condition_of_the_proof(zone, risk, limit, items):
    leads = calibrated(zone, risk, limit, items).leads
    for n in range(1, limit + 1):
        both = leads[:, n, : n + 1]
        steps = np.diff(both, axis=1)
        assert (abs(steps) <= 1).all() or (both == NEVER).all()
        assert (both.sum(axis=0) >= 1).all(), "the regions are disjoint"


@pytest.mark.parametrize(
    ("zone", "limit", "gap", "ties", "answers", "judged"),
    [  # not-worse.md, section 10: limit 200 and 400, judgments and PASS/FAIL in per cent
        (not_worse(0.1), 200, 0.0, 0.3, (56, 10), 131),
        (not_worse(0.1), 200, -0.1, 0.3, (10, 56), 131),
        (not_worse(0.1), 200, 0.1, 0.7, (100, 0), 43),
        (not_worse(0.05), 200, 0.0, 0.0, (22, 10), 160),
        (not_worse(0.15), 200, -0.15, 0.1, (10, 73), 107),
    ],
)
def test_the_chances_of_not_worse_are_those_of_the_study(zone, limit, gap, ties, answers, judged):
    found = calibrated(zone, 0.1, limit).outlook(gap, 1 - ties)
    assert [100 * one for one in found.answers] == pytest.approx(answers, abs=1.2)
    assert found.judgments == pytest.approx(judged, abs=2)


@pytest.mark.parametrize(
    ("gap", "risk", "judged", "undecided"),
    [  # zone.md, section 4, limit 200: means over 27 cells
        (0.1, 0.1, 56.27, 0.0318),
        (0.2, 0.1, 18.59, 0.0),
        (0.1, 0.2, 28.45, 0.0003),
    ],
)
def test_the_means_of_a_gap_that_matters_are_those_of_the_study(gap, risk, judged, undecided):
    table = calibrated(within(gap), risk, 200)
    cells = [
        table.outlook(true, 1 - ties)
        for true in (0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
        for ties in (0, 0.1, 0.3, 0.7)
        if true <= 1 - ties
    ]
    assert len(cells) == 27
    assert np.mean([cell.judgments for cell in cells]) == pytest.approx(judged, rel=0.015)
    assert np.mean([cell.none for cell in cells]) == pytest.approx(undecided, abs=0.002)


@pytest.mark.parametrize("items", [100, 101, 102, 103])
def test_items_of_any_number_are_won_lost_or_tied(items):
    found = calibrated(not_worse(0.2), 0.1, 60, items).outlook(0.0, 1.0)
    assert found.answers[0] > 0.6
    assert sum(found.answers) + found.none == pytest.approx(1)
    assert 10 < found.judgments < 60


def test_passing_now_has_the_risk_of_the_study():
    """not-worse.md, section 6: 4 points behind after 200 judgments, .231."""
    table = calibrated(not_worse(0.1), 0.1, 200)
    assert table.stated_now(0, 200, -8) == pytest.approx(0.231, abs=0.005)
    assert table.stated_now(0, 200, -20) > table.stated_now(0, 200, 4)


@pytest.mark.parametrize(("zone", "risk", "limit", "items"), SETTINGS[::2])
@pytest.mark.parametrize(("judged", "lead"), [(1, -1), (4, 0), (6, -2)])
def test_an_answer_given_now_is_counted_over_all_orders(zone, risk, limit, items, judged, lead):
    """Also where walks that were cut there would have had larger leads afterwards."""
    table = calibrated(zone, risk, limit, items)
    lowered = table.leads[0].copy()
    lowered[judged] = np.minimum(lowered[judged], lead)
    now = table.with_leads(0, lowered)
    shares = {1: 0.3, 0: 0.25, -1: 0.45}
    counted = sum(
        math.prod(shares[one] for one in order)
        for order in itertools.product((1, 0, -1), repeat=limit)
        if first_answer(now, order) == 0
    )
    assert now.outlook(-0.15, 0.75).answers[0] == pytest.approx(counted, abs=1e-12)


def test_a_larger_lead_has_a_smaller_stated_risk_and_none_is_above_the_tables():
    table = calibrated(within(0.2), 0.1, 80)
    least = int(table.leads[0, 30, 20])
    stated = [table.stated(0, 30, 20, lead) for lead in range(least, least + 6)]
    assert stated == sorted(stated, reverse=True)
    assert stated[-1] < stated[0] <= 0.1


def test_without_room_for_the_risk_no_answer_is_given_but_one_that_is_certain():
    table = calibrated(within(0.02), 0.0001, 12)
    assert (table.leads == NEVER).all()
    certain = calibrated(not_worse(0.1), 0.0001, 12, 12)
    assert certain.outlook(0.0, 1.0).answers == pytest.approx((1.0, 0.0))
    assert certain.error(0) == certain.error(1) == 0.0


@pytest.mark.parametrize("risk", [0.0, 0.4, 0.9])
def test_a_risk_that_no_shape_is_for_is_refused(risk):
    with pytest.raises(ValueError, match="expected a risk above 0 and below"):
        calibrated(within(0.1), risk, 10)

"""The catalogue of rules: every row makes the rule it names, and a walk over arrays ends where the
rule does."""

from __future__ import annotations

import numpy as np
import pytest
from support.rules import RULES_AMONG_MANY, make_rule_among
from support.tallies import grown_and_plain

from judgeloop.catalogue import rule_row, rules_of
from judgeloop.methods.rows import Draft, RuleRow

ROWS = rules_of("compare")
THRESHOLDS = np.array([0.02, 0.1, 0.25, 0.5])
SHARES = {"level": (0.3, 0.4, 0.3), "one ahead": (0.1, 0.3, 0.6), "mostly ties": (0.02, 0.8, 0.18)}
POOLS = {"some of the items": (90, 40), "all items": (25, 25)}


def made(row: RuleRow, *, risk: float, items: int, limit: int):
    return row.make(Draft(items, limit, risk))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_makes_the_rule_of_its_name(row):
    rule = made(row, risk=0.2, items=50, limit=30)
    assert rule.name == row.name
    assert rule.threshold == 0.2
    assert rule.needs_draws == (row.guaranteed and not row.recorded)
    assert (rule.guarantee is not None) == row.guaranteed


@pytest.mark.parametrize("name", RULES_AMONG_MANY)
def test_a_row_for_many_systems_makes_the_rule_of_its_name(name):
    row, rule = rule_row("select", name), make_rule_among(name, risk=0.2, items=50)
    assert rule.name == name
    assert rule.needs_draws == row.guaranteed
    assert (rule.guarantee is not None) == row.guaranteed


def sequences(items, looks, shares, count=3, seed=17):
    """Seeded preferences in the order heard, shape (count, looks)."""
    rng = np.random.default_rng([seed, items, looks])
    return rng.choice(np.array([-1, 0, 1], dtype=np.int8), size=(count, looks), p=shares)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_rule_is_met_along_a_sequence_where_it_is_met_look_after_look(row, shares, pool):
    items, looks = POOLS[pool]
    heard = sequences(items, looks, SHARES[shares])
    rule = made(row, risk=1.0, items=items, limit=looks)
    along = rule.met_along_each(heard, items, THRESHOLDS)
    assert along.shape == (len(THRESHOLDS), *heard.shape)
    for at, threshold in enumerate(THRESHOLDS):
        rule = made(row, risk=float(threshold), items=items, limit=looks)
        for number, preferences in enumerate(heard.tolist()):
            met = [rule.is_met(tally) for tally, _ in grown_and_plain(preferences, items)]
            assert along[at, number].tolist() == met


@pytest.mark.parametrize("row", [row for row in ROWS if not row.recorded], ids=lambda row: row.name)
def test_these_sequences_meet_a_rule_at_some_looks_and_not_at_others(row):
    """Or the comparison above would say little."""
    items, looks = POOLS["some of the items"]
    rule = made(row, risk=1.0, items=items, limit=looks)
    heard = sequences(items, looks, SHARES["one ahead"])
    met = rule.met_along_each(heard, items, THRESHOLDS)[-1]
    assert met.any()
    assert not met.all()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_along_no_verdicts_a_rule_is_never_met(row):
    rule = made(row, risk=0.5, items=20, limit=20)
    for many in (0, 3):
        met = rule.met_along_each(np.zeros((many, 0), dtype=np.int8), 20, THRESHOLDS)
        assert met.shape == (len(THRESHOLDS), many, 0)

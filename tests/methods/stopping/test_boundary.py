"""The boundary that pictures show is the one at which the rule names a system."""

from __future__ import annotations

import numpy as np
import pytest
from support.tallies import tally_of

from judgeloop.methods.stopping.by_table import NotWorse, WithinGap
from judgeloop.methods.stopping.sequential import Sequential
from judgeloop.papers.diffuse.rules import TieAware

ITEMS = 80
RULES = {
    "sequential": (Sequential(0.1, ITEMS, 60), (0, 1)),
    "within-gap": (WithinGap(0.1, ITEMS, 60, 0.2), (0, 1)),
    "worse": (NotWorse(0.1, ITEMS, 60, 0.2), (0,)),
}


@pytest.mark.parametrize("name", RULES)
def test_a_system_is_named_first_where_its_lead_reaches_the_boundary(name):
    rule, sides = RULES[name]
    rng, named = np.random.default_rng(4), 0
    for drift in (0.1, 0.3, 0.6, -0.5):
        for _ in range(6):
            chances = [0.35 - drift / 2, 0.3, 0.35 + drift / 2]
            drawn = rng.choice([-1, 0, 1], p=chances, size=60).tolist()
            looks = range(1, 61)
            first = next((at - 1 for at in looks if rule.is_met(tally_of(drawn[:at], ITEMS))), None)
            whole = tally_of(drawn, ITEMS)
            reached = [
                (int(np.argmax(over)), side)
                for side in (0, 1)
                if (over := np.cumsum(drawn) * (1 - 2 * side) >= rule.boundary(whole, side)).any()
            ]
            at, side = min(reached, default=(None, None))
            assert first == (at if side in sides else None)
            named += first is not None
    assert named > 5, "some of these draws decide"


def test_a_rule_that_looks_at_more_than_the_lead_has_no_boundary():
    assert TieAware(0.1).boundary(tally_of([1, 1], ITEMS), 0) is None

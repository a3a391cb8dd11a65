"""Walks through a selector's steps with answers known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from support.pools import known_beforehand
from support.walking import walk

from judgeloop.core.records import Verdict
from judgeloop.methods.selectors.decisive import decisive
from judgeloop.methods.selectors.random import Random


def prospects(items, **more):
    return known_beforehand(items)._replace(**more)


@pytest.mark.parametrize(
    "selector",
    [
        Random(),
        decisive(known_beforehand(300)),
        decisive(prospects(300, power=0.5)),
        decisive(prospects(300, patterns=np.random.default_rng(4).normal(size=(2, 300)))),
    ],
    ids=["random", "decisive", "weaker", "patterns"],
)
@pytest.mark.parametrize("most", [0, 1, 10, 11, 90, 200, 300])
def test_orders_of_many_runs_are_those_of_one_walk_after_another(selector, most):
    decided = np.random.default_rng(3).random(300) < 0.4
    orders = selector.orders(decided, most, 7, np.random.default_rng(1))
    assert orders.shape == (7, most)
    rng = np.random.default_rng(1)
    for order in orders:
        labels = walk(selector, 300, most, lambda choice: Verdict(0.5 + decided[choice.position] / 2), rng)
        assert [label.choice.position for label in labels] == order.tolist()

"""Judged in one order each, items keep the promise about (item, order) pairs, by simulation.

Items are drawn without replacement, and a fair coin shows one of the two orders. On every
population here the pairs are level, so that naming either system is wrong. The rules take the
population to be without end, for which the promise is proved: the draws of items from such a
population, each with a fair coin, are independent.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.promises import check_risk
from support.walks import first_crossing

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.betting import risk_by_bets
from judgeloop.methods.stats.spending import Spending

RUNS = 500
RISKS = np.array([0.05, 0.1, 0.2])
# Numbers of items with these verdicts, one in each order: 1 for the first system, -1 the second.
LEVEL = {
    "agreed": {(1, 1): 60, (-1, -1): 60, (0, 0): 80},
    "flips only": {(1, -1): 100, (0, 0): 50},
    "half wins against whole ones": {(1, 0): 80, (-1, -1): 40, (0, 0): 30},
    "whole wins against half ones": {(-1, 0): 80, (1, 1): 40, (0, 0): 30},
    "flips and half wins": {(1, -1): 60, (0, 1): 40, (-1, -1): 20},
    "few items": {(1, 1): 12, (-1, -1): 12, (1, -1): 6},
}


def drawn(verdicts, rng):
    """The verdicts of one run, in the order drawn."""
    table = np.repeat(np.array(list(verdicts)), list(verdicts.values()), axis=0)
    table = rng.permutation(table)
    return table[np.arange(len(table)), rng.integers(2, size=len(table))].astype(np.int8)


def named_by_sequential(walks, limit):
    spending = Spending(UNLIMITED, limit, 2 * RISKS)
    return np.sum([first_crossing(walk[:limit], spending) > 0 for walk in walks], axis=0)


def named_by_anytime(walks, limit):
    del limit
    return np.sum([risk_by_bets(walk, UNLIMITED) <= RISKS for walk in walks], axis=0)


@pytest.mark.parametrize("named_by", [named_by_sequential, named_by_anytime])
@pytest.mark.parametrize("kind", LEVEL)
def test_between_level_pairs_a_system_is_named_with_at_most_the_risk(kind, named_by, capsys):
    rng = np.random.default_rng(len(kind))
    walks = [drawn(LEVEL[kind], rng) for _ in range(RUNS)]
    named = named_by(walks, min(200, sum(LEVEL[kind].values())))
    for count, risk in zip(named, RISKS, strict=True):
        check_risk(f"{named_by.__name__}, {kind}, named", count, RUNS, risk, capsys)

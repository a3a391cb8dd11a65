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

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stopping.bets import Bets, answers

RUNS = 500
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


@pytest.mark.parametrize("kind", LEVEL)
@pytest.mark.parametrize("risk", [0.05, 0.1, 0.2])
def test_between_level_pairs_a_system_is_named_with_at_most_the_risk(kind, risk, capsys):
    rng = np.random.default_rng(len(kind))
    walks = np.array([drawn(LEVEL[kind], rng) for _ in range(RUNS)])[:, :200]
    _, which = answers(Bets(risk, UNLIMITED, walks.shape[1]).begin, walks)
    check_risk(f"{kind}, named", (which == 0).sum(), RUNS, risk, capsys)

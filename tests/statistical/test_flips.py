"""A judge with as many flips as `max-flips` allows fails it with at most the risk, whatever ends the run."""

from __future__ import annotations

import numpy as np
import pytest
from support.promises import check_risk

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.intervals import chance_of_so_many
from judgeloop.methods.stopping.bets import Bets, answers
from judgeloop.report.facts import FLIPS_RISK

RUNS, LIMIT, RISK = 300, 200, 0.1


@pytest.mark.parametrize("may", [0.1, 0.5])
@pytest.mark.parametrize("won", [0.5, 0.75, 0.95])
def test_in_one_random_order_a_judge_with_as_many_flips_as_may_be_seldom_fails(may, won, capsys):
    """The places of its verdicts are looked at: all its flips are for the first."""
    rng = np.random.default_rng([round(100 * may), round(100 * won), 1])
    flipped, system = rng.random((RUNS, LIMIT)) < may, np.where(rng.random((RUNS, LIMIT)) < won, 1, -1)
    place = np.where(rng.random((RUNS, LIMIT)) < 0.5, 1, -1)  # 1: the first system is shown first
    draws = np.where(flipped, place, system)
    ends, _ = answers(Bets(RISK, UNLIMITED, LIMIT).begin, draws)
    firsts = [int((row[:end] == shown[:end]).sum()) for row, shown, end in zip(draws, place, ends, strict=True)]
    failed = sum(
        2 * chance_of_so_many(max(first, int(end) - first), int(end), (1 + may) / 2) <= FLIPS_RISK
        for first, end in zip(firsts, ends, strict=True)
    )
    check_risk(f"flips of {may:.0%} in one order, won {won:.0%}", failed, RUNS, RISK, capsys)


@pytest.mark.parametrize("may", [0.1, 0.2, 0.4])
@pytest.mark.parametrize("won", [0.5, 0.6, 0.75, 0.95])
def test_a_judge_with_as_many_flips_as_may_be_seldom_fails(may, won, capsys):
    """A flipped verdict is a tie; of the others the first system wins a share. The default rule ends the run."""
    rng = np.random.default_rng([round(100 * may), round(100 * won)])
    flipped = rng.random((RUNS, LIMIT)) < may
    draws = np.where(flipped, 0, np.where(rng.random((RUNS, LIMIT)) < won, 1, -1))
    ends, _ = answers(Bets(RISK, UNLIMITED, LIMIT).begin, draws)
    failed = sum(
        chance_of_so_many(int(row[:end].sum()), int(end), may) <= RISK for row, end in zip(flipped, ends, strict=True)
    )
    check_risk(f"flips of {may:.0%}, won {won:.0%}", failed, RUNS, RISK, capsys)

"""The sizes of tests about a gap, against simulated runs of the rule."""

from __future__ import annotations

import pytest

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.margins import limit_to_name, limit_to_pass
from judgeloop.methods.stopping.bets import Bets


@pytest.mark.parametrize("decisive", [0.3, 0.7, 1.0])
@pytest.mark.parametrize(("gap", "risk"), [(0.2, 0.1), (0.2, 0.05), (0.1, 0.2)])
def test_with_the_limit_to_name_level_systems_mostly_get_a_name(gap, risk, decisive):
    limit = limit_to_name(gap, risk, decisive)
    named = 1 - Bets(risk, UNLIMITED, limit, min_gap=gap).outlook(0.0, 1 - decisive).none
    assert 0.65 < named < 0.97


@pytest.mark.parametrize("decisive", [0.5, 0.7])
def test_with_the_limit_to_pass_an_equal_system_passes_in_about_four_fifths_of_the_runs(decisive):
    limit = limit_to_pass(0.2, 0.1, decisive)
    assert 0.72 < Bets(0.1, UNLIMITED, limit, not_worse=0.2).outlook(0.0, 1 - decisive).second < 0.88

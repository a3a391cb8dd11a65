"""The sizes of tests about a gap, against the exact chances of the tables."""

from __future__ import annotations

import pytest

from judgeloop.methods.stats.exact_tables import calibrated, not_worse, within
from judgeloop.methods.stats.margins import limit_to_name, limit_to_pass


@pytest.mark.parametrize("decisive", [0.3, 0.7, 1.0])
@pytest.mark.parametrize(("gap", "risk"), [(0.2, 0.1), (0.2, 0.05), (0.1, 0.2)])
def test_with_the_limit_to_name_level_systems_get_a_name_in_four_fifths_of_the_runs(gap, risk, decisive):
    limit = limit_to_name(gap, risk, decisive)
    named = 1 - calibrated(within(gap), risk, limit, None).outlook(0.0, decisive).none
    assert 0.75 < named < 0.97, "the fewest judgments of these are 23, where one more makes a difference"


@pytest.mark.parametrize("decisive", [0.5, 0.7])
def test_with_the_limit_to_pass_an_equal_system_passes_in_four_fifths_of_the_runs(decisive):
    limit = limit_to_pass(0.2, 0.1, decisive)
    passed = calibrated(not_worse(0.2), 0.1, limit, None).outlook(0.0, decisive).answers
    assert 0.77 < max(passed) < 0.86

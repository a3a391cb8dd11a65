"""What a win and a tie are: the one definition, of verdicts, of two scores, and of arrays of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.records import Verdict, as_score, preference


@pytest.mark.parametrize(
    ("first", "second", "margin", "expected"),
    [
        (0.5, 0.5, 0.0, 0),
        (0.5, 0.4, 0.0, 1),
        (0.4, 0.5, 0.0, -1),
        (0.3, 0.1, 0.2, 0),  # 0.3 - 0.1 is a little less than 0.2 in floats …
        (0.8, 0.6, 0.2, 0),  # … and 0.8 - 0.6 a little more
        (0.3, 0.1, 0.19, 1),
        (0.1, 0.3, 0.19, -1),
        (7.0, 9.0, 2.0, 0),
    ],
)
def test_scores_that_differ_by_no_more_than_the_margin_tie(first, second, margin, expected):
    assert preference(first - second, margin) == expected
    assert preference(np.array([first - second, np.nan]), margin).tolist() == [expected, 0]


@given(*[st.floats(-1e6, 1e6)] * 2, st.floats(0, 10))
def test_turning_two_scores_round_turns_the_preference_round(first, second, margin):
    assert preference(first - second, margin) == -preference(second - first, margin)


@pytest.mark.parametrize(
    ("score", "preferred", "plain"), [(1.0, 1, 1.0), (0.75, 1, 1.0), (0.5, 0, 0.5), (0.49, -1, 0.0)]
)
def test_a_verdict_prefers_by_its_score(score, preferred, plain):
    assert Verdict(score).preference == preferred
    assert as_score(preferred) == plain

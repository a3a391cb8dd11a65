"""What the tables of a replay of estimates say, against figures worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.replay.tables import areas, by_share, headlines


def row_of(selector, share, estimate, *, system="s", repetition=0, low=None, high=None):
    return {"system": system, "repetition": repetition, "selector": selector, "share": share, "judged": share,
            "strata": 1, "truth": 0.5, "estimate": estimate, "low": low, "high": high}  # fmt: skip


def test_errors_and_coverage_are_those_worked_out_by_hand():
    # |0.6 - 0.5| / 0.5 = 0.2, |0.45 - 0.5| / 0.5 = 0.1, |0.7 - 0.5| / 0.5 = 0.4: median 0.2, mean
    # square (0.04 + 0.01 + 0.16) / 3 = 0.07.
    # Of the intervals [0.55, 0.65] misses 0.5, [0.4, 0.5] holds it at its end; half widths 0.05 and
    # 0.05, the third has none.
    rows = [
        row_of("random", 10, 0.6, repetition=0, low=0.55, high=0.65),
        row_of("random", 10, 0.45, repetition=1, low=0.4, high=0.5),
        row_of("random", 10, 0.7, repetition=2),
    ]
    (row,) = by_share(rows)
    assert (row["judged"], row["runs"]) == (10, 3)
    assert row["error"] == pytest.approx(0.2)
    assert row["rms"] == pytest.approx(0.07**0.5)
    assert (row["coverage"], row["half_width"]) == (0.5, pytest.approx(0.05))
    assert row["error_se"] > 0


def test_areas_are_those_worked_out_by_hand():
    # random: errors 0.4 at 10 %, 0.2 at 20 %, 0.2 at 40 %: (0.3 · 10 + 0.2 · 20) / 30 = 7/30.
    # other: 0.2 everywhere: 0.2, which is 6/7 of it.
    rows = [row_of("random", share, estimate) for share, estimate in ((10, 0.7), (20, 0.4), (40, 0.6))]
    rows += [row_of("other", share, 0.6) for share in (10, 20, 40)]
    random, other = areas(rows)
    assert random["area"] == pytest.approx(7 / 30)
    assert random["against_random"] is None
    assert other["area"] == pytest.approx(0.2)
    assert other["against_random"] == pytest.approx(6 / 7 - 1)
    assert other["coverage"] is None


@settings(max_examples=20)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=8, unique=True), st.floats(0.01, 0.99))
def test_the_area_of_a_level_curve_is_its_height(shares, estimate):
    (row,) = areas([row_of("random", share, estimate) for share in sorted(shares)])
    assert row["area"] == pytest.approx(abs(estimate - 0.5) / 0.5)


def test_standard_errors_are_over_systems_or_over_the_repetitions_of_one():
    alike = [row_of("random", 10, 0.6, repetition=one) for one in range(4)]
    assert by_share(alike)[0]["error_se"] == pytest.approx(0, abs=1e-12)
    spread = [row_of("random", 10, 0.5 + one / 10, repetition=one) for one in range(4)]
    assert by_share(spread)[0]["error_se"] > 0
    # Repetitions spread in both systems, which are alike: resampling systems with all their
    # repetitions changes nothing.
    twice = spread + [row | {"system": "t"} for row in spread]
    assert by_share(twice)[0]["error_se"] == pytest.approx(0, abs=1e-12)
    apart = alike + [row | {"system": "t", "estimate": 0.9} for row in alike]
    assert by_share(apart)[0]["error_se"] > 0


def test_the_headlines_have_the_errors_at_the_shares_that_were_run():
    rows = [row_of("random", share, 0.6, low=0.4, high=0.7) for share in (10, 20)]
    (line,) = headlines(by_share(rows), areas(rows))
    assert line["error at 10 %"] == pytest.approx(0.2)
    assert "error at 30 %" not in line
    assert line["coverage"] == 1.0

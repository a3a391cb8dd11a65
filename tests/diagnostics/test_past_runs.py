"""Days in local time."""

from __future__ import annotations

import time
from datetime import date

import pytest

from judgeloop.core.errors import InputError
from judgeloop.diagnostics.past_runs import local_day


@pytest.fixture
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "began"),
    [
        ("today", "2026-03-29T23:00:00.000+00:00".replace("23:00", "22:00")),
        ("yesterday", "2026-03-28T23:00:00.000+00:00"),  # the night in which the clock went forward
        ("7", "2026-03-22T23:00:00.000+00:00"),
        ("2026-07-01", "2026-06-30T22:00:00.000+00:00"),
    ],
)
def test_a_day_begins_at_local_midnight_also_across_a_change_of_the_clock(berlin, text, began):
    assert local_day(text, date(2026, 3, 30)) == began


@pytest.mark.parametrize("text", ["", "-1", "last week", "2026-13-01", "9" * 30, "²"])
def test_what_is_no_day_is_refused(text):
    with pytest.raises(InputError, match="expected today, yesterday"):
        local_day(text, date(2026, 3, 30))

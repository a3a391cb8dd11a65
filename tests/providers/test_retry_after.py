from __future__ import annotations

import email.utils
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.providers.errors import retry_after_s


def dated(seconds):
    return email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after-ms": "-1", "retry-after": "7"}, 7.0),
    ],
)
def test_the_wait_is_what_the_server_asks_for(headers, seconds):
    assert retry_after_s(headers) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "soon",
        "-1",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "12 seconds",
        "Mon, 32 Foo 2024 25:00:00 GMT",
        "9" * 400,
        "Mon, 01 Jan 2024 00:00:00 +99999999999999999",
        "Mon, 01 Jan 99999 00:00:00 GMT",
        "Mon, 01 Jan 0001 00:00:00 +2359",
    ],
)
def test_nonsense_asks_for_nothing(text):
    assert retry_after_s({"retry-after": text}) is None


def test_a_date_is_as_far_away_as_it_is_and_without_a_zone_read_as_utc():
    for date in (dated(30), dated(30).replace("GMT", "-0000")):
        assert 25 < retry_after_s({"retry-after": date}) <= 30
    assert retry_after_s({"retry-after": dated(-30)}) is None
    assert retry_after_s({}) is None


DATES = st.tuples(
    *map(st.sampled_from, (["Mon, ", ""], ["0", "1", "31", "99", "-1"], ["Jan", "Feb", "Foo"])),
    st.integers(-(10**12), 10**12).map(str) | st.integers(1, 9999).map("{:04}".format),
    st.sampled_from(["00:00:00", "25:61:61", "1:2"]),
    st.integers(-(10**20), 10**20).map("{:+}".format) | st.sampled_from(["GMT", "-0000", "+2359", "", "+"]),
).map(lambda parts: parts[0] + " ".join(parts[1:]))


@given(text=st.text(max_size=30) | DATES)
def test_any_text_gives_a_finite_wait_or_none(text):
    seconds = retry_after_s({"retry-after": text})
    assert seconds is None or 0 <= seconds < float("inf")

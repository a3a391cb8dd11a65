from __future__ import annotations

import asyncio
import email.utils
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.engine.retrying import RetryPolicy
from judgeloop.providers.retry_after import retry_after_s


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


def test_no_header_asks_for_nothing():
    assert retry_after_s({}) is None


def test_a_date_is_as_far_away_as_it_is():
    assert 25 < retry_after_s({"retry-after": dated(30)}) <= 30


def test_a_date_without_a_zone_is_read_as_utc():
    assert 25 < retry_after_s({"retry-after": dated(30).replace("GMT", "-0000")}) <= 30


def test_a_date_in_the_past_asks_for_nothing():
    assert retry_after_s({"retry-after": dated(-30)}) is None


DATES = st.tuples(
    *map(st.sampled_from, (["Mon, ", ""], ["0", "1", "31", "99", "-1"], ["Jan", "Feb", "Foo"])),
    st.integers(-(10**12), 10**12).map(str) | st.integers(1, 9999).map("{:04}".format),
    st.sampled_from(["00:00:00", "25:61:61", "1:2"]),
    st.integers(-(10**20), 10**20).map("{:+}".format)
    | st.sampled_from(["GMT", "-0000", "+2359", "", "+"]),
).map(lambda parts: parts[0] + " ".join(parts[1:]))


@given(text=st.text(max_size=30) | DATES)
def test_any_text_gives_a_finite_wait_or_none(text):
    seconds = retry_after_s({"retry-after": text})
    assert seconds is None or 0 <= seconds < float("inf")


def attempts(policy, *errors, left_s=None):
    """The waits before each further attempt, and how it ended, where the attempts fail with
    `errors` and then work."""
    waits, left = [], list(errors)

    async def sleep(seconds):
        waits.append(seconds)

    async def attempt():
        if left:
            raise left.pop(0)
        return "worked"

    async def run():
        try:
            return await policy.retrying(sleep, lambda: left_s)(attempt)
        except JudgeError as error:
            return error

    return waits, asyncio.run(run())


def busy(retry_after=None):
    return JudgeError(ErrorKind.RETRY, "busy", billed=False, wait_s=retry_after)


def test_a_wait_that_the_server_asks_for_is_kept():
    assert attempts(RetryPolicy(), busy(3.5)) == ([3.5], "worked")


def test_a_server_that_asks_for_no_wait_is_still_given_the_usual_one():
    policy = RetryPolicy(attempts=20, first_wait_s=1.0)
    waits, _ = attempts(policy, *[busy(0.0)] * 19)
    assert max(waits) > 1


def test_without_a_request_the_waits_stay_below_the_longest():
    waits, ended = attempts(RetryPolicy(attempts=12, longest_wait_s=2.0), *[busy()] * 11)
    assert ended == "worked"
    assert len(waits) == 11
    assert 0 < max(waits) <= 2.0


def test_the_last_error_is_raised_when_the_attempts_are_used_up():
    errors = [busy(0.0) for _ in range(4)]
    waits, ended = attempts(RetryPolicy(attempts=4), *errors)
    assert (len(waits), ended) == (3, errors[-1])


def test_refusals_of_a_crowded_server_use_up_no_attempts():
    crowded = JudgeError(ErrorKind.CROWDED, "crowded", billed=False)
    failures = [JudgeError(ErrorKind.RETRY, "HTTP 500", billed=True) for _ in range(4)]
    errors = [*[crowded] * 5, failures[0], crowded, *failures[1:3]]
    waits, ended = attempts(RetryPolicy(attempts=4, first_wait_s=0.0), *errors)
    assert (len(waits), ended) == (9, "worked")
    waits, ended = attempts(RetryPolicy(attempts=4, first_wait_s=0.0), *errors, failures[3])
    assert (len(waits), ended) == (9, failures[3])


def test_a_server_that_asks_for_too_long_a_wait_is_not_waited_for():
    error = busy(60.5)
    assert attempts(RetryPolicy(longest_wait_s=60.0), error) == ([], error)


def test_a_long_wait_is_kept_where_the_run_has_the_time_for_it():
    assert attempts(RetryPolicy(longest_wait_s=60.0), busy(600.0), left_s=900.0) == (
        [600.0],
        "worked",
    )


def test_a_wait_longer_than_what_is_left_of_the_run_is_not_begun():
    error = busy(30.0)
    assert attempts(RetryPolicy(), error, left_s=29.0) == ([], error)


def test_a_crowded_server_that_says_when_is_waited_for_as_often_as_the_run_has_time():
    crowded = [JudgeError(ErrorKind.CROWDED, "busy", billed=False, wait_s=100.0) for _ in range(6)]
    assert attempts(RetryPolicy(attempts=2, patience_s=0.0), *crowded, left_s=900.0) == (
        [100.0] * 6,
        "worked",
    )


def test_what_no_attempt_can_mend_is_not_tried_again():
    error = JudgeError(ErrorKind.REJECTED, "bad key", billed=False)
    assert attempts(RetryPolicy(), error) == ([], error)

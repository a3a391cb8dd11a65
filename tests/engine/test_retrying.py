"""How often a call is tried again, and after what waits."""

from __future__ import annotations

import asyncio

import pytest

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.engine import pace
from judgeloop.engine.pace import Retries, RetryPolicy


def attempts(policy, *errors, left_s=None, answered=False):
    """The waits before each further attempt, and how it ended, where the attempts fail with
    `errors` and then work."""

    async def story():
        retries, waits = Retries(policy, answered=answered), []
        for error in errors:
            wait_s = retries.wait_s(error, left_s)
            if wait_s is None:
                return waits, error
            waits.append(wait_s)
        return waits, "worked"

    return asyncio.run(story())


def busy(retry_after=None):
    return JudgeError(ErrorKind.RETRY, "busy", billed=False, wait_s=retry_after)


@pytest.mark.parametrize(
    ("wait_s", "left_s", "kept"), [(3.5, None, True), (60.5, None, False), (600.0, 900.0, True), (30.0, 29.0, False)]
)
def test_a_wait_asked_for_is_kept_where_there_is_time_for_it(wait_s, left_s, kept):
    error = busy(wait_s)
    found = attempts(RetryPolicy(longest_wait_s=60.0), error, left_s=left_s)
    assert found == (([wait_s], "worked") if kept else ([], error))


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


def test_a_crowded_server_that_says_when_is_waited_for_as_often_as_the_run_has_time():
    crowded = [JudgeError(ErrorKind.CROWDED, "busy", billed=False, wait_s=100.0) for _ in range(6)]
    assert attempts(RetryPolicy(attempts=2, patience_s=0.0), *crowded, left_s=900.0) == ([100.0] * 6, "worked")


def test_a_server_that_is_gone_is_tried_twice_and_for_longer_once_it_has_answered(monkeypatch):
    monkeypatch.setattr(pace, "UNREACHED_S", 0.0)
    gone = JudgeError(ErrorKind.UNREACHABLE, "nothing answers", billed=False)
    waits, end = attempts(RetryPolicy(), gone, gone, gone)
    assert (len(waits), end) == (1, gone)
    waits, end = attempts(RetryPolicy(patience_s=80.0), *[gone] * 20, answered=True)
    assert (end, 1.0 < max(waits) <= 10.0) == ("worked", True)
    assert attempts(RetryPolicy(patience_s=0.0), gone, gone, answered=True)[1] == gone


def test_what_no_attempt_can_mend_is_not_tried_again():
    error = JudgeError(ErrorKind.REJECTED, "bad key", billed=False)
    assert attempts(RetryPolicy(), error) == ([], error)

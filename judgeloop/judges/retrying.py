"""The one retry policy. SDKs' own retries are switched off, so that one HTTP request is one reservation.

What is worth another attempt is said by the judge, which knows its provider's codes (`TransientJudgeError`).
"""

from __future__ import annotations

import email.utils
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from judgeloop.core.errors import TransientJudgeError

LeftS = Callable[[], float | None]


def unbounded() -> float | None:
    """What is left of a run without a deadline."""
    return None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently; times in seconds.

    A server's Retry-After is honoured up to what is left of the run, and in a run without a deadline up to `longest_wait_s`; one that
    asks for more ends the attempts, because a header must not be able to hang a nightly job. A server that turns calls away unbilled because it is crowded is asked
    again for `patience_s`, however often: limits a minute take a minute to pass.
    """

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    patience_s: float = 150.0

    def retrying(
        self, sleep: Callable[[float], Awaitable[None]], left_s: LeftS = unbounded
    ) -> AsyncRetrying:
        """A fresh tenacity controller for one call, which waits with `sleep`, in a run of which `left_s` is left."""
        backoff = wait_random_exponential(
            multiplier=self.first_wait_s, max=self.longest_wait_s, min=self.first_wait_s / 2
        )

        def wait(state: RetryCallState) -> float:
            error = _error(state)
            asked_for = error.retry_after_s if error else None
            return max(float(backoff(state)), asked_for or 0.0)

        def stop(state: RetryCallState) -> bool:
            error, left = _error(state), left_s()
            asked_for = (error.retry_after_s if error else None) or 0.0
            if asked_for > (self.longest_wait_s if left is None else left):
                return True
            if error is not None and error.crowded and not error.billed:
                if asked_for and left is not None:
                    return False  # it says when, and that is before the run ends
                return (state.seconds_since_start or 0.0) + state.upcoming_sleep > self.patience_s
            return stop_after_attempt(self.attempts)(state)

        return AsyncRetrying(
            retry=retry_if_exception_type(TransientJudgeError),
            wait=wait,
            stop=stop,
            sleep=sleep,
            reraise=True,
        )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that `headers` ask to wait; None where they ask nothing or nonsense."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        seconds = _seconds(text, unit_s) if text else None
        if seconds is not None:
            return seconds
    return None


def _seconds(text: str, unit_s: float) -> float | None:
    try:
        seconds = float(text) * unit_s
    except ValueError:
        try:
            when = email.utils.parsedate_to_datetime(text)
        except (ValueError, OverflowError, TypeError):
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - datetime.now(UTC)).total_seconds()
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _error(state: RetryCallState) -> TransientJudgeError | None:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, TransientJudgeError) else None

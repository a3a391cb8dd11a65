"""The retry policy of all judges: how many attempts, and how long to wait between them.

The SDKs' own retries are off, so that every HTTP request has its own reservation. The kind of a
`JudgeError` says whether another attempt may succeed. `engine/attempts.py` makes the attempts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    wait_random_exponential,
)

from judgeloop.core.errors import ErrorKind, JudgeError

_CROWDED = {ErrorKind.CROWDED, ErrorKind.SCARCE}
LeftS = Callable[[], float | None]


def unbounded() -> float | None:
    """Return None: a run without a deadline has no limit on the time left."""
    return None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of attempts and waiting times; times in seconds.

    - `attempts`: maximum number of attempts at a call that fail, without those at a crowded server.
    - `first_wait_s`, `longest_wait_s`: scale and maximum of the random exponential wait.
    - `patience_s`: time limit for a crowded server.

    The wait is never shorter than the server's Retry-After. If Retry-After is longer than the time
    left of the run (without a deadline: than `longest_wait_s`), the attempts end, because a header
    must not be able to hang a nightly job. A server that is crowded and did not bill the call gets
    any number of attempts: a limit per minute takes a minute to pass. They end after `patience_s`,
    or at the deadline if the run has a deadline, and the server sends Retry-After or has no
    capacity at the tier asked for.
    """

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    patience_s: float = 150.0

    def retrying(
        self, sleep: Callable[[float], Awaitable[None]], left_s: LeftS = unbounded
    ) -> AsyncRetrying:
        """Return a new tenacity controller for one call.

        It waits with `sleep`. `left_s` returns the seconds left of the run, None without a
        deadline.
        """
        backoff = wait_random_exponential(
            multiplier=self.first_wait_s, max=self.longest_wait_s, min=self.first_wait_s / 2
        )

        def wait(state: RetryCallState) -> float:
            error = _error(state)
            if error is not None and error.kind is ErrorKind.CHANGED:
                return 0.0
            asked_for = error.wait_s if error else None
            return max(float(backoff(state)), asked_for or 0.0)

        failed = 0  # attempts that count against `attempts`

        def stop(state: RetryCallState) -> bool:
            nonlocal failed
            error, left = _error(state), left_s()
            if error is not None and error.kind is ErrorKind.CHANGED:
                return False  # a judge changes its requests once
            asked_for = (error.wait_s if error else None) or 0.0
            if asked_for > (self.longest_wait_s if left is None else left):
                return True
            if error is not None and error.kind in _CROWDED and not error.billed:
                if (asked_for or error.kind is ErrorKind.SCARCE) and left is not None:
                    return False  # the server's wait ends before the deadline; so may a scarcity
                return (state.seconds_since_start or 0.0) + state.upcoming_sleep > self.patience_s
            failed += 1
            return failed >= self.attempts

        return AsyncRetrying(
            retry=retry_if_exception(_asks_again),
            wait=wait,
            stop=stop,
            sleep=sleep,
            reraise=True,
        )


def _asks_again(error: BaseException) -> bool:
    return isinstance(error, JudgeError) and error.kind.asks_again


def _error(state: RetryCallState) -> JudgeError | None:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, JudgeError) else None

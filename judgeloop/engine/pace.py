"""How fast and how often a judge or a system is asked: calls in flight, calls and tokens a minute, attempts, waits.

The limit on calls in flight adapts (additive increase, multiplicative decrease): it falls when the
server is crowded and rises with every reply, because only the server knows its capacity. The limits
per minute apply in addition. Pace changes neither what is asked nor the order in which answers are
folded. The SDKs' own retries are off, so that every HTTP request has its own reservation; the kind of a
`JudgeError` says whether another attempt may succeed (`attempts.py` makes it).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import final

from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from judgeloop.core.errors import ErrorKind, JudgeError

FALL = 0.7  # factor on the limit of calls in flight when the server is crowded
# A crowded server rejects many calls at once; within this time they lower the limit only once.
SECONDS_BETWEEN_FALLS = 1.0
MINUTE_S = 60.0


@final
class Pace:
    """Admits calls in the order in which they arrive."""

    def __init__(self, most: int, calls_a_minute: int | None = None, tokens_a_minute: int | None = None) -> None:
        """Allow at most so many calls in flight, and calls and tokens in any minute, if limited."""
        self._most = most
        self._calls_a_minute = calls_a_minute
        self._tokens_a_minute = tokens_a_minute
        self._allowed = float(most)
        self._in_flight = 0
        self._waiting = 0
        self._fell_at = float("-inf")
        self._changed = asyncio.Event()
        self._door = asyncio.Lock()
        self._sent: deque[tuple[float, int]] = deque()  # (time, tokens) of each call of the last minute

    @property
    def allowed(self) -> int:
        """The current limit on calls in flight."""
        return max(1, int(self._allowed))

    @property
    def slowed_to(self) -> int | None:
        """The current limit on calls in flight if a crowded server has lowered it, else None."""
        return self.allowed if self.allowed < self._most else None

    @property
    def in_flight(self) -> int:
        """How many calls have a place."""
        return self._in_flight

    def enter_now(self, tokens: int) -> bool:
        """Take a place for a call of at most `tokens` tokens, if one is free and no call waits."""
        if self._waiting or self._in_flight >= self.allowed or self._wait_s(tokens) > 0:
            return False
        self._enter(tokens)
        return True

    async def enter(self, tokens: int) -> None:
        """Wait for a place for a call of at most `tokens` tokens, and take it."""
        self._waiting += 1
        try:
            await self._enter_in_turn(tokens)
        finally:
            self._waiting -= 1

    async def _enter_in_turn(self, tokens: int) -> None:
        async with self._door:
            while self._in_flight >= self.allowed:
                self._changed.clear()
                await self._changed.wait()
            wait_s = self._wait_s(tokens)
            while wait_s > 0:
                await asyncio.sleep(wait_s)
                wait_s = self._wait_s(tokens)
            self._enter(tokens)

    def leave(self) -> None:
        """Free a place."""
        self._in_flight -= 1
        self._changed.set()

    def _enter(self, tokens: int) -> None:
        self._in_flight += 1
        if self._calls_a_minute or self._tokens_a_minute:
            self._sent.append((_now(), tokens))

    def went_well(self) -> None:
        """Record a reply: raise the limit on calls in flight by 1 / limit."""
        self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        self._changed.set()

    def was_crowded(self) -> None:
        """Record that the server is crowded: lower the limit on calls in flight."""
        if _now() - self._fell_at >= SECONDS_BETWEEN_FALLS:
            self._fell_at = _now()
            self._allowed = max(1.0, self._allowed * FALL)

    def _wait_s(self, tokens: int) -> float:
        now = _now()
        while self._sent and now - self._sent[0][0] >= MINUTE_S:
            self._sent.popleft()
        return max(self._wait_for_calls(now), self._wait_for_tokens(now, tokens))

    def _wait_for_calls(self, now: float) -> float:
        most = self._calls_a_minute
        if most is None or len(self._sent) < most:
            return 0.0
        return self._sent[-most][0] + MINUTE_S - now

    def _wait_for_tokens(self, now: float, tokens: int) -> float:
        """The seconds until enough tokens are more than a minute old.

        A call with more tokens than the limit waits until no other call of the last minute is left.
        """
        most = self._tokens_a_minute
        total = sum(sent for _, sent in self._sent) + tokens
        if most is None or total <= most:
            return 0.0
        for when, sent in self._sent:
            total -= sent
            if total <= most:
                return when + MINUTE_S - now
        return self._sent[-1][0] + MINUTE_S - now if self._sent else 0.0


def _now() -> float:
    """The time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()


UNREACHED_S = 8.0  # for so long nothing may answer at an address from which no reply has come
TRIES_UNREACHED = 8  # at least so many meanwhile


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of attempts and waiting times; times in seconds.

    - `attempts`: maximum number of attempts at a call that fail, without those at a crowded server.
    - `first_wait_s`, `longest_wait_s`: scale and maximum of the random exponential wait.
    - `patience_s`: time limit for a crowded server, and for one that has answered and is gone: it may
      be restarting.

    The wait is never shorter than the server's Retry-After. If Retry-After is longer than the time
    left of the run (without a deadline: than `longest_wait_s`), the attempts end, because a header
    must not be able to hang a nightly job. A server that is crowded and did not bill the call gets
    any number of attempts: a limit per minute takes a minute to pass. They end after `patience_s`
    (not before `attempts` were made: the first may have been slow), or at the deadline if the run has
    a deadline, and the server sends Retry-After or has no capacity at the tier asked for.
    """

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    patience_s: float = 150.0


@final
class Retries:
    """The failed attempts at one call; its time begins now."""

    def __init__(self, policy: RetryPolicy, *, answered: bool) -> None:
        """Begin without a failed attempt; `answered` says whether the address is known to be right."""
        self._policy = policy
        self._unreached_s = policy.patience_s if answered else UNREACHED_S
        self._began = asyncio.get_running_loop().time()
        self._unreached = False  # whether an attempt found no server
        self._failed = 0  # attempts that count against `attempts`
        self._crowded = 0  # attempts that found a crowded server
        self._counted: RetryCallState | None = None  # of `_backoff_s`; made once a call fails

    @property
    def tried_s(self) -> float:
        """The seconds since the first attempt."""
        return asyncio.get_running_loop().time() - self._began

    def wait_s(self, error: JudgeError, left_s: float | None) -> float | None:
        """The seconds to wait before another attempt; None if there is no other.

        `left_s` are the seconds left of the run, None without a deadline.
        """
        if not error.kind.asks_again:
            return None
        backoff_s = self._backoff_s()
        if error.kind is ErrorKind.CHANGED:
            return 0.0  # a judge changes its requests once
        waited_s = self.tried_s
        if error.kind is ErrorKind.UNREACHABLE:
            wait_s = min(backoff_s, self._unreached_s / TRIES_UNREACHED)
            # Once in any case: the process may have stood still while it connected.
            again, self._unreached = not self._unreached, True
            return wait_s if again or waited_s + wait_s <= self._unreached_s else None
        asked_s = error.wait_s or 0.0
        if asked_s > (self._policy.longest_wait_s if left_s is None else left_s):
            return None
        wait_s = max(backoff_s, asked_s)
        scarce = error.kind is ErrorKind.SCARCE
        if (scarce or error.kind is ErrorKind.CROWDED) and not error.billed:
            # The server's wait ends before the deadline; so may a scarcity.
            patient = left_s is not None and (asked_s or scarce)
            self._crowded += 1  # a slow attempt must not use up the patience: `attempts` are made in any case
            again = self._crowded < self._policy.attempts
            return wait_s if again or patient or waited_s + wait_s <= self._policy.patience_s else None
        self._failed += 1
        return wait_s if self._failed < self._policy.attempts else None

    def _backoff_s(self) -> float:
        """A random wait, up to twice as long as the last."""
        if self._counted is None:
            self._counted = RetryCallState(AsyncRetrying(), None, (), {})
        else:
            self._counted.prepare_for_next_attempt()
        first_s, longest_s = self._policy.first_wait_s, self._policy.longest_wait_s
        wait = wait_random_exponential(multiplier=first_s, max=longest_s, min=first_s / 2)
        return float(wait(self._counted))


LONGEST_TICK_S = 1.0
TICKS = 8  # at least so many in a time limit


@asynccontextmanager
async def time_limit(seconds: float | None) -> AsyncIterator[None]:
    """Limit a block to `seconds`, as `asyncio.timeout` does, without pauses of the process.

    The time is counted in ticks of the event loop. A tick that comes late by more than its length
    shows a pause, which is not counted; after it the block has at least one more tick to read what
    has arrived. At most `2 * TICKS` pauses are left out: the limit also ends a block on a machine
    that is always late. None is no limit.

    Raises:
        TimeoutError: the time is over.
    """
    if seconds is None:
        yield
        return
    loop = asyncio.get_running_loop()
    tick_s, left_s, pauses_left = min(LONGEST_TICK_S, seconds / TICKS), seconds, 2 * TICKS

    alarm: asyncio.TimerHandle

    def wait() -> None:
        nonlocal alarm
        wait_s = min(tick_s, left_s)
        alarm = loop.call_later(wait_s, ticked, loop.time(), wait_s)

    def ticked(since: float, waited_s: float) -> None:
        """Count the time since the last tick, unless the process stood still."""
        nonlocal left_s, pauses_left
        passed_s = loop.time() - since
        if passed_s > waited_s + tick_s and pauses_left:
            pauses_left -= 1
            left_s = max(left_s, tick_s)
        else:
            left_s -= passed_s
        if left_s > 0:
            wait()
        else:
            limit.reschedule(loop.time())

    async with asyncio.timeout(None) as limit:
        wait()
        try:
            yield
        finally:
            alarm.cancel()

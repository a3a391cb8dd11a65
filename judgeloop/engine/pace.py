"""Limits one judge's calls in flight, and its calls and tokens per minute.

The limit on calls in flight adapts (additive increase, multiplicative decrease): it falls when the
server is crowded and rises with every reply, because only the server knows its capacity. The limits
per minute apply in addition. Pace changes neither what is asked nor the order in which answers are
folded.
"""

import asyncio
from collections import deque
from typing import final

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
        """Return the seconds until enough tokens are more than a minute old.

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
    """Return the time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()

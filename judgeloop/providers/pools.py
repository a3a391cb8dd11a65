"""Spreads calls over several HTTP clients, each with a small connection pool.

The SDKs' HTTP client checks every idle connection of its pool on every request. With a few hundred
requests in flight, a single large pool takes more time for that than for the requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, final

Client = TypeVar("Client", bound=Any)

CALLS_A_POOL = 16


@final
class Clients(Generic[Client]):
    """Clients created on demand, each for at most `CALLS_A_POOL` calls at a time."""

    def __init__(self, make: Callable[[], Client]) -> None:
        """`make` creates a client; it is not called before the first call needs a client."""
        self._make = make
        self._clients: list[Client] = []
        self._calls: list[int] = []  # number in flight, per client

    @contextmanager
    def one(self) -> Iterator[Client]:
        """Lend a client that has room for one more call."""
        number = next(
            (n for n, calls in enumerate(self._calls) if calls < CALLS_A_POOL), len(self._calls)
        )
        if number == len(self._clients):
            self._clients.append(self._make())
            self._calls.append(0)
        self._calls[number] += 1
        try:
            yield self._clients[number]
        finally:
            self._calls[number] -= 1

    async def aclose(self) -> None:
        """Close every connection."""
        for client in self._clients:
            await client.close()
        self._clients.clear()
        self._calls.clear()

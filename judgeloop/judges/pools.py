"""Several small pools of connections in place of a large one.

The SDKs' HTTP client looks at every idle connection of its pool on every request, which at a few hundred in flight takes more
time than the requests do. What is sent is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, final

Client = TypeVar("Client", bound=Any)

CALLS_A_POOL = 16


@final
class Clients(Generic[Client]):
    """Clients made as they are needed, each for a few calls at a time."""

    def __init__(self, make: Callable[[], Client]) -> None:
        """`make` makes one; nothing is made before the first call."""
        self._make = make
        self._clients: list[Client] = []
        self._calls: list[int] = []  # in flight, by client

    @contextmanager
    def one(self) -> Iterator[Client]:
        """A client with room for a call."""
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

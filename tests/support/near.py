"""Calls of a chat model to a `ChatServer` of this process that pass neither a socket nor a provider's SDK.

Both take most of the time of a test that pays for hundreds of verdicts and is not about the wire. What the server says
is the same, and so is what it notes. A reply that the SDK makes an error of, or that breaks off, goes over the wire.
tests/providers, tests/faults and tests/engine have the wire, and so has a test that takes the fixture `wire`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from judgeloop.providers.chat import Clients
from support.chat_server import RUNNING

LENT = Clients.one


class Near:
    """A client of the SDK whose requests to a server of this process are handed to it."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def post(self, path: str, *, cast_to: type, body: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        server = RUNNING.get(self.client.base_url.port)
        if server is None or options:  # options ask for a stream
            return await self.client.post(path, cast_to=cast_to, body=body, options=options)
        where = self.client.base_url.path.rstrip("/") + path
        with server.at(where, json.loads(json.dumps(body)), {"authorization": f"Bearer {self.client.api_key}"}) as said:
            await asyncio.sleep(said.delay_s)
        if said.status != 200 or said.close_early:
            return await self.client.post(f"{path}?{server.kept(said)}", cast_to=cast_to, body=body, options=options)
        return httpx2.Response(200, headers=said.headers, content=said.body)


@contextmanager
def near(clients: Clients[Any]) -> Iterator[Near]:
    """In place of `Clients.one`."""
    with LENT(clients) as client:
        yield Near(client)

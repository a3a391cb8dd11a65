from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from judgeloop.providers.chat import CALLS_A_POOL, Clients


class Client:
    """Knows whether it was closed."""

    def __init__(self):
        self.closed = False

    async def close(self):
        self.closed = True


def test_a_client_is_made_at_the_first_call_and_serves_the_next():
    made = []
    clients = Clients(lambda: made.append(Client()) or made[-1])
    assert not made
    for _ in range(3 * CALLS_A_POOL):
        with clients.one() as client:
            assert client is made[0]
    assert len(made) == 1


def test_calls_at_once_are_spread_over_as_few_clients_as_hold_them():
    clients = Clients(Client)
    with ExitStack() as stack:
        held = [stack.enter_context(clients.one()) for _ in range(2 * CALLS_A_POOL + 1)]
        assert len(set(map(id, held))) == 3
    with clients.one() as client:
        assert client is held[0], "the first has room again"


def test_closing_closes_them_all_and_may_be_done_twice():
    clients = Clients(Client)
    with ExitStack() as stack:
        held = {stack.enter_context(clients.one()) for _ in range(CALLS_A_POOL + 1)}
    asyncio.run(clients.aclose())
    asyncio.run(clients.aclose())
    assert all(client.closed for client in held)


def test_a_call_that_fails_gives_its_place_back():
    clients = Clients(Client)
    for _ in range(2 * CALLS_A_POOL):
        with pytest.raises(ZeroDivisionError), clients.one() as first:
            _ = 1 / 0
    with clients.one() as client:
        assert client is first

"""A desk with people, calls and a clock, and its server without a port."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx2

from judgeloop.core.protocols import SoFar
from judgeloop.core.records import Call, Item
from judgeloop.page.checks import CheckItem
from judgeloop.page.desk import Desk, Sheet
from judgeloop.page.journal import PageJournal
from judgeloop.page.links import Links
from judgeloop.page.server import Money, Opening, Pages, app_of

HOST = "127.0.0.1:8765"


def call(at: int, outputs: tuple[str, ...] = ("one", "two")) -> Call:
    """A call whose item and systems are secrets."""
    systems = tuple(f"secret-{place}" for place in range(len(outputs)))
    return Call(Item(f"secret-item-{at}", f"task {at}", group="secret-group"), systems, outputs)


def check(at: int) -> CheckItem:
    """A check: the second of its two answers is to another question."""
    return CheckItem(
        Call(Item(f"secret-check-{at}", f"check {at}"), ("secret-0", "secret-control"), ("own", "foreign")), 1
    )


class Office:
    """People at a desk; made within an event loop."""

    def __init__(
        self,
        folder: Path,
        people: tuple[str, ...] = ("anna",),
        standing: SoFar | None = None,
        money: Money | None = None,
        checks: tuple[CheckItem, ...] = (),
    ) -> None:
        self.journal = PageJournal(folder / "people.jsonl")
        self.desk = Desk(people, self.journal, checks, now=time.monotonic())
        self.links = Links(people, self.journal)
        opening = Opening("Be kind.", rates=False, paid=money is not None)
        self.pages = Pages(self.desk, self.links, opening, lambda: standing, money)
        self.sheets: list[Sheet] = []

    def add(self, *calls: Call) -> None:
        """Ask calls."""
        for one in calls:
            sheet = Sheet(one, f"key-{one.item.prompt}", asyncio.get_running_loop().create_future())
            self.sheets.append(sheet)
            self.desk.add(sheet)
        self.pages.wake()

    def client(self, **headers: str) -> httpx2.AsyncClient:
        """A browser without a network."""
        transport = httpx2.ASGITransport(app=app_of(self.pages, [HOST], [f"http://{HOST}"]))
        return httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}", headers=headers)

    async def entered(self, name: str = "anna") -> Window:
        """A window of a person."""
        client = self.client()
        reply = await client.post("/api/enter", json={"token": self.links.tokens[name]})
        return Window(self.client(authorization=f"Bearer {reply.json()['session']}"), reply.json())


class Window:
    """A person's window."""

    def __init__(self, client: httpx2.AsyncClient, entered: dict[str, Any]) -> None:
        self.client, self.entered = client, entered

    async def next(self) -> dict[str, Any]:
        """What comes next."""
        return (await self.client.get("/api/next")).json()

    async def post(self, what: str, **body: Any) -> tuple[int, dict[str, Any]]:
        """The status and the body of a reply."""
        reply = await self.client.post(f"/api/{what}", json=body)
        return reply.status_code, reply.json()

    async def says(self, key: str, seconds: float = 3.0, **more: Any) -> dict[str, Any]:
        """Answer what comes next; what came."""
        pair = (await self.next())["pair"]
        status, said = await self.post("answer", id=pair["id"], key=key, seconds=seconds, **more)
        assert status == 200, said
        return pair

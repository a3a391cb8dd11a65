"""A server on loopback that is judge and systems at once, and runs that ask it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.chat_server import ChatServer, Response, completion, goodness, used, verdict

ITEMS = 30


def write_items(path: Path, items: int = ITEMS) -> Path:
    """Write a file of items, each with a prompt of its own."""
    rows = ({"id": f"item-{n}", "prompt": f"What is {n} and {n}?"} for n in range(items))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def write_outputs(path: Path, text: str = "plain", items: int = ITEMS) -> Path:
    """Write a file of outputs to the same items."""
    rows = ({"id": f"item-{n}", "output": f"{text} {n}"} for n in range(items))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def number_of(request: dict[str, Any]) -> int:
    """The number of the item that a system is asked about."""
    return int(request["messages"][-1]["content"].split()[2])


def of_both(request: dict[str, Any], _: int = 0) -> Response:
    """Judge honestly; as the system `better` answer well, as any other system plainly."""
    if "response_format" in request:
        return verdict(goodness(request), usage=used(request))
    good = "good " if request["model"].startswith("better") else "plain "
    return completion(f"{good}{number_of(request)}", usage=used(request))


def systems_say(server: ChatServer, say: Callable[[dict[str, Any], int], Response]) -> None:
    """Let the systems answer by `say`; the judge is honest."""
    server.respond = lambda request, n: of_both(request) if "response_format" in request else say(request, n)


def generated(server: ChatServer, model: str = "") -> list[dict[str, Any]]:
    """The requests to systems, or to one of them."""
    return [
        request for request in server.requests if "response_format" not in request and model in {"", request["model"]}
    ]


def system_flags(server: ChatServer, *names: str, price: str = "1,10", version: str = "1") -> list[str]:
    """The flags that send systems to a server of the tests."""
    found = []
    for name in names:
        found += ["--system", f"{name}.base-url={server.url}"]
        found += ["--system", f"{name}.price={price}"] if price else []
        found += ["--system", f"{name}.version={version}"] if version else []
    return found

"""Systems that run code, made as the command line makes them, and asked without a run."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judgeloop.core.records import Call, Item, Output
from judgeloop.systems.catalogue import make_system
from judgeloop.systems.options import options_of

ITEM = Item("item-3", "What is 3 and 3?")


def command(source: str, name: str = "own.py") -> str:
    """A command that runs a program of Python."""
    Path(name).write_text(source)
    return f"command:{sys.executable} {name}"


def function(source: str, name: str) -> str:
    """A function of a module."""
    Path(f"own_{name}.py").write_text(source)
    return f"python:own_{name}:answer"


def made(name: str, *options: str, environment: Mapping[str, str] | None = None) -> Any:
    """A system by its name; it is free, unless its options say otherwise."""
    entries = [f"{name}.{one}" for one in ("max-cost=0", *options)]
    known = {"PATH": os.environ["PATH"], **(environment or {})}
    return make_system(name, options_of(entries, [name], known, allow_plugins=True)[name])


def answered(system: Any, item: Item = ITEM) -> Output:
    """Its output to an item."""
    reply = asyncio.run(system.answer(Call(item, ("s",), ())))
    assert isinstance(reply.answer, Output)
    return reply.answer

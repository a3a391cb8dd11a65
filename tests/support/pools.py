"""Small pools and runs for tests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np

from judgeloop.core.outcomes import Finished
from judgeloop.core.protocols import Judge
from judgeloop.core.records import Item, Pool
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Terms
from judgeloop.ledger.opening import open_ledger
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.papers.diffuse.rules import TieAware
from judgeloop.papers.diffuse.selector import DiffUse


def make_pool(items: int = 40) -> Pool:
    """Distinct texts for two systems, "a" and "b"."""
    return Pool(
        items=tuple(Item(f"item-{i}", f"prompt {i}") for i in range(items)),
        systems=("a", "b"),
        outputs=(tuple(f"a's answer {i}" for i in range(items)), tuple(f"b's answer {i}" for i in range(items))),
    )


def scores(items: int, seed: int, wins: float = 0.4, losses: float = 0.3) -> list[float]:
    """Seeded scores in {0, 0.5, 1} with these shares on average."""
    draws = np.random.default_rng(seed).random(items)
    return [1.0 if d < wins else 0.0 if d < wins + losses else 0.5 for d in draws]


def differences(items: int, seed: int = 5) -> np.ndarray:
    """Clustered difference vectors, some of them equal."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(items, 6)).round(1)
    vectors[1::9] = vectors[:-1:9]
    return vectors


def make_selector(name: str, items: int, start: int = 5):
    """A selector by name."""
    return Random() if name == "random" else DiffUse(differences(items), start=start)


def make_session(
    items: int = 40,
    selector: str = "random",
    *,
    rule=None,
    check=None,
    limits=None,
    seed: int = 0,
    ahead: int | None = 0,
) -> Session:
    """A session over so many items."""
    limits = limits or Limits()
    return Session(
        items=items,
        selector=make_selector(selector, items, limits.min_judgments),
        estimator=Preferences(),
        rule=rule or TieAware(0.1),
        check=check,
        limits=limits,
        rng=np.random.default_rng(seed),
        ahead=ahead,
    )


def driven(judge: Judge, items: int, ledger: str | Path = ":memory:", **more: Any) -> Finished[Any]:
    """One command on so many items by a judge, which is closed then: the same run each time.

    `more` are terms of the run; every item may be an abstention.
    """

    async def story() -> Finished[Any]:
        book = open_ledger(ledger)
        try:
            session = make_session(items, limits=Limits(items, items, max_abstentions=1.0))
            return await drive(session, make_pool(items), judge, book, Terms("run", **more))
        finally:
            await judge.aclose()
            await book.aclose()

    return asyncio.run(story())

"""Gathered verdicts as bytes: for the segments of a ledger, and between processes.

Packs a `Gatherer` and unpacks it; reads and writes no ledger (`segments.py`) and no pipe
(`side_by_side.py`). A head says how long each piece is, and what else the writer wants to tell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from judgeloop.core.verdict_key import KeyedJudge
from judgeloop.history.gathered import Gatherer, Numbered

HEAD = 10_000  # bytes that hold the head, and some more


def packed(gatherer: Gatherer, **told: Any) -> Iterator[bytes | memoryview]:
    """Yield the head with what is `told`, the texts, and the columns."""
    texts = json.dumps(
        {
            "judges": [
                (judge.provider, judge.model, judge.parameters) for judge in gatherer.judges.numbers
            ],
            "places": list(gatherer.places.numbers),
            **{
                name: list(getattr(gatherer, name).numbers) for name in ("runs", "names", "outputs")
            },
        }
    ).encode("ascii")
    columns = [memoryview(column).cast("B") for column in gatherer.columns]
    sizes = [len(texts), *(len(column) for column in columns)]
    yield json.dumps({"last": gatherer.last} | told | {"sizes": sizes}).encode("ascii") + b"\n"
    yield texts
    yield from columns


def head_of(content: bytes | memoryview) -> dict[str, Any]:
    """Return the head of what was packed.

    Raises:
        ValueError: nothing was packed here.
    """
    head: dict[str, Any] = json.loads(bytes(content[: _end_of_head(content)]))
    return head


def unpacked(content: memoryview) -> Gatherer:
    """Return the verdicts that were packed.

    Raises:
        ValueError, LookupError, TypeError: nothing was packed here.
    """
    head, begin = head_of(content), _end_of_head(content)
    pieces = []
    for size in head["sizes"]:
        pieces.append(content[begin : begin + size])
        begin += size
    texts = json.loads(bytes(pieces[0]))
    judges = (
        KeyedJudge(provider, model, tuple((name, value) for name, value in parameters))
        for provider, model, parameters in texts["judges"]
    )
    found = Gatherer(
        runs=_numbered(texts["runs"]),
        judges=_numbered(judges),
        places=_numbered(map(tuple, texts["places"])),
        names=_numbered(texts["names"]),
        outputs=_numbered(texts["outputs"]),
        last=head["last"],
    )
    for column, piece in zip(found.columns, pieces[1:], strict=True):
        column.frombytes(piece)
    found.check()
    return found


def _end_of_head(content: bytes | memoryview) -> int:
    return bytes(content[:HEAD]).index(b"\n") + 1


def _numbered(values: Any) -> Numbered[Any]:
    return Numbered(dict(zip(values, count(), strict=False)))

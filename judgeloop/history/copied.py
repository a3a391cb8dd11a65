"""A copy of what a ledger remembers, as columns, so that a million verdicts are read once.

The copy lies beside the ledger and can be made again: where it is missing, damaged, of another
ledger, or not to be trusted, it is passed over. It was made of checked rows, and has a seal as they
have: a checksum, and with the ledger's key a signature (`ledger/seal.py`). Rows of verdicts never
change, so that only those written after it are still to be read. `remembered.py` reads them.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judgeloop.core.verdict_key import KeyedJudge
from judgeloop.history.gathered import Gatherer, Numbered
from judgeloop.ledger.rows import LedgerConnection
from judgeloop.ledger.schema import VERSION

FORM = 1  # raised whenever the columns or what is read from a note change
SUFFIX = ".history"
HEAD = 10_000  # bytes that hold the first line, and some more
WORTH = 20_000  # verdicts; fewer are read from the ledger in a fraction of a second
STATE = """SELECT (SELECT count(*) FROM verdicts) - (SELECT count(*) FROM verdicts WHERE seq > ?),
    (SELECT hex(seal) FROM verdicts WHERE seq = ?)"""


def copy_of(ledger: Path | str) -> Path:
    """Return where the copy lies: beside the ledger itself, not beside a link to it."""
    return Path(os.path.realpath(ledger) + SUFFIX)


def load(connection: LedgerConnection) -> Gatherer | None:
    """Return what the copy holds; None if there is no copy that can be believed."""
    sealer = connection.sealer
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        content = memoryview(_content(connection.path, signed=sealer.key is not None))
        end = len(content) - sealer.length
        if end > 0 and sealer.holds([content[:end]], bytes(content[end:])):
            return _unpacked(content[:end], connection)
    return None


def copied_until(ledger: Path | str) -> int:
    """Return the number of the last verdict that the copy says it holds, unchecked; 0 without one.

    It takes no time. So it tells whether a new copy is worth making, and nothing else.
    """
    unreadable = contextlib.suppress(OSError, ValueError, LookupError, TypeError)
    with unreadable, copy_of(ledger).open("rb") as file:
        return int(json.loads(file.readline(HEAD))["last"])
    return 0


def save(connection: LedgerConnection, gatherer: Gatherer) -> None:
    """Write the copy, in one step; where it cannot be written there is none."""
    place = copy_of(str(connection.path))
    with contextlib.suppress(OSError):
        number, name = tempfile.mkstemp(dir=place.parent, prefix=place.name)  # mode 0600
        try:
            with os.fdopen(number, "wb") as file:
                pieces = list(_packed(connection, gatherer))
                file.writelines(pieces)
                file.write(connection.sealer.seal_of(pieces))
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink()
            raise


def _content(ledger: object, *, signed: bool) -> bytes:
    """Read the copy's file.

    Raises:
        OSError: there is none, or somebody else may have written it and it is not signed.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(copy_of(str(ledger)), flags), "rb") as file:
        found, owner = os.fstat(file.fileno()), Path(str(ledger)).stat().st_uid
        others = found.st_uid != owner or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(found.st_mode) or (others and not signed):
            raise PermissionError("somebody else may have written this file")
        return file.read()


def _state(connection: LedgerConnection, last: int) -> dict[str, Any]:
    """Return what ties a copy of the verdicts up to the number `last` to its ledger."""
    rows, seal = connection.execute(STATE, (last, last)).fetchone()
    ledger = connection.sealer.ledger
    return {"form": FORM, "ledger": ledger, "version": VERSION, "rows": rows, "seal": seal}


def _packed(connection: LedgerConnection, gatherer: Gatherer) -> Iterator[bytes | memoryview]:
    """Yield the head, the texts and the columns; the head says how long each is."""
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
    head = {
        "last": gatherer.last,
        "state": _state(connection, gatherer.last),
        "sizes": [len(texts), *(len(column) for column in columns)],
    }
    yield json.dumps(head).encode("ascii") + b"\n"
    yield texts
    yield from columns


def _unpacked(content: memoryview, connection: LedgerConnection) -> Gatherer | None:
    """Return what `content` holds; None if it is not a copy of this ledger.

    Raises:
        ValueError, LookupError, TypeError: it is no copy at all.
    """
    begin = bytes(content[:HEAD]).index(b"\n") + 1
    head = json.loads(bytes(content[:begin]))
    if head["state"] != _state(connection, head["last"]):
        return None
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


def _numbered(values: Any) -> Numbered[Any]:
    return Numbered({value: number for number, value in enumerate(values)})

"""A copy of what a ledger remembers, as columns, so that a million verdicts are read once.

The copy lies beside the ledger and can be made again: where it is missing, damaged, of another
ledger, or not to be trusted, it is passed over. It was made of checked rows, and has a seal as they
have: a checksum, and with the ledger's key a signature (`ledger/seal.py`). Rows of verdicts never
change, so that only those written after it are still to be read. `side_by_side.py` reads them.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from judgeloop.history.gathered import Gatherer
from judgeloop.history.packed import HEAD, head_of, packed, unpacked
from judgeloop.ledger.rows import LedgerConnection
from judgeloop.ledger.schema import VERSION

FORM = 1  # raised whenever the columns or what is read from a note change
SUFFIX = ".history"
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
            head = head_of(content)
            if head["state"] == _state(connection, head["last"]):
                return unpacked(content[:end])
    return None


def copied_until(ledger: Path | str) -> int:
    """Return the number of the last verdict that the copy says it holds, unchecked; 0 without one.

    It takes no time. So it tells whether a new copy is worth making, and nothing else.
    """
    unreadable = contextlib.suppress(OSError, ValueError, LookupError, TypeError)
    with unreadable, copy_of(ledger).open("rb") as file:
        return int(head_of(file.readline(HEAD))["last"])
    return 0


def save(connection: LedgerConnection, gatherer: Gatherer) -> None:
    """Write the copy, in one step; where it cannot be written there is none."""
    place = copy_of(str(connection.path))
    with contextlib.suppress(OSError):
        number, name = tempfile.mkstemp(dir=place.parent, prefix=place.name)  # mode 0600
        try:
            with os.fdopen(number, "wb") as file:
                pieces = list(packed(gatherer, state=_state(connection, gatherer.last)))
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

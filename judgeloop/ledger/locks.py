"""Locks of runs: a run is worked on by one process at a time.

A lock is a file beside the ledger, locked as long as its process lives. There are no locks for
`:memory:`, nor on Windows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from judgeloop.core.errors import LedgerError

try:
    import fcntl
except ImportError:  # fcntl does not exist on Windows
    fcntl = None  # type: ignore[assignment]

# Another process that looks whether a run is worked on (`is_locked`) holds the lock for an instant.
PATIENCE_S, PAUSE_S = 0.3, 0.02


@contextmanager
def run_lock(ledger: Path | str, run: str) -> Iterator[bool]:
    """Lock `run` against other processes; yield whether there are locks here.

    Raises:
        LedgerError: another process holds the lock, or the lock cannot be made.
    """
    if fcntl is None or str(ledger) == ":memory:":
        yield False
        return
    descriptor = _opened(ledger, run)
    try:
        if not _taken(descriptor, until=time.monotonic() + PATIENCE_S):
            raise LedgerError(
                f"another judgeloop process is working on this run ({run}); wait until it ends, "
                "then repeat this command: it reuses the verdicts that are already paid for"
            )
        yield True
    finally:
        os.close(descriptor)


@contextmanager
def lock_if_free(ledger: Path | str, run: str) -> Iterator[bool]:
    """Lock `run` unless another process works on it; yield whether it is locked here.

    False where there are no locks, or where the lock cannot be made.
    """
    with ExitStack() as stack:
        try:
            alone = stack.enter_context(run_lock(ledger, run))
        except LedgerError:
            alone = False
        yield alone


def is_locked(ledger: Path | str, run: str) -> bool:
    """Return whether a process works on `run`; False where there are no locks."""
    if fcntl is None or str(ledger) == ":memory:":
        return False
    descriptor = _opened(ledger, run)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _opened(ledger: Path | str, run: str) -> int:
    """Open the lock's file, which lies beside the ledger itself and not beside a link to it."""
    folder = Path(os.path.realpath(ledger)).parent / "locks"
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        return os.open(folder / run, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LedgerError(f"the run {run} cannot be locked: {error}") from error


def _taken(descriptor: int, until: float) -> bool:
    """Take the lock; try again for a moment."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(PAUSE_S)
        else:
            return True

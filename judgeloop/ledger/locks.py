"""The locks of runs: a file each, beside the ledger, which the process that works on the run holds.

Makes the files, and takes their locks. Does not know what is booked.
"""

import os
from pathlib import Path

from filelock import FileLock, Timeout

from judgeloop.core.errors import LedgerError

PAUSE_S = 0.02


def lock_of(path: Path | str, run: str) -> FileLock | None:
    """Return the lock of a run: a file beside the ledger itself, not beside a link to it.

    None for `:memory:`, which has no locks.

    Raises:
        LedgerError: the folder of the locks cannot be made.
    """
    if str(path) == ":memory:":
        return None
    folder = locks_of(path)
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise LedgerError(f"the run {run} cannot be locked: {error}") from error
    return FileLock(folder / run, mode=0o600)


def locks_of(path: Path | str) -> Path:
    """Return the folder of a ledger's locks."""
    return Path(f"{os.path.realpath(path)}.locks")


def taken(lock: FileLock, patience_s: float) -> bool:
    """Take a lock if it becomes free in time; return whether it was taken.

    Raises:
        LedgerError: the file cannot be locked.
    """
    try:
        lock.acquire(timeout=patience_s, poll_interval=PAUSE_S)
    except Timeout:
        return False
    except OSError as error:
        raise LedgerError(f"{lock.lock_file} cannot be locked: {error}") from error
    return True


def inode(path: str) -> int:
    """Return what identifies the file at a path; 0 if there is none."""
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - asked before every call
    except OSError:
        return 0


def is_held(path: Path | str, run: str) -> bool:
    """Return whether a process works on a run; nothing is made."""
    if not (locks_of(path) / run).exists():
        return False
    lock = lock_of(path, run)
    if lock is None or not taken(lock, 0):
        return lock is not None
    lock.release()
    return False

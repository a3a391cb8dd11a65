"""Where a ledger's file lies: who may write it, and on what file system.

Reads the file's mode and, on Linux, the list of mounted file systems. Changes nothing.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from judgeloop.core.errors import LedgerError
from judgeloop.ledger.seal import KEY_VARIABLE

MOUNTS = Path("/proc/self/mountinfo")
# File systems that other machines may write at the same time; their locks are not to be relied on.
NETWORK = frozenset(
    [
        "9p",
        "afs",
        "afp_fs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "fuse.ceph",
        "fuse.glusterfs",
        "fuse.gcsfuse",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
        "fuse.vmhgfs-fuse",
    ]
)


def refuse_if_anybody_writes(path: Path, *, signed: bool) -> None:
    """Refuse a ledger that every user of the machine may write, unless its rows are signed.

    Raises:
        LedgerError: anybody may write it.
    """
    if not signed and path.stat().st_mode & stat.S_IWOTH:
        raise LedgerError(
            f"the ledger {path} can be written by every user of this machine, and its verdicts and "
            f"spending are believed; `chmod o-w {path}`, or sign its rows ({KEY_VARIABLE})"
        )


def warnings_about(path: Path) -> list[str]:
    """Return a sentence for each reason not to rely on the place of a ledger."""
    found = []
    if writers := _other_writers(path):
        found.append(
            f"the ledger {path} can be changed by {writers}; take their permission away, or sign "
            f"its rows ({KEY_VARIABLE})"
        )
    kind = file_system_of(path)
    if kind in NETWORK:
        found.append(
            f"the ledger {path} is on a network file system ({kind}), where locks may fail: let "
            "only one machine use it at a time, or keep it on a local disk"
        )
    return found


def _other_writers(path: Path) -> str:
    """Return in words who else may write the file or replace it in its folder; empty if nobody."""
    real = Path(os.path.realpath(path))
    if not hasattr(os, "getuid") or not real.exists():
        return ""
    file, folder = real.stat(), real.parent.stat()
    # In a sticky folder nobody replaces the files of others.
    places = [file] if folder.st_mode & stat.S_ISVTX else [file, folder]
    if any(place.st_mode & stat.S_IWOTH for place in places):
        return "every user of this machine"
    # By convention a user's own group, which has no other users, has the user's number.
    if any(place.st_mode & stat.S_IWGRP and place.st_gid != os.getuid() for place in places):
        return "the other users of its group"
    return "" if file.st_uid in {0, os.getuid()} else f"its owner (user {file.st_uid})"


def file_system_of(path: Path) -> str | None:
    """Return the type of the file system that `path` is on; None where that is not known."""
    real = os.path.realpath(path)
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    found = [(point, kind) for point, kind in map(_mount, lines) if _holds(point, real)]
    # Of two mounts on one point the later hides the earlier.
    return max(enumerate(found), key=lambda at: (len(at[1][0]), at[0]))[1][1] if found else None


def _mount(line: str) -> tuple[str, str]:
    """Return the mount point and the type of a line of mountinfo."""
    before, _, after = line.partition(" - ")
    point = before.split(" ")[4].encode().decode("unicode_escape").encode("latin-1")
    return os.fsdecode(point), after.split(" ")[0]


def _holds(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")

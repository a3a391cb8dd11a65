"""Where a ledger's file lies: its file system, and who else may write it.

Reads permissions and the list of mounted file systems.
"""

import os
import sqlite3
import stat
from pathlib import Path

from judgeloop.core.errors import LedgerError

MOUNTS = Path("/proc/self/mountinfo")  # Linux: the file systems that are mounted
# File systems that other machines may write at the same time; their locks are not to be relied on.
NETWORK = (
    "afs afp_fs beegfs ceph cifs coda fuse.ceph fuse.glusterfs fuse.gcsfuse fuse.rclone fuse.s3fs "
    "fuse.sshfs gfs gfs2 glusterfs gpfs lustre nfs nfs4 ocfs2 orangefs smb3 smbfs"
)
# Those that a virtual machine or a container shares with its host.
OF_HOST = "9p fuse.vmhgfs-fuse vboxsf virtiofs vmhgfs"


def refuse_if_anybody_writes(path: Path) -> None:
    """Refuse a ledger that every user of the machine may write.

    Raises:
        LedgerError: anybody may write it.
    """
    if path.stat().st_mode & stat.S_IWOTH:
        raise LedgerError(
            f"the ledger {path} can be written by every user of this machine, and its verdicts and "
            f"spending are believed: `chmod o-w {path}`"
        )


def described(path: Path) -> str:
    """In words, what keeps the ledger, and on what file system."""
    kind = file_system_of(path) or "a file system of unknown type"
    return f"SQLite {sqlite3.sqlite_version}, {path} on {kind}"


def warnings_about(path: Path) -> list[str]:
    """A sentence for each reason not to rely on the place of a ledger."""
    found = []
    if writers := _other_writers(path):
        found.append(
            f"the ledger {path} can be changed by {writers}, and what it says is believed; take their permission away"
        )
    kind = file_system_of(path)
    if kind in OF_HOST.split():
        found.append(
            f"the ledger {path} is on a file system of the host ({kind}), where locks may fail: let "
            "only one machine use it at a time, or keep it on a local disk"
        )
    return found


def refuse_network(path: Path) -> None:
    """Refuse to book in a file that several machines may write.

    Raises:
        LedgerError: it is on a network file system.
    """
    kind = file_system_of(path)
    if kind in NETWORK.split():
        raise LedgerError(
            f"the ledger {path} is on a network file system ({kind}). Its locks do not keep two "
            "machines apart: both could spend the same money. Keep a ledger on a local disk "
            "of each machine (`ledger=PATH`), and bring them together with `judgeloop ledger merge`"
        )


def _other_writers(path: Path) -> str:
    """In words, who else may write the file or replace it in its folder; empty if nobody."""
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
    """The type of the file system that `path` is on; None where that is not known."""
    real = os.path.realpath(path)
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    mounts = [(line.split(" ")[4].replace("\\040", " "), line.partition(" - ")[2].split(" ")[0]) for line in lines]
    found = [(point, kind) for point, kind in mounts if f"{real}/".startswith(f"{point.rstrip('/')}/")]
    return max(found, key=lambda mount: len(mount[0]))[1] if found else None

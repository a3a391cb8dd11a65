"""A real PostgreSQL server in a folder of its own, for the tests that need one.

It listens on a socket only. As root it runs as another user, because PostgreSQL refuses root.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from judgeloop.ledger.opening import create_ledger

WHY_NOT = "needs PostgreSQL: on Debian, apt-get install postgresql"
NEWEST = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
OTHERS = ("postgres", "nobody")
ROLES = {"writer": "judging", "reader": "looking"}
SHARED_MEMORY, ROOM = Path("/dev/shm"), 4 << 30  # bytes; each database takes 8 MB


def memory() -> Path | None:
    """Where a server need not wait for its disk, if there is room."""
    return SHARED_MEMORY if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > ROOM else None


def binary(name: str) -> str | None:
    """Return the path of a program of the newest server that is installed."""
    return shutil.which(name, path=os.pathsep.join([*map(str, NEWEST[-1:]), os.environ["PATH"]]))


@dataclass
class Server:
    """A server that runs; its databases are made from one that has an empty ledger."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _copied: str = ""  # how a database with an empty ledger is made, once there is one

    def address(self, database: str = "postgres", user: str = "owner") -> str:
        """Return the address of a database of it."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def sql(self, statement: str, database: str = "postgres") -> list[Any]:
        """Carry out statements as the server's owner; return the rows that the last of them finds."""
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def empty(self, user: str = "owner") -> str:
        """Return the address of a new database without a ledger."""
        name = f"d{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.address(name, user)

    def ledger(self, user: str = "owner") -> str:
        """Return the address of a new, empty ledger."""
        if not self._copied:
            self.sql("CREATE DATABASE made")
            create_ledger(self.address("made"), ROLES)
            ((version,),) = self.sql("SELECT current_setting('server_version_num')::int")
            # Its files are copied, as before version 15: to write all of it to the log takes twice as long.
            self._copied = "TEMPLATE made" + (" STRATEGY file_copy" if version >= 150_000 else "")
        name = f"d{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} {self._copied}")
        return self.address(name, user)


@contextmanager
def running(*settings: str, within: Path | None = None) -> Iterator[Server]:
    """Start a server with some settings, such as `fsync=off`, in a folder of its own, and stop it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="judgeloop-postgres-", dir=within))  # a socket's path is short
    other = _other_user()
    if other is not None:
        os.chown(folder, other.pw_uid, other.pw_gid)
    settings = ("listen_addresses=''", f"unix_socket_directories={folder}", "shared_buffers=16MB", *settings)
    options = " ".join(f"-c {setting}" for setting in settings)
    try:
        _run(other, "initdb", "-D", folder / "data", "-A", "trust", "-U", "owner", "-N", "-E", "UTF8")
        _run(other, "pg_ctl", "-D", folder / "data", "-o", options, "-l", folder / "log", "-w", "start")
        server = Server(folder)
        server.sql("".join(f"CREATE ROLE {role} LOGIN;" for role in ROLES.values()))
        yield server
    finally:
        _run(other, "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _other_user() -> pwd.struct_passwd | None:
    if os.getuid() != 0:
        return None
    names = {user.pw_name: user for user in pwd.getpwall()}
    return next(names[name] for name in OTHERS if name in names)


def _run(user: pwd.struct_passwd | None, program: str, *arguments: object, check: bool = True) -> None:
    path = binary(program)
    assert path is not None, WHY_NOT
    done = subprocess.run(
        [path, *map(str, arguments)],
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr

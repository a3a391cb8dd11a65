"""Reads a long part of a ledger in several processes at once, each a part of the verdicts.

Adds to a `Gatherer` what one process would read, in the same order and with the same checks of each
row. The other processes are Pythons like this one, with the same search path; they open the ledger,
read, and write what they found to their standard output. Where one cannot be started or fails, its
part is read here, so that the error of a damaged row is the same. Ctrl-C and errors end them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from judgeloop.history.gathered import Gatherer
from judgeloop.history.notes import Notes
from judgeloop.history.packed import head_of, packed, unpacked
from judgeloop.ledger.bulk import given_verdicts
from judgeloop.ledger.connection import connect
from judgeloop.ledger.rows import LedgerConnection

# Verdicts of a process: they take a second or two to read, and a process half a second to start.
LEAST = 100_000
MOST = 4  # processes; each takes memory, some 150 MiB for half a million verdicts
# The child searches for modules where its parent does, and nowhere else: not in the working folder.
CODE = (
    "import json, sys; given = json.loads(sys.argv[1]); sys.path[:] = given.pop('path'); "
    "from judgeloop.history.side_by_side import answer; answer(**given)"
)
Part = tuple[int, int]  # the verdicts after the first number and up to the second


def add_verdicts(
    connection: LedgerConnection, gatherer: Gatherer, *, until: int, of_runs: Collection[str] = ()
) -> int:
    """Add the ledger's verdicts after the last of `gatherer` and up to the number `until`.

    If `of_runs` has any run, those of all other runs are left out. Returns how many verdicts were
    looked at.

    Raises:
        DamagedLedgerError: a verdict or its attempt is not as it was written.
    """
    last = connection.execute("SELECT coalesce(max(seq), 0) FROM verdicts").fetchone()[0]
    own, *others = _parts(gatherer.last, max(gatherer.last, min(until, last)))
    with ExitStack() as stack:
        begun = [stack.enter_context(_reader(connection, part, of_runs)) for part in others]
        looked_at = _add(connection, gatherer, own, of_runs)
        for part, reader in zip(others, begun, strict=True):
            found = _found_by(reader, connection)
            if found is None:
                looked_at += _add(connection, gatherer, part, of_runs)
            else:
                looked_at += found[1]
                gatherer.extend(found[0])
    return looked_at


def answer(ledger: str, part: Part, of_runs: list[str]) -> None:
    """Read a part of a ledger and write it to the standard output, in a process of its own.

    Raises:
        FileNotFoundError: there is no ledger any more; it is not made anew.
    """
    gatherer = Gatherer()
    Path(ledger).stat()
    with closing(connect(ledger)) as connection:
        looked_at = _add(connection, gatherer, part, of_runs)
        name = connection.sealer.ledger
    sys.stdout.buffer.writelines(packed(gatherer, ledger=name, looked_at=looked_at))


def _parts(after: int, until: int) -> list[Part]:
    """Divide the verdicts among so many processes as are worth it."""
    processes = max(1, min(MOST, _processors(), (until - after) // LEAST))
    ends = [after + (until - after) * number // processes for number in range(processes + 1)]
    return list(pairwise(ends))


def _processors() -> int:
    """Return the number of processors for further Pythons; 1 where there is no way to start one."""
    # Where Python is a part of another program, this would start that program.
    if not Path(sys.executable or "").name.lower().startswith(("python", "pypy")):
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _add(
    connection: LedgerConnection, gatherer: Gatherer, part: Part, of_runs: Collection[str]
) -> int:
    """Add a part of the verdicts; those whose notes have no ingredients are left out."""
    after, until = part
    notes, number = Notes(gatherer.judges.number), 0
    given = given_verdicts(connection, after=after, until=until, of_runs=of_runs)
    for number, row in enumerate(given, 1):  # noqa: B007 - counts them
        gatherer.last = row.seq
        noted = notes.read(row.note)
        if noted is not None:
            gatherer.add(row, noted)
    return number


@contextmanager
def _reader(
    connection: LedgerConnection, part: Part, of_runs: Collection[str]
) -> Iterator[Popen[bytes] | None]:
    """Start a process that reads a part, and end it; None where none can be started."""
    places = [place for place in sys.path if isinstance(place, str)]
    path = [os.path.abspath(place) for place in places]  # noqa: PTH100 - does not follow links
    ledger = os.path.abspath(str(connection.path))  # noqa: PTH100
    given = {"path": path, "ledger": ledger, "part": part, "of_runs": list(of_runs)}
    command = [sys.executable, "-I", "-c", CODE, json.dumps(given)]
    process = None
    with suppress(OSError):
        process = Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)  # noqa: S603 - our own
    if process is None:
        yield None
        return
    with process:
        try:
            yield process
        finally:
            process.kill()


def _found_by(
    reader: Popen[bytes] | None, connection: LedgerConnection
) -> tuple[Gatherer, int] | None:
    """Return what a process found, and how many verdicts it looked at; None if it failed."""
    if reader is None or reader.stdout is None:
        return None
    content = reader.stdout.read()
    if reader.wait() != 0:
        return None
    with suppress(ValueError, LookupError, TypeError):
        head = head_of(content)
        if head["ledger"] == connection.sealer.ledger:
            return unpacked(memoryview(content)), int(head["looked_at"])
    return None

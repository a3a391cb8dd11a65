"""Opens a ledger by its address: for those who book, and for those who look.

An address is the path of a file (SQLite), or `:memory:` for a ledger that ends with its process.
Returns what `core/ledger.py` promises. What else is in `ledger/` is not for others, but for
`inspection.py` (files that may be damaged) and `ledger_memory.py`.
"""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from judgeloop.core.errors import InputError
from judgeloop.core.ledger import Ledger, LedgerReader
from judgeloop.ledger.connection import (
    connect,
    described,
    errors_of_reading,
    refuse_network,
    warnings_about,
)
from judgeloop.ledger.reader import SqliteReader
from judgeloop.ledger.sqlite import SqliteLedger

Address = Path | str
MEMORY = ":memory:"
SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/", re.IGNORECASE)  # longer than the letter of a drive


def open_ledger(address: Address, budget_p: int | None = None) -> Ledger:
    """Open a ledger to book in it; a file that is missing is created.

    `budget_p` limits what all its runs together are charged, in picodollars; None is no limit.

    Raises:
        InputError: there is no such kind of ledger, or the key of its seals is too short.
        LedgerError: it cannot be created or opened, is no ledger of this version, or is on a network
            file system.
    """
    check_address(address)
    if str(address) != MEMORY:
        refuse_network(Path(address))
    return SqliteLedger(address, budget_p)


def create_ledger(address: Address) -> None:
    """Make a new ledger, with nothing in it.

    Raises:
        InputError: there is a file already.
        LedgerError: it cannot be created.
    """
    if Path(address).exists():
        raise InputError(f"`ledger={address}`: there is a file already; expected a new path")
    open_ledger(address).close()


@contextmanager
def open_reader(address: Address) -> Iterator[LedgerReader]:
    """Open a ledger to look into it, as a context manager; nothing is created.

    Raises:
        InputError: there is no ledger at this address.
        LedgerError: it cannot be opened, or a row is not as it was written.
    """
    if not is_ledger(address):
        raise InputError(f"`ledger={address}`: there is no ledger there")
    with errors_of_reading(address), closing(connect(address)) as connection:
        connection.execute("PRAGMA query_only = ON")
        yield SqliteReader(connection)


def is_ledger(address: Address) -> bool:
    """Return whether something is kept at this address; an empty file is nothing."""
    check_address(address)
    path = Path(address)
    return path.exists() and not (path.is_file() and path.stat().st_size == 0)


def check_address(address: Address) -> None:
    """Refuse an address of a kind that is not known: it would be taken for a folder.

    Raises:
        InputError: it has a scheme, such as `postgresql://`.
    """
    scheme = SCHEME.match(str(address))
    if scheme is not None:
        raise InputError(
            f"`ledger={address}`: expected the path of a file, found an address with the scheme "
            f"{scheme[1]!r}; a ledger is kept in a file (SQLite). For a file of this name, put ./ "
            "before it"
        )


def place_of(address: Address) -> tuple[str, list[str]]:
    """Return in words where a ledger is kept, and each reason not to rely on that place."""
    check_address(address)
    return described(Path(address)), warnings_about(Path(address))

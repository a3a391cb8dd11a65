"""Opens a ledger by its address: for those who book, and for those who look.

An address is the path of a file (SQLite), `postgresql://USER@HOST/DATABASE`, or `:memory:` for a ledger that
ends with its process. Returns a `Ledger` or a `LedgerReader`. What else is in `ledger/` is not for others,
but for those who look after one (`upkeep.py`, `merging.py`).
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from judgeloop.core.errors import InputError, did_you_mean, install
from judgeloop.ledger import sqlite
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.place import described, refuse_network, warnings_about
from judgeloop.ledger.postgres_address import SCHEMES, SHAPE, PostgresAddress
from judgeloop.ledger.reader import LedgerReader
from judgeloop.ledger.records import KEY_VARIABLE, NO_KEY, Balance, RecordedRun
from judgeloop.ledger.writer import Connection, Writer

T = TypeVar("T")
MEMORY = sqlite.MEMORY
Address = Path | PostgresAddress | str
SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/", re.IGNORECASE)  # longer than the letter of a drive


def open_ledger(address: Address, charge_to: Sequence[str] = ()) -> Ledger:
    """Open a ledger to book in it; a file that is missing is created.

    What is booked is charged to the budget of every run, and to those named in `charge_to`.

    Raises:
        InputError: there is no such kind of ledger, or the variable of the key of former ledgers is set.
        LedgerError: it cannot be created or opened, is no ledger of this version, or is on a network
            file system.
    """
    return Ledger(writer_of(address), charge_to)


def writer_of(address: Address) -> Writer[Any]:
    """Open a ledger for those who write its rows themselves; raises as `open_ledger` does."""
    _refuse_key()
    if (server := server_of(address)) is not None:
        from judgeloop.ledger import postgres

        return Writer(partial(postgres.PostgresConnection, server), postgres.carry_out, str(server))
    if str(address) != sqlite.MEMORY:
        refuse_network(_file(address))
    return Writer(partial(sqlite.connect, str(address)), sqlite.carry_out, str(address))


def create_ledger(address: Address, roles: Mapping[str, str] | None = None) -> None:
    """Make a new ledger, with nothing in it.

    `roles` names those of the server that may write it and read it (`writer`, `reader`).

    Raises:
        InputError: there is a ledger or a file already, or a file is to have roles.
        LedgerError: it cannot be created.
    """
    if (server := server_of(address)) is not None:
        from judgeloop.ledger import postgres_server

        postgres_server.create(server, roles or {})
        return
    if roles:
        raise InputError(f"`ledger={address}`: a file has no roles; they are for {SHAPE}")
    if _file(address).exists():
        raise InputError(f"`ledger={address}`: there is a file already; expected a new path")
    if not _file(address).suffix and _file(address).name.startswith("."):
        raise InputError(
            f"`ledger={address}`: this looks like a folder; expected a file, as in `ledger={address}/ledger.sqlite`"
        )
    open_ledger(address).close()


@contextmanager
def open_reader(address: Address) -> Iterator[LedgerReader]:
    """Open a ledger to look into it, as a context manager; nothing is created.

    Raises:
        InputError: there is no ledger at this address.
        LedgerError: it cannot be opened, or a row is not as it was written.
    """
    with connected(address) as connection:
        yield LedgerReader(connection)


async def look(ledger: Ledger, find: Callable[[LedgerReader], T]) -> T:
    """What `find` reads of a ledger that is open for booking; a command opens its ledger once."""
    return await ledger.read(lambda connection: find(LedgerReader(connection)))


@contextmanager
def connected(address: Address) -> Iterator[Connection]:
    """Open a ledger for those who read its rows themselves; raises as `open_reader` does."""
    _refuse_key()
    if (server := server_of(address)) is not None:
        from judgeloop.ledger import postgres, postgres_server

        there = postgres.PostgresConnection(server, read_only=True)
        with postgres_server.errors_of(str(server)), closing(there):
            yield there
        return
    if not is_ledger(address):
        raise InputError(f"`ledger={address}`: there is no ledger there")
    with sqlite.errors_of_reading(address), closing(sqlite.connect(str(address))) as file:
        file.raw("PRAGMA query_only = ON")
        yield file


def budgets_of(address: Address, charge_to: Sequence[str]) -> list[Balance]:
    """Return the budgets that a run draws on; none where there is no ledger yet.

    Raises:
        InputError: a name in `charge_to` is that of no budget.
    """
    every: dict[str, Balance] = {}
    if is_ledger(address):
        with open_reader(address) as reader:
            every = {budget.name: budget for budget in reader.balances()}
    for name in charge_to:
        if not is_ledger(address):
            raise InputError(f"`charge_to={name}`: there is no ledger at {address}, so no budget either")
        if not name or name not in every:
            raise InputError(
                f"`charge_to={name}`: the ledger {address} has no budget of this name"
                f"{did_you_mean(name, filter(None, every))}; to make one, say for $5 a day: "
                f"judgeloop budget set --name {name} 5 --per day"
            )
    return [budget for name, budget in every.items() if not name or name in charge_to]


def runs_of(address: Address) -> list[RecordedRun]:
    """Return the runs of a ledger, the oldest first; none where there is no ledger yet."""
    if not is_ledger(address):
        return []
    with open_reader(address) as reader:
        return reader.runs()


def is_ledger(address: Address) -> bool:
    """Return whether something is kept at this address; an empty file is nothing.

    Raises:
        LedgerError: a server cannot be reached.
    """
    if (server := server_of(address)) is not None:
        from judgeloop.ledger import postgres_server

        return postgres_server.exists(server)
    path = _file(address)
    return path.exists() and not (path.is_file() and path.stat().st_size == 0)


def server_of(address: Address) -> PostgresAddress | None:
    """Return the server that an address names; None for a file.

    Raises:
        InputError: it has another scheme, of which a folder would be made, it is not complete, or psycopg
            is not installed.
    """
    if isinstance(address, PostgresAddress):
        return address
    scheme = SCHEME.match(str(address))
    if scheme is None:
        return None
    if scheme[1].lower() in SCHEMES and isinstance(address, str):
        if find_spec("psycopg") is None:
            raise InputError(f"a ledger in PostgreSQL needs psycopg, which is in {install('team')}")
        return PostgresAddress.of(address)
    raise InputError(
        f"`ledger={address}`: expected the path of a file or {SHAPE}, found an address with the scheme "
        f"{scheme[1]!r}. For a file of this name, put ./ before it"
    )


def _refuse_key() -> None:
    if os.environ.get(KEY_VARIABLE):
        raise InputError(NO_KEY)


def _file(address: Address) -> Path:
    return Path(str(address))


def place_of(address: Address) -> tuple[str, list[str]]:
    """Return in words where a ledger is kept, and each reason not to rely on that place."""
    if (server := server_of(address)) is not None:
        from judgeloop.ledger import postgres_server

        return postgres_server.described(server), []
    return described(_file(address)), warnings_about(_file(address))

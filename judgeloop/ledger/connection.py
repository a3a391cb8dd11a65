"""What a store of a ledger has to do for those who read and write its rows (`sqlite.py`, `postgres.py`)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

from judgeloop.ledger.seals import Sealer


class Found(Protocol):
    """The rows that a statement found."""

    def fetchone(self) -> Any:
        """Return the next row; None behind the last."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Yield all rows that are left."""
        ...


class LedgerConnection(Protocol):
    """An open ledger in any store, with what seals its rows.

    Statements are SQL that SQLite and PostgreSQL read alike, with `?` in the place of a value.
    """

    place: str  # of the ledger, in words
    sealer: Sealer

    def execute(self, statement: str, parameters: Sequence[object] = (), /) -> Found:
        """Carry out a statement."""
        ...

    def stream(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows that a SELECT finds, of which only some are in memory."""
        ...

    def lookup(self, kind: type[Any], column: str, values: Collection[object]) -> Iterable[Any]:
        """Return the rows with one of these values in a column, by number; their seals are checked."""
        ...

    def write(self, kind: type[Any], before: Sequence[Any] | None, after: Sequence[Any] | None) -> None:
        """Insert the row `after` with its seal, change `before` into it, or delete `before`."""

    def next_number(self, kind: type[Any]) -> int:
        """Return the number of the next row of a table; that of a deleted one is not given again."""
        ...

    def now(self) -> str:
        """Return the store's time in ISO 8601 (UTC), in milliseconds."""
        ...

    def among(self, column: str, texts: Collection[str]) -> tuple[str, Sequence[object]]:
        """Return the condition that a column holds one of any number of texts, with its values."""
        ...

    def digits_of(self, column: str, begin: int, count: int) -> str:
        """Return what stands for some bytes of a column, as hexadecimal digits in capitals."""
        ...

    def lock(self, run: str, patience_s: float) -> bool:
        """Lock a run against other processes, within `patience_s`; return whether it is ours now."""
        ...

    def unlock(self, run: str) -> None:
        """Give the lock of a run back."""

    def is_locked(self, run: str) -> bool:
        """Return whether a process holds the lock of a run, this one included; nothing is changed."""
        ...

    def check_locks(self) -> None:
        """Check that the locks that this connection holds are still its own.

        Raises:
            LedgerError: one is not.
        """

    def close(self) -> None:
        """Close the connection, and give its locks back."""

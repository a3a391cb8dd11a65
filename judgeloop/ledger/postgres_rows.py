"""The rows of a transaction in PostgreSQL: those that it has fetched, and what it has still to send.

Values in, values out; `postgres.py` fetches and sends.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


class Group:
    """A transaction that is under way: the rows that are known, and what is still to be sent.

    `known` has, for each kind and column that was looked through, the rows by value. They stay as the
    jobs change them. `numbers` are the last numbers of tables, `numbered` those that have changed.
    """

    def __init__(self, numbers: dict[str, int], now: str) -> None:
        self.now = now
        self.known: dict[tuple[type[Any], str], dict[Any, list[Any]]] = {}
        self.pending: list[tuple[str, Sequence[Any]]] = []
        self.numbers = numbers
        self.numbered: set[str] = set()
        self.begun_at = 0  # where among the pending the present job began
        self.flushed = False  # whether it has sent anything

    def learn(
        self, kind: type[Any], column: str, values: Iterable[Any], rows: Iterable[Any]
    ) -> None:
        """Keep what a lookup found: for each value its rows, and none for the others."""
        found = self.known.setdefault((kind, column), {})
        found.update((value, []) for value in values)
        place = kind._fields.index(column)
        for row in rows:
            found[row[place]].append(row)

    def keep(self, kind: type[Any], before: Sequence[Any] | None, after: Any) -> None:
        """Let what is known follow a write."""
        for (of_kind, column), found in self.known.items():
            if of_kind is kind:
                place = kind._fields.index(column)
                for old in () if before is None else found.get(before[place], ()):
                    if old[0] == before[0]:  # type: ignore[index]
                        found[old[place]].remove(old)
                        break
                if after is not None and after[place] in found:
                    found[after[place]].append(after)


class FoundRows:
    """The rows that a statement found."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = iter(rows)

    def fetchone(self) -> Any:
        """Return the next row; None behind the last."""
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        """Yield all rows that are left."""
        return self._rows

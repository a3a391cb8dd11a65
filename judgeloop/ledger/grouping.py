"""What the jobs of one transaction have looked up, and what they write: both stores share it.

The rows that jobs named are fetched before them, and what they write is sent behind them; until then a job
reads its own writes from memory. A row that counts, of a run or of a day, is written once however often it
changes. Holds rows and statements; a store fetches and sends (`sqlite.py`, `postgres.py`).
"""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from judgeloop.ledger.rows import TABLES, RunRow, SumRow, statement_of
from judgeloop.ledger.writer import Job

Lookup = tuple[type[Any], str, list[Any]]  # a kind of row, a column, and values of it
Statement = tuple[str, Sequence[Any]]
COUNTING = (RunRow, SumRow)  # what changes in them refers to no other row, and may be written last


class Group:
    """A transaction that is under way: the rows that are known, and what is still to be sent.

    `known` has, for each kind and column that was looked through, the rows by value. They stay as the
    jobs change them. `numbers` are the last numbers of tables, `numbered` those that have changed.
    """

    def __init__(self, now: str, numbers: dict[str, int]) -> None:
        self.now = now
        self.known: dict[tuple[type[Any], str], dict[Any, list[Any]]] = {}
        self.numbers = numbers
        self.numbered: set[str] = set()
        self._pending: list[Statement] = []
        self._counting: dict[tuple[type[Any], Any], tuple[Any, Any]] = {}  # as they were, and are

    def learn(
        self, kind: type[Any], column: str, values: Collection[Any], rows: Iterable[Any]
    ) -> None:
        """Keep what a lookup found: for each value its rows, and none for the others.

        A row with another value is damaged. It is kept for all: who looks for one checks its seal.
        """
        found = self.known.setdefault((kind, column), {})
        found.update((value, []) for value in values)
        place = kind._fields.index(column)
        for row in rows:
            for value in [row[place]] if row[place] in found else values:
                found[value].append(row)

    def write(self, kind: type[Any], before: Sequence[Any] | None, after: Any) -> None:
        """Note a write that is still to be sent, and let what is known follow it."""
        if kind in COUNTING and before is not None and after is not None:
            first, _ = self._counting.get((kind, before[0]), (before, None))
            self._counting[kind, before[0]] = first, after
        else:
            self._pending.append(statement_of(kind, before, after))
        self._keep(kind, before, after)

    def _keep(self, kind: type[Any], before: Sequence[Any] | None, after: Any) -> None:
        for (of_kind, column), found in self.known.items():
            if of_kind is kind:
                place = kind._fields.index(column)
                for old in () if before is None else found.get(before[place], ()):
                    if old[0] == before[0]:  # type: ignore[index]
                        found[old[place]].remove(old)
                        break
                if after is not None and after[place] in found:
                    found[after[place]].append(after)

    def to_send(self) -> list[Statement]:
        """Return what is still to be sent, which is sent now."""
        counting = [statement_of(kind, *change) for (kind, _), change in self._counting.items()]
        found = [*self._pending, *counting]
        self._pending, self._counting = [], {}
        return found


class Grouping:
    """A connection of a store that carries out jobs in groups, each group in one transaction."""

    group: Group | None = None  # while jobs are carried out

    @abstractmethod
    def fetched(self, wanted: Sequence[Lookup]) -> list[list[Any]]:
        """Return the rows that each lookup finds, with their seals, by number."""

    @abstractmethod
    def send(self, statements: Sequence[Statement]) -> None:
        """Carry out statements that write."""

    @abstractmethod
    def last_number(self, kind: type[Any]) -> int:
        """Return the last number that was given in a table."""

    def lookup(self, kind: type[Any], column: str, values: Collection[object]) -> Iterable[Any]:
        """Return the rows with one of these values in a column, with their seals, by number."""
        wanted = list(dict.fromkeys(values))
        if self.group is None:
            return self.fetched([(kind, column, wanted)])[0] if wanted else []
        known = self.group.known.setdefault((kind, column), {})
        if missing := [value for value in wanted if value not in known]:
            self.flush()
            self.group.learn(kind, column, missing, self.fetched([(kind, column, missing)])[0])
        if len(wanted) == 1:
            return known[wanted[0]]
        found = {row[0]: row for value in wanted for row in known[value]}
        return [found[number] for number in sorted(found)]

    def write(
        self, kind: type[Any], before: Sequence[Any] | None, after: Sequence[Any] | None
    ) -> None:
        """Insert the row `after`, change `before` into it, or delete `before`."""
        if self.group is None:
            self.send([statement_of(kind, before, after)])
        else:
            self.group.write(kind, before, after)

    def next_number(self, kind: type[Any]) -> int:
        """Return the number of the next row of a table; that of a deleted one is not given again."""
        if self.group is None:
            return self.last_number(kind) + 1
        table, numbers = TABLES[kind], self.group.numbers
        if table not in numbers:
            self.flush()
            numbers[table] = self.last_number(kind)
        numbers[table] += 1
        self.group.numbered.add(table)
        return numbers[table]

    def flush(self) -> None:
        """Send what was written."""
        if self.group is not None and (statements := self.group.to_send()):
            self.send(statements)


def lookups_of(jobs: Iterable[Job]) -> Iterator[Lookup]:
    """Yield what jobs are going to look for, each kind and column once."""
    wanted: dict[tuple[type[Any], str], dict[Any, None]] = {}
    for job in jobs:
        for kind, column, values in job.wants():
            wanted.setdefault((kind, column), {}).update(dict.fromkeys(values))
    return ((*where, list(values)) for where, values in wanted.items() if values)

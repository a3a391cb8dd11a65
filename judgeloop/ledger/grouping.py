"""What the jobs of one transaction have looked up, and what they write: both stores share it.

The rows that jobs named are fetched before them, and what they write is sent behind them; until then a job
reads its own writes from memory. A row's seal is checked once, and a row is sealed and written once, however
often it is read and changed. Holds rows; a store fetches and sends (`sqlite.py`, `postgres.py`).
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from judgeloop.ledger.rows import TABLES, checked, statement_of
from judgeloop.ledger.seals import Sealer
from judgeloop.ledger.writer import Job

Lookup = tuple[type[Any], str, list[Any]]  # a kind of row, a column, and values of it
Statement = tuple[str, Sequence[Any]]


class Group:
    """A transaction that is under way: the rows that are known, and what is still to be sent.

    `known` has, for each kind and column that was looked through, the rows by value. They stay as the
    jobs change them. One that was not looked at yet has its seal, unchecked. `numbers` are the last numbers
    of tables, `numbered` those that have changed.
    """

    def __init__(self, now: str, numbers: dict[str, int]) -> None:
        self.now = now
        self.known = defaultdict[type[Any], dict[str, dict[Any, list[Any]]]](dict)
        self.numbers = numbers
        self.numbered: set[str] = set()
        # What is still to be sent: of each table the rows by number, as they were and as they are.
        self._changes: dict[type[Any], dict[Any, tuple[Any, Any]]] = {kind: {} for kind in TABLES}

    def learn(self, kind: type[Any], column: str, values: Collection[Any], rows: Iterable[Any]) -> None:
        """Keep what a lookup found: for each value its rows, and none for the others.

        A row with another value is damaged. It is kept for all: who looks for one checks its seal.
        """
        found = self.known[kind].setdefault(column, {})
        found.update((value, []) for value in values)
        place = kind._fields.index(column)
        for row in rows:
            for value in [row[place]] if row[place] in found else values:
                found[value].append(row)

    def write(self, kind: type[Any], before: Sequence[Any] | None, after: Any) -> None:
        """Note a write that is still to be sent, and let what is known follow it."""
        changes, number = self._changes[kind], (before or after)[0]
        first, _ = changes.pop(number, (before, None))  # the latest change is sent last
        changes[number] = first, after
        self._keep(kind, before, after)

    def _keep(self, kind: type[Any], before: Sequence[Any] | None, after: Any) -> None:
        for column, found in self.known[kind].items():
            place = kind._fields.index(column)
            for old in () if before is None else found.get(before[place], ()):
                if old[0] == before[0]:  # type: ignore[index]
                    found[old[place]].remove(old)
                    break
            if after is not None and after[place] in found:
                found[after[place]].append(after)

    def to_send(self, sealer: Sealer) -> list[Statement]:
        """Return what is still to be sent, which is sent now.

        Rows are deleted first, and behind those that refer to them; they are written before these.
        """
        gone, kept = list[Statement](), list[Statement]()
        for kind, rows in self._changes.items():
            for before, after in rows.values():
                if after is not None:
                    kept.append(statement_of(sealer, kind, before, after))
                elif before is not None:
                    gone.append(statement_of(sealer, kind, before, None))
            rows.clear()
        return gone[::-1] + kept


class Grouping:
    """A connection of a store that carries out jobs in groups, each group in one transaction."""

    sealer: Sealer
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
        """Return the rows with one of these values in a column, by number; their seals are checked."""
        wanted = list(dict.fromkeys(values))
        if self.group is None:
            fetched = self.fetched([(kind, column, wanted)])[0] if wanted else []
            return [checked(self, kind, row) for row in fetched]  # type: ignore[arg-type]
        known = self.group.known[kind].setdefault(column, {})
        if missing := [value for value in wanted if value not in known]:
            self.flush()
            self.group.learn(kind, column, missing, self.fetched([(kind, column, missing)])[0])
        for value in wanted:
            rows = known[value]
            for place, row in enumerate(rows):
                if type(row) is not kind:
                    rows[place] = checked(self, kind, row)  # type: ignore[arg-type]
        if len(wanted) == 1:
            return known[wanted[0]]
        found = {row[0]: row for value in wanted for row in known[value]}
        return [found[number] for number in sorted(found)]

    def write(self, kind: type[Any], before: Sequence[Any] | None, after: Sequence[Any] | None) -> None:
        """Insert the row `after` with its seal, change `before` into it, or delete `before`."""
        if self.group is None:
            self.send([statement_of(self.sealer, kind, before, after)])
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
        if self.group is not None and (statements := self.group.to_send(self.sealer)):
            self.send(statements)


def lookups_of(jobs: Iterable[Job]) -> Iterator[Lookup]:
    """Yield what jobs are going to look for, each kind and column once."""
    wanted: dict[tuple[type[Any], str], dict[Any, None]] = {}
    for job in jobs:
        for kind, column, values in job.wants():
            wanted.setdefault((kind, column), {}).update(dict.fromkeys(values))
    return ((*where, list(values)) for where, values in wanted.items() if values)

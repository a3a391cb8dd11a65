"""Reads the verdicts of other runs from the ledger, and makes comparisons of systems from them.

A repeated run has to see the same verdicts as the first time, or it would draw other items. So only
verdicts count that were recorded before the run first began, and none of its own. `comparisons.py`,
`ratings.py` and `calibration/past.py` choose which of them to use.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from judgeloop.core.records import Verdict
from judgeloop.core.verdict_key import KeyIngredients, Place
from judgeloop.engine import decoys
from judgeloop.history.past import Pair, Past, past_of_pairs
from judgeloop.ledger.connection import connect

ENOUGH_ALIKE = 20  # identical outputs from which on two names are taken for the same system


@dataclass(frozen=True, slots=True)
class RememberedVerdict:
    """A verdict of another run.

    `systems` are in the order shown to the judge. `charged_p` is its cost in picodollars.
    """

    run: str
    item_id: str
    systems: tuple[str, ...]
    score: float
    charged_p: int
    ingredients: KeyIngredients

    @property
    def place(self) -> Place:
        """What identifies the item in keys."""
        return self.ingredients.place(self.item_id)

    @property
    def compares(self) -> bool:
        """True for a comparison of two systems' outputs, not of a decoy."""
        return self.ingredients.compares and decoys.NAME not in self.systems

    @property
    def rates(self) -> bool:
        """True for a rating of a system's output, not of a decoy."""
        return not self.ingredients.compares and decoys.NAME not in self.systems


def remembered_verdicts(
    path: Path | str, run: str | None, *, begin: bool, of_runs: Collection[str] = ()
) -> list[RememberedVerdict]:
    """Return other runs' verdicts that were recorded before `run` began, the oldest first.

    With `begin`, the start of `run` is recorded as now, unless it has begun already. For a run that
    has not begun, and for None, all recorded verdicts count. Only verdicts of `of_runs` are
    returned, if any are given. Without a ledger file the result is empty; only `begin` creates the
    file.

    Raises:
        LedgerError: the file cannot be opened, or is not a ledger.
    """
    if not begin and not Path(path).exists():
        return []
    with closing(connect(path)) as connection:
        before = _began_at(connection, run, begin=begin)
        rows = connection.execute(
            "SELECT attempts.run, attempts.item_id, attempts.note, attempts.charged_p, "
            "verdicts.score FROM verdicts JOIN attempts ON attempts.id = verdicts.attempt "
            "WHERE verdicts.created_at < ? AND attempts.run IS NOT ? ORDER BY attempts.id",
            (before, run),
        ).fetchall()
    found = (_remembered(*row) for row in rows if not of_runs or row[0] in of_runs)
    return [verdict for verdict in found if verdict is not None]


def known_runs(path: Path | str) -> dict[str, str]:
    """Return the start time of every run in the ledger, by id, the oldest first."""
    if not Path(path).exists():
        return {}
    with closing(connect(path)) as connection:
        return dict(
            connection.execute("SELECT id, created_at FROM runs ORDER BY created_at").fetchall()
        )


def _began_at(connection: sqlite3.Connection, run: str | None, *, begin: bool) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    if begin:
        connection.execute(
            "INSERT INTO runs (id, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING", (run, now)
        )
    found = connection.execute("SELECT created_at FROM runs WHERE id IS ?", (run,)).fetchone()
    return str(found[0]) if found else now + "~"  # sorts after the time of every recorded verdict


def _remembered(
    run: str, item_id: str, note: str, charged_p: int, score: float
) -> RememberedVerdict | None:
    noted = json.loads(note)
    ingredients = KeyIngredients.from_note(noted.get("ingredients", {}))
    if ingredients is None:
        return None
    systems = tuple(noted.get("systems", ()))
    return RememberedVerdict(run, item_id, systems, score, charged_p, ingredients)


@dataclass(slots=True)
class Versions:
    """Tells different systems with the same name apart by their outputs.

    Within a run, a name is a single system. In two runs, a name is the same system if at least one
    item has an output in both and no item has different outputs. `known` holds the versions of each
    name, each with its outputs' digests by item. `today` holds those of the systems judged now.
    """

    known: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    today: dict[str, dict[str, str]] = field(default_factory=dict)

    def label(self, name: str, outputs: dict[str, str]) -> str:
        """Return a name for the system with `outputs`, which are digests by item.

        From the second version of a name on, the name is followed by the version's number.
        A system with at least `ENOUGH_ALIKE` outputs that are all those of a system of today gets
        that system's name.
        """
        for present, current in self.today.items():
            if len(outputs) >= ENOUGH_ALIKE and all(
                current.get(at) == text for at, text in outputs.items()
            ):
                return present
        versions = self.known.setdefault(name, [])
        for number, version in enumerate(versions, 1):
            common = version.keys() & outputs.keys()
            if common and all(version[item] == outputs[item] for item in common):
                version.update(outputs)
                return _numbered(name, number)
        versions.append(dict(outputs))
        return _numbered(name, len(versions))


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} ({number})"


def compared(
    verdicts: Sequence[RememberedVerdict],
    positions: Mapping[Place, int],
    today: Mapping[str, dict[str, str]] | None = None,
) -> Past:
    """Return comparisons by pair of systems, on the items at `positions`.

    If the verdicts on an item disagree (in two orders of presentation, or by two judges), it is a
    tie. `today` holds the digests of today's outputs by system and item; these systems keep their
    names without a number.
    """
    labels = _labels(verdicts, today or {})
    found: dict[Pair, dict[int, int]] = {}
    for verdict in verdicts:
        first, second = (labels[verdict.run, name] for name in verdict.systems)
        preference = Verdict(verdict.score).preference
        if second < first:
            first, second, preference = second, first, -preference
        known = found.setdefault((first, second), {})
        position = positions[verdict.place]
        known[position] = preference if known.get(position, preference) == preference else 0
    return past_of_pairs(found, len(positions))


def _labels(
    verdicts: Iterable[RememberedVerdict], today: Mapping[str, dict[str, str]]
) -> dict[tuple[str, str], str]:
    """Return the name to use for each system, by run and recorded name."""
    outputs: dict[tuple[str, str], dict[str, str]] = {}
    for verdict in verdicts:
        for name, output in zip(verdict.systems, verdict.ingredients.outputs, strict=True):
            outputs.setdefault((verdict.run, name), {})[verdict.item_id] = output
    versions = Versions(today=dict(today))
    for name, by_item in today.items():
        versions.label(name, by_item)
    return {(run, name): versions.label(name, by_item) for (run, name), by_item in outputs.items()}

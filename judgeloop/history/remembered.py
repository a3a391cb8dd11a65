"""Verdicts that the ledger remembers of other runs, as comparisons of systems.

A run that is repeated has to see what it saw the first time, or it would draw other items: so
verdicts count that were there before the run was first noted, and none of its own. Which of them
are evidence for what is decided elsewhere (`comparisons.py`, `ratings.py`, `calibration/past.py`).
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

ENOUGH_ALIKE = 20  # outputs that are the same, to take two names for one system


@dataclass(frozen=True, slots=True)
class RememberedVerdict:
    """A verdict of another run: `systems` as shown to the judge, and what its key was made of."""

    run: str
    item_id: str
    systems: tuple[str, ...]
    score: float
    charged_p: int
    ingredients: KeyIngredients

    @property
    def place(self) -> Place:
        """Which item it is about."""
        return self.ingredients.place(self.item_id)

    @property
    def compares(self) -> bool:
        """Whether it is about two systems' outputs: no rating, no decoy."""
        return self.ingredients.compares and decoys.NAME not in self.systems

    @property
    def rates(self) -> bool:
        """Whether it is a rating of one system's output, and of no decoy."""
        return not self.ingredients.compares and decoys.NAME not in self.systems


def remembered_verdicts(
    path: Path | str, run: str | None, *, begin: bool, of_runs: Collection[str] = ()
) -> list[RememberedVerdict]:
    """The verdicts of all runs but `run` that were held before it began, the oldest first.

    With `begin` the run is noted to begin now, if it has not; without, and for None, all that is
    held counts. `of_runs` narrows it to these. A ledger that does not exist remembers nothing, and
    is created only by `begin`.

    Raises:
        LedgerError: the file cannot be opened, or is something else.
    """
    if not begin and not Path(path).exists():
        return []
    with closing(connect(path)) as connection:
        before = _began_at(connection, run, begin=begin)
        rows = connection.execute(
            "SELECT attempts.run, attempts.item_id, attempts.note, attempts.charged_p, verdicts.score "
            "FROM verdicts JOIN attempts ON attempts.id = verdicts.attempt "
            "WHERE verdicts.created_at < ? AND attempts.run IS NOT ? ORDER BY attempts.id",
            (before, run),
        ).fetchall()
    found = (_remembered(*row) for row in rows if not of_runs or row[0] in of_runs)
    return [one for one in found if one is not None]


def known_runs(path: Path | str) -> dict[str, str]:
    """Every run that the ledger has, with when it began, the oldest first."""
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
    return str(found[0]) if found else now + "~"  # after all that is held


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
    """Tells systems of one name apart by their outputs.

    Within a run a name is one system, and so it is among runs that share some outputs and
    contradict each other in none.
    """

    known: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    today: dict[str, dict[str, str]] = field(default_factory=dict)

    def label(self, name: str, outputs: dict[str, str]) -> str:
        """The name of the system that gave these outputs by item, with a number from the second on.

        One of today's systems under another name is known by its outputs.
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
    """Comparisons by pair of systems; orders of presentation, or judges, that disagree are a tie.

    `today` has the digests of today's outputs by system and item, whose systems are then called by
    their names alone.
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
    """What to call each system, by run and name."""
    outputs: dict[tuple[str, str], dict[str, str]] = {}
    for verdict in verdicts:
        for name, output in zip(verdict.systems, verdict.ingredients.outputs, strict=True):
            outputs.setdefault((verdict.run, name), {})[verdict.item_id] = output
    versions = Versions(today=dict(today))
    for name, by_item in today.items():
        versions.label(name, by_item)
    return {(run, name): versions.label(name, by_item) for (run, name), by_item in outputs.items()}

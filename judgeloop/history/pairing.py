"""Makes comparisons of systems from verdicts of other runs, which may name systems differently.

Reads no ledger (`verdict_columns.py`) and does not choose the verdicts (`comparisons.py`, `ratings.py`,
`calibration/run.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.verdict_key import Place
from judgeloop.history.past import Past
from judgeloop.history.verdict_columns import UNKNOWN, VerdictColumns

ENOUGH_ALIKE = 20  # identical outputs from which on two names are taken for the same system
Outputs = dict[int, int]  # the number of an output by the number of its item
Today = Mapping[str, Mapping[str, str]]  # digests of outputs by system and item id


@dataclass(slots=True)
class Versions:
    """Tells different systems with the same name apart by their outputs.

    Within a run, a name is a single system. In two runs, a name is the same system if at least one
    item has an output in both and no item has different outputs. `known` holds the versions of each
    name, each with its outputs by item. `today` holds those of the systems judged now.
    """

    known: dict[str, list[Outputs]] = field(default_factory=dict)
    today: dict[str, Outputs] = field(default_factory=dict)

    def label(self, name: str, outputs: Outputs) -> str:
        """Return a name for the system with `outputs`.

        From the second version of a name on, the name is followed by the version's number.
        A system with at least `ENOUGH_ALIKE` outputs that are all those of a system of today gets
        that system's name.
        """
        for present, current in self.today.items():
            if len(outputs) >= ENOUGH_ALIKE and all(current.get(at) == text for at, text in outputs.items()):
                return present
        versions = self.known.setdefault(name, [])
        for number, version in enumerate(versions, 1):
            common = version.keys() & outputs.keys()
            if common and all(version[item] == outputs[item] for item in common):
                version.update(outputs)
                return _numbered(name, number)
        versions.append(outputs)
        return _numbered(name, len(versions))


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} ({number})"


def compared(verdicts: VerdictColumns, positions: Mapping[Place, int], today: Today | None = None) -> Past:
    """Return comparisons by pair of systems, on the items at `positions`.

    If the verdicts on an item disagree (in two orders of presentation, or by two judges), it is a
    tie. `today` holds the digests of today's outputs by system and item; these systems keep their
    names without a number.
    """
    names, systems = labelled(verdicts, 2, today or {})
    turned = systems[:, 1] < systems[:, 0]  # as names: they are numbered in alphabetical order
    systems = np.where(turned[:, None], systems[:, ::-1], systems)
    preferences = np.where(turned, -verdicts.preferences, verdicts.preferences)
    pairs, row = _first_seen(systems[:, 0].astype(np.int64) * len(names) + systems[:, 1])
    cells = row, verdicts.at_places(positions)
    shape = len(pairs), len(positions)
    lowest, highest = np.full(shape, 2, dtype=np.int8), np.full(shape, -2, dtype=np.int8)
    np.minimum.at(lowest, cells, preferences)
    np.maximum.at(highest, cells, preferences)
    return Past(
        tuple((names[pair // len(names)], names[pair % len(names)]) for pair in pairs.tolist()),
        np.where(lowest == highest, lowest, np.int8(0)),
        highest >= -1,
    )


def labelled(verdicts: VerdictColumns, rated: int, today: Today) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of all systems in alphabetical order, and the verdicts' systems as numbers.

    Runs may use one name for several systems, and several names for one (`Versions`). All verdicts
    are about `rated` systems, 1 or 2; the numbers have the shape (n, rated).
    """
    runs = verdicts.run.astype(np.int64)[:, None]
    above = int(verdicts.systems.max(initial=0)) + 1
    distinct, which = _first_seen((runs * above + verdicts.systems[:, :rated]).ravel())
    items = _items(verdicts)
    versions = _with_today(verdicts, items, today)
    named = zip(distinct.tolist(), _outputs(verdicts, items, which, rated), strict=True)
    labels = [versions.label(verdicts.names[at % above], outputs) for at, outputs in named]
    names = sorted(set(labels))
    numbers = {name: number for number, name in enumerate(names)}
    found = np.array([numbers[label] for label in labels], dtype=np.int64)
    return names, found[which].reshape(-1, rated)


def _items(verdicts: VerdictColumns) -> dict[str, int]:
    """Return a number for each item id; an id may have several places."""
    ids = dict.fromkeys(place[0] for place in verdicts.places.values())
    return {item: number for number, item in enumerate(ids)}


def _outputs(
    verdicts: VerdictColumns, items: Mapping[str, int], which: NDArray[np.int64], rated: int
) -> Iterator[Outputs]:
    """Yield each system's outputs by item; `which` says whose output each verdict shows."""
    item = verdicts.at_places({place: items[place[0]] for place in verdicts.places.values()})
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which))[:-1]
    places = np.split(np.repeat(item, rated)[order], ends)
    shown = np.split(verdicts.shown[:, :rated].ravel()[order], ends)
    for at, output in zip(places, shown, strict=True):
        if len(at):
            yield dict(zip(at.tolist(), output.tolist(), strict=True))


def _with_today(verdicts: VerdictColumns, items: dict[str, int], today: Today) -> Versions:
    """Return versions that know the systems of today; what no verdict has gets a new number."""
    new: dict[str, int] = {}

    def number_of(text: str) -> int:
        known = verdicts.number(text)
        return known if known != UNKNOWN else new.setdefault(text, UNKNOWN - 1 - len(new))

    numbered = {
        name: {items.setdefault(item, len(items)): number_of(text) for item, text in by_item.items()}
        for name, by_item in today.items()
    }
    versions = Versions(today=numbered)
    for name, by_item in numbered.items():
        versions.label(name, dict(by_item))
    return versions


def _first_seen(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct values in the order in which they first come, and which each value is."""
    distinct, first, which = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[which.ravel()]

"""Verdicts that the ledger remembers, as comparisons of systems.

Which of them count, and for what, is the business of `jobs/history.py` and `jobs/calibrate.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from judgeloop.core.records import Item, JudgeIdentity, Verdict
from judgeloop.core.verdict_key import digest
from judgeloop.engine import decoys
from judgeloop.history.past import Pair, Past, past_of_pairs
from judgeloop.ledger.history import RememberedVerdict

FIRST, SECOND = "output shown first", "output shown second"

ENOUGH_ALIKE = 20  # outputs that are the same, to take two names for one system

Place = tuple[
    str, str, str
]  # an item as a verdict's key has it: its id, and the digests of its prompt and its reference


def place_of(verdict: RememberedVerdict) -> Place:
    """Which item a verdict is about."""
    made_of = verdict.ingredients
    return verdict.item_id, made_of.get("prompt text", ""), made_of.get("reference", "")


def place_of_item(item: Item) -> Place:
    """The same of an item."""
    return item.id, digest(item.prompt), digest(item.reference)


def compares(verdict: RememberedVerdict) -> bool:
    """Whether it is a verdict on two systems' outputs: no rating, no decoy."""
    return FIRST in verdict.ingredients and decoys.NAME not in verdict.systems


def described(identity: JudgeIdentity) -> dict[str, str]:
    """A judge as a verdict's key has it."""
    parameters = {f"judge's {name}": value for name, value in identity.parameters.items()}
    return {"provider": identity.provider, "model": identity.model, **parameters}


def judge_of(verdict: RememberedVerdict) -> dict[str, str]:
    """Who gave a verdict."""
    return {
        name: value
        for name, value in verdict.ingredients.items()
        if name in {"provider", "model"} or name.startswith("judge's ")
    }


@dataclass(slots=True)
class Versions:
    """Tells systems of one name apart by their outputs.

    Within a run a name is one system, and so it is among runs that share some outputs and contradict in none.
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

    `today` has the digests of today's outputs by system and item, whose systems are then called by their names alone.
    """
    labels = _labels(verdicts, today or {})
    found: dict[Pair, dict[int, int]] = {}
    for verdict in verdicts:
        first, second = (labels[verdict.run, name] for name in verdict.systems)
        preference = Verdict(verdict.score).preference
        if second < first:
            first, second, preference = second, first, -preference
        known = found.setdefault((first, second), {})
        position = positions[place_of(verdict)]
        known[position] = preference if known.get(position, preference) == preference else 0
    return past_of_pairs(found, len(positions))


def _labels(
    verdicts: Iterable[RememberedVerdict], today: Mapping[str, dict[str, str]]
) -> dict[tuple[str, str], str]:
    """What to call each system, by run and name."""
    outputs: dict[tuple[str, str], dict[str, str]] = {}
    for verdict in verdicts:
        shown = (verdict.ingredients[FIRST], verdict.ingredients[SECOND])
        for name, output in zip(verdict.systems, shown, strict=True):
            outputs.setdefault((verdict.run, name), {})[verdict.item_id] = output
    versions = Versions(today=dict(today))
    for name, by_item in today.items():
        versions.label(name, by_item)
    return {(run, name): versions.label(name, by_item) for (run, name), by_item in outputs.items()}

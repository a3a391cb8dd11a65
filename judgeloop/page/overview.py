"""What whoever runs this sees of the people: who answered how many, in what time, for how much, and who has what.

Nothing here says who leads or which system wrote what: no verdict is counted by its side, and no forecast moves.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from judgeloop.core.protocols import SoFar
from judgeloop.page.checks import counted
from judgeloop.page.desk import AWAY_S, SKIP, Desk, Person

Price = Callable[[float], float]  # dollars of so many seconds of one call


def overview(
    desk: Desk, lines: Sequence[Mapping[str, Any]], standing: SoFar | None, price: Price | None, now: float
) -> dict[str, Any]:
    """The figures of all people, from the desk and the `lines` of its journal; `price` is None where nobody is paid."""
    given = _standing(lines)
    people = [
        _of(person, [one for one in given if one["by"] == person.name], price, now) for person in desk.people.values()
    ]
    awaited = [one.call.reading for one in desk.awaits if one.call.reading is not None]
    said: dict[str, Any] = {
        "judged": desk.held,
        "each": desk.each,
        "people": people,
        "in_hand": sum(person["in_hand"] for person in people),
        "read": desk.read,
        # Second readings come when nothing else is asked.
        "for_another": sum(not one.same for one in awaited),
        "for_same": sum(one.same for one in awaited),
        "seconds": sum(person["seconds"] for person in people),
    }
    if price is not None:
        said["usd"] = sum(person["usd"] for person in people)
    if standing is not None:
        said |= {
            "judged": standing.judged + desk.held,
            "skipped": standing.skipped,
            "most": standing.most,
            "again": standing.again,
            "usual": standing.usual,
            "needs": standing.needs,
        }
    return said


def _standing(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The answers, skips among them, that were not taken back."""
    found: list[Mapping[str, Any]] = []
    for line in lines:
        if line["what"] == "answer":
            found.append(line)
        elif line["what"] == "undo":
            found.remove(next(one for one in reversed(found) if (one["key"], one["by"]) == (line["key"], line["by"])))
    return found


def _state(person: Person, away: float | None) -> str:
    if person.failed or away is None:
        return "failed" if person.failed else "unopened"
    return "away" if away > AWAY_S else "paused" if person.paused else "judging" if person.hand else "waiting"


def _of(person: Person, given: Sequence[Mapping[str, Any]], price: Price | None, now: float) -> dict[str, Any]:
    """What one person did, and what they do now."""
    seconds = [one["seconds"] for one in given]
    latest = {one["key"]: one["said"] for one in given}  # a later run may have asked again what was skipped
    kinds = Counter("skips" if said == SKIP else "judged" for said in latest.values())
    away = None if person.there is None else now - person.there
    found: dict[str, Any] = {
        "name": person.name,
        "away": away if away is not None and away > AWAY_S else None,
        "state": _state(person, away),
        "in_hand": person.hand is not None,
        "judged": kinds["judged"],
        "skips": kinds["skips"],
        "seconds": sum(seconds),
        "usual": median(seconds) if seconds else None,
        "unseen": sum(one.get("seen") is False and one["said"] != SKIP for one in given),
        "checks": asdict(counted(person.name, [*person.checks.values()])) if person.checks else None,
    }
    return found if price is None else found | {"usd": sum(map(price, seconds))}

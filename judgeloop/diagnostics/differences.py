"""What differs between the results of two runs: items that turned, settings, outputs, verdicts.

Compares two `RunResult` of one question, item by item. Systems are matched by name. Two whose names differ
are matched by their place, as the name of a candidate often has a date in it. Reads no ledger and decides
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from judgeloop.core.errors import InputError
from judgeloop.core.ledger import RunNote
from judgeloop.methods.stats.margins import usual_limit
from judgeloop.report.escaping import visible
from judgeloop.report.facts import Fact, Page, Section, Table, decided, named
from judgeloop.report.labels import LabelRow, Texts
from judgeloop.report.result import RunResult
from judgeloop.report.words import count, shortened

MOVED = 0.5  # a rating that differs by so much has turned
LONGEST = 60  # characters of a value
# Of a setup: what follows from its settings, or is none.
DERIVED = {
    "run", "version", "judge", "guarantee", "controlled", "calls_per_item", "old_prices", "asked_anew",
}  # fmt: skip

# An item, the place of the system judged, and that of the other; without one, the place after all.
Place = tuple[str, int, int]


class Turned(NamedTuple):
    """An item with another winner, or a rating that moved by at least `MOVED`; the verdicts in words.

    `changed` names the systems whose outputs differ.
    """

    item_id: str
    before: str
    after: str
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between two runs, X and Y.

    - `said`: the decision of each, in words.
    - `turned`: the items that turned. `both`: how many verdicts both have; `only`: how many X or Y alone.
    - `moved`: how many verdicts differ in score or votes without having turned.
    - `settings`: name, value in X, value in Y. `outputs`: how many outputs of each system differ; empty
      if a result has no texts.
    """

    said: tuple[str, str]
    turned: tuple[Turned, ...]
    both: int
    only: tuple[int, int]
    moved: int
    settings: tuple[tuple[str, Any, Any], ...]
    outputs: dict[str, int]


def differences(x: RunResult, y: RunResult) -> Differences:
    """Compare two results of one question.

    Raises:
        InputError: they answer different questions.
    """
    if x.job != y.job:
        raise InputError(f"expected two runs of one question, found {x.job} and {y.job}")
    names = list(zip(x.setup.systems, y.setup.systems, strict=False))
    if x.job == "select" or set(x.setup.systems) == set(y.setup.systems):
        names = [(name, name) for name in x.setup.systems if name in y.setup.systems]
    before, after = _by_place(x, [one for one, _ in names]), _by_place(y, [one for _, one in names])
    both = [place for place in after if place in before]
    texts = _texts(x.texts, y.texts, names) if x.texts and y.texts else {}
    turned, moved = [], 0
    for place in both:
        old, new = before[place], after[place]
        if _side(old) != _side(new) or abs(_rating(old) - _rating(new)) >= MOVED:
            changed = tuple(name for name, differ in texts.items() if place[0] in differ)
            turned.append(Turned(place[0], _verdict(old), _verdict(new), changed))
        else:
            moved += (old.score, old.votes) != (new.score, new.votes)
    first, second = map(_settings, (x, y))
    return Differences(
        (x.page.headline, y.page.headline),
        tuple(turned),
        len(both),
        (len(before) - len(both), len(after) - len(both)),
        moved,
        tuple(
            (name, first.get(name), second.get(name)) for name in first | second if first.get(name) != second.get(name)
        ),
        {name: len(differ) for name, differ in texts.items()},
    )


def other_outputs(x: RunNote, y: RunNote) -> list[str]:
    """Return the systems of `y` whose outputs are not all those of `x`, as far as it is known; matched by place."""
    found = zip(y.systems, x.outputs, y.outputs, strict=False)
    return [name for name, old, new in found if old and new and old != new]


def _settings(result: RunResult) -> dict[str, Any]:
    """Return the settings of a run by name; a limit that follows from others counts as none."""
    found = result.setup.to_json() | result.options.to_json() | {"items": result.items}
    margin, risk = found.get("not_worse"), found["risk_threshold"]
    if margin is not None and found["max_judgments"] == usual_limit(margin, risk):
        found["max_judgments"] = None
    asked = zip(found["judges"], found.pop("judge_parameters"), strict=False)
    found |= {f"{judge}, {name}": value for judge, each in asked for name, value in each.items()}
    return {name: value for name, value in found.items() if name not in DERIVED}


def _by_place(result: RunResult, names: list[str]) -> dict[Place, LabelRow]:
    places: dict[str | None, Any] = {None: len(names)} | {name: n for n, name in enumerate(names)}
    found = {}
    for label in result.labels:
        if label.system in places and label.against in places:
            swapped = places[label.system] > places[label.against]
            one = _swapped(label) if swapped else label
            found[one.item_id, places[one.system], places[one.against]] = one
    return found


def _swapped(label: LabelRow) -> LabelRow:
    """Return a verdict on two systems from the side of the other."""
    score, *votes = (None if one is None else round(1 - one, 12) for one in (label.score, *label.votes))
    system, against = label.against or "", label.system
    return replace(label, system=system, against=against, score=score, votes=tuple(votes))


def _side(label: LabelRow) -> object:
    """Return which side has won; None for a tie or a rating."""
    if label.score is None:
        return "no verdict"
    return None if label.winner is None else label.winner == label.system


def _rating(label: LabelRow) -> float:
    return 0.0 if label.against is not None or label.score is None else label.score


def _verdict(label: LabelRow) -> str:
    if label.score is None:
        return "no verdict"
    return f"{label.score:.2f}" if label.against is None else label.winner or "tie"


def _texts(x: Texts, y: Texts, names: list[tuple[str, str]]) -> dict[str, set[str]]:
    """Return the items on which outputs differ, by the system's name in Y, or prompts do."""
    old, new = _by_item(x, [name for name, _ in names]), _by_item(y, [name for _, name in names])
    parts = ("the prompt", *(name for _, name in names))
    found = {
        part: {item for item in old if item in new and old[item][at] != new[item][at]} for at, part in enumerate(parts)
    }
    return {part: differ for part, differ in found.items() if differ or part != parts[0]}


def _by_item(texts: Texts, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the prompt and the outputs of these systems, by item."""
    outputs = [texts.pool.outputs[texts.pool.systems.index(name)] for name in names]
    items = texts.pool.items
    return {item.id: (item.prompt, *(one[n] for one in outputs)) for n, item in enumerate(items)}


def page_of(found: Differences, runs: tuple[str, str], others: Sequence[str] = ()) -> Page:
    """Return the differences as text, the items that turned first; `others` are systems with other outputs."""
    otherwise = "none: the judge said otherwise" if found.outputs else "not known"
    rows = tuple(
        tuple(map(_short, (item, x, y, ", ".join(changed) or otherwise))) for item, x, y, changed in found.turned
    )
    tables = (Table("", ("item", *runs, "outputs that differ"), rows),) if rows else ()
    details = (
        *((f"outputs of {visible(name)}", "not all the same") for name in others),
        *(
            (f"outputs of {visible(name)}", f"{n:,} differ, on items judged in both")
            for name, n in found.outputs.items()
            if found.both
        ),
        ("verdicts", f"{found.moved:,} differ without having turned"),
        ("judged", f"{found.only[0]:,} in {runs[0]} only, {found.only[1]:,} in {runs[1]} only"),
    )
    settings = tuple((name, f"{_short(x)}, then {_short(y)}") for name, x, y in found.settings)
    turned = f"{count(len(rows), 'item')} turned, of {found.both:,} judged in both"
    said = (Fact(run, Section.DECISION, run, line, first=True) for run, line in zip(runs, found.said, strict=True))
    head = turned if found.both else "no item was judged in both: there is nothing to compare"
    differ = named(Section.DATA, settings or (("settings", "none differs"),))
    return Page((decided(head), *said, *differ, *named(Section.EVIDENCE, details)), tables)


def _short(value: object) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return shortened("none" if value is None else str(value), LONGEST)

"""Earlier comparisons for a new one: from the ledger, from some of its runs, or from a file.

What they say about an item is `stats/decisiveness.py`'s business; whether to trust them, that of `judgeloop calibrate`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from judgeloop import decoys
from judgeloop.errors import InputError
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.keys import digest
from judgeloop.ledger.history import RememberedVerdict, known_runs, remembered_verdicts
from judgeloop.past import Pair, Past, no_past, past_of_pairs, past_of_scores
from judgeloop.recorded import VerdictTable
from judgeloop.records import Item, JudgeIdentity, Verdict
from judgeloop.report.sentences import count
from judgeloop.stats.decisiveness import Floats, draw_weights

AUTO, NONE = "auto", "none"
RUN_ID = re.compile(r"[0-9a-f]{16}")
SHOWN = 5
FIRST, SECOND = "output shown first", "output shown second"


@dataclass(frozen=True, slots=True)
class History:
    """Earlier comparisons on the items of a pool, the weights that they give them, and where they come from, in words."""

    past: Past
    source: str
    weights: Floats | None


@dataclass(frozen=True, slots=True)
class About:
    """What a history is wanted for: the items, the outputs that are compared now, and who judges."""

    items: tuple[Item, ...]
    systems: tuple[str, ...]
    outputs: tuple[tuple[str, ...], ...]
    judges: tuple[JudgeIdentity, ...]
    tie_margin: float


def history_of(past: Past, source: str) -> History:
    """A past with the weights that it gives."""
    weights = draw_weights(past.preferences, past.known, len(past.systems))
    if weights is None:
        source += ": plain random draws"
    return History(past, source, weights)


def find_history(given: str, about: About, ledger: Path, run: str, *, begin: bool) -> History:
    """What `given` (auto, none, runs or a file) says about the items.

    With `begin` the run is noted in the ledger, so that it sees the same past when it is repeated.

    Raises:
        InputError: there is no such file or run, or it has nothing on these items.
    """
    if given == NONE:
        return history_of(no_past(len(about.items)), "no history")
    if Path(given).is_file():
        return _of_file(Path(given), about)
    runs = _runs(given, ledger)
    verdicts = remembered_verdicts(ledger, run, begin=begin, of_runs=runs)
    past, by_same = _of_ledger(verdicts, about)
    if runs and not past.verdicts:
        raise InputError(f"--history {given}: there are no comparisons on these items in it")
    return history_of(past, _said(past, by_same=by_same, runs=runs))


def _runs(given: str, ledger: Path) -> tuple[str, ...]:
    if given == AUTO:
        return ()
    names = tuple(part.strip() for part in given.split(","))
    if not all(map(RUN_ID.fullmatch, names)):
        raise InputError(
            f"--history {given}: expected auto, none, a file of verdicts, or names of runs with commas between; there is no such file"
        )
    known = known_runs(ledger)
    for name in names:
        if name not in known:
            latest = ", ".join(list(known)[-SHOWN:]) or "none"
            raise InputError(f"--history {name}: {ledger} has no such run; the latest it has: {latest}")
    return names


def _said(past: Past, *, by_same: bool, runs: tuple[str, ...]) -> str:
    if not past.verdicts:
        return "no other comparisons on these items in the ledger"
    where = f"run{'s' * (len(runs) > 1)} {', '.join(runs)}" if runs else "the ledger"
    judge = "" if by_same else ", all by other judges"
    return f"{_counted(past)} in {where}{judge}"


def _counted(past: Past) -> str:
    return f"{count(past.verdicts, 'verdict')} of {count(len(past), 'comparison')}"


def _of_file(path: Path, about: About) -> History:
    table = read_verdicts(path)
    past = past_of_table(table, [item.id for item in about.items], about.tie_margin)
    if not past.verdicts:
        raise InputError(
            f"--history {path}: expected comparisons on the items {about.items[0].id!r} and so on, found none; it needs at least two "
            "systems, or pairs of them, with verdicts on these items"
        )
    first, second = about.systems
    past = past.but((first, second))
    return history_of(past, f"{_counted(past)} in {path.name}")


def past_of_table(table: VerdictTable, items: Sequence[str], tie_margin: float) -> Past:
    """The comparisons that a verdict table holds on these items: all pairs of systems that it scores, or the pairs it has."""
    positions = {item: position for position, item in enumerate(items)}
    if table.paired:
        pairs: dict[Pair, dict[int, int]] = {}
        for (item, first, second), recorded in table.rows.items():
            if item in positions and recorded.score is not None:
                pairs.setdefault((first, second), {})[positions[item]] = Verdict(recorded.score).preference
        return past_of_pairs(pairs, len(items))
    systems = sorted(table.systems)
    rows = {name: row for row, name in enumerate(systems)}
    scores = np.full((len(systems), len(items)), np.nan)
    for (item, system), recorded in table.rows.items():
        if item in positions and recorded.score is not None:
            scores[rows[system], positions[item]] = recorded.score
    scored = ~np.isnan(scores).all(axis=1)
    kept = [name for name, has in zip(systems, scored, strict=True) if has]
    return past_of_scores(kept, scores[scored], tie_margin)


def _of_ledger(verdicts: Iterable[RememberedVerdict], about: About) -> tuple[Past, bool]:
    """The comparisons by the same judges; where there are none, those by any. And which."""
    usable = list(_usable(verdicts, about))
    own = [_of_judge(identity) for identity in about.judges]
    by_same = [one for one in usable if _judge_of(one) in own]
    past = _compared(by_same or usable, {item.id: at for at, item in enumerate(about.items)})
    return past, bool(by_same)


def _usable(verdicts: Iterable[RememberedVerdict], about: About) -> Iterator[RememberedVerdict]:
    """Comparisons on the same items; not of the very outputs that are compared now, whose verdicts would choose their own company."""
    texts = {item.id: (digest(item.prompt), digest(item.reference)) for item in about.items}
    now = {item.id: {digest(outputs[at]) for outputs in about.outputs} for at, item in enumerate(about.items)}
    for verdict in verdicts:
        made_of = verdict.ingredients
        same_item = texts.get(verdict.item_id) == (made_of.get("prompt text"), made_of.get("reference"))
        compared = FIRST in made_of and decoys.NAME not in verdict.systems
        if same_item and compared and {made_of[FIRST], made_of[SECOND]} != now[verdict.item_id]:
            yield verdict


def _of_judge(identity: JudgeIdentity) -> dict[str, str]:
    parameters = {f"judge's {name}": value for name, value in identity.parameters.items()}
    return {"provider": identity.provider, "model": identity.model, **parameters}


def _judge_of(verdict: RememberedVerdict) -> dict[str, str]:
    return {
        name: value
        for name, value in verdict.ingredients.items()
        if name in {"provider", "model"} or name.startswith("judge's ")
    }


@dataclass(slots=True)
class _Versions:
    """Tells systems of one name apart by their outputs.

    Within a run a name is one system, and so it is among runs that share some outputs and contradict in none.
    """

    known: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    def label(self, name: str, outputs: dict[str, str]) -> str:
        """The name of the system that gave these outputs by item, with a number from the second on."""
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


def _compared(verdicts: Sequence[RememberedVerdict], positions: Mapping[str, int]) -> Past:
    """Comparisons by pair of systems; orders of presentation, or judges, that disagree are a tie."""
    labels = _labels(verdicts)
    found: dict[Pair, dict[int, int]] = {}
    for verdict in verdicts:
        first, second = (labels[verdict.run, name] for name in verdict.systems)
        preference = Verdict(verdict.score).preference
        if second < first:
            first, second, preference = second, first, -preference
        known = found.setdefault((first, second), {})
        position = positions[verdict.item_id]
        known[position] = preference if known.get(position, preference) == preference else 0
    return past_of_pairs(found, len(positions))


def _labels(verdicts: Iterable[RememberedVerdict]) -> dict[tuple[str, str], str]:
    """What to call each system, by run and name."""
    outputs: dict[tuple[str, str], dict[str, str]] = {}
    for verdict in verdicts:
        shown = (verdict.ingredients[FIRST], verdict.ingredients[SECOND])
        for name, output in zip(verdict.systems, shown, strict=True):
            outputs.setdefault((verdict.run, name), {})[verdict.item_id] = output
    versions = _Versions()
    return {(run, name): versions.label(name, by_item) for (run, name), by_item in outputs.items()}

"""Earlier comparisons for a new one, and earlier ratings: from the ledger, from some of its runs, or from a file.

What they say about an item is the business of `stats/decisiveness.py` and `stats/foretelling.py`; whether to trust them, that of `judgeloop calibrate`.
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
from judgeloop.selectors.decisive import preferred_by
from judgeloop.stats.decisiveness import Floats
from judgeloop.stats.foretelling import Forecast, foretell

AUTO, NONE = "auto", "none"
RUN_ID = re.compile(r"[0-9a-f]{16}")
SHOWN = 5
FIRST, SECOND = "output shown first", "output shown second"
RATED = "output rated"


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


def history_of(past: Past, source: str, systems: Sequence[str]) -> History:
    """A past with the weights that it gives when the two `systems` are compared."""
    weights = preferred_by(past.with_implied(), tuple(systems))
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
        return history_of(no_past(len(about.items)), "no history", about.systems)
    if Path(given).is_file():
        return _of_file(Path(given), about)
    runs = _runs(given, ledger)
    verdicts = remembered_verdicts(ledger, run, begin=begin, of_runs=runs)
    past, by_same = _of_ledger(verdicts, about)
    if runs and not past.verdicts:
        raise InputError(f"--history {given}: there are no comparisons on these items in it")
    return history_of(past, _said(past, by_same=by_same, runs=runs), about.systems)


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
    judge = "" if by_same else ", all by other judges"
    return f"{_counted(past)} in {_where(runs)}{judge}"


def _where(runs: tuple[str, ...]) -> str:
    return f"run{'s' * (len(runs) > 1)} {', '.join(runs)}" if runs else "the ledger"


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
    return history_of(past, f"{_counted(past)} in {path.name}", about.systems)


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
    past = _compared(by_same or usable, about)
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


def _compared(verdicts: Sequence[RememberedVerdict], about: About) -> Past:
    """Comparisons by pair of systems; orders of presentation, or judges, that disagree are a tie."""
    positions = {item.id: position for position, item in enumerate(about.items)}
    labels = _labels(verdicts, about)
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


def _labels(verdicts: Iterable[RememberedVerdict], about: About) -> dict[tuple[str, str], str]:
    """What to call each system, by run and name; today's are called by their names alone."""
    outputs: dict[tuple[str, str], dict[str, str]] = {}
    for verdict in verdicts:
        shown = (verdict.ingredients[FIRST], verdict.ingredients[SECOND])
        for name, output in zip(verdict.systems, shown, strict=True):
            outputs.setdefault((verdict.run, name), {})[verdict.item_id] = output
    versions = _Versions()
    for name, texts in zip(about.systems, about.outputs, strict=True):
        versions.label(name, {item.id: digest(text) for item, text in zip(about.items, texts, strict=True)})
    return {(run, name): versions.label(name, by_item) for (run, name), by_item in outputs.items()}


@dataclass(frozen=True, slots=True)
class Foretold:
    """What earlier ratings let expect of each item, None where they say nothing; and where they come from, in words."""

    forecast: Forecast | None
    source: str


def find_ratings(given: str, about: About, ledger: Path, run: str, *, begin: bool) -> Foretold:
    """What earlier ratings of other systems, by `given` (auto, none, runs or a file), let expect of the one that is rated now.

    Those in a ledger count where the same judge gave them by the same prompt. With `begin` the run is noted in the ledger, as by `find_history`.

    Raises:
        InputError: there is no such file or run, or it has nothing on these items.
    """
    if given == NONE:
        return Foretold(None, "no history")
    if Path(given).is_file():
        return _foretold(_ratings_of_file(Path(given), about), Path(given).name)
    runs = _runs(given, ledger)
    scores = _rated(_ratings(remembered_verdicts(ledger, run, begin=begin, of_runs=runs), about), about)
    if runs and not len(scores):
        raise InputError(f"--history {given}: there are no ratings by this judge on these items in it")
    return _foretold(scores, _where(runs))


def _foretold(scores: Floats, where: str) -> Foretold:
    """What `scores`, shape (systems, items), let expect."""
    if not len(scores):
        return Foretold(None, f"no other ratings by this judge on these items in {where}")
    ratings, found = int((~np.isnan(scores)).sum()), foretell(scores)
    said = f"{count(ratings, 'rating')} of {count(len(scores), 'system')} in {where}"
    return Foretold(found, said if found is not None else f"{said}, which tell no item from another")


def _ratings_of_file(path: Path, about: About) -> Floats:
    """The scores in a file of all systems but the one that is rated now, by its name: shape (systems, items)."""
    table = read_verdicts(path)
    if table.paired:
        raise InputError(
            f"--history {path}: expected scores of systems (item_id, model, score), found comparisons"
        )
    positions = {item.id: at for at, item in enumerate(about.items)}
    found: dict[str, dict[int, float]] = {}
    for (item, system), recorded in table.rows.items():
        if item not in positions or recorded.score is None or system in about.systems:
            continue
        if not 0 <= recorded.score <= 1:
            raise InputError(
                f"--history {path}: expected scores from 0 to 1, found {recorded.score:g} of {system!r} on {item!r}"
            )
        found.setdefault(system, {})[positions[item]] = recorded.score
    if not found:
        raise InputError(
            f"--history {path}: expected scores of other systems than {about.systems[0]!r} on the items {about.items[0].id!r} and so on, "
            "found none"
        )
    return _in_rows(found, len(positions))


def _ratings(verdicts: Iterable[RememberedVerdict], about: About) -> list[RememberedVerdict]:
    """Ratings by the same judges on the same items; not of the very outputs that are rated now, which are no other system's."""
    texts = {item.id: (digest(item.prompt), digest(item.reference)) for item in about.items}
    now = {item.id: digest(output) for item, output in zip(about.items, about.outputs[0], strict=True)}
    own = [_of_judge(identity) for identity in about.judges]
    return [
        verdict
        for verdict in verdicts
        for made_of in [verdict.ingredients]
        if RATED in made_of
        and decoys.NAME not in verdict.systems
        and texts.get(verdict.item_id) == (made_of.get("prompt text"), made_of.get("reference"))
        and made_of[RATED] != now[verdict.item_id]
        and _judge_of(verdict) in own
    ]


def _rated(ratings: Sequence[RememberedVerdict], about: About) -> Floats:
    """Scores by system and item, shape (systems, items); the mean where there are several of one output."""
    outputs: dict[tuple[str, str], dict[str, str]] = {}
    for one in ratings:
        outputs.setdefault((one.run, one.systems[0]), {})[one.item_id] = one.ingredients[RATED]
    versions = _Versions()
    labels = {(run, name): versions.label(name, by_item) for (run, name), by_item in outputs.items()}
    positions = {item.id: at for at, item in enumerate(about.items)}
    given: dict[str, dict[int, list[float]]] = {}
    for one in ratings:
        of_system = given.setdefault(labels[one.run, one.systems[0]], {})
        of_system.setdefault(positions[one.item_id], []).append(one.score)
    means = {
        name: {at: float(np.mean(scores)) for at, scores in by_position.items()}
        for name, by_position in given.items()
    }
    return _in_rows(means, len(positions))


def _in_rows(scores: Mapping[str, Mapping[int, float]], items: int) -> Floats:
    """A row a system, NaN where it has no score."""
    rows = np.full((len(scores), items), np.nan)
    for row, by_position in enumerate(scores.values()):
        rows[row, list(by_position)] = list(by_position.values())
    return rows

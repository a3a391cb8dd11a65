"""Earlier ratings for a new estimate: from the ledger, from some of its runs, or from a file.

What they let expect is the business of `stats/foretelling.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judgeloop.core.errors import InputError
from judgeloop.core.verdict_key import KeyedJudge, digest, place_of
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.history.about import About
from judgeloop.history.comparisons import NONE, named_runs, where_of
from judgeloop.history.remembered import RememberedVerdict, Versions, remembered_verdicts
from judgeloop.report.sentences import count
from judgeloop.stats.decisiveness import Floats
from judgeloop.stats.foretelling import Forecast, foretell


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
    runs = named_runs(given, ledger)
    scores = _rated(
        _ratings(remembered_verdicts(ledger, run, begin=begin, of_runs=runs), about), about
    )
    if runs and not len(scores):
        raise InputError(
            f"`history={given}`: there are no ratings by this judge on these items in it"
        )
    return _foretold(scores, where_of(runs))


def _foretold(scores: Floats, where: str) -> Foretold:
    """What `scores`, shape (systems, items), let expect."""
    if not len(scores):
        return Foretold(None, f"no other ratings by this judge on these items in {where}")
    ratings, found = int((~np.isnan(scores)).sum()), foretell(scores)
    said = f"{count(ratings, 'rating')} of {count(len(scores), 'system')} in {where}"
    return Foretold(
        found, said if found is not None else f"{said}, which tell no item from another"
    )


def _ratings_of_file(path: Path, about: About) -> Floats:
    """The scores in a file of all systems but the one that is rated now, by its name: shape (systems, items)."""
    table = read_verdicts(path)
    if table.paired:
        raise InputError(
            f"`history={path}`: expected scores of systems (item_id, model, score), found comparisons"
        )
    positions = {item.id: at for at, item in enumerate(about.items)}
    found: dict[str, dict[int, float]] = {}
    for (item, system), recorded in table.rows.items():
        if item not in positions or recorded.score is None or system in about.systems:
            continue
        if not 0 <= recorded.score <= 1:
            raise InputError(
                f"`history={path}`: expected scores from 0 to 1, found {recorded.score:g} of {system!r} on {item!r}"
            )
        found.setdefault(system, {})[positions[item]] = recorded.score
    if not found:
        raise InputError(
            f"`history={path}`: expected scores of other systems than {about.systems[0]!r} on the items {about.items[0].id!r} and so on, "
            "found none"
        )
    return _in_rows(found, len(positions))


def _ratings(verdicts: Iterable[RememberedVerdict], about: About) -> list[RememberedVerdict]:
    """Ratings by the same judges on the same items; not of the very outputs that are rated now, which are no other system's."""
    places = {place_of(item) for item in about.items}
    now = {
        item.id: digest(output) for item, output in zip(about.items, about.outputs[0], strict=True)
    }
    own = [KeyedJudge.of(identity) for identity in about.judges]
    return [
        verdict
        for verdict in verdicts
        if verdict.rates
        and verdict.place in places
        and verdict.ingredients.outputs[0] != now[verdict.item_id]
        and verdict.ingredients.judge in own
    ]


def _rated(ratings: Sequence[RememberedVerdict], about: About) -> Floats:
    """Scores by system and item, shape (systems, items); the mean where there are several of one output."""
    outputs: dict[tuple[str, str], dict[str, str]] = {}
    for one in ratings:
        outputs.setdefault((one.run, one.systems[0]), {})[one.item_id] = one.ingredients.outputs[0]
    versions = Versions()
    labels = {
        (run, name): versions.label(name, by_item) for (run, name), by_item in outputs.items()
    }
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

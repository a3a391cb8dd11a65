"""Finds earlier ratings for a new estimate: in the ledger, in some of its runs, or in a file.

Returns the forecast of each item's score, which `methods/stats/score_forecast.py` computes, and the source of
the ratings in words.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judgeloop.core.errors import InputError
from judgeloop.core.verdict_key import KeyedJudge, digest, place_of
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.history.comparisons import NONE, named_runs, where_of
from judgeloop.history.pairing import labelled
from judgeloop.history.past import About
from judgeloop.history.verdict_columns import UNKNOWN, VerdictColumns, remembered_verdicts
from judgeloop.ledger.opening import Address
from judgeloop.methods.stats.decisiveness import Floats
from judgeloop.methods.stats.score_forecast import Forecast, forecast_scores
from judgeloop.report.words import count


@dataclass(frozen=True, slots=True)
class RatingsForecast:
    """The forecast from earlier ratings, if they give a forecast, and their source in words."""

    forecast: Forecast | None
    source: str


def find_ratings(given: str, about: About, ledger: Address, run: str, *, begin: bool) -> RatingsForecast:
    """Return the forecast from other systems' ratings in `given` (auto, none, runs or a file).

    Ratings in a ledger count only if the same judge gave them with the same prompt. With `begin`
    the start of the run is recorded in the ledger, as in `find_history`.

    Raises:
        InputError: there is no such file or run, or it has no ratings on these items.
    """
    if given == NONE:
        return RatingsForecast(None, "no history")
    if Path(given).is_file():
        return _forecast_of(_ratings_of_file(Path(given), about), Path(given).name)
    runs = named_runs(given, ledger)
    scores = _rated(
        _ratings(remembered_verdicts(ledger, run, begin=begin, of_runs=runs, outputs=about.digests), about), about
    )
    if runs and not len(scores):
        raise InputError(
            f"`history={given}`: found no ratings by this judge on these items in these runs, "
            "apart from those of the very outputs that are rated now"
        )
    return _forecast_of(scores, where_of(runs))


def _forecast_of(scores: Floats, where: str) -> RatingsForecast:
    """Return the forecast from `scores`, shape (systems, items)."""
    if not len(scores):
        return RatingsForecast(None, f"no other ratings by this judge on these items in {where}")
    ratings, found = int((~np.isnan(scores)).sum()), forecast_scores(scores)
    said = f"{count(ratings, 'rating')} of {count(len(scores), 'system')} in {where}"
    return RatingsForecast(found, said if found is not None else f"{said}, which do not distinguish the items")


def _ratings_of_file(path: Path, about: About) -> Floats:
    """Return the scores in a verdict file, shape (systems, items).

    The system that is rated now, known by its name, is left out.
    """
    table = read_verdicts(path)
    if table.paired:
        raise InputError(f"`history={path}`: expected scores of systems (item_id, model, score), found comparisons")
    items = [item.id for item in about.items]
    names = [name for name in sorted(table.systems) if name not in about.systems]
    scores = table.scores(names, items)
    if (wrong := np.argwhere((scores < 0) | (scores > 1))).size:
        row, column = wrong[0]
        raise InputError(
            f"`history={path}`: expected scores from 0 to 1, found {scores[row, column]:g} of "
            f"{names[row]!r} on {items[column]!r}"
        )
    scored: Floats = scores[~np.isnan(scores).all(axis=1)]
    if not len(scored):
        raise InputError(
            f"`history={path}`: expected scores of other systems than {about.systems[0]!r} on the "
            f"items {about.items[0].id!r} and so on, found none"
        )
    return scored


def _ratings(verdicts: VerdictColumns, about: About) -> VerdictColumns:
    """Return the ratings by the same judges on the same items.

    A rating of the very output that is rated now is left out: it is not of another system.
    """
    places = [place_of(item) for item in about.items]
    here = verdicts.at_places({place: at for at, place in enumerate(places)}) != UNKNOWN
    now = [verdicts.number(digest(output)) for output in about.outputs[0]]
    rated_now = verdicts.shown[:, 0] == verdicts.at_places(dict(zip(places, now, strict=True)))
    own = [KeyedJudge.of(identity) for identity in about.judges]
    return verdicts.only(verdicts.rates & here & ~rated_now & verdicts.by_judges(own))


def _rated(ratings: VerdictColumns, about: About) -> Floats:
    """Return scores, shape (systems, items): the mean of several ratings, NaN where there is none."""
    names, systems = labelled(ratings, 1, {})
    positions = {place_of(item): at for at, item in enumerate(about.items)}
    cells = systems[:, 0], ratings.at_places(positions)
    totals, counts = np.zeros((2, len(names), len(positions)))
    np.add.at(totals, cells, ratings.scores)
    np.add.at(counts, cells, 1)
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)

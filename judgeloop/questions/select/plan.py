"""How many further judgments a search for the best is likely to take, for forecast and result.

Projects the race (`methods/stats/racing.py`) with the answers so far, or with assumed answers. Asks no
judge. Prices are added in `run/plan.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from judgeloop.core.records import TIE
from judgeloop.engine.session import Limits
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stats.racing import Flags, Floats, Race, after, could_be_out
from judgeloop.run.plan import Range

# Assumed by the expected case until `LEAST_KNOWN` queries are answered.
ASSUMED_RATES = (0.3, 0.7)
ASSUMED_TIES = 0.3
ASSUMED = "win rates spread evenly from 30 % to 70 % and 30 % ties (a close field takes far more)"
LEAST_KNOWN = 5  # queries


def judgments_to_separate(
    tally: Standings, limits: Limits, *, level: float | None, asked: int, shrinking: bool
) -> tuple[Range, str | None]:
    """Return the range of further judgments for a run at `tally`, and the assumption behind it.

    `level` is the risk at which a system is ruled out, None for a run to its limit. `asked` is the
    number of judgments so far. With `shrinking`, a system that is ruled out is not asked about
    again. The assumption is a sentence on the assumed answers, None if none are assumed.
    """
    allowed = max(0, limits.max_judgments - asked)
    if level is None or tally.race is None:
        everything = min(allowed, tally.items * (len(tally.wins) - 1) - asked)
        return Range(everything, everything, everything), None
    still = _rivals_asked(tally.race, tally.baseline, level, shrinking=shrinking)
    assumed = tally.queries < LEAST_KNOWN
    rows = _assumed_rows(tally) if assumed else cycle(tally.scores)
    most = _left(tally)
    expected, _ = _run_on(tally.race, rows, tally.baseline, level, most=most, shrinking=shrinking)
    fewest = _fewest(tally, level, shrinking=shrinking)
    cases = (fewest, expected, still * most)
    return Range(*(min(allowed, judgments) for judgments in cases)), ASSUMED if assumed else None


def more_to_separate(tally: Standings, level: float, *, shrinking: bool) -> int | None:
    """Return how many further judgments would separate the best if the answers so far repeat.

    None if not even all of them would, and without a race or an answered query.
    """
    if tally.race is None or not tally.queries:
        return None
    rows, most = cycle(tally.scores), _left(tally)
    judgments, separated = _run_on(
        tally.race, rows, tally.baseline, level, most=most, shrinking=shrinking
    )
    return judgments if separated else None


def _left(tally: Standings) -> int:
    """Return the number of queries that are left to ask.

    It is that of the pool: in one order, the race is over a population without end.
    """
    return max(0, tally.items - tally.queries)


def _run_on(
    race: Race, rows: Iterator[Floats], baseline: int, level: float, *, most: int, shrinking: bool
) -> tuple[int, bool]:
    """Return the judgments to the end of the race, and whether a single system is left then.

    The race ends when all systems but one are ruled out, or when `most` further queries are asked.
    """
    judgments = 0
    while (~race.out(level)).sum() > 1:
        if not most:
            return judgments, False
        most -= 1
        judgments += _rivals_asked(race, baseline, level, shrinking=shrinking)
        race = after(race, next(rows), _asked(race, level, shrinking=shrinking))
    return judgments, True


def _asked(race: Race, level: float, *, shrinking: bool) -> Flags:
    """Return which systems the next query is asked for."""
    return race.running & ~race.out(level) if shrinking else race.running


def _rivals_asked(race: Race, baseline: int, level: float, *, shrinking: bool) -> int:
    """Return the number of judgments that the next query takes."""
    asked = _asked(race, level, shrinking=shrinking)
    return int(asked.sum()) - int(asked[baseline])


def _fewest(tally: Standings, level: float, *, shrinking: bool) -> int:
    """Return the fewest judgments after which all systems but one could be ruled out.

    Each system is asked about until it could be ruled out.
    """
    assert tally.race is not None
    queries = np.zeros(len(tally.wins), dtype=np.int64)  # needed for each system
    for ahead in range(_left(tally)):
        inside = ~could_be_out(tally.race, ahead, level)
        if inside.sum() <= 1:
            break
        queries += inside if shrinking else 1
    return int(queries.sum() - queries[tally.baseline])


def _assumed_rows(tally: Standings) -> Iterator[Floats]:
    """Yield random answers of systems with evenly spread win rates; the same on every call."""
    rng = np.random.default_rng(0)
    systems = len(tally.wins)
    wins = np.linspace(*ASSUMED_RATES, systems) - ASSUMED_TIES / 2
    while True:
        draws = rng.random(systems)
        scores = np.where(draws < wins, 1.0, np.where(draws < wins + ASSUMED_TIES, TIE, 0.0))
        scores[tally.baseline] = TIE
        yield scores

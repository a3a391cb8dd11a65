"""What a search for the best of many may take, before it is paid for, and what it may still take, after it stopped.

A projection by running the race on, with the answers so far or with assumed ones; it asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from judgeloop.core.records import TIE
from judgeloop.engine.session import Limits
from judgeloop.run.plan import Range
from judgeloop.stats.racing import Flags, Floats, Race, after, could_be_out
from judgeloop.stats.standings import Standings

# What the expected case assumes while little is known: win rates spread evenly, and so many ties.
ASSUMED_RATES = (0.3, 0.7)
ASSUMED_TIES = 0.3
ASSUMED = "win rates spread evenly from 30 % to 70 % and 30 % ties (a close field takes far more)"
LEAST_KNOWN = 5  # queries


def judgments_to_separate(
    tally: Standings, limits: Limits, *, level: float | None, asked: int, shrinking: bool
) -> tuple[Range, str | None]:
    """Further judgments that a run at `tally` would take, low, expected and worst; and what the expected case assumes.

    `level` is the risk at which a system is out, None for a run to the end of its budget; `shrinking` says that a system that is out is asked
    about no more.
    """
    allowed = max(0, limits.max_judgments - asked)
    if level is None or tally.race is None:
        everything = min(allowed, tally.items * (len(tally.wins) - 1) - asked)
        return Range(everything, everything, everything), None
    still = _rivals_asked(tally.race, tally.baseline, level, shrinking=shrinking)
    assumed = tally.queries < LEAST_KNOWN
    rows = _assumed_rows(tally) if assumed else cycle(tally.scores)
    expected, _ = _run_on(tally.race, rows, tally.baseline, level, shrinking=shrinking)
    fewest = _fewest(tally, level, shrinking=shrinking)
    cases = (fewest, expected, still * tally.race.left)
    return Range(*(min(allowed, judgments) for judgments in cases)), ASSUMED if assumed else None


def more_to_separate(tally: Standings, level: float, *, shrinking: bool) -> int | None:
    """How many further judgments would probably separate the best, were the answers so far to go on; None: not even all."""
    if tally.race is None or not tally.queries:
        return None
    judgments, separated = _run_on(
        tally.race, cycle(tally.scores), tally.baseline, level, shrinking=shrinking
    )
    return judgments if separated else None


def _run_on(
    race: Race, rows: Iterator[Floats], baseline: int, level: float, *, shrinking: bool
) -> tuple[int, bool]:
    """The judgments until all systems but one are out, or all queries are asked; and whether one is left alone."""
    judgments = 0
    while (~race.out(level)).sum() > 1:
        if not race.left:
            return judgments, False
        judgments += _rivals_asked(race, baseline, level, shrinking=shrinking)
        race = after(race, next(rows), _asked(race, level, shrinking=shrinking))
    return judgments, True


def _asked(race: Race, level: float, *, shrinking: bool) -> Flags:
    """Which systems the next query is about."""
    return race.running & ~race.out(level) if shrinking else race.running


def _rivals_asked(race: Race, baseline: int, level: float, *, shrinking: bool) -> int:
    """The judgments that the next query takes."""
    asked = _asked(race, level, shrinking=shrinking)
    return int(asked.sum()) - int(asked[baseline])


def _fewest(tally: Standings, level: float, *, shrinking: bool) -> int:
    """The judgments before all systems but one could be out, each asked about until it could be."""
    assert tally.race is not None
    queries = np.zeros(len(tally.wins), dtype=np.int64)  # that have to be asked about each system
    for ahead in range(tally.race.left):
        inside = ~could_be_out(tally.race, ahead, level)
        if inside.sum() <= 1:
            break
        queries += inside if shrinking else 1
    return int(queries.sum() - queries[tally.baseline])


def _assumed_rows(tally: Standings) -> Iterator[Floats]:
    """Answers of systems whose win rates are spread evenly; the same every time."""
    rng = np.random.default_rng(0)
    systems = len(tally.wins)
    wins = np.linspace(*ASSUMED_RATES, systems) - ASSUMED_TIES / 2
    while True:
        draws = rng.random(systems)
        scores = np.where(draws < wins, 1.0, np.where(draws < wins + ASSUMED_TIES, TIE, 0.0))
        scores[tally.baseline] = TIE
        yield scores

"""What a search for the best of many may take, before it is paid for, and what it may still take, after it stopped.

A projection by running the race on, with the answers so far or with assumed ones; it asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from judgeloop.planning import Range
from judgeloop.records import TIE
from judgeloop.session import Limits
from judgeloop.stats.racing import Floats, Race, after, could_be_out
from judgeloop.stats.standings import Standings

# What the expected case assumes while little is known: win rates spread evenly, and so many ties.
ASSUMED_RATES = (0.3, 0.7)
ASSUMED_TIES = 0.3
LEAST_KNOWN = 5  # queries


def judgments_among(
    tally: Standings, limits: Limits, *, level: float | None, asked: int, shrinking: bool
) -> tuple[Range, bool]:
    """Further judgments that a run at `tally` would take, low, expected and worst; and whether the expected case is assumed.

    `level` is the risk at which a system is out, None for a run to the end of its budget; `shrinking` says that a system that is out is asked
    about no more.
    """
    rivals = len(tally.wins) - 1
    most = max(0, min(limits.max_judgments, tally.items * rivals) - asked)
    if level is None or tally.race is None:
        return Range(most, most, most), False
    assumed = tally.queries < LEAST_KNOWN
    rows = _assumed_rows(tally) if assumed else cycle(tally.scores)
    expected = _run_on(tally.race, rows, tally.baseline, level, shrinking=shrinking)
    return Range(
        min(most, _fewest(tally, level)), most if expected is None else min(most, expected), most
    ), assumed


def more_to_separate(tally: Standings, level: float, *, shrinking: bool) -> int | None:
    """How many further judgments would probably separate the best, were the answers so far to go on; None: not even all."""
    if tally.race is None or not tally.queries:
        return None
    return _run_on(tally.race, cycle(tally.scores), tally.baseline, level, shrinking=shrinking)


def _run_on(
    race: Race, rows: Iterator[Floats], baseline: int, level: float, *, shrinking: bool
) -> int | None:
    judgments = 0
    asked = race.running.copy()
    while (~race.out(level)).sum() > 1:
        if not race.left:
            return None
        asked = asked & ~race.out(level) if shrinking else asked
        judgments += int(asked.sum()) - int(asked[baseline])
        race = after(race, next(rows), asked)
    return judgments


def _fewest(tally: Standings, level: float) -> int:
    """As many queries as have to be asked before all systems but one could be out."""
    assert tally.race is not None
    queries = next(
        (
            queries
            for queries in range(1, tally.race.left + 1)
            if (~could_be_out(tally.race, queries, level)).sum() <= 1
        ),
        tally.race.left,
    )
    in_question = ~tally.race.out(level)
    in_question[tally.baseline] = False
    return queries * int(in_question.sum())


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

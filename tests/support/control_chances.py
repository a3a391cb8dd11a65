"""The exact chances of each end of the test of a judge by controls (`methods/stats/controls.py`)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

from judgeloop.core.outcomes import Control, ControlTally
from judgeloop.methods.stats.controls import NO_CONTROLS, _with

then_of = cache(_with)


class Chances(NamedTuple):
    """The probabilities of the ends of the test, and the expected number of controls."""

    passed: float
    failed: float
    not_shown: float
    calls: float


def chances(right: float, tied: float = 0.0, silent: float = 0.0, number: int = 1) -> Chances:
    """Return the exact chances of a judge that is right, says tie, or gives no verdict, with these probabilities.

    >>> [round(chance, 4) for chance in chances(0.5)]  # a judge that is blind to the question
    [0.0023, 0.9976, 0.0001, 7.9943]
    """
    found = dict.fromkeys(Control, 0.0)
    calls, alive = 0.0, {replace(NO_CONTROLS, number=number): 1.0}
    shares = {1: right, 0: tied, -1: max(0.0, 1 - right - tied - silent), None: silent}
    while alive:
        after: dict[ControlTally, float] = {}
        for tally, chance in alive.items():
            for result, share in shares.items():
                if not share:
                    continue
                then, of_it = then_of(tally, result), chance * share
                if then.end is None:
                    after[then] = after.get(then, 0.0) + of_it
                else:
                    found[then.end] += of_it
                    calls += of_it * then.asked
        alive = after
    passed, failed, not_shown = (found[end] for end in Control)
    return Chances(passed, failed, not_shown, calls)

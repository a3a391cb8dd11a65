"""Selects the past comparisons that are exchangeable with a new comparison.

Only their errors say something about the errors of the new comparison. The selection reads which
systems were compared and on how many items. It does not read which system was preferred: that would
void the guarantee that rests on it (`methods/stats/risk_control.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgeloop.history.past import Pair, Past

# Share of the items on which the verdicts of a comparison must be known. With fewer verdicts the
# winner over all items is not known. Besides, a run that stopped as soon as it was sure would look
# easier to decide than the comparisons to come.
NEARLY_ALL = 0.9


class Case(enum.StrEnum):
    """Why past comparisons are assumed to be exchangeable with the new comparison.

    All pairs among some systems would be more comparisons, but they are not exchangeable with the
    new pair: too many of the pairs of a new system with these systems are unknown. What can be
    proved for all pairs allows fewer errors than for half as many pairs that share no system, and
    it needed more judgments (docs/results).
    """

    # A baseline takes part in all comparisons; the other systems are exchangeable.
    BASELINE = "baseline"
    # No system takes part in two comparisons; all systems are exchangeable.
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Comparable:
    """The past comparisons that are exchangeable with the new comparison, as `rows` of the past.

    `case` is the reason, and `sentence` describes the comparisons to users. `shared` is the system
    that takes part in all of them and in the new comparison; None if there is none.
    """

    case: Case
    rows: tuple[int, ...]
    sentence: str
    shared: str | None = None


def comparable(past: Past, pair: Pair, rng: np.random.Generator) -> Comparable:
    """Return the past comparisons for a new comparison of `pair`, from the case that has most.

    The choice of the case does not depend on which systems were preferred, which would void the
    guarantee. Only comparisons known on nearly all items count (`usable`).
    """
    rows = usable(past, pair)
    others = [row for row in rows if not set(past.pairs[row]) & set(pair)]
    cases = (*(_with_baseline(past, rows, name) for name in pair), _apart(past, others, rng))
    return max(cases, key=lambda case: len(case.rows))


def usable(past: Past, pair: Pair | None = None) -> list[int]:
    """Return the rows known on nearly all items, a single row per pair of systems, none of `pair`.

    Of several rows of the same two systems, the row known on most items is taken. Rows without a
    decisive verdict are left out: they name no winner, so that no run could have been wrong.
    """
    known = np.where((past.preferences != 0).any(axis=1), past.known.sum(axis=1), -1)
    by_known = np.argsort(known, kind="stable").tolist()
    enough = NEARLY_ALL * past.known.shape[1]
    best = {frozenset(past.pairs[row]): row for row in by_known if known[row] >= enough}
    best.pop(frozenset(pair or ()), None)
    return sorted(best.values())


def _with_baseline(past: Past, rows: Sequence[int], name: str) -> Comparable:
    own = tuple(row for row in rows if name in past.pairs[row])
    return Comparable(
        Case.BASELINE, own, f"{_counted(own)} of {name} with others on nearly all items", name
    )


def _apart(past: Past, rows: Sequence[int], rng: np.random.Generator) -> Comparable:
    """Take pairs in random order, each if it shares no system with the pairs taken before."""
    taken: list[int] = []
    used: set[str] = set()
    for row in rng.permutation(np.array(rows, dtype=np.int64)).tolist():
        if not used & set(past.pairs[row]):
            used |= set(past.pairs[row])
            taken.append(row)
    return Comparable(
        Case.APART,
        tuple(sorted(taken)),
        f"{_counted(taken)} on nearly all items that share no system",
    )


def _counted(rows: Sequence[int]) -> str:
    return f"{len(rows)} past comparison{'' if len(rows) == 1 else 's'}"

"""Which past comparisons a new one is like, so that their errors say something about its own.

It looks at which systems were compared and on how many items, never at what was preferred: that
would spoil the promise that rests on it (`stats/risk_control.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgeloop.history.past import Pair, Past

# Share of the pool's items on which a comparison has to be known: only then is known who won. A run that stopped when
# it was sure is left out for another reason, too: it would seem easier to decide than those to come.
NEARLY_ALL = 0.9


class Case(enum.StrEnum):
    """Why past comparisons are taken to be exchangeable with the new one.

    All pairs among some systems are more, but not exchangeable: of those that the new pair makes with them too many are unknown. What can
    be proved for them allows fewer errors than for half as many pairs that share no system, and needed more judgments (docs/results.md).
    """

    BASELINE = "baseline"  # one system takes part in all of them; the others are alike
    APART = "apart"  # all systems are alike, and none takes part in two of them


@dataclass(frozen=True, slots=True)
class Comparable:
    """The past comparisons that the new one is like, as rows of the past, and in what way; `sentence` is for people.

    `shared` is the system that takes part in all of them and in the new one.
    """

    case: Case
    rows: tuple[int, ...]
    sentence: str
    shared: str | None = None


def comparable(past: Past, pair: Pair, rng: np.random.Generator) -> Comparable:
    """The past comparisons that a new one of `pair` is like: whichever case has most of them.

    That does not depend on what was preferred, or the choice would spoil the promise. They have to be known on nearly all items; of
    several comparisons of the same two systems the one known on most counts.
    """
    rows = usable(past, pair)
    others = [row for row in rows if not set(past.pairs[row]) & set(pair)]
    cases = (*(_with_baseline(past, rows, name) for name in pair), _apart(past, others, rng))
    return max(cases, key=lambda one: len(one.rows))


def usable(past: Past, pair: Pair | None = None) -> list[int]:
    """Rows that are known on nearly all items, one for each two systems, without those of `pair`.

    Where not a single verdict was decisive, nobody could have been wrong: such a comparison teaches nothing, and does not count.
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
    """Pairs in a random order, each taken if it shares no system with those before."""
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

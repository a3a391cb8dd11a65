"""What a history is searched for, and what was found: comparisons on the items of a pool.

Holds preferences as arrays, and says how likely each item is to tell two systems apart
(`methods/stats/decisiveness.py` has the formulas). Does not know the judges. `comparisons.py` and
`verdict_columns.py` read the verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Item, JudgeIdentity, preference
from judgeloop.core.verdict_key import digest
from judgeloop.methods.stats.decisiveness import Prospects, prospects

Pair = tuple[str, str]
# Most comparisons that are made from a score table or implied. More take time and add nothing.
MOST_COMPARISONS = 1500
# Most comparisons that weigh the items, evenly spaced over all. More take time and add little.
MOST_WEIGHED = 300


@dataclass(frozen=True, slots=True)
class About:
    """The data that a history is searched for; `outputs[system][item]` are texts.

    The outputs of the systems in `live` are not known yet.
    """

    items: tuple[Item, ...]
    systems: tuple[str, ...]
    outputs: tuple[tuple[str, ...], ...]
    judges: tuple[JudgeIdentity, ...]
    tie_margin: float
    live: tuple[int, ...] = ()

    @property
    def digests(self) -> set[str]:
        """The digests of the outputs."""
        return {digest(text) for texts in self.outputs for text in texts}


@dataclass(frozen=True, slots=True)
class Past:
    """Earlier comparisons by item.

    `pairs` holds the two systems of each comparison; a system may be in several pairs.
    `preferences` and `known` have the shape (comparisons, items). A preference is 1 for the first
    system of the pair, -1 for the second, 0 for a tie or without a verdict. `known` is True where
    there is a verdict.
    """

    pairs: tuple[Pair, ...]
    preferences: NDArray[np.int8]
    known: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def systems(self) -> frozenset[str]:
        """All systems that were compared."""
        return frozenset(name for pair in self.pairs for name in pair)

    @property
    def systems_an_item(self) -> float:
        """Mean number of systems compared on an item, over all items."""
        if not self.pairs:
            return 0.0
        numbers: dict[str, int] = {}
        systems = [numbers.setdefault(name, len(numbers)) for pair in self.pairs for name in pair]
        order = np.argsort(systems, kind="stable")
        begins = np.searchsorted(np.array(systems)[order], np.arange(len(numbers)))
        # An item is a bit: so a byte unites eight of them at once.
        bits = np.packbits(self.known, axis=1)[order // 2]
        seen = np.unpackbits(np.bitwise_or.reduceat(bits, begins, axis=0))
        return float(seen.sum(dtype=np.int64) / max(1, self.known.shape[1]))

    @property
    def verdicts(self) -> int:
        """Number of verdicts."""
        return int(self.known.sum())

    def apart_from(self, *systems: str) -> NDArray[np.bool_]:
        """Return which comparisons none of `systems` took part in, shape (comparisons,)."""
        return np.array([not set(pair) & set(systems) for pair in self.pairs], dtype=np.bool_)

    def with_implied(self) -> Past:
        """Return these comparisons and those that they imply.

        Two systems that were compared with the same third system imply a comparison on their common
        items: the system with the better result against the third is preferred. Equal results are a
        tie. Nothing is added for two systems that were compared with each other. There are at most
        `MOST_COMPARISONS`, unless these comparisons are more already.
        """
        implied = [*islice(self._implied(), max(0, MOST_COMPARISONS - len(self)))]
        if not implied:
            return self
        pairs, preferences, known = zip(*implied, strict=True)
        return self.beside(Past(pairs, np.array(preferences, dtype=np.int8), np.array(known)))

    def _implied(self) -> Iterator[tuple[Pair, NDArray[np.int8], NDArray[np.bool_]]]:
        done = {frozenset(pair) for pair in self.pairs}
        if len(done) == math.comb(len(self.systems), 2):
            return
        for one, other in combinations(range(len(self)), 2):
            shared = set(self.pairs[one]) & set(self.pairs[other])
            first, second = (next(iter(set(self.pairs[row]) - shared), "") for row in (one, other))
            if len(shared) != 1 or frozenset((first, second)) in done:
                continue
            both = self.known[one] & self.known[other]
            if both.any():
                done.add(frozenset((first, second)))
                ours, theirs = (
                    self.preferences[row] * (1 if self.pairs[row][1] in shared else -1) for row in (one, other)
                )
                yield (first, second), np.where(both, np.sign(ours - theirs), 0), both

    def without(self, *systems: str) -> Past:
        """Return the comparisons in which none of `systems` took part."""
        return self._only(self.apart_from(*systems))

    def but(self, pair: Pair) -> Past:
        """Return all comparisons but those of the two systems in `pair`."""
        return self._only(np.array([set(pair) != set(other) for other in self.pairs], dtype=np.bool_))

    def beside(self, other: Past) -> Past:
        """Return these comparisons and those of `other`, which are on the same items."""
        return Past(
            self.pairs + other.pairs,
            np.concatenate([self.preferences, other.preferences]),
            np.concatenate([self.known, other.known]),
        )

    def _only(self, kept: NDArray[np.bool_]) -> Past:
        pairs = tuple(pair for pair, stays in zip(self.pairs, kept, strict=True) if stays)
        return Past(pairs, self.preferences[kept], self.known[kept])


def no_past(items: int) -> Past:
    """Return an empty past on `items` items."""
    return Past((), np.zeros((0, items), dtype=np.int8), np.zeros((0, items), dtype=np.bool_))


def past_of_scores(systems: Sequence[str], scores: NDArray[np.float64], tie_margin: float) -> Past:
    """Return the comparisons of all pairs of systems in a table of scores.

    `scores` has the shape (systems, items), NaN where there is no score. Scores that differ by no
    more than `tie_margin` tie. Of more than `MOST_COMPARISONS` pairs so many are taken, evenly
    spaced.
    """
    pairs = list(combinations(range(len(systems)), 2))
    if len(pairs) > MOST_COMPARISONS:
        pairs = [pairs[at * len(pairs) // MOST_COMPARISONS] for at in range(MOST_COMPARISONS)]
    if not pairs:
        return no_past(scores.shape[1])
    first, second = np.array(pairs).T
    known = ~np.isnan(scores)
    both = known[first] & known[second]
    return Past(
        tuple((systems[a], systems[b]) for a, b in pairs),
        np.where(both, signs(np.nan_to_num(scores[first]), np.nan_to_num(scores[second]), tie_margin), 0).astype(
            np.int8
        ),
        both,
    )


def signs(first: NDArray[np.float64], second: NDArray[np.float64], tie_margin: float) -> NDArray[np.int8]:
    """Return which score is higher: 1 for the first, -1 for the second, 0 within the margin."""
    return preference(first - second, tie_margin).astype(np.int8)


def past_of_pairs(verdicts: Mapping[Pair, Mapping[int, int]], items: int) -> Past:
    """Return comparisons from the preference for each pair's first system, by position."""
    preferences = np.zeros((len(verdicts), items), dtype=np.int8)
    known = np.zeros((len(verdicts), items), dtype=np.bool_)
    for row, by_position in enumerate(verdicts.values()):
        for position, preferred in by_position.items():
            preferences[row, position] = preferred
            known[row, position] = True
    return Past(tuple(verdicts), preferences, known)


def prospects_of(past: Past, systems: tuple[str, ...], power: float | None = None) -> Prospects | None:
    """Return how likely each item is to tell `systems` apart; None if `past` prefers no item.

    `power` is the exponent of the draw weights. By default it grows with the number of systems that
    were compared on an item.
    """
    last = max(0, len(past) - 1)
    rows = np.unique(np.linspace(0, last, min(len(past), MOST_WEIGHED)).astype(np.int64))
    return prospects(
        past.preferences[rows],
        past.known[rows],
        past.systems_an_item,
        apart=past.apart_from(*systems)[rows],
        power=power,
    )

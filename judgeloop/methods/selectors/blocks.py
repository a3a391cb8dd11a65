"""Draws items for a dear judge in an order that says of which further items a cheap judge is asked beside each.

Each draw is a block of items that are drawn at random; the first of them gets a label of the dear judge, and all of
them a cheap verdict (theorem 2 of `methods/stats/corrected.py`). Of items like these the blocks have no item in common.
Of these items they are drawn with replacement: an item that is drawn again is asked about once, and counts each time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import final

import numpy as np

from judgeloop.core.records import Draws, Step
from judgeloop.methods.selectors.ordered import Unmoved
from judgeloop.methods.selectors.random import Random, RandomState

LEAST_BLOCK = 2  # items: one beside that which gets a label
BLOCKS = 2  # beside the seed of a run
Block = tuple[int, ...]  # positions; the first one is drawn for a label


@dataclass(frozen=True)
class Blocks:
    """All blocks that a run may draw, by label: those of one end before the next item without a label is drawn."""

    each: int
    by_label: tuple[tuple[Block, ...], ...]

    @classmethod
    def fresh(cls, places: Sequence[int], each: int, seed: int) -> "Blocks":
        """The places in random order, shared out to blocks; a rest that fills none is left."""
        order = np.random.default_rng([seed, BLOCKS]).permutation(places)
        blocks = order[: len(order) // each * each].reshape(-1, each)
        return cls(each, tuple((tuple(block),) for block in blocks.tolist()))

    @classmethod
    def again(cls, items: int, each: int, labels: int, seed: int) -> "Blocks":
        """Blocks that are drawn with replacement, for so many labels at most."""
        rng, found = np.random.default_rng([seed, BLOCKS]), dict[int, list[Block]]()
        last = list[Block]()
        while True:
            block = tuple(rng.integers(items, size=each).tolist())
            if block[0] not in found:
                if len(found) == min(labels, items):
                    return cls(each, tuple(map(tuple, found.values())))
                last = found[block[0]] = []
            last.append(block)

    @property
    def labels(self) -> int:
        """The most labels."""
        return len(self.by_label)

    @cached_property
    def draws(self) -> int:
        """The number of draws that so many labels are worth."""
        return sum(map(len, self.by_label))

    @cached_property
    def needed(self) -> Mapping[int, tuple[int, ...]]:
        """The items of which a cheap verdict is needed for the label of an item, by position."""
        return {blocks[0][0]: tuple(dict.fromkeys(chain(*blocks))) for blocks in self.by_label}


@final
@dataclass(frozen=True)
class ByBlock(Unmoved):
    """Draws the first items of blocks, each once, of which there are as many as a run has labels at most.

    The items `behind` them stand after these, for tests that ask for no cheap verdict, and all others at the end.
    """

    blocks: Blocks
    queries: tuple[tuple[int, ...], ...] = ((0, 1),)
    behind: tuple[int, ...] = ()
    name: str = "random"
    draws: Draws = Draws.EVEN

    def init(self, items: int, rng: np.random.Generator) -> RandomState:
        """All is drawn already, and no more is asked than there are blocks; of families, `items` is their number."""
        del rng
        drawn = [*self.blocks.needed, *self.behind]
        every = [*drawn, *sorted(set(range(items)).difference(drawn))]
        return RandomState(np.array(every[:items], dtype=np.int64))

    def ask(self, state: RandomState, rng: np.random.Generator) -> tuple[Step | None, RandomState]:
        """The next item, as in uniform draws."""
        return Random(self.queries).ask(state, rng)

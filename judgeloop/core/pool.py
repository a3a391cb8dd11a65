"""The pool: items and outputs by position. Statistics see positions, judges see texts.

`formats/join.py` builds a pool from files.
"""

from collections import Counter
from dataclasses import dataclass

from judgeloop.core.records import Item, Query

# The number of items that stands for a population without end, from which the pool was drawn.
UNLIMITED = 10**12


@dataclass(frozen=True, slots=True)
class Pool:
    """Items, and each system's output on each item: `outputs[system][position]`."""

    items: tuple[Item, ...]
    systems: tuple[str, ...]
    outputs: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len(self.systems) != len(self.outputs):
            raise ValueError(f"{len(self.systems)} systems but {len(self.outputs)} sets of outputs")
        if any(len(texts) != len(self.items) for texts in self.outputs):
            raise ValueError("every system needs one output for each item")

    def __len__(self) -> int:
        return len(self.items)

    def most_repeated(self, system: int) -> int:
        """Return on how many items a system gave its most frequent output."""
        return max(Counter(self.outputs[system]).values(), default=0)

    def count_empty(self, system: int) -> int:
        """Return on how many items the output of a system has no text."""
        return sum(not output.strip() for output in self.outputs[system])

    def query(self, position: int, systems: tuple[int, ...] = (0, 1)) -> Query:
        """Return the query on the item at `position`: compares two `systems`, or rates one."""
        return Query(
            item=self.items[position],
            systems=tuple(self.systems[system] for system in systems),
            outputs=tuple(self.outputs[system][position] for system in systems),
        )

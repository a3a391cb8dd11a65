"""The pool: items and outputs by position. Statistics see positions, judges see texts.

`formats/join.py` builds a pool from files.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from judgeloop.core.records import Item, Query

# The number of items that stands for a population without end, from which the pool was drawn.
UNLIMITED = 10**12


@dataclass(frozen=True, slots=True)
class Pool:
    """Items, and each system's output on each item: `outputs[system][position]`.

    `live` holds the systems that answer when they are asked. The outputs that they have not given
    are empty, and `known` holds the positions of those that they have, by system.
    """

    items: tuple[Item, ...]
    systems: tuple[str, ...]
    outputs: tuple[tuple[str, ...], ...]
    live: tuple[int, ...] = ()
    known: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.systems) != len(self.outputs):
            raise ValueError(f"{len(self.systems)} systems but {len(self.outputs)} sets of outputs")
        if any(len(texts) != len(self.items) for texts in self.outputs):
            raise ValueError("every system needs one output for each item")

    def __len__(self) -> int:
        return len(self.items)

    def only(self, ids: Collection[str]) -> "Pool":
        """Return the part with these items, as if all outputs were given."""
        places = [place for place, item in enumerate(self.items) if item.id in ids]
        return Pool(
            tuple(self.items[place] for place in places),
            self.systems,
            tuple(tuple(texts[place] for place in places) for texts in self.outputs),
        )

    def most_repeated(self, system: int) -> int:
        """Return on how many items a system gave its most frequent output."""
        return max(Counter(self._given(system)).values(), default=0)

    def count_empty(self, system: int) -> int:
        """Return on how many items the output of a system has no text."""
        return sum(not output.strip() for output in self._given(system))

    def query(self, position: int, systems: tuple[int, ...] = (0, 1)) -> Query:
        """Return the query on the item at `position`: compares two `systems`, or rates one."""
        return Query(
            item=self.items[position],
            systems=tuple(self.systems[system] for system in systems),
            outputs=tuple(self.outputs[system][position] for system in systems),
            missing=tuple(
                place
                for place, system in enumerate(systems)
                if system in self.live and position not in self.known.get(system, ())
            ),
        )

    def _given(self, system: int) -> Sequence[str]:
        """Return the outputs of a system that are known."""
        outputs = self.outputs[system]
        if system not in self.live:
            return outputs
        return [outputs[position] for position in sorted(self.known.get(system, ()))]

"""Draws families of items as a selector draws items, where the items are no independent draws.

Of each family some members are judged, which are chosen at random before the first draw. So an order of families, and
with it all that is proved of one, is independent of the verdicts, and a family counts once however many members it has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, final

import numpy as np

from judgeloop.core.protocols import Selector
from judgeloop.core.records import Draws, Label, Step

S = TypeVar("S")
Members = tuple[tuple[int, ...], ...]  # of each family the positions that are judged
CHOICE = 1  # beside the seed of a run, so that members and draws are independent


def members_of(families: Sequence[Sequence[int]], most: int, seed: int) -> Members:
    """Which members are judged of each family, at most so many, at random."""
    rng = np.random.default_rng([seed, CHOICE])
    return tuple(
        tuple(family) if len(family) == 1 else tuple(family[at] for at in rng.permutation(len(family))[:most].tolist())
        for family in families
    )


def by_family(selector: Selector[Any], members: Members) -> Selector[Any]:
    """A selector that draws families, as `selector` draws items; `selector` itself without `members`."""
    return ByFamily(selector, members) if members else selector


@final
@dataclass(frozen=True)
class ByFamily:
    """Asks about the members of each family that `inner` draws; the items of `inner` are the families."""

    inner: Selector[Any]
    members: Members

    @property
    def name(self) -> str:
        """That of the selector that draws."""
        return self.inner.name

    @property
    def draws(self) -> Draws:
        """How families are drawn."""
        return self.inner.draws

    def init(self, items: int, rng: np.random.Generator) -> Any:
        """The state of the selector that draws, for so many families.

        Raises:
            ValueError: there are other than so many families.
        """
        if items != len(self.members):
            raise ValueError(f"expected {len(self.members)} families, found {items}")
        return self.inner.init(items, rng)

    def ask(self, state: S, rng: np.random.Generator) -> tuple[Step | None, S]:
        """The next step, about the members of its families."""
        step, after = self.inner.ask(state, rng)
        if step is None:
            return None, after
        choices = (replace(one, position=at) for one in step.choices for at in self.members[one.position])
        return Step(tuple(choices), tuple(at for family in step.leave for at in self.members[family])), after

    def tell(self, state: S, labels: Sequence[Label]) -> S:
        """The state after labels of the members, as labels of their families."""
        families = (replace(one.choice, position=self._families[one.choice.position]) for one in labels)
        after: S = self.inner.tell(state, [replace(one, choice=of) for one, of in zip(labels, families, strict=True)])
        return after

    @cached_property
    def _families(self) -> dict[int, int]:
        return {at: family for family, members in enumerate(self.members) for at in members}

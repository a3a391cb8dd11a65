"""The items with the longest difference vectors first: a baseline of the DiffUse paper.

It takes the difference vectors; `represent/` and `methods/stats/diffuse_variants.py` compute them.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.core.records import Choice, Step
from judgeloop.methods.selectors.ordered import Ordered, Picks, check_vectors


@final
@dataclass(frozen=True, eq=False)
class MaxNorm(Ordered):
    """Picks the item with the longest difference vector (Ashury-Tahan et al. 2024, appendix A.5).

    `differences` has the shape (items, dimensions). Of equally long vectors, the first is picked.
    """

    differences: NDArray[np.floating]
    name: str = "max-norm"
    draws: Draws = Draws.PICKED

    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """Return the items sorted by their vectors; nothing is random."""
        del rng
        check_vectors(self.differences, items)
        norms = np.linalg.norm(np.asarray(self.differences, dtype=np.float64), axis=1)
        return np.argsort(-norms, kind="stable")

    def step(self, position: int) -> Step:
        """Return the step that compares both systems on an item."""
        return Step((Choice(position, None),))

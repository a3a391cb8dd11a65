"""A selector of queries for many systems against one baseline, by its name and the weak judges' opinions.

Selectors that compare two systems are made elsewhere (`making.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Selector
from judgeloop.selectors.bradley_terry import BradleyTerry
from judgeloop.selectors.llm_selector import LLMSelector
from judgeloop.selectors.outcome_order import OutcomeOrder
from judgeloop.stats.information import Epsilons
from judgeloop.stats.weak import ensemble

PICKERS = ("llm-selector", "bradley-terry", "most-draws", "confidence", "uncertainty")


def make_picker(
    name: str, opinions: NDArray[np.int8], baseline: int, epsilons: Epsilons | None
) -> Selector[Any]:
    """The selector called `name`; `opinions` has the shape (weak judges, queries, systems).

    Only `llm-selector` needs `epsilons` (`choose_epsilons`); the others take None as well.
    """
    if name == "llm-selector":
        if epsilons is None:
            raise ValueError(f"the selector {name!r} needs epsilons")
        return LLMSelector(opinions, baseline, epsilons)
    if name == "bradley-terry":
        return BradleyTerry(opinions, baseline)
    return OutcomeOrder(ensemble(opinions), baseline, name)

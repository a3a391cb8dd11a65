"""Runs a selector without a stopping rule where every answer is known beforehand.

Simulations use it. `recorded.py` replays with a stopping rule. For the selectors that `calibrate`
replays, `orders` draws many such walks at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from judgeloop.core.protocols import Selector
from judgeloop.core.records import Answer, Choice, Label


def walk(
    selector: Selector[Any],
    items: int,
    most: int,
    answer: Callable[[Choice], Answer],
    rng: np.random.Generator,
) -> list[Label]:
    """Return the labels of the first `most` steps, in the order asked; fewer at the pool's end.

    The selector is told the labels whenever its next step depends on them. Works only for selectors
    whose steps are single choices that stay in the decision.
    """
    state = selector.init(items, rng)
    labels: list[Label] = []
    told = 0
    while len(labels) < most:
        step, state = selector.ask(state, rng)
        if step is not None:
            labels.append(Label(step.choices[0], answer(step.choices[0])))
        elif told == len(labels):
            break
        else:
            state = selector.tell(state, labels[told:])
            told = len(labels)
    return labels

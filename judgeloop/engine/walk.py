"""What a selector comes upon where every answer is known beforehand: for replays of the past that need no stopping rule.

With a rule it takes a session (`replay/driver.py`).
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
    """The labels of the first `most` steps, or of all, in the order asked; each is heard before the next that depends on it.

    For selectors whose steps are single choices that stay in the decision.
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

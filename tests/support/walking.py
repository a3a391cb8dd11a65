"""Walks through the steps of a selector, where every answer is known. Benchmarks use it, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from judgeloop.core.protocols import Selector
from judgeloop.core.records import Answer, Choice, Label, Verdict
from support.selectors import steps_of


def all_steps(selector, items, *, at_a_time=1, seed=1):
    """Ask until there is nothing more."""
    rng = np.random.default_rng(seed)
    state = selector.init(items, rng)
    steps = []
    while True:
        more, state = steps_of(selector, state, at_a_time, rng)
        if not more:
            return steps
        assert len(more) <= at_a_time
        steps += more
        state = selector.tell(state, heard(more))


def heard(steps):
    """Answers to all that was asked."""
    return [
        Label(choice, Verdict(choice.position % 5 / 4)) for step in steps for choice in step.choices
    ]


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

"""Walks through the steps of a selector, where every answer is known. Benchmarks use it, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from judgeloop.core.protocols import Selector
from judgeloop.core.records import Answer, Choice, Label, Verdict
from support.selectors import answered, steps_of


def by_position(choice):
    """An answer to all that was asked."""
    return Verdict(choice.position % 5 / 4)


def all_steps(selector, items, *, at_a_time=1, seed=1, answer=by_position):
    """Ask until nothing is left; answers are told whenever the selector waits for them."""
    rng = np.random.default_rng(seed)
    state, steps, waiting = selector.init(items, rng), [], []
    while True:
        more, state = steps_of(selector, state, at_a_time, rng)
        assert len(more) <= at_a_time
        if not more and not waiting:
            return steps
        steps += more
        waiting += more
        if not more:
            state, waiting = selector.tell(state, answered(waiting, answer)), []


def walk(
    selector: Selector[Any], items: int, most: int, answer: Callable[[Choice], Answer], rng: np.random.Generator
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

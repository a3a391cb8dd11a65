"""All the steps of a selector, with every answer heard before the next is asked for."""

from __future__ import annotations

import numpy as np

from judgeloop.core.records import Label, Verdict
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

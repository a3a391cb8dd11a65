"""Selectors by name, as the catalogue makes them; and their steps, several at a time, with
answers."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from judgeloop.catalogue import selector_names, selector_row, selectors_of
from judgeloop.core.records import Abstention, Answer, Choice, Draws, Label, Step, Verdict
from judgeloop.methods.rows import Draft

SELECTORS = selector_names("compare")
PICKERS = tuple(row.name for row in selectors_of("select") if "weak_judges" in row.takes)


def make_selector(name, vectors, *, start, **variant) -> Any:
    """A selector of `compare`, on these difference vectors or vectors of prompts."""
    found = {"outputs": (vectors, np.zeros_like(vectors)), "prompts": vectors}
    draft = Draft(len(vectors), len(vectors), 0.1, start, settings=SimpleNamespace(**variant), found=found)
    return selector_row("compare", name).make(draft)


@dataclass(frozen=True)
class Weighted:
    """Draws each next item from the remaining ones with probability proportional to its weight.

    By exponential waiting times whose rates are the weights (Efraimidis & Spirakis 2006).
    """

    weights: np.ndarray
    name: str = "weighted"
    draws: Draws = Draws.KNOWN

    def init(self, items, rng):
        order = np.argsort(rng.exponential(size=items) / self.weights)
        drawn = self.weights[order]
        return tuple(zip(order.tolist(), drawn / np.cumsum(drawn[::-1])[::-1], strict=True))

    def ask(self, state, rng):
        return (Step((Choice(state[0][0], float(state[0][1])),)), state[1:]) if state else (None, state)

    def tell(self, state, labels):
        return state


def make_picker(name, opinions, baseline, epsilons) -> Any:
    """A selector of `select` that goes by weak judges."""
    systems = opinions.shape[2]
    draft = Draft(
        opinions.shape[1],
        opinions.shape[1] * (systems - 1),
        0.1,
        systems=systems,
        baseline=baseline,
        settings=SimpleNamespace(epsilon=epsilons),
        found={"opinions": opinions},
    )
    return selector_row("select", name).make(draft)


def steps_of(selector, state, most, rng) -> tuple[list[Step], Any]:
    """At most `most` further steps without answers between them, and the state after them."""
    steps: list[Step] = []
    while len(steps) < most:
        step, state = selector.ask(state, rng)
        if step is None:
            break
        steps.append(step)
    return steps, state


def order_of(selector, items, seed=0) -> list[int]:
    """The positions of all steps, in the order asked, of a selector that reads no answers."""
    rng = np.random.default_rng(seed)
    steps, _ = steps_of(selector, selector.init(items, rng), items, rng)
    return [step.choices[0].position for step in steps]


def oracle(scores):
    """Answers from a table, shape (systems, items); NaN for an abstention."""

    def answer(choice) -> Answer:
        score = scores[choice.systems[0], choice.position]
        return Abstention("no") if np.isnan(score) else Verdict(float(score))

    return answer


def answered(steps, answer) -> list[Label]:
    """A label for every choice of the steps."""
    return [Label(choice, answer(choice)) for step in steps for choice in step.choices]

"""The decision as the steps that a session has queued would make it.

Takes steps one by one, and counts what the stopping rule needs to know of them in constant time.
Pure. `session.py` folds the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from judgeloop.core.records import Choice, Key, Label, Step

# The keys of the labels in the decision, by position; the positions are in the order entered.
Active = dict[int, tuple[Key, ...]]


@final
class Queued:
    """Steps without answers, on top of the decision `active`."""

    def __init__(self, active: Active, labels: Mapping[Key, Label]) -> None:
        """Begin without steps; neither `active` nor `labels` changes while steps are queued."""
        self.only_adds = True  # whether the steps only add choices without an answer
        self._decision = active
        self._labels = labels
        self._steps: list[Step] = []
        self._further: set[int] = set()  # positions that only the steps bring into the decision
        self._unknown: set[int] = set()  # positions of the decision with a choice without an answer
        self._keys: set[Key] = set()
        self._after: Active | None = None

    def new(self, step: Step) -> list[Choice]:
        """Return the choices of `step` that nobody was asked about."""
        return [
            choice
            for choice in step.choices
            if choice.key not in self._labels and choice.key not in self._keys
        ]

    def take(self, step: Step) -> None:
        """Add a step."""
        self._steps.append(step)
        self._unknown.difference_update(step.leave)
        self.only_adds = self.only_adds and not step.leave
        for choice in step.choices:
            if choice.key in self._labels:
                self.only_adds = False
            else:
                self._unknown.add(choice.position)
                self._keys.add(choice.key)
            if choice.position not in self._decision:
                self._further.add(choice.position)
        if self._after is not None:
            take(step, self._after)

    @property
    def asked(self) -> int:
        """Number of choices without an answer."""
        return len(self._keys)

    @property
    def positions(self) -> int:
        """Number of positions in the decision after the steps."""
        if self.only_adds:
            return len(self._decision) + len(self._further)
        return len(self.active)

    @property
    def unknown(self) -> int:
        """Number of these positions with a choice without an answer."""
        return len(self._unknown)

    @property
    def active(self) -> Active:
        """The decision after the steps."""
        if self._after is None:
            self._after = dict(self._decision)
            for step in self._steps:
                take(step, self._after)
        return self._after


def take(step: Step, active: Active) -> None:
    """Remove the positions that leave with `step` from `active`, and add its choices."""
    for position in step.leave:
        active.pop(position, None)
    for choice in step.choices:
        keys = active.get(choice.position, ())
        active[choice.position] = keys if choice.key in keys else (*keys, choice.key)

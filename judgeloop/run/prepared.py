"""A run that is ready: its settings, its inputs and its name in the ledger. Nothing is spent yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from judgeloop.core.errors import InputError
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Judge
from judgeloop.engine.session import Limits
from judgeloop.run.inputs import Inputs
from judgeloop.run.setting import alternatives, declared
from judgeloop.run.settings import RunSettings
from judgeloop.selectors.catalogue import SelectorRow
from judgeloop.stopping.catalogue import RuleRow

NONE = "none"  # a value that asks for nothing, so that nothing is passed over

C = TypeVar("C", bound=RunSettings)


@dataclass(frozen=True, slots=True)
class RunName:
    """A run's id, and the ids of earlier versions under which its money may have been booked."""

    id: str
    former: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared(Generic[C]):
    """What every question's run is made of; a question adds its own parts."""

    config: C
    inputs: Inputs
    run: RunName

    @property
    def pool(self) -> Pool:
        """The items and the systems' outputs."""
        return self.inputs.joined.pool

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who judges: one, or a panel."""
        return self.inputs.judges

    @property
    def limits(self) -> Limits:
        """How few and how many items to judge."""
        return self.inputs.limits

    @property
    def by_hand(self) -> bool:
        """Whether a person judges."""
        return any(judge.by_hand for judge in self.judges)


def check_idle_settings(
    config: RunSettings,
    chosen: Iterable[SelectorRow | RuleRow],
    every: Iterable[SelectorRow | RuleRow],
) -> None:
    """Refuse a setting that means something to other selectors or rules only: it would be passed over in silence.

    `chosen` are the catalogue rows that the run uses, `every` those that it could.

    Raises:
        InputError: names the setting, and what it goes with.
    """
    taken = frozenset[str]().union(*(row.takes for row in chosen))
    rows = list(every)
    for name in sorted(frozenset[str]().union(*(row.takes for row in rows)) - taken):
        value = getattr(config, name)
        if value in (declared(type(config))[name].default, NONE):
            continue
        takers = [
            f"`{'selector' if isinstance(row, SelectorRow) else 'rule'}={row.name}`"
            for row in rows
            if name in row.takes
        ]
        shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
        raise InputError(
            f"`{name}={shown}`: neither the selector {getattr(config, 'selector', '')} nor the rule in "
            f"use looks at it; it goes with {alternatives(takers)}"
        )

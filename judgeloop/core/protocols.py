"""The seams: what a selector, an estimator, a stopping rule, a judge and a ledger promise.

Nothing is implemented here. The contract tests in `tests/contracts/` check every implementation against the
words below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from judgeloop.core.records import (
    Call,
    Counted,
    Draws,
    Item,
    JudgeIdentity,
    Label,
    Quote,
    Reply,
    Spend,
    Step,
    StopKind,
    StopReason,
    Verdict,
)

Questions = Sequence[tuple[str, ...]]  # the systems to compare, or the one to rate

S = TypeVar("S")
T = TypeVar("T", bound=Counted)
T_contra = TypeVar("T_contra", bound=Counted, contravariant=True)


class Selector(Protocol[S]):
    """Which items to judge next. Pure: the same state and generator state give the same step."""

    @property
    def name(self) -> str:
        """The selector as typed on the command line."""
        ...

    @property
    def draws(self) -> Draws:
        """How it comes by its choices: picked, drawn with known propensities, or all items alike."""
        ...

    def init(self, items: int, rng: np.random.Generator) -> S:
        """The state before the first step, for positions 0 to `items` - 1."""
        ...

    def ask(self, state: S, rng: np.random.Generator) -> tuple[Step | None, S]:
        """The next step and the state after it; None once the pool is exhausted, or while the next depends on answers that are out.

        A position may enter again after it has left; its label is then used again and not asked for again.
        """
        ...

    def tell(self, state: S, labels: Sequence[Label]) -> S:
        """The state after `labels` arrived, in the order asked."""
        ...


class Estimator(Protocol[T]):
    """What the labels say."""

    def tally(self, labels: Sequence[Label], items: int) -> T:
        """Count `labels`, those that take part in the decision, over a pool of `items`."""
        ...

    def extended(self, tally: T, labels: Sequence[Label]) -> T:
        """`tally` with the labels of further whole steps; the same as counting all of them at once."""
        ...

    def exhausted(self, tally: T) -> StopReason:
        """What it means that the selector has nothing further to ask."""
        ...


class StoppingRule(Protocol[T_contra]):
    """Whether the labels are enough to name a winner."""

    @property
    def name(self) -> str:
        """The rule as typed on the command line."""
        ...

    @property
    def guarantee(self) -> str | None:
        """What the stated risk promises, in a sentence; None for a heuristic."""
        ...

    @property
    def needs_draws(self) -> bool:
        """True when the rule holds only where every item not drawn yet is equally likely to be next."""
        ...

    @property
    def threshold(self) -> float:
        """The stated risk at or under which the leader is named the winner."""
        ...

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The kinds of halt at which the leader is named the winner."""
        ...

    def risk(self, tally: T_contra) -> float:
        """The stated risk, in [0, 1], of naming the leader of `tally` the winner; 1 without a leader."""
        ...

    def can_be_met(self, tally: T_contra, unknown: int) -> bool:
        """Whether verdicts on `unknown` further items could meet the rule, as far as is worth looking.

        While this is False, asking for one more item wastes nothing: this is how queries run in parallel without overspending.
        """
        ...

    def is_met(self, tally: T_contra) -> bool:
        """Whether to name the leader of `tally` the winner: its stated risk is at or under the threshold."""
        ...

    def for_limit(self, limit: int) -> Self:
        """The rule as it would be for another limit of judgments."""
        ...

    def interval(self, tally: T_contra) -> tuple[float, float] | None:
        """Bounds for the win distance over all items, first minus second; None from a rule that has none."""
        ...

    def reason_to_stop(self, tally: T_contra) -> StopReason | None:
        """Why `tally` is enough: the rule is met, or nothing can come of going on; None to go on."""
        ...


class Judge(Protocol):
    """The oracle: one attempt at a verdict, with what it can cost at most known before it is made."""

    @property
    def identity(self) -> JudgeIdentity:
        """Who judges; part of every verdict's key."""
        ...

    @property
    def order_matters(self) -> bool:
        """False when the verdict cannot depend on the order of presentation: such a judge is asked once."""
        ...

    @property
    def blind(self) -> bool:
        """True when the judge sees texts only; False when it looks the systems up by their names."""
        ...

    @property
    def priced(self) -> bool:
        """False when a call costs money that nobody told judgeloop the price of."""
        ...

    @property
    def by_hand(self) -> bool:
        """True for a person, who takes the time it takes and sees a whole round at once."""
        ...

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Refuse questions that this judge cannot answer, before anything is spent.

        `max_missing` is the share of items without a verdict that a run bears.

        Raises:
            InputError: says what is missing.
        """
        ...

    def quote(self, call: Call) -> Quote:
        """A true upper bound of what one attempt at `call` can use and cost; computed offline."""
        ...

    async def judge(self, call: Call) -> Reply:
        """Make one attempt; the answer is about the systems in the order that `call` shows them.

        Raises:
            TransientJudgeError: another attempt may succeed.
            JudgeRejectedError: none can, until somebody mends something.
        """
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call about to be made: its verdict's key, its worst case in picodollars, and what to note about it."""

    key: str
    cost_p: int
    item_id: str
    judge: str
    note: Mapping[str, Any]
    rehearsed: bool = False


@dataclass(frozen=True, slots=True)
class Ticket:
    """A granted reservation."""

    attempt: int
    key: str
    cost_p: int
    rehearsed: bool = False


class Ledger(Protocol):
    """The durable record of attempts, money and verdicts. Every method returns after its write is durable."""

    async def verdicts(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """The verdicts already held under `keys`."""
        ...

    async def reserve(
        self, run: str, groups: Sequence[Sequence[Reservation]], budget_p: int | None
    ) -> list[list[Ticket]]:
        """Reserve the longest prefix of whole `groups` that `budget_p` still covers for `run`."""
        ...

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | None:
        """Book the actual cost, keep the verdict if there is one, and return the verdict now held."""
        ...

    async def release(self, ticket: Ticket, why: str) -> None:
        """Book nothing: the provider surely charges nothing for this attempt."""
        ...

    async def abandon(self, ticket: Ticket, why: str) -> None:
        """Leave the attempt charged at its worst case: whether it was billed is unknown."""
        ...

    async def spend(self, run: str, budget_p: int | None) -> Spend:
        """What `run` has cost so far."""
        ...

    async def aclose(self) -> None:
        """Finish pending writes and close."""
        ...

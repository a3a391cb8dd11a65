"""On which terms a run asks: its name in the ledger, its money, its pace."""

from __future__ import annotations

from dataclasses import dataclass, field

from judgeloop.engine.decoys import TEXTS
from judgeloop.engine.panel import Vote
from judgeloop.engine.presentation import Order
from judgeloop.judges.retrying import RetryPolicy


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms a run asks.

    Limits of calls in flight, and of calls and tokens a minute, hold for each judge. `former` are
    earlier ids of the run; `former_p`, what was spent under them, counts against the budget.
    """

    run: str
    order: Order = Order.BOTH
    vote: Vote = Vote.MAJORITY
    seed: int = 0
    budget_p: int | None = None
    concurrency: int = 8
    calls_a_minute: int | None = None
    tokens_a_minute: int | None = None
    timeout_s: float | None = 120.0
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    deadline_s: float | None = None  # for the whole run; then what is in flight is drained
    decoys: int = 0
    decoy_texts: tuple[str, ...] = TEXTS
    offline: bool = False  # answer from the ledger alone, and halt where it has nothing
    former: tuple[str, ...] = ()
    former_p: int = 0

    @property
    def available_p(self) -> int | None:
        """What this run's attempts may come to, in picodollars; None for no limit."""
        return None if self.budget_p is None else max(0, self.budget_p - self.former_p)

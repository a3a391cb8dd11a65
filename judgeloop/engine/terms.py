"""The terms of a run: its id in the ledger, its budget, its pace, and how judges are asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from judgeloop.core.choices import Order, Vote
from judgeloop.core.records import Abstention, Query
from judgeloop.engine.retrying import RetryPolicy


@dataclass(frozen=True, slots=True)
class Recipe:
    """How controls are made: of the answers of `source`, for the judges that are `models`.

    The texts of a control take at most `most_bytes`. A judge that `rates` reads one answer a time.
    """

    source: str
    models: tuple[bool, ...]
    most_bytes: int
    rates: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a run; money is in picodollars, times are in seconds.

    `concurrency` is the limit on calls in flight. It and the limits per
    minute hold for each judge. `timeout_s` limits an attempt. At `deadline_s` the run halts, and
    waits for the calls in flight. `controls` holds the controls of each judge. With `controls_of` they
    only say what controls take, which are made as it says once a live system has answered. With `offline` the run is
    answered from the ledger alone, and halts at the first query that the ledger cannot answer.
    An item that takes more than `max_item_bytes` with its outputs is an abstention, without a call;
    None is no limit. With
    `missing_abstains`, an item on which a live system failed is an abstention; else it has lost.
    `max_failed` is the highest accepted share of items on which it fails. `outputs_since` says of which day
    on (ISO 8601, UTC) remembered outputs count, by system. `silent` has the calls to which an earlier command of the
    run got a reply without a verdict, by key: they are not made again. `seen` gets the keys of the calls that are
    made, and of those that the ledger answers, so that each counts once. `tested` gets those of them that were
    made for controls.
    """

    run_id: str
    order: Order = Order.BOTH
    vote: Vote = Vote.MAJORITY
    seed: int = 0
    budget_p: int | None = None
    concurrency: int = 8
    calls_a_minute: int | None = None
    tokens_a_minute: int | None = None
    timeout_s: float | None = 120.0
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    deadline_s: float | None = None
    controls: tuple[tuple[Query, ...], ...] = ()
    controls_of: Recipe | None = None
    offline: bool = False
    max_item_bytes: int | None = None
    missing_abstains: bool = False
    max_failed: float = 0.05
    outputs_since: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, Abstention] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    tested: set[str] = field(default_factory=set)

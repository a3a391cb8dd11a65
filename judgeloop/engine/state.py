"""What the parts of a run share: its terms, and its state: whether it halts and why, its spending, its progress.

`loop.py` makes one `RunState` for a run. The batch, the accounts and the attempts read it and write
to it. Observers get a `Progress`, which is a value.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, final

from judgeloop.core.money import show_usd, to_usd
from judgeloop.core.outcomes import LAST_FAILED, Estimate, StopKind, StopReason
from judgeloop.core.protocols import T
from judgeloop.core.records import DECISION_MARGIN, MODELS_ABSTAIN, NO_TOKENS, Abstention, Answer, Order, Query, Vote
from judgeloop.engine.pace import Pace, RetryPolicy


@dataclass(frozen=True, slots=True)
class Recipe:
    """How controls are made: of the answers of `source`, for the judges that are `models`.

    The texts of a control take at most `most_bytes`. A judge that `rates` reads one answer a time.
    """

    source: str
    models: tuple[bool, ...]
    most_bytes: int
    rates: bool


Draw = Callable[[int], tuple[Query, ...]]  # the controls of a judge, by the number of the try


@dataclass(frozen=True, slots=True)
class OneModel:
    """That only the verdicts of one model count for a judge.

    This is `model`, or while that is empty the one that answers. If it is `pinned`, no other may answer.
    """

    model: str = ""
    pinned: bool = False


class ProxyAnswers(Protocol):
    """The answers of a proxy."""

    def needed(self, position: int) -> Sequence[int]:
        """The items, by position, that it is asked about before the others are asked about this one."""
        ...

    def tell(self, position: int, answer: Answer) -> None:
        """Take an answer."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ProxyTerms:
    """How a proxy, the last judge of a run, is asked beside the others.

    `of` gives who knows its answers about these systems. Its calls have an order of presentation, a limit in flight and
    a time limit of their own.
    """

    of: Callable[[tuple[int, ...]], ProxyAnswers]
    order: Order
    concurrency: int
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a run, which do not change; money is in picodollars, times are in seconds.

    - `budget_p`: all that may ever be spent under the `run_id`; None is no limit
    - `concurrency`, `calls_a_minute`, `tokens_a_minute`: limits for each judge; the first is of calls in flight
    - `timeout_s`: the limit of an attempt, which is tried again by the `policy`
    - `deadline_s`: when the run halts, and waits for the calls in flight
    - `controls`: what draws the controls of each judge, try by try; None for one that has none. With `controls_of` they
      only say what controls take, which are made as it says once a live system has answered
    - `controls_advise`: a judge that does not pass goes on all the same
    - `offline`: the ledger alone answers; the run halts at the first query that it cannot answer
    - `max_item_bytes`: an item that takes more with its outputs is an abstention, without a call; None is no limit
    - `missing_abstains`: an item on which a live system failed is an abstention; else it has lost
    - `max_failed`: the highest accepted share of items on which a live system fails
    - `tie_margin`: within it the probabilities of a decision model are a tie
    - `outputs_since`: from which day on (ISO 8601, UTC) remembered outputs count, by system
    - `silent`: the calls to which an earlier command of the run got a reply without a verdict, by key, which are not
      made again
    - `one_model`: of each judge, whether the verdicts of one model alone count, and of which; None where all do. Empty,
      all do
    - `proxy`: how it is asked; None without one
    - `anew`: a part of the keys of verdicts that are asked past the earlier ones; empty where these count
    - `shared`, `repeated`: after the decision another person reads that part of the items again, and whoever answered
      first that part
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
    controls: tuple[Draw | None, ...] = ()
    controls_of: Recipe | None = None
    controls_advise: bool = False
    offline: bool = False
    max_item_bytes: int | None = None
    missing_abstains: bool = False
    max_failed: float = MODELS_ABSTAIN
    tie_margin: float = DECISION_MARGIN
    outputs_since: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, Abstention] = field(default_factory=dict)
    one_model: tuple[OneModel | None, ...] = ()
    proxy: ProxyTerms | None = None
    anew: str = ""
    shared: float = 0.0
    repeated: float = 0.0

    @property
    def reads_again(self) -> bool:
        """Whether people read some items again."""
        return bool(self.shared or self.repeated)


@dataclass(frozen=True, slots=True)
class CommandCalls:
    """The calls of a command by their keys, so that each counts once, also where its judge is asked anew.

    - `seen`: those that were made, and those that the ledger answered
    - `tested`: those of them that were made for controls
    """

    seen: set[str] = field(default_factory=set)
    tested: set[str] = field(default_factory=set)


MOST_WAIT_S = 600.0  # for other runs, without a deadline
MOMENT_S, LONGEST_MOMENT_S = 0.1, 5.0  # between two looks at what other runs do


@dataclass(frozen=True, repr=False)
class Progress(Generic[T]):
    """The progress of a run.

    `asked` is the number of choices with an answer, of which `silent` are no verdicts, and `uncalled` took no call:
    their verdicts were there, or their outputs are identical. `spent_p` is what this command has paid, in
    picodollars, without rehearsed costs. `risk_of` gives the stated risk of a tally. `slowed_to` is
    the number of calls in flight to which a crowded server has slowed the run down; None if it has
    not. `waited` says for what of other runs this one waits, and for how long; it is empty if it does not. `trouble`
    says why the last call failed; it is empty after a reply. `leads_of` says in words who leads. Printed, it is a line.
    """

    asked: int
    spent_p: int
    tally: T
    risk_of: Callable[[T], float]
    slowed_to: int | None = None
    waited: str = ""
    trouble: str = ""
    uncalled: int = 0
    silent: int = 0
    leads_of: Callable[[T], str] = lambda _: ""

    def __repr__(self) -> str:
        """A line: what was asked and spent, and who leads."""
        leads = self.leads_of(self.tally)
        return f"{self.asked - self.uncalled:,} asked, {show_usd(self.spent_p)} spent{f', {leads}' if leads else ''}"

    @property
    def estimate(self) -> Estimate[T]:
        """The estimate so far, without an interval; its risk is computed when it is asked for.

        In a search the risk is that of the bounds, which says nothing of the end.
        """
        return Estimate(self.tally, self.risk_of(self.tally))

    @property
    def spent_usd(self) -> float:
        """What this command has paid, in dollars."""
        return float(to_usd(self.spent_p))


Observe = Callable[[Progress[T]], None]


def unobserved(progress: Progress[Any]) -> None:
    """Ignore `progress`."""
    del progress


@final
class Interruption:
    """Asks a run to halt, or all runs that share it.

    After the first request a run waits for the calls in flight and keeps their verdicts. After
    the second it abandons them. A deadline makes the first request by itself.
    """

    def __init__(self) -> None:
        """No halt is requested, and there is no deadline."""
        self.requested = asyncio.Event()
        self.abandoned = asyncio.Event()
        self._closes: list[asyncio.Event] = []  # one of each run
        self.why = StopReason(StopKind.INTERRUPTED, "interrupted; what was paid for is kept")
        self._ends_at: float | None = None  # on the event loop's clock

    def request(self) -> None:
        """Request a halt; the second request abandons the calls in flight."""
        if self.requested.is_set():
            self.abandoned.set()
        self.requested.set()
        for closed in self._closes:
            closed.set()

    def given_up(self, calls: int) -> StopReason:
        """Why a run halts that gave up so many calls in flight: what had waited beyond a deadline had no reply."""
        if self.why.kind is not StopKind.DEADLINE or not calls:
            return self.why
        said = (
            "1 call had no reply, and was given up"
            if calls == 1
            else f"{calls:,} calls had no reply, and were given up"
        )
        return replace(self.why, sentence=f"{self.why.sentence}; {said}")

    def closed(self) -> asyncio.Event:
        """An event for one run: set when it sends nothing more, not even what is reserved."""
        closed = asyncio.Event()
        if self.requested.is_set():
            closed.set()
        self._closes.append(closed)
        return closed

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Request a halt once `seconds` have passed; None sets no deadline."""
        if seconds is None:
            yield
            return
        loop = asyncio.get_running_loop()
        self._ends_at = loop.time() + seconds
        alarm = loop.call_later(seconds, self._expire, seconds)
        try:
            yield
        finally:
            alarm.cancel()

    def left_s(self) -> float | None:
        """The seconds left before the deadline; None without a deadline."""
        if self._ends_at is None:
            return None
        return max(0.0, self._ends_at - asyncio.get_running_loop().time())

    def _expire(self, seconds: float) -> None:
        if not self.requested.is_set():
            self.why = StopReason(StopKind.DEADLINE, f"the deadline of {seconds:g} s is reached")
            self.request()


@final
class Changes:
    """Counts changes, and wakes all tasks that wait for the next change."""

    def __init__(self) -> None:
        """Start with a count of 0."""
        self.count = 0
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Count a change, and wake the waiting tasks."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, count: int) -> None:
        """Wait until the count is above `count`."""
        while self.count <= count:
            await self._next.wait()


@final
class RunState(Generic[T]):
    """What the parts of one run share.

    - `reason`: the first reason to halt; None while there is none.
    - `closed`: set when nothing more is sent, not even what is reserved.
    - `calls`: those of this command, with earlier parts of it.
    - `made`, `replies`, `looked_up`, `spent_p`, `outputs_p`, `cached_p`, `tokens`: of this command, as in `Spend`.
    - `remembered`: verdicts taken from the ledger, that were there before the command; `found`: whether any were
      taken from it.
    - `uncalled`: answers that took no call of this command, as their verdicts were there, or outputs are identical.
    - `sent`: the keys of the calls that were made. `of_proxy`: of the calls to a proxy whose answers are used.
    - `paces`: the pace of each judge.
    - `waited`: for what of other runs this one waits, and for how long; empty if it does not.
    - `trouble`: why the last call failed; empty after a reply.
    - `changes`: notified when an attempt is booked, which may return money, and when a call ends.
    """

    def __init__(
        self,
        terms: Terms,
        interruption: Interruption | None = None,
        observe: Observe[T] = unobserved,
        calls: CommandCalls | None = None,
    ) -> None:
        """Begin a run that is not halted; `observe` gets its progress once there is an estimate."""
        self.terms = terms
        self.calls = calls or CommandCalls()
        self.interruption = interruption or Interruption()
        self.reason: StopReason | None = None
        self.closed = self.interruption.closed()
        self.changes = Changes()
        self.made = self.replies = self.looked_up = self.remembered = 0
        self.spent_p = self.outputs_p = self.cached_p = 0
        self.tokens, self.uncalled, self.silent = NO_TOKENS, 0, 0
        self.found, self._part = False, bool(self.calls.seen)
        self.sent: set[str] = set()
        self.of_proxy: set[str] = set()
        self.paces: list[Pace] = []
        self.waited = self.trouble = ""
        self._broken = self._rests = False
        self._observe = observe
        self._counted: tuple[T, Callable[[T], float]] | None = None
        self._asked = self._ahead = 0

    @property
    def goes_on(self) -> bool:
        """Whether the judge has answered an earlier part of this command."""
        return self.found and self._part

    def halt(self, reason: StopReason, *, at_once: bool = False) -> None:
        """Halt for `reason`, unless the run is halted already.

        With `at_once`, what is reserved and waits is not sent.
        """
        self.reason = self.reason or reason
        if at_once:
            self.closed.set()

    def failed(self, kind: StopKind, sentence: str) -> None:
        """Halt at once: no attempt can succeed."""
        self.halt(StopReason(kind, sentence), at_once=True)

    def broke(self) -> None:
        """Send nothing more after an error in code, which is raised once all calls have ended."""
        self._broken = True
        self.closed.set()

    def rest(self) -> None:
        """Send nothing more while what is in flight is waited for: it is not needed."""
        self._rests = True
        self.closed.set()

    def go_on(self) -> None:
        """Send again, unless something else has closed the run."""
        self._rests = False
        if self.reason is None and not self._broken:
            self.closed = self.interruption.closed()

    def is_over(self) -> bool:
        """Whether no further query is admitted."""
        if self.interruption.requested.is_set():
            why = self.interruption.why
            if self.reason is None or self.reason.kind is why.kind:  # calls in flight may have failed since
                waited = "" if why.kind is StopKind.INTERRUPTED else self.and_waited  # whoever did it had seen it
                # Calls on their way take their own time.
                waited += ", and the calls on their way were waited for" * (
                    why.kind is StopKind.DEADLINE and bool(self.trouble)
                )
                self.reason = replace(why, sentence=f"{why.sentence}{waited}{self.and_failed}")
        return self._broken or self._rests or self.reason is not None

    @property
    def and_failed(self) -> str:
        """Why the last call failed, if it did, as the end of a sentence."""
        return f"{LAST_FAILED}{self.trouble}" if self.trouble else ""

    @property
    def and_waited(self) -> str:
        """For what the run waits, as the end of a sentence."""
        return f"; it waited {self.waited}" if self.waited else ""

    @property
    def slowed_to(self) -> int | None:
        """The fewest calls in flight that a crowded server is left with; None if none is slow."""
        limits = [pace.slowed_to for pace in self.paces]
        return min((limit for limit in limits if limit is not None), default=None)

    def folded(self, asked: int, tally: T, risk_of: Callable[[T], float], ahead: int = 0) -> None:
        """Note the number of answers that the session has been told, its counts, and how many more are there."""
        self._asked, self._ahead, self._counted = asked, ahead, (tally, risk_of)

    def answered(self, count: int) -> None:
        """Note that `count` queries have an answer that the session has not been told yet."""
        self._ahead = count
        self.tell()

    def tell(self) -> None:
        """Tell the observer the progress as it is."""
        if self._counted is not None:
            progress = Progress(
                self._asked + self._ahead,
                self.spent_p,
                *self._counted,
                self.slowed_to,
                self.waited,
                self.trouble,
                self.uncalled,
                self.silent,
            )
            self._observe(progress)


@final
class Waiting:
    """A wait for other runs: up to the run's deadline, or up to `MOST_WAIT_S` without one."""

    def __init__(self, state: RunState[Any]) -> None:
        """Begin no wait yet."""
        self._state = state
        self._began: float | None = None

    async def goes_on(self, what: str) -> bool:
        """Say for `what` the run waits, and wait a moment; return False when that was too long.

        It is False, too, once nothing more is sent. The moments become longer.
        """
        state, now = self._state, asyncio.get_running_loop().time()
        self._began = now if self._began is None else self._began
        waited_s = now - self._began
        state.waited = f"{waited_s:.0f} s for {what}"
        state.tell()
        if state.interruption.left_s() is None and waited_s >= MOST_WAIT_S:
            return False
        moment_s = min(LONGEST_MOMENT_S, MOMENT_S + waited_s / 10)
        await first_of(asyncio.sleep(moment_s), state.closed.wait())
        return not state.closed.is_set()

    def end(self) -> None:
        """End the wait: there is what was waited for."""
        if self._began is not None:
            self._began, self._state.waited = None, ""
            self._state.tell()


async def first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of `waits` ends, and cancel the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()

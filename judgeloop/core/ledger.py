"""The ledger as others see it: two protocols, and the records that pass between.

`Ledger` is for those who book: the engine, and what settles attempts later. `LedgerReader` is for
those who look. `ledger/opening.py` opens both by an address. `tests/contracts/` checks the
implementations against these docstrings. Money is in integer picodollars.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import Spend
from judgeloop.core.records import NO_TOKENS, JudgeIdentity, Output, Reply, Usage, Verdict
from judgeloop.core.verdict_key import KeyIngredients

NOTHING = 0  # in the place of the number of a text
ORIGIN = "@"  # RUN@ORIGIN is a run that was taken from another ledger, and spent its own money


@dataclass(frozen=True, slots=True)
class Reservation:
    """A planned call: its verdict's key, worst-case cost in picodollars, and a note to record.

    With `output` it is a call to a system, whose name stands in the place of the judge's, and its key is
    that of an output. Outputs that were recorded before `since` (ISO 8601) do not count then.
    """

    key: str
    cost_p: int
    item_id: str
    judge: str
    note: Mapping[str, Any]
    rehearsed: bool = False
    output: bool = False
    since: str = ""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A granted reservation; `attempt` is the attempt's number in the ledger."""

    attempt: int
    key: str
    cost_p: int
    rehearsed: bool = False
    output: bool = False
    since: str = ""


class End(StrEnum):
    """How an attempt ended. The sentence beside it is for people; no program reads it."""

    VERDICT = "verdict"
    OUTPUT = "output"  # a system's reply, also one that says how it failed
    ABSTAINED = "abstained"  # a reply without a verdict
    TRUNCATED = "truncated"  # a reply that reached the limit of tokens
    REFUSED = "refused"  # the provider refused the request
    FAILED = "failed"  # an error of the server, of the network or of the judge
    TIMED_OUT = "timed_out"
    LOST = "lost"  # sent, and then its process or its caller gave up: the reply is not known
    UNSENT = "unsent"  # reserved, and never sent
    UNNEEDED = "unneeded"  # never sent, because its verdict was known or settled meanwhile
    RECONCILED = "reconciled"  # settled later, from the provider's export of requests
    PRUNED = "pruned"  # the sum of attempts that were deleted


@dataclass(frozen=True, slots=True)
class Clearance:
    """Whether a reserved call may be sent: it may, unless its answer is known or it is busy.

    `known` is the verdict or the output that another run has brought meanwhile; the reservation is
    then released. `busy` is the run that makes the same call now; empty if none does.
    """

    known: Verdict | Output | None = None
    busy: str = ""


@dataclass(frozen=True, slots=True)
class RunNote:
    """What a run is, in names, and who worked on it last.

    `night` is the one that it belongs to, empty for none. `process` worked on it last, in words, from
    `since` on (ISO 8601, UTC), and kept a result with this `exit_code`; None if it kept none. It was run
    at `risk`, 1 if that promises nothing. `asked` has some of its questions about a baseline
    (`history/asked.py`).
    """

    systems: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    night: str = ""
    process: str = ""
    since: str = ""
    exit_code: int | None = None
    risk: float = 1.0
    asked: tuple[str, ...] = ()

    @property
    def names(self) -> str:
        """The names of the systems, for a sentence."""
        return " and ".join(self.systems)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run: its id, when it began (ISO 8601, UTC), and what it was charged.

    `finished` is True once it has ended by itself, not for lack of money, time or a server.
    """

    id: str
    began_at: str
    charged_p: int
    finished: bool = False
    note: RunNote = RunNote()


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """An attempt as recorded. Times are in ISO 8601 (UTC).

    `state` is reserved, sent, settled, released or abandoned; `outcome` says for people how it
    ended. `ingredients` are those of its key; None if they were not recorded.
    """

    number: int
    run: str
    key: str
    judge: str
    item_id: str
    state: str
    outcome: str
    charged_p: int
    began_at: str
    ended_at: str | None
    ingredients: KeyIngredients | None


@dataclass(frozen=True, eq=False, slots=True)
class RecordedVerdicts:
    """n verdicts in the order of their attempts, with what their keys are made of.

    `numbers`, shape (n, 7), are numbers of `texts` (JSON values; of outputs only those that were looked
    for): of the run, the judge, the place, the systems and the digests of their outputs, as shown.
    `NOTHING` is in the place of a second system where one is rated, and of all in a verdict whose
    ingredients are not known. `scores` and `costs_p` have the shape (n,).
    """

    texts: Mapping[str, int]
    numbers: NDArray[np.int32]
    scores: NDArray[np.float64]
    costs_p: NDArray[np.int64]


NO_VERDICTS = RecordedVerdicts(
    {}, np.empty((0, 7), dtype=np.int32), np.empty(0), np.empty(0, dtype=np.int64)
)


@dataclass(frozen=True, slots=True)
class Charged:
    """A group of attempts: how many, what they were charged, and the tokens that replies reported.

    An attempt that is in flight, or whose outcome is unknown, is charged at its worst case.
    """

    attempts: int = 0
    charged_p: int = 0
    tokens: Usage = NO_TOKENS

    def __add__(self, other: Charged) -> Charged:
        """Return both groups together."""
        return Charged(
            self.attempts + other.attempts,
            self.charged_p + other.charged_p,
            self.tokens + other.tokens,
        )


class Request(NamedTuple):
    """A request to a judge; times are in UTC (ISO 8601), tokens those that its reply reported.

    `usd` is what it was charged: at its worst case if its cost is not known.
    """

    began_at: str
    ended_at: str | None
    run: str
    judge: str
    model: str | None
    request_id: str | None
    item_id: str
    state: str
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    usd: Decimal


@dataclass(frozen=True, slots=True)
class KeptResult:
    """The result of a run, as it is kept with its texts.

    - `headline`: the decision. `text`: the result as it was printed. `exit_code`: that of the command.
    - `document`: all its values, as JSON; for each text that was judged its digest. `texts`: these texts.
    - `at`: when this decision was first kept (ISO 8601, UTC); empty while it is not.
    """

    headline: str
    text: str
    document: str
    texts: Mapping[str, str]
    at: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What an attempt of unknown cost did cost; `request` is the provider's id of its request.

    Without a request the attempt was never billed. `outcome` says so for people.
    """

    attempt: int
    cost_p: int
    request: str | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Balance:
    """A budget that runs of a ledger draw on, and what its present period has been charged.

    - `name`: empty for the budget of every run.
    - `per`, `day_starts`: its period (day, week, month or total), and when a day begins (12:00+01:00).
    - `since`, `until`: when the period began and when the next begins (ISO 8601, UTC); empty in total.
    - `charged_p`: what it has been charged; `held`: how much of that open attempts hold back, by run.
    """

    name: str
    limit_p: int
    per: str
    day_starts: str
    since: str
    until: str
    charged_p: int
    held: Mapping[str, int]

    @property
    def left_p(self) -> int:
        """What is left of it in this period."""
        return max(0, self.limit_p - self.charged_p)

    @property
    def held_p(self) -> int:
        """What open attempts hold back."""
        return sum(self.held.values())

    @property
    def amount(self) -> str:
        """Its limit in words, such as `$5.00 a day`."""
        return f"{show_usd(self.limit_p)} {'in total' if self.per == 'total' else f'a {self.per}'}"

    @property
    def title(self) -> str:
        """Its name and limit in words."""
        if self.name:
            return f"budget {self.name} of {self.amount}"
        return f"budget of {self.amount} for every run"

    @property
    def again(self) -> str:
        """When it starts again, in words."""
        if not self.until:
            return "it does not start again"
        return f"it starts again at {self.until[:16].replace('T', ' ')} UTC"


class Ledger(Protocol):
    """The durable record of attempts, money and verdicts, for those who book.

    Every method returns only after its writes are durable; those that are not awaited wait for it.
    """

    async def verdicts(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """Return the verdicts recorded under `keys`; a key without a verdict is left out."""

    async def outputs(self, keys: Sequence[str], since: str = "") -> dict[str, Output]:
        """Return the latest output under each of `keys` that has one recorded at or after `since`."""

    async def reserve(
        self,
        run: str,
        groups: Sequence[Sequence[Reservation]],
        budget_p: int | None,
        *,
        instead: Ticket | None = None,
    ) -> list[list[Ticket]]:
        """Reserve for `run` the longest prefix of whole `groups` that all its budgets still cover.

        They are `budget_p`, its own, and those of the ledger that it is charged to. If any group is
        granted, the reservation `instead`, which was never sent, is given back at the same moment, so
        that no other run gets its money in between.
        """

    async def held_back(self, run: str, cost_p: int, budget_p: int | None) -> dict[str, int] | None:
        """Return what processes that live hold back for other runs, by run.

        None if it is of no use to wait for it: `budget_p` does not cover `cost_p` more of `run`, or
        a budget that it is charged to does not, even once all of it is given back. A run that holds
        money itself waits only for runs that began later, so that no two wait for each other.
        """
        ...

    async def balances(self) -> list[Balance]:
        """Return the budgets of this ledger that runs booked through this object draw on."""

    async def sending(self, ticket: Ticket) -> Clearance:
        """Record that the call is about to be sent, unless it need not or must not be sent now."""

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | Output | None:
        """Book the actual cost, record the verdict or output, and return what is recorded."""

    async def settle_all(
        self, replies: Sequence[tuple[Ticket, Reply]]
    ) -> list[Verdict | Output | None]:
        """As `settle` for each reply, in one transaction."""

    async def finish(self, run: str) -> None:
        """Record that `run` has ended by itself."""

    async def release(self, ticket: Ticket, end: End, why: str) -> None:
        """Book no cost: the provider certainly charges nothing for this attempt."""

    async def abandon(self, ticket: Ticket, end: End, why: str) -> None:
        """Leave the attempt charged at its worst case: it is unknown whether it was billed."""

    async def spend(self, run: str, budget_p: int | None) -> Spend:
        """Return what `run` has cost so far."""

    async def recover(self, run: str) -> tuple[int, int]:
        """Close what dead processes left open of `run`, which must be locked (`only_run`).

        Returns what was freed, because it was never sent, and what stays charged, because it was
        sent.
        """

    def only_run(self, run: str) -> AbstractContextManager[None]:
        """Lock `run` against other processes.

        Raises:
            LedgerError: another process holds the lock.
        """

    def begin(self, run: str) -> str:
        """Record that `run` begins now, unless it has; return when it began (ISO 8601, UTC).

        Later verdicts are not its history.
        """

    async def note(self, run: str, note: RunNote) -> None:
        """Note what `run` is, in the place of an earlier note, and that this process works on it now."""

    def keep(self, run: str, result: KeptResult) -> None:
        """Keep the result of `run` in the place of an earlier one; each of its texts once."""

    def set_budget(self, name: str, limit_p: int, per: str, day_starts: str) -> None:
        """Set a budget, or change one, as `Balance` describes it."""

    def remove_budget(self, name: str) -> None:
        """Remove a budget; raises `InputError` if there is none of this name."""

    def unknown(self) -> list[RecordedAttempt]:
        """Return the attempts that may have been billed without a reply, the oldest first.

        Those of processes that ended are closed first; those of running processes are left alone.
        """

    def reconcile(self, settlements: Sequence[Settlement]) -> None:
        """Book what attempts of unknown cost did cost, all or none.

        Raises:
            LedgerError: an attempt has been settled meanwhile.
        """

    def close(self) -> None:
        """Finish pending writes and close."""

    async def aclose(self) -> None:
        """As `close`, awaited."""


class LedgerReader(Protocol):
    """The same record for those who look: nothing is written, and each row read is checked.

    Every method may raise `DamagedLedgerError`: a row is not as it was written.
    """

    @property
    def id(self) -> str:
        """The ledger's random id."""

    def runs(self) -> list[RecordedRun]:
        """Return all runs, the oldest first."""

    def working(self, runs: Iterable[str]) -> set[str]:
        """Return those of `runs` that a process works on now."""

    def headlines(self) -> dict[str, str]:
        """Return the decisions of all runs that have a result, by run."""

    def result(self, run: str) -> KeptResult | None:
        """Return the result of a run with its texts; None if it has none."""

    def attempts(self, item_id: str) -> list[RecordedAttempt]:
        """Return all attempts on an item, the oldest first."""

    def history(
        self,
        run: str | None,
        of_runs: Collection[str] = (),
        outputs: Collection[str] = (),
        *,
        only_on: bool = False,
    ) -> RecordedVerdicts:
        """Return the verdicts that were recorded before `run` began; all if it has not begun.

        If `of_runs` has any run, the verdicts of all others are left out; else those before the latest
        million. Of the digests of outputs only those in `outputs` are returned as texts: there may be
        as many. With `only_on`, the verdicts on other outputs are left out, too.
        """

    def balances(self) -> list[Balance]:
        """Return every budget, that of every run first, then by name."""

    def spending(self) -> dict[str, dict[str, Charged]]:
        """Return the charges by day, systems, judge, run and state, each in order.

        `elsewhere`, if there are any, has those of ledgers that were merged into this one, by their
        ids: they count in no other group. Attempts that were only rehearsed cost nothing and are left out.
        """

    def requests(self) -> Iterator[Request]:
        """Yield every request in the order of the attempts."""

    def request_ids(self) -> set[str]:
        """Return the providers' ids of all requests that are settled."""

    def reply_lengths(self, judge: JudgeIdentity) -> list[int]:
        """Return the output tokens of this very judge's latest replies.

        They are those with a verdict, and those that were cut off: these are at least as long.
        Without them a repeated run would pay again for a reply that it cuts off at the same limit.
        """

    def models(self, run: str) -> dict[str, list[str]]:
        """Return the models that servers named in replies to `run`, the first first, by judge."""

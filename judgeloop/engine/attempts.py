"""From one call to its answer: attempts, each reserved before and booked after.

A call is one to a judge, for a verdict, or one to a system that answers live, for an output.

How an attempt can end (a reply, or a kind of `JudgeError`), and what follows. "Charge" is the worst
case if the provider may have billed the attempt (`JudgeError.billed`), and nothing if it did not.

| what happens             | `End`     | booked     | asked again            | the run                |
|--------------------------|-----------|------------|------------------------|------------------------|
| is not sent              | UNSENT    | nothing    | no                     | is closed already      |
| another run has answered | UNNEEDED  | nothing    | no                     | goes on                |
| a verdict                | VERDICT   | its cost   | no                     | goes on                |
| an output                | OUTPUT    | its cost   | no                     | goes on                |
| an abstention            | ABSTAINED | its cost   | once, if that may help | goes on                |
| more than its quote      | as above  | its cost   | no                     | halts at once          |
| ITEM                     | ABSTAINED | charge     | no                     | goes on                |
| RETRY                    | FAILED    | charge     | by the retry policy    | halts after five calls |
| UNREACHABLE              | FAILED    | nothing    | for 8 s, later 150 s   | halts at once          |
| CROWDED, SCARCE          | FAILED    | charge     | by the retry policy    | goes slower            |
| CHANGED                  | FAILED    | charge     | at once                | goes on                |
| REFUSED, BLOCKED         | REFUSED   | charge     | once                   | goes on                |
| the same, of every call  | REFUSED   | charge     | no                     | halts at once          |
| REJECTED                 | REFUSED   | charge     | no                     | halts at once          |
| QUIT                     | FAILED    | charge     | no                     | halts                  |
| is late                  | TIMED_OUT | worst case | by the retry policy    | halts after five calls |
| is cancelled             | LOST      | worst case | no                     | is closed already      |
| an error in code         | LOST      | worst case | no                     | ends with the error    |

`asks.py` says which calls a query needs; `batch.py` takes known verdicts from the ledger, and
`accounts.py` books.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self, final

from judgeloop.core.errors import ErrorKind, JudgeError, LedgerError
from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.protocols import Judge, Readied, System
from judgeloop.core.records import Abstention, Answer, Call, Output, Quote, Reply, Verdict
from judgeloop.engine.accounts import Accounts
from judgeloop.engine.answering import AnsweringModel
from judgeloop.engine.pace import Pace, Retries, time_limit
from judgeloop.engine.state import RunState, Waiting
from judgeloop.ledger.records import End, Ticket

# Number of calls in a row that fail in all their attempts, after which the judge counts as down.
FAILURES_IN_A_ROW = 5
# Number of attempts in a row that are refused, after which no item is blamed.
IN_A_ROW = 10
# Number of items refused before any request is answered, at which no item is blamed. By default a
# run ends anyway with as many items without a verdict (`max_abstentions`).
FIRST_ITEMS = 3

Reserve = Callable[[], Awaitable[Ticket | None]]


class NotAskedError(Exception):
    """A call was given up without an answer: no money for an attempt, or an interruption."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who is asked, a judge or a system, and how.

    `who` names it in messages, and `failed` is the end of a run in which it fails. `timeout_s`
    limits a whole attempt in seconds; None is no limit. `at_once` limits the attempts at one time
    beside the run's own limit. `make_ready` makes what so many calls at one time are sent with. `answering` takes
    the names of models in a judge's replies. `looks_up`: it reads a table, and makes no request.
    """

    who: str
    quote: Callable[[Call], Quote]
    ask: Callable[[Call], Awaitable[Reply]]
    timeout_s: float | None
    failed: StopKind = StopKind.JUDGE_FAILED
    at_once: int | None = None
    make_ready: Callable[[int], None] | None = None
    answering: AnsweringModel | None = None
    looks_up: bool = False

    @classmethod
    def judge(cls, judge: Judge, timeout_s: float | None, answering: AnsweringModel | None = None) -> Self:
        """Ask a judge for verdicts."""
        ready = judge.make_ready if isinstance(judge, Readied) else None
        looks_up = getattr(judge, "looks_up", False)
        return cls(
            "the judge", judge.quote, judge.judge, timeout_s, make_ready=ready, answering=answering, looks_up=looks_up
        )

    @classmethod
    def system(cls, name: str, system: System) -> Self:
        """Ask a system for outputs."""
        who, failed = f"the system {name}", StopKind.SYSTEM_FAILED
        ready = system.make_ready if isinstance(system, Readied) else None
        return cls(who, system.quote, system.answer, system.timeout_s, failed, system.at_once, ready)


@final
class Attempts:
    """Asks one judge or one system, and books every attempt."""

    def __init__(
        self,
        answerer: Answerer,
        accounts: Accounts,
        pace: Pace,
        state: RunState[Any],
        *,
        first_items: int = FIRST_ITEMS,
    ) -> None:
        """Ask at the speed of `pace`, as the terms in `state` allow.

        The time limit holds also if the reply arrives byte by byte; time in which the process stood still is not
        counted. `first_items` is as in `Refusals`.
        """
        self._answerer = answerer
        self._accounts = accounts
        self._pace = pace
        self._state = state
        self._refusals = Refusals(state, first_items=first_items)
        self._failures, self._tried_s = 0, 0.0
        self.models: dict[str, None] = {}  # that the server named, in the order seen
        state.paces.append(pace)

    async def answer(self, call: Call, ticket: Ticket, again: Reserve) -> Answer | Output:
        """The answer to `call`, or a system's output.

        `ticket` pays for the first attempt, and `again` reserves each further attempt. After an unreadable reply,
        a refusal for an unknown reason, or a reply that a learned limit cut off, the judge is asked once more, and
        charged once more. A call that fails in all its attempts is an abstention, as is one that is refused twice,
        unless everything asked is refused.

        Raises:
            JudgeError: no attempt can succeed, too many calls in a row have failed, or the judge
                has left.
            NotAskedError: the call was given up.
        """
        try:
            answer, unread = await self._persist(call, ticket, again), 0
            while (
                isinstance(answer, Abstention)
                and answer.again
                and (answer.changed or not unread)
                and not self._state.closed.is_set()
            ):
                another = await again()
                if another is None:
                    if answer.changed:
                        raise NotAskedError
                    break
                unread += not answer.changed
                answer = await self._persist(call, another, again)
        except JudgeError as error:
            if not error.kind.asks_again:
                raise
            return self._given_up(error)
        self._failures = 0
        return answer

    async def _persist(self, call: Call, ticket: Ticket, again: Reserve) -> Answer | Output:
        """Make attempts until there is an answer, as long as the policy allows."""
        answered = self._refusals.answered or self._state.goes_on
        retries = Retries(self._state.terms.policy, answered=answered)
        granted: Ticket | None = ticket
        while granted is not None:
            try:
                return await self.attempt(call, granted)
            except JudgeError as error:
                wait_s = retries.wait_s(error, self._state.interruption.left_s())
                if wait_s is None:
                    self._tried_s = retries.tried_s
                    raise
            await self._sleep(wait_s)
            granted = await again()
        raise NotAskedError

    async def attempt(self, call: Call, ticket: Ticket) -> Answer | Output:
        """Make one attempt; book it however it ends.

        Raises:
            JudgeError: the attempt failed.
            NotAskedError: the attempt was given up before it was sent.
        """
        await self._take_place(call, ticket)
        held = await self._note_sending(ticket)
        if held is not None:
            return held
        self._state.sent.add(ticket.key)
        self._state.made += not self._answerer.looks_up
        self._state.looked_up += self._answerer.looks_up
        try:
            reply = await self._reply(call)
        except TimeoutError:
            await self._accounts.abandon(ticket, End.TIMED_OUT, "timed out")
            late = self._state.trouble = f"no reply within {self._answerer.timeout_s:g} s"
            self._state.tell()
            raise JudgeError(ErrorKind.RETRY, late, billed=True) from None
        except JudgeError as error:
            refused = await self._note_failure(error, call, ticket)
            if refused is None:
                raise
            return refused
        except BaseException as error:
            # Cancelled, or an error in the judge's code: the request may have been sent and billed.
            if isinstance(error, Exception):
                self._state.broke()
            await self._accounts.abandon(ticket, End.LOST, f"gave up: {type(error).__name__}")
            raise
        finally:
            self._pace.leave()
        return await self._settle(ticket, reply)

    async def _reply(self, call: Call) -> Reply:
        """The judge's reply; an item that cannot be judged is an abstention."""
        try:
            async with time_limit(self._answerer.timeout_s):
                return await self._answerer.ask(call)
        except JudgeError as error:
            if error.kind is not ErrorKind.ITEM:
                raise
            lacked = Abstention(str(error), too_long=error.too_long)
            return Reply(lacked, cost_p=None if error.billed else 0)

    async def _take_place(self, call: Call, ticket: Ticket) -> None:
        """Wait for the call's turn; if nothing more is sent, release the reservation."""
        closed = self._state.closed
        # A chat model writes the whole prompt to count them.
        tokens = self._answerer.quote(call).tokens if self._state.terms.tokens_a_minute else 0
        if not closed.is_set() and self._pace.enter_now(tokens):
            return
        turn = asyncio.create_task(self._pace.enter(tokens))
        alarm = asyncio.create_task(closed.wait())
        goes = False
        try:
            await asyncio.wait({turn, alarm}, return_when=asyncio.FIRST_COMPLETED)
            goes = turn.done() and not turn.cancelled() and not closed.is_set()
        finally:
            alarm.cancel()
            if not goes:
                if turn.done() and not turn.cancelled():
                    self._pace.leave()
                turn.cancel()
                await self._accounts.release(ticket, End.UNSENT, "never sent")
        if not goes:
            raise NotAskedError

    async def _note_sending(self, ticket: Ticket) -> Verdict | Output | None:
        """Record that the call is sent now; return its answer if another run has brought it.

        It waits while another run makes the same call. The call's place is left unless it is sent.
        """
        waiting = Waiting(self._state)
        try:
            if self._answerer.make_ready is not None:
                # What is noted as sent is charged if this process dies: nothing that takes seconds stands between.
                self._answerer.make_ready(self._pace.in_flight)
            while (cleared := await self._accounts.sending(ticket)).busy:
                if not await waiting.goes_on(f"a call that the run {cleared.busy} makes as well"):
                    if not self._state.closed.is_set():
                        why = (
                            f"the run {cleared.busy} makes the same call, and did not end it in time"
                            f"{self._state.and_waited}; end that process or set a `deadline`, and repeat this command"
                        )
                        self._state.halt(StopReason(StopKind.DEADLINE, why), at_once=True)
                    raise NotAskedError  # noqa: TRY301 - as below
            waiting.end()
            if cleared.known is None and self._state.closed.is_set():
                raise NotAskedError  # noqa: TRY301 - handled as any other end before the sending
        except BaseException:
            self._pace.leave()
            with contextlib.suppress(LedgerError):
                await self._accounts.release(ticket, End.UNSENT, "never sent")
            raise
        if cleared.known is not None:
            self._pace.leave()
        return cleared.known

    async def _settle(self, ticket: Ticket, reply: Reply) -> Answer | Output:
        """Book a reply; halt if it contradicts its quote."""
        self._pace.went_well()
        self._refusals.note_reply()
        self._state.replies += 1
        self._state.trouble = ""
        breach = contradiction(reply, ticket)
        if breach is not None:
            self._halt(breach)
        recorded = await self._accounts.settle(ticket, reply)
        if reply.model:
            self.models[reply.model] = None
        if self._answerer.answering is not None and (why := self._answerer.answering.replies(reply.model)):
            self._state.halt(why)
        if breach is not None:
            raise breach
        return reply.answer if recorded is None else recorded

    def _halt(self, error: JudgeError) -> None:
        """Halt at once: no attempt can succeed."""
        self._state.failed(self._answerer.failed, f"{self._answerer.who} failed: {error}")

    async def _note_failure(self, error: JudgeError, call: Call, ticket: Ticket) -> Abstention | None:
        """Book a failed attempt; return an abstention if its item is to blame."""
        refused, end = None, End.FAILED
        if error.kind is not ErrorKind.QUIT:  # who leaves has not failed
            self._state.trouble = str(error)
        match error.kind:
            case ErrorKind.CROWDED | ErrorKind.SCARCE:
                self._pace.was_crowded()
            case ErrorKind.REFUSED | ErrorKind.BLOCKED if self._refusals.blames(
                call.item.id, at_first=error.kind is ErrorKind.REFUSED
            ):
                end, refused = End.REFUSED, Abstention(f"refused: {error}", again=True)
            case ErrorKind.REFUSED | ErrorKind.BLOCKED | ErrorKind.REJECTED:
                end = End.REFUSED
                self._halt(error)
            case ErrorKind.QUIT:
                self._state.made -= 1  # who left answers nothing
            case _:
                pass
        self._state.tell()
        book = self._accounts.abandon if error.billed else self._accounts.release
        await book(ticket, end, str(error))
        return refused

    async def _sleep(self, seconds: float) -> None:
        """Wait before another attempt; give the call up if nothing more is sent."""
        try:
            await asyncio.wait_for(self._state.closed.wait(), seconds)
        except TimeoutError:
            return
        raise NotAskedError

    def _given_up(self, error: JudgeError) -> Answer:
        """The abstention for a call whose attempts all failed; halts where the judge is to blame, not the item."""
        if error.kind is ErrorKind.UNREACHABLE:
            self._halt(error)
            raise error
        self._failures += 1
        scarce = error.kind is ErrorKind.SCARCE
        if self._failures >= FAILURES_IN_A_ROW or scarce:
            # No item is given up because a tier has no capacity.
            why = (
                "the tier has no capacity; rerun the command later, or now with `tier=flex-or-standard`"
                if scarce
                else f"{self._failures} calls in a row failed in every attempt (the last was tried for {max(1, self._tried_s):.0f} s)"
            )
            crowded = "; a lower `concurrency` or `rpm` slows the calls down"
            text = f"{why}: {error}{crowded if error.kind is ErrorKind.CROWDED else ''}"
            down = JudgeError(ErrorKind.REJECTED, text, billed=error.billed)
            self._halt(down)
            raise down from error
        return Abstention(f"failed: {error}", failed=True)


@final
class Refusals:
    """Whether what was refused for an unknown reason was refused for its item; counts one judge's since a reply."""

    def __init__(self, state: RunState[Any], *, first_items: int = FIRST_ITEMS) -> None:
        """`state` says whether the ledger had verdicts on other calls of the run.

        `first_items` is the number of items refused at which every request is taken to be wrong, if
        the judge has never replied. With 1 no item is blamed before the first reply.
        """
        self._state = state
        self._first_items = first_items
        self._attempts = 0
        self._items: set[str] = set()
        self.answered = False  # whether the judge has

    def note_reply(self) -> None:
        """Note a reply: the settings are accepted."""
        self.answered, self._attempts = True, 0
        self._items.clear()

    @property
    def accepts_settings(self) -> bool:
        """Whether the judge has answered a call of the run: a refusal is then of its item."""
        return self.answered or self._state.found

    def blames(self, item: str, *, at_first: bool = True) -> bool:
        """Note that a request about `item` was refused; return whether the item is to blame.

        It is, unless too many are refused with no reply between: then every request is wrong. If
        not `at_first`, it is not before the judge's first reply either.
        """
        self._attempts += 1
        self._items.add(item)
        if self.accepts_settings:
            return self._attempts <= IN_A_ROW
        return at_first and len(self._items) < self._first_items


def contradiction(reply: Reply, ticket: Ticket) -> JudgeError | None:
    """The error for a reply that costs more than its worst case, or contradicts its quote.

    Reservations then no longer bound the bill, so no further call is made.
    """
    said = []
    if reply.cost_p is not None and reply.cost_p > ticket.cost_p:
        said.append(f"a call cost {show_usd(reply.cost_p)}, more than the worst case of {show_usd(ticket.cost_p)}")
    if reply.breach:
        said.append(f"the provider's bill contradicts the quote: {reply.breach}")
    if not said:
        return None
    why = f"{'; '.join(said)}; no budget can be kept; check the price"
    return JudgeError(ErrorKind.REJECTED, why, billed=True)

"""From one call to its answer: attempts at a judge, each reserved before and booked after.

An attempt is booked however it ends. `asks.py` says which calls a query needs; `batch.py` takes
known verdicts from the ledger. Neither happens here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeGuard, final

from judgeloop.core.errors import ErrorKind, JudgeError, LedgerError
from judgeloop.core.money import show_usd
from judgeloop.core.protocols import Judge, Ledger, Ticket
from judgeloop.core.records import NO_TOKENS, Abstention, Answer, Call, Reply, Verdict
from judgeloop.engine.pace import Pace
from judgeloop.engine.retrying import LeftS, RetryPolicy, unbounded
from judgeloop.engine.time_limit import TimeLimit


def contradiction(reply: Reply, ticket: Ticket) -> JudgeError | None:
    """Return the error for a reply that costs more than its worst case, or contradicts its quote.

    Reservations then no longer bound the bill, so no further call is made.
    """
    said = []
    if reply.cost_p is not None and reply.cost_p > ticket.cost_p:
        said.append(
            f"the provider charged {show_usd(reply.cost_p)} for a call, more than the worst "
            f"case of {show_usd(ticket.cost_p)}"
        )
    if reply.breach:
        said.append(f"the provider's bill contradicts the quote: {reply.breach}")
    if not said:
        return None
    return JudgeError(
        ErrorKind.REJECTED,
        f"{'; '.join(said)}; no budget can be kept; check the price",
        billed=True,
    )


# Number of attempts in a row that are refused, after which no item is blamed.
IN_A_ROW = 10
# Number of items refused before any request is answered, at which no item is blamed. By default a
# run ends anyway with as many items without a verdict (`max_abstentions`).
FIRST_ITEMS = 3


@final
class Refusals:
    """The refusals of one judge since its last reply."""

    def __init__(
        self, remembers: Callable[[], bool] = lambda: False, *, first_items: int = FIRST_ITEMS
    ) -> None:
        """`remembers` returns whether the ledger had verdicts on other calls of the run.

        `first_items` is the number of items refused at which every request is taken to be wrong, if
        the judge has never replied. With 1 no item is blamed before the first reply.
        """
        self._remembers = remembers
        self._first_items = first_items
        self._attempts = 0
        self._items: set[str] = set()
        self._answered = False

    def answered(self) -> None:
        """Note a reply: the settings are accepted."""
        self._answered, self._attempts = True, 0
        self._items.clear()

    @property
    def accepts_settings(self) -> bool:
        """Whether the judge has answered a call of the run: a refusal is then of its item."""
        return self._answered or self._remembers()

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


# Number of calls in a row that fail in all their attempts, after which the judge counts as down.
FAILURES_IN_A_ROW = 5
BUSY_S = 0.1  # seconds between two looks at a call that another run makes

Reserve = Callable[[], Awaitable[Ticket | None]]


def _unheeded(error: JudgeError) -> None:
    del error


class NotAskedError(Exception):
    """A call was given up without an answer: no money for an attempt, or an interruption."""


@final
class Attempts:
    """Asks one judge, and books every attempt in the ledger."""

    def __init__(
        self,
        judge: Judge,
        ledger: Ledger,
        *,
        pace: Pace,
        policy: RetryPolicy,
        timeout_s: float | None,
        closed: asyncio.Event,
        left_s: LeftS = unbounded,
        booked: Callable[[], None] = lambda: None,
        rejected: Callable[[JudgeError], None] = _unheeded,
        refusals: Refusals | None = None,
        broken: Callable[[], None] = lambda: None,
        slowed: Callable[[], None] = lambda: None,
    ) -> None:
        """Ask `judge` at the speed of `pace`, and again as `policy` allows.

        `timeout_s` limits a whole attempt in seconds, also if the reply arrives byte by byte; time
        in which the process stood still is not counted. When `closed` is set, nothing more is sent.
        `left_s` returns the seconds left before the run's deadline. `booked` is called whenever an
        attempt is closed, which may return money to the budget. `rejected` is called as soon as it
        is known that no attempt can succeed, and `broken` as soon as the judge's code has failed,
        both before anything is booked. `slowed` is called when a crowded server has lowered the
        number of calls in flight. `refusals` says which refusals are an item's fault.
        """
        self._judge = judge
        self._ledger = ledger
        self._pace = pace
        self._policy = policy
        self._timeout_s = timeout_s
        self._closed = closed
        self._left_s = left_s
        self._booked = booked
        self._rejected = rejected
        self._refusals = refusals or Refusals()
        self._broken = broken
        self._slowed = slowed
        self._failures = 0
        self.made = 0  # attempts that were sent
        self.models: dict[str, None] = {}
        self.spent_p = 0
        self.cached_p = 0  # what the provider's cache of prompts saved
        self.tokens = NO_TOKENS

    @property
    def slowed_to(self) -> int | None:
        """The number of calls in flight that a crowded server is left with; None if all allowed."""
        return self._pace.slowed_to

    async def answer(self, call: Call, ticket: Ticket, again: Reserve) -> Answer:
        """Return the answer to `call`.

        `ticket` pays for the first attempt, and `again` reserves each further attempt. After an
        unreadable reply, a refusal for an unknown reason, or a reply that a learned limit cut off,
        the judge is asked once more, and charged once more. A call that fails in all its attempts
        is an abstention, as is one that is refused twice, unless everything asked is refused.

        Raises:
            JudgeError: no attempt can succeed, too many calls in a row have failed, or the judge
                has left.
            NotAskedError: the call was given up.
        """
        try:
            answer, unread = await self._persist(call, ticket, again), 0
            while _may_be_better(answer, unread) and not self._closed.is_set():
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
            return self._failed(error)
        self._failures = 0
        return answer

    async def _persist(self, call: Call, ticket: Ticket, again: Reserve) -> Answer:
        """Make attempts until there is an answer, as long as the policy allows."""
        tickets = [ticket]

        async def attempt() -> Answer:
            granted = tickets.pop() if tickets else await again()
            if granted is None:
                raise NotAskedError
            return await self.attempt(call, granted)

        return await self._policy.retrying(self._sleep, self._left_s)(attempt)

    async def attempt(self, call: Call, ticket: Ticket) -> Answer:
        """Make one attempt; book it however it ends.

        Raises:
            JudgeError: the attempt failed.
            NotAskedError: the attempt was given up before it was sent.
        """
        await self._take_place(call, ticket)
        held = await self._note_sending(ticket)
        if held is not None:
            return held
        self.made += 1
        try:
            reply = await self._reply(call)
        except TimeoutError:
            await self._abandon(ticket, "timed out")
            raise JudgeError(
                ErrorKind.RETRY, f"no reply within {self._timeout_s:g} s", billed=True
            ) from None
        except JudgeError as error:
            self.made -= error.kind is ErrorKind.QUIT  # who left answers nothing
            refused = await self._note_failure(error, call, ticket)
            if refused is None:
                raise
            return refused
        except BaseException as error:
            # Cancelled, or an error in the judge's code: the request may have been sent and billed.
            if isinstance(error, Exception):
                self._broken()
            await self._abandon(ticket, f"gave up: {type(error).__name__}")
            raise
        finally:
            self._pace.leave()
        self._pace.went_well()
        self._refusals.answered()
        breach = contradiction(reply, ticket)
        if breach is not None:
            self._rejected(breach)
        verdict = await self._ledger.settle(ticket, reply)
        self._booked()
        self._count(ticket, ticket.cost_p if reply.cost_p is None else reply.cost_p)
        self.cached_p += reply.saved_p
        self.tokens += reply.usage or NO_TOKENS
        if reply.model:
            self.models[reply.model] = None
        if breach is not None:
            raise breach
        return reply.answer if verdict is None else verdict

    async def _reply(self, call: Call) -> Reply:
        """Return the judge's reply; an item that cannot be judged is an abstention."""
        try:
            async with TimeLimit(self._timeout_s):
                return await self._judge.judge(call)
        except JudgeError as error:
            if error.kind is not ErrorKind.ITEM:
                raise
            return Reply(Abstention(str(error)), cost_p=None if error.billed else 0)

    async def _take_place(self, call: Call, ticket: Ticket) -> None:
        """Wait for the call's turn; if nothing more is sent, release the reservation."""
        if self._closed.is_set():
            await self._release(ticket, "never sent")
            raise NotAskedError
        tokens = self._judge.quote(call).tokens
        if self._pace.enter_now(tokens):
            return
        turn = asyncio.create_task(self._pace.enter(tokens))
        alarm = asyncio.create_task(self._closed.wait())
        try:
            await asyncio.wait({turn, alarm}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            if not turn.done():
                turn.cancel()
                await self._release(ticket, "never sent")
        if turn.cancelled() or not turn.done():
            raise NotAskedError
        if self._closed.is_set():
            self._pace.leave()
            await self._release(ticket, "never sent")
            raise NotAskedError

    async def _note_sending(self, ticket: Ticket) -> Verdict | None:
        """Record that the call is sent now; return the verdict if another run has brought it.

        It waits while another run makes the same call. The call's place is left unless it is sent.
        """
        try:
            while (cleared := await self._ledger.sending(ticket)).busy:
                await self._sleep(BUSY_S)
            if cleared.verdict is None and self._closed.is_set():
                raise NotAskedError  # noqa: TRY301 - handled as any other end before the sending
        except BaseException:
            self._pace.leave()
            with contextlib.suppress(LedgerError):
                await self._release(ticket, "never sent")
            raise
        if cleared.verdict is not None:
            self._pace.leave()
            self._booked()
        return cleared.verdict

    async def _note_failure(
        self, error: JudgeError, call: Call, ticket: Ticket
    ) -> Abstention | None:
        """Book a failed attempt; return an abstention if its item is to blame."""
        refused, billed = None, error.billed
        match error.kind:
            case ErrorKind.CROWDED | ErrorKind.SCARCE:
                self._pace.was_crowded()
                self._slowed()
            case ErrorKind.REFUSED | ErrorKind.BLOCKED if self._refusals.blames(
                call.item.id, at_first=error.kind is ErrorKind.REFUSED
            ):
                refused = Abstention(f"refused: {error}", again=True)
                billed = billed or (error.billed_if_item and self._refusals.accepts_settings)
            case ErrorKind.REFUSED | ErrorKind.BLOCKED | ErrorKind.REJECTED:
                self._rejected(error)
            case _:
                pass
        await (self._abandon if billed else self._release)(ticket, str(error))
        return refused

    async def _abandon(self, ticket: Ticket, why: str) -> None:
        self._count(ticket, ticket.cost_p)
        await self._ledger.abandon(ticket, why)
        self._booked()

    async def _release(self, ticket: Ticket, why: str) -> None:
        await self._ledger.release(ticket, why)
        self._booked()

    def _count(self, ticket: Ticket, cost_p: int) -> None:
        if not ticket.rehearsed:
            self.spent_p += cost_p

    async def _sleep(self, seconds: float) -> None:
        """Wait before another attempt; give the call up if nothing more is sent."""
        try:
            await asyncio.wait_for(self._closed.wait(), seconds)
        except TimeoutError:
            return
        raise NotAskedError

    def _failed(self, error: JudgeError) -> Answer:
        self._failures += 1
        scarce = error.kind is ErrorKind.SCARCE
        if self._failures >= FAILURES_IN_A_ROW or scarce:
            # Of a tier without capacity no item is to blame, so that none is given up.
            why = (
                "the tier has no capacity; the same command goes on later, or at once with "
                "`tier=flex-or-standard`"
                if scarce
                else f"{self._failures} calls in a row failed in every attempt"
            )
            down = JudgeError(ErrorKind.REJECTED, f"{why}: {error}", billed=error.billed)
            self._rejected(down)
            raise down from error
        return Abstention(f"failed: {error}")


def _may_be_better(answer: Answer, unread: int) -> TypeGuard[Abstention]:
    """Return whether to ask again, after so many other replies that could not be read."""
    return isinstance(answer, Abstention) and answer.again and (answer.changed or not unread)

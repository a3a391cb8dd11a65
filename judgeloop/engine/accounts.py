"""The money of a run: reserves the worst case of calls before they are sent, and books their cost.

All calls of a query are reserved together. A query that the budget does not cover while others are
in flight waits for them: settling returns the unused part of their reservations. Then it waits for
what other runs of the ledger hold back. The run halts only if the budget does not cover the query
on its own. So the outcome is the same at every concurrency.

Verdicts of judges that compute and cost nothing (a metric, recorded verdicts) are booked by the
round: one commit reserves many calls, and one settles them. `attempts.py` sends.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar, final

from judgeloop.core.errors import LedgerError
from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.protocols import Judge
from judgeloop.core.records import NO_TOKENS, Answer, Output, Reply, Verdict
from judgeloop.engine.asks import Ask, OutputAsk, Planned, reservation
from judgeloop.engine.generating import Sources
from judgeloop.engine.presentation import settles
from judgeloop.engine.state import RunState, Waiting, first_of
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.records import Clearance, End, Reservation, Ticket

T = TypeVar("T")
# Calls admitted for each call that may be in flight. It is above 1, so that the next calls are
# already reserved when a place becomes free.
AHEAD = 1.5
# Queries admitted while judges compute their verdicts and cost nothing.
FREE_AHEAD = 256
# The longest that a computed verdict waits to be booked with others, in seconds.
LINGER_S = 1.0
NAMED = 3  # other runs that a message names


@final
class Accounts:
    """Reserves and books in the ledger, and knows which calls are in flight."""

    def __init__(
        self, judges: Sequence[Judge], ledger: Ledger, state: RunState[Any], sources: Sources | None = None
    ) -> None:
        """The terms in `state` hold the budget and the limit on calls in flight."""
        self._judges = judges
        self._sources = sources or Sources({}, judges, state.terms)
        self._ledger = ledger
        self._state = state
        self._terms = state.terms
        self.by_hand = any(judge.by_hand for judge in judges)
        computed = not any(judge.order_matters for judge in judges)
        self._computed = computed and not self._sources.systems
        self._free = self._computed  # whether the calls wanted last cost nothing
        self.unpaid = False  # whether those cost nothing that counts against a budget either
        self._dearest_p = 0  # the highest worst case of a query so far
        self._in_flight: set[str] = set()  # keys of the calls that are being made
        self._waiting = 0  # calls in flight that wait for money for another attempt
        self._replies: list[tuple[Ticket, Reply]] = []  # that wait to be settled together
        self._writing: asyncio.Task[list[Verdict | Output | None]] | None = None
        self._exchanged: set[Ticket | None] = set()  # earmarks of callers that were cancelled
        self._waits = Waiting(state)

    @property
    def busy(self) -> bool:
        """Whether calls are in flight, which may return money."""
        return bool(self._in_flight)

    @property
    def slots(self) -> int:
        """How many queries may run in parallel; each has one call at a time to each judge."""
        if self.by_hand:  # money is set aside for what people have in hand
            return self._terms.concurrency
        paid = max(1, round(AHEAD * self._terms.concurrency))
        return max(paid, FREE_AHEAD) if self._free else paid

    def wanted(self, queries: Sequence[Planned], known: Mapping[str, object]) -> list[list[Reservation]]:
        """For each query the calls to reserve.

        A call in `known` (its verdict is recorded, or it is being made) is left out. So is a call
        that an earlier query makes, and a second call that is known not to be needed. A query that
        lacks outputs takes the calls for these, and its earmark.
        """
        claimed: set[str] = set()
        groups = []
        for planned in queries:
            asks = [
                ask
                for ask in planned.asks
                if ask.key not in known
                and ask.key not in claimed
                and not (ask.after and isinstance(first := known.get(ask.after), Answer) and settles(first))
            ]
            claimed.update(ask.key for ask in asks)
            groups.append([reservation(ask, self._judges[ask.judge]) for ask in asks])
            if planned.outputs:
                lacked = {ask.key: ask for ask in planned.outputs if ask.key not in known and ask.key not in claimed}
                claimed.update(lacked)
                groups[-1] += map(self._sources.reservation, lacked.values())
                groups[-1].append(self._sources.earmark(planned.query))
        return groups

    def learn_costs(self, groups: Sequence[Sequence[Reservation]]) -> None:
        """Learn from the calls that are wanted now whether calls cost anything; from none nothing."""
        if calls := [*itertools.chain(*groups)]:
            self.unpaid = not any(call.cost_p for call in calls)
            self._dearest_p = max(self._dearest_p, *(sum(call.cost_p for call in group) for group in groups))
            self._free = self._computed and all(map(_is_free, calls))

    async def reserve(
        self, groups: Sequence[Sequence[Reservation]], *, instead: Ticket | None = None, spare_p: int = 0
    ) -> list[list[Ticket]]:
        """Reserve the longest prefix of whole groups that the budget covers, and `spare_p` beside them.

        If any is granted, the earmark `instead` is given back. What is reserved for a caller that
        is cancelled meanwhile is released.
        """
        terms = self._terms
        reserving = asyncio.create_task(
            self._ledger.reserve(terms.run_id, groups, terms.budget_p, instead=instead, spare_p=spare_p)
        )
        try:
            granted = await self.done(asyncio.shield(reserving))
        except asyncio.CancelledError:
            with contextlib.suppress(LedgerError):
                for ticket in itertools.chain(*await reserving):
                    await self.release(ticket, End.UNSENT, "never sent")
                    self._exchanged.add(instead)
            raise
        if granted:
            self._waits.end()
        return granted

    async def others_return(self, wanted: Sequence[Reservation]) -> bool:
        """Wait a moment for money that other runs hold back; return whether to try again."""
        cost_p, terms = sum(call.cost_p for call in wanted), self._terms
        held = await self.done(self._ledger.held_back(terms.run_id, cost_p, terms.budget_p))
        return held is not None and await self._waits.goes_on(_shares(held))

    async def reserve_again(self, ask: Ask | OutputAsk) -> Ticket | None:
        """Reserve another attempt; wait while other calls in flight may still return money.

        Returns None if the budget does not cover the attempt, or if nothing more is sent.
        """
        changes, closed = self._state.changes, self._state.closed
        wanted = [self._of(ask)]
        self._waiting += 1
        changes.notify()
        try:
            while True:
                alone, seen = self._all_wait(), changes.count
                granted = await self.reserve([wanted])
                if granted:
                    return granted[0][0]
                # All calls must wait before and after the reservation was tried: a call that was
                # granted or settled in between may still return money.
                if not (alone and self._all_wait()):
                    await first_of(changes.after(seen), closed.wait())
                elif not await self.others_return(wanted):
                    return None
                if closed.is_set():
                    return None
        finally:
            self._waiting -= 1

    def _of(self, ask: Ask | OutputAsk) -> Reservation:
        if isinstance(ask, OutputAsk):
            return self._sources.reservation(ask)
        return reservation(ask, self._judges[ask.judge])

    def _all_wait(self) -> bool:
        """Whether every call in flight waits for money."""
        return self._waiting >= len(self._in_flight)

    def begins(self, key: str) -> None:
        """Record that a call is being made."""
        self._in_flight.add(key)

    def ends(self, key: str) -> None:
        """Record that a call has ended, with or without an answer."""
        self._in_flight.discard(key)
        self._state.changes.notify()

    async def sending(self, ticket: Ticket) -> Clearance:
        """Record that the call is about to be sent, unless it need not or must not be sent now."""
        cleared = await self.done(self._ledger.sending(ticket))
        if cleared.known is not None:  # another run has paid for it since
            self._state.remembered += isinstance(cleared.known, Answer)
            self._state.changes.notify()
        return cleared

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | Output | None:
        """Book the cost and the answer of a reply; return what is recorded under its key."""
        by_the_round = self._computed and _is_free(ticket)
        book = self._settle_with_others if by_the_round else self._ledger.settle
        self._count(ticket, ticket.cost_p if reply.cost_p is None else reply.cost_p)
        verdict = await self.done(book(ticket, reply))
        self._state.cached_p += reply.saved_p
        self._state.tokens += reply.usage or NO_TOKENS
        self._state.changes.notify()
        return verdict

    async def abandon(self, ticket: Ticket, end: End, why: str) -> None:
        """Leave an attempt charged at its worst case: it is unknown whether it was billed."""
        self._count(ticket, ticket.cost_p)
        await self.done(self._ledger.abandon(ticket, end, why))
        self._state.changes.notify()

    async def release(self, ticket: Ticket, end: End, why: str) -> None:
        """Book no cost: the attempt was certainly not billed."""
        if ticket in self._exchanged:
            return
        await self.done(self._ledger.release(ticket, end, why))
        self._state.changes.notify()

    async def done(self, step: Awaitable[T]) -> T:
        """Await a call of the ledger; if it fails, nothing more is sent."""
        try:
            return await step
        except LedgerError:
            self._state.broke()
            raise

    def _count(self, ticket: Ticket, cost_p: int) -> None:
        if not ticket.rehearsed:
            self._state.spent_p += cost_p
            self._state.outputs_p += ticket.output * cost_p

    async def finish(self) -> None:
        """Wait until the replies of calls that were cancelled are on their way to the ledger."""
        if self._writing is not None:
            await self._writing

    async def _settle_with_others(self, ticket: Ticket, reply: Reply) -> Verdict | Output | None:
        """Settle a reply in one commit with those of the calls in flight."""
        place = len(self._replies)
        self._replies.append((ticket, reply))
        self._state.changes.notify()
        if self._writing is None:
            self._writing = asyncio.create_task(self._settle_all())
        # A caller that is cancelled does not take the others' verdicts with it.
        return (await asyncio.shield(self._writing))[place]

    async def _settle_all(self) -> list[Verdict | Output | None]:
        """Wait until every call in flight has its reply, but not for long; settle the replies."""
        try:
            async with asyncio.timeout(LINGER_S):
                while len(self._replies) + self._waiting < len(self._in_flight):
                    await self._state.changes.after(self._state.changes.count)
        except TimeoutError:
            pass
        replies, self._replies, self._writing = self._replies, [], None
        return await self._ledger.settle_all(replies)

    async def out_of_money(self, planned: Planned) -> StopReason:
        """The reason to halt when a budget does not cover `planned`."""
        need = sum(self._judges[ask.judge].quote(ask.call).cost_p for ask in planned.asks)
        if planned.outputs:
            lacked = [*map(self._sources.reservation, planned.outputs)]
            need = sum(one.cost_p for one in (*lacked, self._sources.earmark(planned.query)))
        terms, waited = self._terms, self._state.and_waited
        spend = await self.done(self._ledger.spend(terms.run_id, terms.budget_p))
        left_p, worst_p = spend.left_p or 0, max(need, self._dearest_p)
        alike = not spend.ledger_is_short and show_usd(left_p) == show_usd(worst_p)  # a digit more tells them apart
        next_query = f"the worst case of a query, {show_usd(worst_p, 2 + alike)}"
        if spend.ledger_is_short:
            least = min(await self.done(self._ledger.balances()), key=lambda one: one.left_p)
            held = f", {_shares(least.held, 'runs')}" if least.held else ""
            return StopReason(
                StopKind.BUDGET,
                f"the {least.title} does not cover {next_query}: {show_usd(least.left_p)} is left{held}, and "
                f"{least.again}{waited}; rerun the command then, or set a higher limit with `judgeloop budget set`, "
                "to resume",
                need_p=need,
            )
        whole = f"the budget of {show_usd(terms.budget_p or 0)}" + f", {show_usd(left_p, 3)}," * alike
        if (why := self._state.trouble) and need <= left_p + spend.held_p:  # nothing else held the rest
            kind, who = (StopKind.JUDGE_FAILED, "judge") if not planned.outputs else (StopKind.SYSTEM_FAILED, "system")
            return StopReason(
                kind, f"the {who} failed: {why}; it was not tried again, as calls in flight held the rest of the money"
            )
        held = f"; calls in flight held {show_usd(spend.held_p)} of it" if spend.held_p else ""
        return StopReason(
            StopKind.BUDGET,
            f"what is left of {whole} does not cover {next_query}{held}{waited}{self._state.and_failed}",
            need_p=worst_p,
        )


def _shares(held: Mapping[str, int], who: str = "other runs") -> str:
    """In words, what runs hold back."""
    runs = [f"{run} {show_usd(held_p)}" for run, held_p in held.items()]
    more = [f"{len(runs) - NAMED} more"] if len(runs) > NAMED else []
    shares = ", ".join([*runs[:NAMED], *more])
    return f"{show_usd(sum(held.values()))} that {who} hold back ({shares})"


def _is_free(call: Reservation | Ticket) -> bool:
    """Whether a call takes no money: it costs nothing, or its cost is only rehearsed."""
    return call.cost_p == 0 or call.rehearsed

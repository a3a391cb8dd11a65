"""Which queries may start, and with what money: the worst case of all their calls, reserved before any is sent.

A query that does not fit while others are in flight waits for them, because settling gives back
what they did not use; it is cut only when it does not fit on its own. So the outcome is the same at
every concurrency. Nothing is sent here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import final

from judgeloop.core.money import show_usd
from judgeloop.core.protocols import Judge, Ledger, Reservation, Ticket
from judgeloop.core.records import StopKind, StopReason
from judgeloop.engine.asks import Ask, Planned, reservation
from judgeloop.engine.halt import Interruption
from judgeloop.engine.presentation import Order
from judgeloop.engine.terms import Terms
from judgeloop.engine.waiting import Changes, first_of

AHEAD = 1.5  # queries admitted, as a share of the calls that may be in flight


@final
class Admission:
    """Reserves money for calls, and knows which of them are in flight."""

    def __init__(
        self, judges: Sequence[Judge], ledger: Ledger, terms: Terms, interruption: Interruption
    ) -> None:
        """The terms say what may be spent, and how many calls may be in flight."""
        self._judges = judges
        self._ledger = ledger
        self._terms = terms
        self._interruption = interruption
        self._in_flight: set[str] = set()  # keys of calls that are being made
        self._waiting = 0  # of these, calls that wait for money for another attempt
        self._changes = Changes()

    @property
    def slots(self) -> int:
        """How many queries may run side by side: more than may be in flight, so that the next are reserved in time."""
        both = self._terms.order is Order.BOTH
        most_calls = max(2 if judge.order_matters and both else 1 for judge in self._judges)
        return max(1, round(AHEAD * self._terms.concurrency) // most_calls)

    def wanted(self, queries: Sequence[Planned], known: Collection[str]) -> list[list[Reservation]]:
        """For each query the calls that nobody has made, is making, or will make for a query before it."""
        claimed: set[str] = set()
        groups = []
        for planned in queries:
            asks = [ask for ask in planned.asks if ask.key not in known and ask.key not in claimed]
            claimed.update(ask.key for ask in asks)
            groups.append([reservation(ask, self._judges[ask.judge]) for ask in asks])
        return groups

    async def reserve(self, groups: Sequence[Sequence[Reservation]]) -> list[list[Ticket]]:
        """Reserve the longest prefix of whole groups that the budget covers."""
        return await self._ledger.reserve(self._terms.run, groups, self._terms.available_p)

    def begins(self, key: str) -> None:
        """A call is being made."""
        self._in_flight.add(key)

    def ends(self, key: str) -> None:
        """A call is over, whatever came of it."""
        self._in_flight.discard(key)
        self._changes.notify()

    def booked(self) -> None:
        """An attempt is closed: it may have given money back."""
        self._changes.notify()

    async def reserve_again(self, ask: Ask) -> Ticket | None:
        """Reserve another attempt; while other calls are in flight, their settling may make room for it.

        None where the money does not last, or an interruption makes it pointless.
        """
        self._waiting += 1
        self._changes.notify()
        try:
            while True:
                alone, seen = self._all_wait(), self._changes.count
                granted = await self.reserve([[reservation(ask, self._judges[ask.judge])]])
                if granted:
                    return granted[0][0]
                # Before and after: whoever was granted or settled in between may yet give something back.
                if (alone and self._all_wait()) or self._interruption.requested.is_set():
                    return None
                await first_of(self._changes.after(seen), self._interruption.requested.wait())
        finally:
            self._waiting -= 1

    def _all_wait(self) -> bool:
        return self._waiting >= len(self._in_flight)

    def out_of_money(self, planned: Planned) -> StopReason:
        """The budget does not cover `planned`."""
        need = sum(self._judges[ask.judge].quote(ask.call).cost_p for ask in planned.asks)
        return StopReason(
            StopKind.BUDGET,
            f"what is left of the budget of {show_usd(self._terms.budget_p or 0)} does not cover the "
            f"worst case of the next query, {show_usd(need)}; with a higher `budget` the same command "
            "goes on",
        )

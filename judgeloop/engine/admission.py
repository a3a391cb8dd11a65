"""Admits queries: reserves the worst-case cost of all calls of a query before the first is sent.

A query that the budget does not cover while others are in flight waits for them: settling returns
the unused part of their reservations. The run halts only if the budget does not cover the query on
its own. So the outcome is the same at every concurrency. Nothing is sent here (`attempts.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import final

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.protocols import Judge, Ledger, Reservation, Ticket
from judgeloop.core.records import Verdict
from judgeloop.engine.asks import Ask, Planned, reservation
from judgeloop.engine.presentation import settles
from judgeloop.engine.terms import Terms
from judgeloop.engine.waiting import Changes, first_of

# Calls admitted for each call that may be in flight. It is above 1, so that the next calls are
# already reserved when a place becomes free.
AHEAD = 1.5
# Queries admitted while judges that compute their verdicts (a metric, recorded verdicts) cost
# nothing. They answer faster than the disk writes, so that many are booked in one transaction.
FREE_AHEAD = 256


@final
class Admission:
    """Reserves money for calls, and records which calls are in flight."""

    def __init__(
        self, judges: Sequence[Judge], ledger: Ledger, terms: Terms, closed: asyncio.Event
    ) -> None:
        """`terms` holds the budget and the limit on calls in flight.

        `closed` is set when nothing more is sent (`Halt.closed`).
        """
        self._judges = judges
        self._ledger = ledger
        self._terms = terms
        self._closed = closed
        self._free = False  # whether the calls reserved last cost nothing
        self._in_flight: set[str] = set()  # keys of the calls that are being made
        self._waiting = 0  # calls in flight that wait for money for another attempt
        self._changes = Changes()

    @property
    def slots(self) -> int:
        """How many queries may run in parallel; each has one call at a time to each judge."""
        paid = max(1, round(AHEAD * self._terms.concurrency))
        return max(paid, FREE_AHEAD) if self._free else paid

    def wanted(
        self, queries: Sequence[Planned], known: Mapping[str, object]
    ) -> list[list[Reservation]]:
        """Return for each query the calls to reserve.

        A call in `known` (its verdict is recorded, or it is being made) is left out. So is a call
        that an earlier query makes, and a second call that is known not to be needed.
        """
        claimed: set[str] = set()
        groups = []
        for planned in queries:
            asks = [
                ask
                for ask in planned.asks
                if ask.key not in known
                and ask.key not in claimed
                and not (ask.after and _is_settled(known.get(ask.after)))
            ]
            claimed.update(ask.key for ask in asks)
            groups.append([reservation(ask, self._judges[ask.judge]) for ask in asks])
        if any(groups):
            computed = not any(judge.order_matters for judge in self._judges)
            self._free = computed and not any(call.cost_p for group in groups for call in group)
        return groups

    async def reserve(self, groups: Sequence[Sequence[Reservation]]) -> list[list[Ticket]]:
        """Reserve the longest prefix of whole groups that the budget covers."""
        return await self._ledger.reserve(self._terms.run, groups, self._terms.budget_p)

    def begins(self, key: str) -> None:
        """Record that a call is being made."""
        self._in_flight.add(key)

    def ends(self, key: str) -> None:
        """Record that a call has ended, with or without an answer."""
        self._in_flight.discard(key)
        self._changes.notify()

    def booked(self) -> None:
        """Record that an attempt is closed, which may have returned money to the budget."""
        self._changes.notify()

    async def reserve_again(self, ask: Ask) -> Ticket | None:
        """Reserve another attempt; wait while other calls in flight may still return money.

        Returns None if the budget does not cover the attempt, or if nothing more is sent.
        """
        self._waiting += 1
        self._changes.notify()
        try:
            while True:
                alone, seen = self._all_wait(), self._changes.count
                granted = await self.reserve([[reservation(ask, self._judges[ask.judge])]])
                if granted:
                    return granted[0][0]
                # All calls must wait before and after the reservation was tried: a call that was
                # granted or settled in between may still return money.
                if (alone and self._all_wait()) or self._closed.is_set():
                    return None
                await first_of(self._changes.after(seen), self._closed.wait())
        finally:
            self._waiting -= 1

    def _all_wait(self) -> bool:
        """Return whether every call in flight waits for money."""
        return self._waiting >= len(self._in_flight)

    def out_of_money(self, planned: Planned) -> StopReason:
        """Return the reason to halt when the budget does not cover `planned`."""
        need = sum(self._judges[ask.judge].quote(ask.call).cost_p for ask in planned.asks)
        of_all, own = self._terms.ledger_budget_p, self._terms.budget_p
        limits = {}
        if own is not None:
            limits["`budget`"] = f"the budget of {show_usd(own)}"
        if of_all is not None:
            limits["`ledger_budget`"] = (
                f"the limit of {show_usd(of_all)} for all runs of the ledger"
            )
        return StopReason(
            StopKind.BUDGET,
            f"what is left of {' or of '.join(limits.values())} does not cover the worst case of the next query, "
            f"{show_usd(need)}; with a higher {' or '.join(limits)} the same "
            "command goes on",
            # Which of two limits is too low is not known here, nor which would do.
            need_p=need if of_all is None else 0,
        )


def _is_settled(first: object) -> bool:
    """Return whether what is known of a first call makes the second unnecessary."""
    return isinstance(first, Verdict) and settles(first)

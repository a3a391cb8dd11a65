"""Tells whether a reply contradicts its quote, so that no budget can be kept. Pure."""

from __future__ import annotations

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.money import show_usd
from judgeloop.core.protocols import Ticket
from judgeloop.core.records import Reply


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

"""Which order of presentation takes fewer calls, by the earlier verdicts of a judge. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from judgeloop.core.records import Verdict
from judgeloop.ledger.replies import PastReply
from judgeloop.methods.stats.agreement import CLEARLY_CHEAPER, FEWEST_BOTH, calls_of_one_order


def order_advice(replies: Iterable[PastReply]) -> str:
    """Return a sentence on the order that takes fewer calls; empty where the verdicts say nothing.

    The first verdict on two texts counts as the first call, and one in the other order, if there is
    one, as the second.
    """
    firsts: dict[tuple[str, ...], Verdict] = {}
    seconds: dict[tuple[str, ...], Verdict] = {}
    for reply in replies:
        asked, verdict = reply.ingredients, reply.verdict
        if not asked.compares:
            continue
        place, shown, other = (asked.prompt, asked.reference), asked.outputs, asked.outputs[::-1]
        if (*place, *other) in firsts:
            seconds.setdefault((*place, *other), verdict)
        else:
            firsts.setdefault((*place, *shown), verdict)
    decisive = [texts for texts, verdict in firsts.items() if verdict.preference]
    both = [texts for texts in decisive if texts in seconds]
    if len(both) < FEWEST_BOTH:
        return ""
    flips = sum(seconds[texts].preference != -firsts[texts].preference for texts in both)
    multiple = calls_of_one_order(len(decisive) / len(firsts), flips / len(both))
    said = (
        f"of {len(both):,} items that it judged in both orders, the second verdict contradicts the "
        f"first on {flips}"
    )
    if multiple is None or CLEARLY_CHEAPER <= multiple <= 1 / CLEARLY_CHEAPER:
        return f"{said}; one order and both take about as many calls to a decision"
    if multiple < 1:
        return (
            f"{said}; one order (`order=random`) would take about {multiple:.0%} of the calls, for "
            "a decision about items like yours"
        )
    return f"{said}; both orders (`order=both`) take about {1 / multiple:.0%} of the calls of one order"

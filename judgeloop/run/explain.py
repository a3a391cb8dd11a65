"""`ledger explain`: why a query was, or was not, answered from the ledger.

It reads the ledger and compares the ingredients of keys; it asks nobody and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judgeloop.compare.prepare import Comparison
from judgeloop.compare.run import terms_of
from judgeloop.core.errors import InputError
from judgeloop.core.records import Verdict
from judgeloop.engine.batch import Ask, asks_for
from judgeloop.ledger.sqlite import RecordedAttempt, SqliteLedger

FIRST, SECOND = "output shown first", "output shown second"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One call of the query: the verdict held for it, or the attempts that come nearest and what differs.

    `attempts` are those under the very key, which brought no verdict; `differences` the ingredients in which the nearest
    other attempt on the item differs, with its value and this one's.
    """

    judge: str
    shown_first: str
    key: str
    verdict: Verdict | None
    attempts: tuple[RecordedAttempt, ...]
    differences: Mapping[str, tuple[str, str]] | None


async def explain(comparison: Comparison, item_id: str) -> list[Explanation]:
    """Explain every call that the item's query takes.

    Raises:
        InputError: there is no such item, or no ledger.
    """
    ids = [item.id for item in comparison.pool.items]
    if item_id not in ids:
        raise InputError(
            f"ledger explain {item_id}: there is no such item among {len(ids)}, such as {ids[0]!r}"
        )
    if not comparison.config.ledger.is_file():
        raise InputError(
            f"--ledger {comparison.config.ledger}: there is no such file, so nothing is remembered"
        )
    query = comparison.pool.query(ids.index(item_id))
    terms = terms_of(comparison)
    asks = asks_for(query, comparison.judges, terms.order, terms.seed)
    ledger = SqliteLedger(comparison.config.ledger)
    try:
        held = await ledger.verdicts([ask.key for ask in asks])
        attempts = await ledger.attempts(item_id)
    finally:
        await ledger.aclose()
    return [_explanation(comparison, ask, held.get(ask.key), attempts) for ask in asks]


def _explanation(
    comparison: Comparison, ask: Ask, verdict: Verdict | None, attempts: Sequence[RecordedAttempt]
) -> Explanation:
    own = tuple(attempt for attempt in attempts if attempt.key == ask.key)
    nearest: dict[str, tuple[str, str]] | None = None
    if verdict is None and not own:
        others = [
            _differences(attempt.ingredients, ask.ingredients)
            for attempt in attempts
            if attempt.ingredients
        ]
        nearest = min(others, key=len, default=None)
    return Explanation(
        judge=comparison.judges[ask.judge].identity.name,
        shown_first=ask.call.systems[0],
        key=ask.key,
        verdict=verdict,
        attempts=own,
        differences=nearest,
    )


def _differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    found = {
        name: (theirs.get(name, "absent"), ours.get(name, "absent"))
        for name in sorted(theirs.keys() | ours.keys())
        if theirs.get(name) != ours.get(name)
    }
    first, second = found.get(FIRST), found.get(SECOND)
    if first is not None and second == first[::-1]:
        del found[FIRST], found[SECOND]
        found["order of presentation"] = ("the other way round", "this way")
    return found

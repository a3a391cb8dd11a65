"""`ledger explain`: finds out why a query was, or was not, answered from the ledger.

It reads the ledger and compares the ingredients of keys. It asks no judge and changes nothing.
`findings.py` formats the explanations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.core.records import Verdict
from judgeloop.engine.asks import Ask, plan_for
from judgeloop.ledger.reading import RecordedAttempt
from judgeloop.ledger.sqlite import SqliteLedger
from judgeloop.run.drive import terms_of
from judgeloop.run.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a call of the query was, or was not, answered from the ledger.

    `verdict` is the verdict under the call's key; None if there is none. `attempts` are the
    attempts under the same key. `differences` are the ingredients in which the nearest other
    attempt on the item differs, each with the value of that attempt and the value of this call. It
    is None if there is a verdict, an attempt under the same key, or no other attempt on the item.
    """

    judge: str
    shown_first: str
    key: str
    verdict: Verdict | None
    attempts: tuple[RecordedAttempt, ...]
    differences: Mapping[str, tuple[str, str]] | None


async def explain(prepared: Prepared[Any], item_id: str) -> list[Explanation]:
    """Return the explanation of every call that the item's query takes.

    Raises:
        InputError: there is no such item, or no ledger.
    """
    ids = [item.id for item in prepared.pool.items]
    if item_id not in ids:
        raise InputError(
            f"ledger explain {item_id}: there is no such item among {len(ids)}, such as {ids[0]!r}"
        )
    path = prepared.config.ledger
    if not path.is_file():
        raise InputError(f"`ledger={path}`: there is no such file, so nothing is remembered")
    terms = terms_of(prepared)
    query = prepared.pool.query(ids.index(item_id))
    asks = plan_for(query, prepared.judges, terms).asks
    ledger = SqliteLedger(path)
    try:
        held = await ledger.verdicts([ask.key for ask in asks])
        attempts = await ledger.attempts(item_id)
    finally:
        await ledger.aclose()
    return [_explanation(prepared, ask, held.get(ask.key), attempts) for ask in asks]


def _explanation(
    prepared: Prepared[Any],
    ask: Ask,
    verdict: Verdict | None,
    attempts: Sequence[RecordedAttempt],
) -> Explanation:
    own = tuple(attempt for attempt in attempts if attempt.key == ask.key)
    nearest: dict[str, tuple[str, str]] | None = None
    if verdict is None and not own:
        others = [
            attempt.ingredients.differences(ask.ingredients)
            for attempt in attempts
            if attempt.ingredients is not None
        ]
        nearest = min(others, key=len, default=None)
    return Explanation(
        judge=prepared.judges[ask.judge].identity.name,
        shown_first=ask.call.systems[0],
        key=ask.key,
        verdict=verdict,
        attempts=own,
        differences=nearest,
    )

"""Reads what a judge has replied lately from an open ledger connection. Writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from judgeloop.core.protocols import End
from judgeloop.core.records import JudgeIdentity, Verdict
from judgeloop.core.verdict_key import KeyedJudge, KeyIngredients
from judgeloop.ledger.rows import AttemptRow, LedgerConnection, VerdictRow, one, read

LATEST = 2_000  # attempts that are looked through, of all judges
AMONG_THE_LATEST = (
    "id > (SELECT coalesce(max(id), 0) FROM attempts) - ? AND judge = ? AND NOT rehearsed"
)


@dataclass(frozen=True, slots=True)
class PastReply:
    """A reply that brought a verdict: what the judge was asked about, and what it said."""

    ingredients: KeyIngredients
    verdict: Verdict


def reply_lengths(connection: LedgerConnection, judge: JudgeIdentity) -> list[int]:
    """Return the output tokens of this very judge's latest replies.

    They are those with a verdict, and those that were cut off: these are at least as long. Without
    them a repeated run would pay again for a reply that it cuts off at the same limit.
    """
    return [
        int(json.loads(row.usage)["output_tokens"])
        for row, _ in _latest(connection, judge, End.VERDICT, End.TRUNCATED)
        if row.usage is not None
    ]


def replies_of(connection: LedgerConnection, judge: JudgeIdentity) -> list[PastReply]:
    """Return this very judge's latest replies with a verdict, in the order of the attempts."""
    found = []
    for row, ingredients in list(_latest(connection, judge, End.VERDICT)):
        kept = one(connection, VerdictRow, "key = ?", row.key)
        if kept is not None:
            found.append(PastReply(ingredients, Verdict(kept.score, kept.reason)))
    return found


def _latest(
    connection: LedgerConnection, judge: JudgeIdentity, *ends: End
) -> Iterator[tuple[AttemptRow, KeyIngredients]]:
    """Yield the attempts with one of these ends among the latest, with what their keys are made of."""
    wanted = KeyedJudge.of(judge)
    where = f"{AMONG_THE_LATEST} AND ended IN ({', '.join('?' * len(ends))}) ORDER BY id"
    for row in read(connection, AttemptRow, where, LATEST, judge.name, *ends):
        ingredients = KeyIngredients.from_note(json.loads(row.note).get("ingredients", {}))
        if ingredients is not None and ingredients.judge == wanted:
            yield row, ingredients

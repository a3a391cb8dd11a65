"""Reads verdicts by key, an item's attempts and a run's spend from an open ledger connection.

Writes nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from judgeloop.core.records import Spend, Verdict
from judgeloop.core.verdict_key import KeyIngredients

KEYS_PER_LOOKUP = 500  # SQLite limits the number of parameters of a statement


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """An attempt as recorded: its key, judge, state, outcome, cost and start.

    `charged_p` is in picodollars, `began_at` in ISO 8601 (UTC). `ingredients` are the ingredients
    of its key; None if the recorded note has none.
    """

    key: str
    judge: str
    state: str
    outcome: str
    charged_p: int
    began_at: str
    ingredients: KeyIngredients | None


def verdicts_under(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Verdict]:
    """Return the verdicts recorded under `keys`; a key without a verdict is left out."""
    held: dict[str, Verdict] = {}
    for begin in range(0, len(keys), KEYS_PER_LOOKUP):
        some = keys[begin : begin + KEYS_PER_LOOKUP]
        marks = ",".join("?" * len(some))
        rows = connection.execute(
            f"SELECT key, score, reason FROM verdicts WHERE key IN ({marks})",  # noqa: S608 - only question marks are inserted
            list(some),
        )
        held.update((key, Verdict(score, reason)) for key, score, reason in rows)
    return held


def attempts_of(connection: sqlite3.Connection, item_id: str) -> list[RecordedAttempt]:
    """Return the attempts on an item, the latest first."""
    rows = connection.execute(
        "SELECT key, judge, state, outcome, charged_p, began_at, note FROM attempts "
        "WHERE item_id = ? ORDER BY id DESC",
        (item_id,),
    )
    return [
        RecordedAttempt(
            key,
            judge,
            state,
            outcome or "",
            charged_p,
            began_at,
            KeyIngredients.from_note(json.loads(note).get("ingredients", {})),
        )
        for key, judge, state, outcome, charged_p, began_at, note in rows
    ]


def spend_of(connection: sqlite3.Connection, run: str, opener: str, budget_p: int | None) -> Spend:
    """Return what `run` has cost, and what its attempts by `opener` have cost.

    `opener` identifies the ledger object that recorded an attempt. In `Spend`, `now_p` and
    `attempts` count only the attempts of `opener`.
    """
    row = connection.execute(
        "SELECT coalesce(sum(charged_p) FILTER (WHERE opener = :opener AND NOT rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE NOT rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE state IN ('reserved', 'abandoned')), 0), "
        "count(*) FILTER (WHERE opener = :opener), count(*) FILTER (WHERE charged_p > 0) "
        "FROM attempts WHERE run = :run",
        {"run": run, "opener": opener},
    ).fetchone()
    now_p, run_p, rehearsed_p, unconfirmed_p, attempts, paid = row
    return Spend(now_p, run_p, rehearsed_p, unconfirmed_p, budget_p, attempts, paid)

"""Reads verdicts by key, an item's attempts and a run's spend from an open ledger connection.

Writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Spend
from judgeloop.core.protocols import End
from judgeloop.core.records import Verdict
from judgeloop.core.verdict_key import KeyIngredients, as_text
from judgeloop.ledger.rows import (
    AttemptRow,
    LedgerConnection,
    RunRow,
    TextRow,
    VerdictRow,
    damaged,
    one,
    read,
    read_many,
)

Columns = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]
NO_VERDICTS: Columns = (
    np.empty(0, dtype=np.int64),
    np.empty((0, 7), dtype=np.int32),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.float64),
)
KEYS_PER_LOOKUP = 500  # SQLite limits the number of parameters of a statement


@dataclass(frozen=True, eq=False, slots=True)
class RecordedVerdicts:
    """n verdicts in the order of their attempts, with what their keys are made of.

    `numbers`, shape (n, 7), are numbers of `texts` (JSON values): of the run, the judge, the place,
    the names of the systems and the digests of their outputs, in the order shown to the judge.
    `NOTHING` is in the place of a second system where one is rated, and of all in a verdict whose
    ingredients are not known. `scores` and `costs_p` (picodollars) have the shape (n,).
    """

    texts: Mapping[str, int]
    numbers: NDArray[np.int32]
    scores: NDArray[np.float64]
    costs_p: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """An attempt as recorded: its run, key, judge, state, outcome, cost and start.

    `charged_p` is in picodollars, `began_at` in ISO 8601 (UTC). `ingredients` are the ingredients
    of its key; None if the recorded note has none.
    """

    run: str
    key: str
    judge: str
    state: str
    outcome: str
    charged_p: int
    began_at: str
    ingredients: KeyIngredients | None


def verdicts_under(connection: LedgerConnection, keys: Sequence[str]) -> dict[str, Verdict]:
    """Return the verdicts recorded under `keys`; a key without a verdict is left out."""
    held: dict[str, Verdict] = {}
    for begin in range(0, len(keys), KEYS_PER_LOOKUP):
        some = keys[begin : begin + KEYS_PER_LOOKUP]
        rows = read(connection, VerdictRow, f"key IN ({','.join('?' * len(some))})", *some)
        held.update((row.key, Verdict(row.score, row.reason)) for row in rows)
    return held


def recorded_verdicts(
    connection: LedgerConnection, until: int, of_runs: Collection[str]
) -> RecordedVerdicts:
    """Return the verdicts up to the number `until`, each row checked.

    If `of_runs` has any run, those of all others are left out.

    Raises:
        DamagedLedgerError: a verdict or a text is not as it was written, or a text is missing.
    """
    texts = {
        text: number for rows in read_many(connection, TextRow, "true") for number, text, _ in rows
    }
    runs = [texts[text] for text in map(as_text, of_runs) if text in texts]
    among = f"AND run IN ({', '.join('?' * len(runs))})" if of_runs else ""
    # In the order written: to sort rows by their attempts, SQLite would copy them all.
    where = f"seq <= ? {among} ORDER BY seq"
    found = read_many(connection, VerdictRow, where, until, *runs)
    parts = [NO_VERDICTS, *map(_columns, found)]
    attempts, numbers, costs_p, scores = map(np.concatenate, zip(*parts, strict=True))
    known = np.zeros(1 + max(numbers.max(initial=0), *texts.values()), dtype=np.bool_)
    known[list(texts.values())] = True
    if not known[numbers].all():
        raise damaged(connection, TextRow, numbers[~known[numbers]][0], "is missing")
    order = np.argsort(attempts, kind="stable")
    return RecordedVerdicts(texts, numbers[order], scores[order], costs_p[order])


def _columns(rows: Sequence[tuple[Any, ...]]) -> Columns:
    """Return the attempts, the numbers of texts, the costs and the scores of verdicts."""
    _, attempts, costs_p, scores, *others = zip(*rows, strict=True)
    numbers = [np.array(column, dtype=np.int32) for column in others[-8:-1]]
    return (
        np.array(attempts, dtype=np.int64),
        np.stack(numbers, axis=1),
        np.array(costs_p, dtype=np.int64),
        np.array(scores, dtype=np.float64),
    )


def no_verdicts() -> RecordedVerdicts:
    """Return what a ledger without verdicts returns."""
    _, numbers, costs_p, scores = NO_VERDICTS
    return RecordedVerdicts({}, numbers, scores, costs_p)


def models_of(connection: LedgerConnection, run: str) -> dict[str, list[str]]:
    """Return the models that servers named in replies to `run`, the first first, by judge."""
    found: dict[str, list[str]] = {}
    for judge, model in connection.execute(
        "SELECT judge, model FROM attempts WHERE run = ? AND model IS NOT NULL AND model != '' "
        "GROUP BY judge, model ORDER BY min(id)",
        (run,),
    ):
        found.setdefault(judge, []).append(model)
    return found


def attempts_of(connection: LedgerConnection, item_id: str) -> list[RecordedAttempt]:
    """Return the attempts on an item, the latest first."""
    return [
        RecordedAttempt(
            row.run,
            row.key,
            row.judge,
            row.state,
            row.outcome or "",
            row.charged_p,
            row.began_at,
            KeyIngredients.from_note(json.loads(row.note).get("ingredients", {})),
        )
        for row in read(connection, AttemptRow, "item_id = ? ORDER BY id DESC", item_id)
    ]


def charged_to_others(connection: LedgerConnection, run: str) -> int:
    """Return what all runs but `run` were charged, rehearsed costs included, in picodollars."""
    found = connection.execute("SELECT coalesce(sum(charged_p), 0) FROM runs WHERE id <> ?", (run,))
    return int(found.fetchone()[0])


def spend_of(
    connection: LedgerConnection,
    run: str,
    opener: str,
    budget_p: int | None,
    ledger_budget_p: int | None = None,
) -> Spend:
    """Return what `run` has cost, and what its attempts by `opener` have cost.

    `opener` identifies the ledger object that recorded an attempt. In `Spend`, `now_p` is only what
    its attempts cost.

    Raises:
        DamagedLedgerError: the run was not charged what its attempts were.
    """
    row = connection.execute(
        "SELECT coalesce(sum(charged_p) FILTER (WHERE opener = :opener AND NOT rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE NOT rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE state IN ('reserved', 'sent', 'abandoned')), 0), "
        "count(*) FILTER (WHERE charged_p > 0), "
        "coalesce(sum(charged_p - reserved_p) FILTER (WHERE charged_p > reserved_p), 0), "
        "count(*) FILTER (WHERE state = 'settled' AND usage IS NULL AND charged_p = reserved_p "
        "AND charged_p > 0 AND NOT rehearsed AND ended <> :later) "
        "FROM attempts WHERE run = :run",
        {"run": run, "opener": opener, "later": End.RECONCILED},
    ).fetchone()
    now_p, run_p, rehearsed_p, unconfirmed_p, paid, over_p, unreported = row
    known = one(connection, RunRow, "id = ?", run)
    if (known.charged_p if known else 0) != run_p + rehearsed_p:
        problem = "does not hold the sum of what its attempts were charged"
        raise damaged(connection, RunRow, known.seq if known else run, problem)
    left_p = None
    if ledger_budget_p is not None:
        left_p = max(0, ledger_budget_p - charged_to_others(connection, run) - run_p - rehearsed_p)
    return Spend(
        now_p,
        run_p,
        rehearsed_p,
        unconfirmed_p,
        budget_p,
        paid_attempts=paid,
        over_p=over_p,
        replies_without_usage=unreported,
        ledger_left_p=left_p,
    )

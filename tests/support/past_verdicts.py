"""Verdicts of other runs in a ledger: some of each kind that a history has to tell apart."""

from __future__ import annotations

import json
from contextlib import closing

from judgeloop.core.records import Call, Item, JudgeIdentity
from judgeloop.core.verdict_key import KeyIngredients
from judgeloop.ledger.booking import ingredients_of
from judgeloop.ledger.charges import run_row
from judgeloop.ledger.rows import AttemptRow, VerdictRow, insert
from judgeloop.ledger.sqlite import connect

NOW = "2026-01-01T00:00:00.000+00:00"
JUDGES = [
    JudgeIdentity("metric", "exact", {'tie\'s "margin"': "0.0\u00e9"}, mark=":"),
    JudgeIdentity("openai", "m", {}),
]
RUNS = [f"{number:016x}" for number in range(4)]


def write(path, first, last):
    """Write verdicts with the numbers from `first` to before `last`."""
    with closing(connect(path)) as connection:
        connection.execute("BEGIN")
        for number in range(first, last):
            run, judge = RUNS[number % 3], JUDGES[number % 2]
            run_row(connection, run)
            item = Item(f"i'{number % 7}\u4e2d", f"prompt {number % 7}", None)
            rated = number % 5 == 0
            systems = ("a",) if rated else ("a", f"b{number % 3}")
            call = Call(item, systems, tuple(f"{name} {number}" for name in systems))
            told = KeyIngredients.of(judge, call, blind=number % 4 != 0).to_note()
            note = {"ingredients": told, "systems": list(systems), "price": ""}
            note = {"price": ""} if number % 11 == 0 else note
            attempt = AttemptRow(
                number, run, "opener", f"k{number}", item.id, judge.name, json.dumps(note),
                "settled", "verdict", 5, number, 0, "verdict", None, "m'", "", NOW, NOW,
            )  # fmt: skip
            insert(connection, attempt)
            why = f'it\'s "{number}"\n\u00e9'
            ingredients = ingredients_of(connection, attempt)
            insert(connection, VerdictRow(number, number, number, 0.5, f"k{number}", why, ingredients))
        connection.execute("COMMIT")

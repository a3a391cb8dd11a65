"""What a ledger remembers of other runs: every verdict with its ingredients, and no changed one."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from support.database import opened
from support.past_verdicts import JUDGES, RUNS, write

from judgeloop.core.errors import DamagedLedgerError
from judgeloop.core.ledger import Reservation
from judgeloop.core.records import Call, Item, Reply, Verdict
from judgeloop.core.verdict_key import KeyedJudge, KeyIngredients
from judgeloop.history.verdict_columns import remembered_verdicts
from judgeloop.ledger.inspection import inspect, salvage
from judgeloop.ledger.opening import open_ledger, runs_of


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "ledger.sqlite", 1, 100)
    return tmp_path / "ledger.sqlite"


def read(path, run=None, **more):
    """The verdicts as rows: run, judge, place, systems, outputs shown, score and cost."""
    with opened(path) as connection:
        texts = [json.loads(text) for (text,) in connection.execute("SELECT text FROM texts")]
    every = [text for text in texts if isinstance(text, str)]
    found = remembered_verdicts(path, run, begin=False, outputs=every, **more)
    values = {number: json.loads(text) for text, number in found.texts.items()}
    columns = [found.run, found.judge, found.place, *found.systems.T, *found.shown.T]
    texts = [[values.get(number) for number in column.tolist()] for column in columns]
    return list(zip(*texts, found.scores.tolist(), found.costs_p.tolist(), strict=True))


def noted(path, of_runs=RUNS):
    """The same from the notes of the attempts; those without ingredients are left out."""
    rows = []
    with opened(path) as connection:
        found = connection.execute("SELECT run, item_id, note, charged_p FROM attempts ORDER BY id")
        for run, item, note, cost_p in found:
            told = json.loads(note)
            if run in of_runs and "ingredients" in told:
                ingredients = KeyIngredients.from_note(told["ingredients"])
                judge = json.loads(json.dumps(ingredients.judge))
                systems, shown = ([*pair, None][:2] for pair in (told["systems"], ingredients.outputs))
                rows.append((run, judge, list(ingredients.place(item)), *systems, *shown, 0.5, cost_p))
    return rows


def test_verdicts_have_the_ingredients_that_their_attempts_note(path):
    assert len(read(path)) == 90
    assert read(path) == noted(path)


def test_they_are_in_the_order_of_the_attempts_not_of_the_replies(tmp_path):
    async def story():
        ledger = open_ledger(tmp_path / "ledger.sqlite")
        told = KeyIngredients.of(JUDGES[1], Call(Item("i", "p"), ("a",), ("x",)), blind=True)
        note = {"ingredients": told.to_note(), "systems": ["a"]}
        wanted = [[Reservation(key, 9, "i", "m", note) for key in "xyz"]]
        (tickets,) = await ledger.reserve(RUNS[0], wanted, None)
        for at in (2, 0, 1):
            await ledger.settle(tickets[at], Reply(Verdict(at / 2), cost_p=at))
        await ledger.aclose()

    asyncio.run(story())
    assert [row[-2:] for row in read(tmp_path / "ledger.sqlite")] == [(0.0, 0), (0.5, 1), (1.0, 2)]


@pytest.mark.parametrize("of_runs", [(RUNS[0],), (RUNS[1], RUNS[2]), (RUNS[3],)])
def test_a_choice_of_runs_leaves_out_all_others(path, of_runs):
    assert read(path, of_runs=of_runs) == noted(path, of_runs)


@pytest.mark.parametrize("hour", ["2026-01-01T11:00", "2030-01-01T00:00", "2020-01-01T00:00"])
def test_a_run_sees_what_it_first_saw_however_the_clock_is_set(path, monkeypatch, hour):
    assert len(remembered_verdicts(path, RUNS[3], begin=True)) == 90
    first, known = read(path, RUNS[3]), [run.id for run in runs_of(path)]
    monkeypatch.setattr("judgeloop.ledger.sqlite.now", lambda: hour)
    monkeypatch.setattr("support.past_verdicts.NOW", hour)
    write(path, 100, 160)
    assert len(read(path)) > 90
    assert read(path, RUNS[3]) == first
    assert len(remembered_verdicts(path, "next", begin=True)) == len(read(path))
    assert [run.id for run in runs_of(path)] == [*known, "next"], "in the order in which they began"


@pytest.mark.parametrize(
    "change",
    [
        "texts SET text = replace(text, 'b1', 'b2') WHERE text = '\"b1\"'",
        "verdicts SET ingredients = randomblob(28) WHERE seq = 7",
        "verdicts SET score = 1 WHERE seq = 7",
        "verdicts SET cost_p = 1 WHERE seq = 7",
    ],
)
def test_a_changed_ingredient_is_no_history(path, change):
    with opened(path) as connection:
        connection.execute("DELETE FROM texts WHERE text = '\"b2\"'")
        connection.execute(f"UPDATE {change}")
    with pytest.raises(DamagedLedgerError, match=r"of the table (texts|verdicts)"):
        read(path)


def test_a_text_that_is_missing_is_an_error_and_found(path):
    with opened(path) as connection:
        connection.execute("DELETE FROM texts WHERE text = '\"b2\"'")
    with pytest.raises(DamagedLedgerError, match=r"of the table texts .* is missing"):
        read(path)
    assert any(re.fullmatch(r"row \d+ of texts is missing", told) for told in inspect(path).problems)


def test_a_salvaged_ledger_remembers_the_same(path, tmp_path):
    salvage(path, tmp_path / "new.sqlite")
    assert read(tmp_path / "new.sqlite") == read(path)


def test_a_judge_is_read_as_it_was_written(path):
    found = remembered_verdicts(path, None, begin=False)
    judges = {KeyedJudge("metric", "exact", (('tie\'s "margin"', "0.0\u00e9"),)), KeyedJudge("openai", "m", ())}
    assert set(found.judges.values()) == judges
    assert found.by_judges(sorted(judges)).all()


def test_without_a_ledger_there_is_nothing_and_none_is_made(tmp_path):
    assert len(remembered_verdicts(tmp_path / "none.sqlite", None, begin=False)) == 0
    assert not (tmp_path / "none.sqlite").exists()

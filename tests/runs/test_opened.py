"""A command opens its ledger once, and a forecast leaves none behind."""

from __future__ import annotations

import asyncio

import pytest

from judgeloop.ledger import sqlite
from judgeloop.ledger.opening import open_reader
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.questions.kept import keep
from judgeloop.runs.begin import opened

DATA = {
    "compare": {"first": "a.jsonl", "second": "b.jsonl"},
    "select": {"outputs": ("a.jsonl", "b.jsonl", "c.jsonl")},
    "estimate": {"outputs": "a.jsonl", "half_width": 0.2},
    "agree": {"outputs": ("a.jsonl", "b.jsonl"), "truth": ("metric:rouge2",)},
}


@pytest.fixture
def connections(tmp_path, monkeypatch):
    """How often the store was connected to since; in a folder with outputs of three systems."""
    for name in "abc":
        rows = (
            f'{{"id": "{n}", "prompt": "p{n}", "reference": "a b c", "output": "{name * 2} {n % 3}"}}'
            for n in range(30)
        )
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)
    found, connect = [], sqlite.connect
    monkeypatch.setattr(sqlite, "connect", lambda place: found.append(place) or connect(place))
    return found


def prepared(row, **settings):
    question = row.load()
    config = row.settings().of(**DATA[row.name], judge=("metric:rouge1",), ledger="ledger.sqlite", **settings)
    return question, question.prepare(config, {})


@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: row.name)
def test_what_a_command_asks_reads_and_keeps_goes_through_one_connection(row, connections):
    for seed in (0, 0, 1):  # anew, again, and beside another run of the same outputs
        question, ready = prepared(row, seed=seed)
        connections.clear()
        with opened(ready) as run:
            keep(run, asyncio.run(question.run(run)))
        assert connections == ["ledger.sqlite"]
        forecast = asyncio.run(question.forecast(ready))
        assert connections == ["ledger.sqlite"] * 2
        assert forecast.calls.worst == 0
    with open_reader("ledger.sqlite") as reader:
        assert all(reader.result(run.id) is not None for run in reader.runs())


@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: row.name)
def test_a_forecast_without_a_ledger_makes_none(row, connections, tmp_path):
    question, ready = prepared(row)
    forecast = asyncio.run(question.forecast(ready))
    assert connections == [":memory:"]
    assert forecast.judgments.worst > 0
    assert not (tmp_path / "ledger.sqlite").exists()

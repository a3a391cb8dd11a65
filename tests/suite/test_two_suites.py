"""Two suites that share a pair on one day: each has a run of it, and a night shows what it has paid itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commandline import judgeloop

FIRST, SECOND = ("2026-01-02-first", "2026-01-02-second")
SUITE = """
[suite]
budget = 1
judge = "openai/judge"
max-judgments = 40

[pairs.{}]
systems = ["old.jsonl", "new.jsonl"]
"""


@pytest.fixture(autouse=True)
def server(chat_server, monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("JUDGELOOP_JUDGE_PRICE", "1,10")
    for name, goods in (("old", (0, 1, 1)), ("new", (1, 0, 1))):
        rows = [{"id": n, "prompt": f"p{n}", "output": f"{'good ' * goods[n % 3]}{name} {n}"} for n in range(60)]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("first.toml").write_text(SUITE.format("shared"))
    Path("second.toml").write_text(SUITE.format("another-name"))
    return chat_server


def start(suite, date="2026-01-02", *more):
    found = json.loads(judgeloop("suite", f"{suite}.toml", "--night", date, "--json", *more).stdout)
    (pair,) = found["pairs"]
    return found, pair


def booked():
    nights = json.loads(judgeloop("ledger", "show", "--json").stdout)["night"]
    return {night: one["usd"] for night, one in nights.items()}


def test_a_night_costs_what_it_has_paid_and_says_which_night_had_asked_what_is_free(server):
    first, paid = start("first")
    calls = len(server.requests)
    second, free = start("second")
    assert len(server.requests) == calls
    assert first["charged_usd"] == paid["charged_usd"] > 0 == second["charged_usd"] == free["charged_usd"]
    assert (free["gap"], free["judged"]) == (paid["gap"], paid["judged"])
    assert (free["same_as"], free["further"], paid["same_as"]) == (FIRST, False, "")
    assert booked() == {FIRST: first["charged_usd"]}
    assert start("first")[0]["charged_usd"] == first["charged_usd"], "also after the other"
    runs = {night: json.loads(judgeloop("runs", "--night", night, "--json").stdout) for night in (FIRST, SECOND)}
    assert [[one["pair"] for one in of] for of in runs.values()] == [["shared"], ["another-name"]]


def test_a_night_that_goes_on_where_that_of_another_suite_had_no_money_pays_the_rest_alone():
    short, _ = start("first", "2026-01-02", "--budget", "0.03")
    rest, pair = start("second")
    assert (pair["same_as"], pair["further"]) == (FIRST, True)
    assert short["charged_usd"] > 0 < rest["charged_usd"]
    assert booked() == pytest.approx({FIRST: short["charged_usd"], SECOND: rest["charged_usd"]})


def test_the_next_night_of_each_suite_knows_its_own_pair():
    for suite in ("first", "second"):
        start(suite)
    for suite in ("first", "second"):
        found, pair = start(suite, "2026-01-03")
        assert (found["last_night"], bool(pair["before"]), found["absent"]) == ("2026-01-02", True, [])
        assert found["charged_usd"] == 0

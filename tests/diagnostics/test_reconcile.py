"""Attempts of unknown cost are listed, and settled from a provider's export of requests."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.database import opened

from judgeloop.cli.app import app
from judgeloop.core.errors import InputError
from judgeloop.core.ledger import RecordedAttempt, Reservation
from judgeloop.core.money import to_pico
from judgeloop.core.records import Reply, Verdict
from judgeloop.diagnostics.config import ReconcileConfig
from judgeloop.diagnostics.reconcile import Request, matched, reconcile
from judgeloop.ledger.inspection import inspect
from judgeloop.ledger.opening import open_ledger

WORST_P = to_pico("0.01")
NOW = datetime.now(UTC)
UNKNOWN = RecordedAttempt(
    number=1, run="run", key="k", judge="openai/m", item_id="i", state="abandoned", outcome="no reply",
    charged_p=9, began_at=NOW.isoformat(), ended_at=None, ingredients=None,
)  # fmt: skip


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Three attempts that a dead process had sent, one that it had not, and one that is known."""
    path = tmp_path / "ledger.sqlite"
    monkeypatch.setattr("judgeloop.ledger.sqlite.now", NOW.isoformat)

    async def story():
        ledger = open_ledger(path)
        wanted = [[Reservation(f"k{at}", WORST_P, f"i{at}", "openai/m", {})] for at in range(5)]
        tickets = [ticket for (ticket,) in await ledger.reserve("run", wanted, None)]
        for ticket in tickets[:4]:
            await ledger.sending(ticket)
        reply = Reply(Verdict(1.0), cost_p=to_pico("0.002"), request_id="req-known")
        await ledger.settle(tickets[3], reply)
        await ledger.aclose()

    asyncio.run(story())
    return path


def export(path, *rows):
    columns = "request_id,time,model,cost\n"
    path.write_text(columns + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    return path


def charged(path):
    with opened(path) as connection:
        return connection.execute("SELECT charged_p FROM runs").fetchone()[0]


def settled(path, usage=None, **more):
    return reconcile(ReconcileConfig.of(ledger=path, usage=usage, **more))


def test_unknown_attempts_are_listed_and_what_was_never_sent_is_free(path):
    found = settled(path)
    assert [row.item_id for row in found.unknown] == ["i0", "i1", "i2"]
    assert found.settled == ()
    assert charged(path) == 3 * WORST_P + to_pico("0.002")
    assert len(settled(path).unknown) == 3, "looking changes nothing"


def test_an_export_settles_what_it_has(path, tmp_path):
    rows = [("req-known", NOW.isoformat(), "m", "0.002"), ("r1", NOW.isoformat(), "m-1", "0.003")]
    settled(path, export(tmp_path / "u.csv", *rows))
    assert charged(path) == 2 * WORST_P + to_pico("0.005")
    assert len(settled(path).unknown) == 2
    assert inspect(path).problems == ()


def test_a_complete_export_settles_all(path, tmp_path):
    rows = [("r1", NOW.isoformat(), "m", "0.003"), ("r2", NOW.isoformat(), "", "0.004")]
    usage = export(tmp_path / "u.csv", *rows)
    settled(path, usage, complete=True)
    assert charged(path) == to_pico("0.009")
    assert settled(path).unknown == ()
    settled(path, usage, complete=True)
    assert charged(path) == to_pico("0.009"), "twice is once"


@pytest.mark.parametrize("text", ["request_id,time,cost\n", '"id";"created"', "[]\n"])
def test_a_complete_export_that_lists_nothing_says_that_nothing_was_billed(path, tmp_path, text):
    usage = tmp_path / "u.csv"
    usage.write_text(text)
    with pytest.raises(InputError, match="no rows"):
        settled(path, usage)
    settled(path, usage, complete=True)
    assert charged(path) == to_pico("0.002")


@pytest.mark.parametrize("text", ["", "<html>time</html>", "time,cost"])
def test_a_file_that_is_no_export_says_nothing_of_what_was_billed(path, tmp_path, text):
    settled(path)
    before = charged(path)
    usage = tmp_path / "u.csv"
    usage.write_text(text)
    with pytest.raises(InputError, match=r"no rows|is empty"):
        settled(path, usage, complete=True)
    assert charged(path) == before


@pytest.mark.parametrize("days", [[-12_000], [-2, -1], [1, 2]])
def test_a_complete_export_of_another_time_is_refused(path, tmp_path, days):
    settled(path)
    before = charged(path)
    rows = [(f"r{day}", (NOW + timedelta(days=day)).isoformat(), "m", "1") for day in days]
    usage = export(tmp_path / "u.csv", *rows)
    with pytest.raises(InputError, match="`complete`: the export"):
        settled(path, usage, complete=True)
    assert charged(path) == before


@pytest.mark.parametrize("row", ["r,{},m,1_0,,", "r,{},m,\u0661,,", "r,{},m,,1_0,1", "r,{},m,,1,\u0661"])
def test_numbers_in_forms_that_no_provider_writes_are_refused(path, tmp_path, row):
    usage = tmp_path / "u.csv"
    columns = "request_id,time,model,cost,input_tokens,output_tokens"
    usage.write_text(f"{columns}\n{row.format(NOW.isoformat())}\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2"):
        settled(path, usage, judge_price="1,10")


def test_one_request_settles_one_attempt_though_the_export_has_it_twice(path, tmp_path):
    row = ("r1", NOW.isoformat(), "m", "0.003")
    settled(path, export(tmp_path / "u.csv", row, row))
    assert charged(path) == 2 * WORST_P + to_pico("0.005")


def test_the_costs_of_one_request_in_several_rows_are_added(path, tmp_path):
    rows = [("r1", NOW.isoformat(), "m", cost) for cost in ("0.003", "0.004")]
    settled(path, export(tmp_path / "u.csv", *rows))
    assert charged(path) == 2 * WORST_P + to_pico("0.009")


@pytest.mark.parametrize(
    "row",
    [
        ("r", (NOW - timedelta(hours=1)).isoformat(), "m", "0.003"),
        ("r", (NOW + timedelta(hours=1)).isoformat(), "m", "0.003"),
        ("r", NOW.isoformat(), "another", "0.003"),
    ],
)
def test_requests_of_other_times_and_models_are_not_taken(path, tmp_path, row):
    assert settled(path, export(tmp_path / "u.csv", row)).settled == ()


def test_tokens_take_a_price(path, tmp_path):
    usage = tmp_path / "u.jsonl"
    row = {"id": "r", "created": NOW.timestamp(), "prompt_tokens": 1000, "completion_tokens": 100}
    usage.write_text(json.dumps(row))
    with pytest.raises(InputError, match="line 1: expected the column cost"):
        settled(path, usage)
    settled(path, usage, judge_price="1,10")
    assert charged(path) == 2 * WORST_P + to_pico("0.004")


def test_an_export_without_what_is_needed_settles_nothing(path, tmp_path):
    usage = tmp_path / "u.csv"
    usage.write_text("request_id,model,cost\nr,m,0.1\n")
    with pytest.raises(InputError, match="time"):
        settled(path, usage)
    with pytest.raises(InputError, match="there is no ledger there"):
        settled(tmp_path / "none.sqlite")


# For each attempt: the minute when it began, the one when it was given up, and the true cost.
ATTEMPTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 9)), max_size=6)
OTHERS = st.lists(st.tuples(st.integers(0, 90), st.integers(1, 9)), max_size=6)


def at(minute):
    return (NOW + timedelta(minutes=minute)).isoformat()


@given(ATTEMPTS, OTHERS, st.booleans())
def test_no_run_is_charged_less_than_its_calls_cost(attempts, others, complete):
    """Each attempt's own request lies anywhere in its time, among requests of other programs."""
    unknown, requests = [], []
    for number, (began, lasted, cost_p) in enumerate(attempts):
        unknown.append(replace(UNKNOWN, number=number, began_at=at(began), ended_at=at(began + lasted)))
        asked = NOW + timedelta(minutes=began + lasted // 2)
        requests.append(Request(str(number), asked, "", cost_p))
    for number, (minute, cost_p) in enumerate(others):
        requests.append(Request(f"o{number}", NOW + timedelta(minutes=minute), "", cost_p))
    found, left = matched(unknown, requests)
    kept_p = 0 if complete and not left else 10  # more than any of the calls cost
    charged_p = sum(found[row.number].cost_p if row.number in found else kept_p for row in unknown)
    assert charged_p >= sum(cost_p for _, _, cost_p in attempts)


def test_the_dearest_request_goes_to_the_earliest_attempt_that_it_fits():
    early, late = (replace(UNKNOWN, number=number, ended_at=at(60)) for number in (1, 2))
    cheap, dear, dearest = (Request(str(cost_p), NOW, "", cost_p) for cost_p in (3, 5, 9))
    assert matched([early, late], [dear]) == ({1: dear}, 0)
    assert matched([early, late], [cheap, dear, dearest]) == ({1: dearest, 2: dear}, 1)


def test_a_request_that_is_left_keeps_a_complete_export_from_freeing(path, tmp_path):
    """It may be that of an attempt whose place a dearer request has taken."""
    rows = [(f"r{cost}", NOW.isoformat(), "m", f"0.00{cost}") for cost in (1, 2, 3, 4)]
    found = settled(path, export(tmp_path / "u.csv", *rows), complete=True)
    assert (len(found.settled), found.left) == (3, 1)
    assert charged(path) == to_pico("0.002") + to_pico("0.009")


def test_attempts_of_a_run_that_is_worked_on_are_left_alone(path):
    ledger = open_ledger(path)
    with ledger.only_run("run"):
        assert settled(path).unknown == ()
    asyncio.run(ledger.aclose())
    assert len(settled(path).unknown) == 3


def test_the_commands(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, ["ledger", *arguments, "--ledger", str(path)])

    listed = run("reconcile")
    assert listed.exit_code == 0
    assert "3 calls of unknown cost, charged $0.03" in listed.output
    assert "openai/m  item i0" in listed.output
    assert "abandoned: sent, and may have been billed; charged" in run("show").output
    usage = export(tmp_path / "u.csv", ("r1", NOW.isoformat(), "m", "0.003"))
    told = run("reconcile", "--usage", str(usage), "--complete").output
    assert "3 settled, now charged $0.003" in told
    sound = run("verify")
    assert sound.exit_code == 0, sound.output
    with opened(path) as connection:
        connection.execute("UPDATE verdicts SET score = 0")
    damaged = run("verify")
    assert damaged.exit_code == 1
    assert "row 1 of verdicts was changed" in damaged.output
    copied = run("salvage", "--to", "new.sqlite")
    assert copied.exit_code == 0, copied.output
    assert "verdicts: 0 copied, 1 left behind" in copied.output
    assert run("salvage", "--to", "new.sqlite").exit_code == 2

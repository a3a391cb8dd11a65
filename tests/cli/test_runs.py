"""The commands `runs`, `runs show` and `ledger show`, after real runs."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest
from support.chat_server import goodness, verdict
from support.commandline import judgeloop
from support.outputs import write_good_and_poor

from judgeloop.core.ledger import End, Reservation
from judgeloop.ledger.sqlite import SqliteLedger

LEDGER = Path(".judgeloop/ledger.sqlite")


@pytest.fixture
def two_runs(chat_server):
    """A comparison that was paid for, and one by a metric."""
    chat_server.respond = lambda request, n: verdict(goodness(request))
    write_good_and_poor(Path(), 20, reference="good")
    paid = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "openai/m", "--judge-price", "1,10",
                     "--judge-base-url", chat_server.url)  # fmt: skip
    free = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", "--seed", "1")
    assert paid.exit_code == free.exit_code == 0, paid.stderr + free.stderr
    return paid.stdout, free.stdout


def test_the_runs_of_a_ledger_are_listed_the_latest_first_with_cost_and_decision(two_runs):
    paid, free = two_runs
    last, first = judgeloop("runs").stdout.splitlines()
    assert free.splitlines()[0] in last
    assert paid.splitlines()[0] in first
    runs = json.loads(judgeloop("runs", "--json").stdout)
    assert [run["charged_usd"] > 0 for run in runs] == [False, True]
    assert runs[0]["id"] in last


def test_a_runs_result_is_shown_again_as_it_was_printed(two_runs):
    ids = [run["id"] for run in json.loads(judgeloop("runs", "--json").stdout)]
    assert judgeloop("runs", "show", ids[0]).stdout == two_runs[1]
    assert judgeloop("runs", "show", ids[1][:6]).stdout == two_runs[0]
    assert judgeloop("runs", ids[1][:6]).stdout == two_runs[0]


def test_without_an_id_the_latest_run_that_has_a_result_is_shown(two_runs):
    assert judgeloop("runs", "show").stdout == two_runs[1]
    ids = [run["id"] for run in json.loads(judgeloop("runs", "--json").stdout)]
    for run, shown in zip(ids, (two_runs[0], ""), strict=True):
        (LEDGER.parent / "runs" / run / "result.txt").unlink()
        assert judgeloop("runs", "show").stdout == shown
    found = judgeloop("runs", "show")
    assert found.exit_code == 2
    assert "no run in .judgeloop/ledger.sqlite has a result here" in found.stderr


def test_a_run_that_is_not_there_or_that_did_not_end_is_a_clear_error(two_runs):
    result = judgeloop("runs", "show", "none")
    assert result.exit_code == 2
    assert "there is no such run" in result.stderr
    assert "No such command 'shw'" in judgeloop("runs", "shw").stderr
    result = judgeloop("runs", "show", "")
    assert "2 runs begin with it" in result.stderr
    run = json.loads(judgeloop("runs", "--json").stdout)[0]["id"]
    (LEDGER.parent / "runs" / run / "result.txt").unlink()
    assert "found no result" in judgeloop("runs", "show", run).stderr
    assert "no result here" in judgeloop("runs").stdout


def test_a_result_of_the_same_run_with_another_ledger_is_not_taken_for_its_own(two_runs):
    again = ["compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", "--seed", "1"]
    other = LEDGER.with_name("other.sqlite")
    anew = judgeloop(*again, "--ledger", other)
    assert "if you mean to begin anew, there is nothing to do" in anew.stderr
    run = json.loads(judgeloop("runs", "--ledger", other, "--json").stdout)[0]["id"]
    assert judgeloop("runs", run, "--ledger", other).stdout == anew.stdout
    assert "found no result" in judgeloop("runs", run).stderr
    judgeloop(*again)
    assert judgeloop("runs", run).stdout != anew.stdout


@pytest.mark.parametrize("command", [["runs"], ["ledger", "show"], ["ledger", "export"]])
def test_without_a_ledger_it_says_so_and_makes_none(command):
    result = judgeloop(*command)
    assert result.exit_code == 2
    assert "--ledger .judgeloop/ledger.sqlite: there is no ledger there" in result.stderr
    assert not result.stdout
    assert not LEDGER.exists()


def test_what_was_spent_is_shown_by_day_judge_run_and_state(two_runs):
    spent = json.loads(judgeloop("ledger", "show", "--json").stdout)
    assert list(spent) == ["day", "judge", "run", "state"]
    runs = {run["id"]: run["charged_usd"] for run in json.loads(judgeloop("runs", "--json").stdout)}
    assert {run: group["usd"] for run, group in spent["run"].items()} == runs
    assert set(spent["judge"]) == {"openai/m", "metric:rouge1"}
    for groups in spent.values():
        total = sum(group["usd"] for group in groups.values())
        assert total == pytest.approx(sum(runs.values()))
    assert list(spent["state"]) == ["settled"]
    text = judgeloop("ledger", "show").stdout
    assert "openai/m" in text
    assert "attempts" in text


def test_every_request_is_a_line_to_compare_with_an_invoice(two_runs, chat_server):
    done = judgeloop("ledger", "export")
    assert done.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    paid = [row for row in rows if row["judge"] == "openai/m"]
    assert len(paid) == len(chat_server.requests)
    assert {row["state"] for row in rows} == {"settled"}
    assert all(row["model"] and row["began_at"].endswith("+00:00") for row in paid)
    assert all(int(row["input_tokens"]) > 0 < int(row["output_tokens"]) for row in paid)
    spent = json.loads(judgeloop("ledger", "show", "--json").stdout)["judge"]["openai/m"]["usd"]
    assert float(sum(Decimal(row["usd"]) for row in paid)) == pytest.approx(spent)
    assert all("E" not in row["usd"] for row in rows), "exact, and no power of ten"


def test_an_export_has_no_reservation_that_was_never_sent_and_runs_no_formula(tmp_path):
    async def story():
        ledger = SqliteLedger(tmp_path / "ledger.sqlite")
        wanted = [[Reservation(f"k{at}", 5, f"=1+{at}", "j", {})] for at in range(5)]
        tickets = [ticket for (ticket,) in await ledger.reserve("run", wanted, None)]
        await ledger.release(tickets[0], End.UNSENT, "x")
        await ledger.release(tickets[1], End.UNNEEDED, "x")
        await ledger.release(tickets[2], End.REFUSED, "x")
        await ledger.abandon(tickets[3], End.FAILED, "x")
        await ledger.aclose()

    asyncio.run(story())
    done = judgeloop("ledger", "export", "--ledger", tmp_path / "ledger.sqlite")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["state"] for row in rows] == ["released", "abandoned"]
    assert all(row["item_id"].startswith("'=") for row in rows)
    assert Decimal(rows[1]["usd"]) == Decimal("0.000000000005")


def test_a_result_that_a_stranger_replaced_is_shown_without_commands_or_not_at_all(two_runs):
    run = json.loads(judgeloop("runs", "--json").stdout)[0]["id"]
    text = LEDGER.parent / "runs" / run / "result.txt"
    text.write_text("\x1b[2J::add-mask::x\n\x1b]8;;http://e\x07\n")
    shown = judgeloop("runs", "show", run).stdout
    assert "\x1b" not in shown
    assert "\n::" not in f"\n{shown}"
    text.unlink()
    Path("secret.txt").write_text("secret")
    text.symlink_to(Path("secret.txt").resolve())
    refused = judgeloop("runs", "show", run)
    assert refused.exit_code == 2
    assert "secret" not in refused.stdout + refused.stderr

"""The commands `runs`, `runs show` and `ledger show`, after real runs."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import shutil
import sqlite3
from contextlib import chdir, closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.chat_server import goodness, verdict
from support.commandline import judgeloop
from support.outputs import write_good_and_poor
from support.questions import as_flags, given, needed

import judgeloop as judgeloop_api
from judgeloop.core.errors import LedgerError
from judgeloop.ledger.opening import open_ledger, runs_of
from judgeloop.ledger.records import End, KeptResult, Reservation, RunNote
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.questions.kept import result_of, stored

LEDGER = Path(".judgeloop/ledger.sqlite")


SHORT = "JUDGELOOP_DETAILS=false"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of `two_runs`, what they show, and how many requests they sent, once they are made."""
    return {"folder": tmp_path_factory.mktemp("runs")}


@pytest.fixture
def two_runs(made, chat_server):
    """A comparison that was paid for, and one by a metric; each test has a copy of their folder."""
    if "shown" not in made:
        chat_server.respond = lambda request, n: verdict(goodness(request))
        with chdir(made["folder"]):
            write_good_and_poor(Path(), 20, reference="good")
            paid = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "openai/m", "--judge-price", "1,10",
                             "--judge-base-url", chat_server.url, SHORT)  # fmt: skip
            free = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", "--seed", "1", SHORT)
        assert paid.exit_code == free.exit_code == 0, paid.stderr + free.stderr
        made |= {"shown": (seen_first(paid), seen_first(free)), "requests": len(chat_server.requests)}
    shutil.copytree(made["folder"], ".", dirs_exist_ok=True)
    return made["shown"]


def seen_first(done):
    """What is printed, without the line that says where the rest is."""
    return re.sub(r"\n*All of it: .*", "\n", done.stdout, flags=re.DOTALL)


def test_the_runs_of_a_ledger_are_listed_the_latest_first_with_cost_and_decision(two_runs):
    paid, free = two_runs
    last, first = judgeloop("runs").stdout.splitlines()
    assert free.splitlines()[0].partition(": ")[2] in last
    assert paid.splitlines()[0].partition(": ")[2] in first
    runs = json.loads(judgeloop("runs", "--json").stdout)
    assert [run["charged_usd"] > 0 for run in runs] == [False, True]
    assert runs[0]["run"] in last


def test_a_run_that_is_asked_again_with_another_gate_says_so_and_when_it_began(two_runs):
    again = ["compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", "--seed", "1"]
    failed = judgeloop(*again, "--require-winner", "b")
    assert failed.exit_code == 5, failed.stderr
    line, other = judgeloop("runs").stdout.splitlines()
    assert re.search(r"FAILED: b was required.*\(the last of 2 results, \d{4}-[-\d: ]+\)$", line)
    assert "results" not in other
    assert judgeloop(*again, "--require-winner", "b").stdout.startswith("✗ FAILED: b was required")
    run, _ = json.loads(judgeloop("runs", "--json").stdout)
    assert run["results"] == 2
    assert datetime.fromisoformat(run["began_at"]).astimezone().isoformat(" ")[:16] in line


def test_a_run_that_is_worked_on_is_told_from_one_whose_process_died(two_runs, monkeypatch):
    monkeypatch.setattr("judgeloop.ledger.ledger.PATIENCE_S", 0.05)
    with closing(open_ledger(LEDGER)) as one, closing(open_ledger(LEDGER)) as other:
        with one.only_run("0a0a0a0a"):
            asyncio.run(one.note("0a0a0a0a", RunNote(("old", "new"), ("human",), night="2026-11-24")))
            assert "  2026-11-24  running  " in judgeloop("runs").stdout.splitlines()[0]
            with pytest.raises(LedgerError, match=rf"\(0a0a0a0a\): process {os.getpid()} on .*, since 20"):
                other.only_run("0a0a0a0a").__enter__()
        with one.only_run("2026-11-24"):  # a pair that waits for its share of the night
            assert "  2026-11-24  running  " in judgeloop("runs").stdout.splitlines()[0]
        lost = json.loads(judgeloop("runs", "--json").stdout)[0]
        assert (lost["state"], lost["exit_code"], lost["night"]) == ("lost", None, "2026-11-24")
        assert lost["systems"] == ["old", "new"]
    assert "its process ended; rerun its command" in judgeloop("runs", "show", "0a0a0a0a").stderr


def test_outputs_alone_and_a_check_are_no_lost_runs(chat_server):
    Path("items.jsonl").write_text('{"id": "1", "prompt": "Why?"}\n')
    code = ["--allow-plugins", "--system", "command:cat.max-cost=0"]
    items = ["--items", "items.jsonl", "-o", "outputs.jsonl"]
    assert judgeloop("generate", "command:cat", *items, *code).exit_code == 0
    assert judgeloop("doctor", "--system", "command:cat", *code).exit_code == 0
    runs = json.loads(judgeloop("runs", "--json").stdout)
    assert {run["run"] == "doctor": run["state"] for run in runs} == dict.fromkeys((True, False), "unjudged")
    assert "outputs by `generate`, or a check by `doctor`" in judgeloop("runs").stdout


def test_runs_since_a_day_are_listed_and_others_are_not(two_runs):
    assert len(judgeloop("runs", "--since", "yesterday").stdout.splitlines()) == 2
    assert judgeloop("runs", "--since", "2999-01-01").stdout == "no runs since 2999-01-01\n"
    assert judgeloop("runs", "--night", "2999").exit_code == 2
    refused = judgeloop("runs", "--since", "someday")
    assert refused.exit_code == 2
    assert "--since someday: expected today, yesterday, a number of days" in refused.stderr


def test_the_items_that_turned_since_the_run_before_are_shown_with_a_result(two_runs):
    good, poor = Path("a.jsonl").read_text(), Path("b.jsonl").read_text()
    Path("a.jsonl").write_text(poor)
    Path("b.jsonl").write_text(good)
    judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", "--seed", "1")
    last, earlier, _ = json.loads(judgeloop("runs", "--json").stdout)
    assert last["exit_code"] is not None
    plain, found = (judgeloop("runs", "show", last["run"], *more) for more in ((), ("--details",)))
    assert found.exit_code == 0, found.output
    rows = re.findall(r"^  i\d+ +a +b +a, b$", found.stdout, re.MULTILINE)
    assert rows
    assert f" in both runs turned since run {earlier['run']}" in found.stdout.removeprefix(plain.stdout)
    values = json.loads(judgeloop("runs", "show", last["run"], "--details", "--json").stdout)
    assert values["before"] == earlier["run"]
    assert [(one["before"], one["after"], one["changed"]) for one in values["turned"]] == [
        ("a", "b", ["a", "b"])
    ] * len(rows)
    first = judgeloop("runs", "show", earlier["run"], "--details").stdout
    assert "no earlier `compare` of these two files in this order by this judge" in " ".join(first.split()), (
        "another judge is no run before"
    )


def test_the_trend_of_a_pair_is_a_table_and_a_picture_and_not_of_strangers(two_runs):
    judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", "--seed", "2")
    found = judgeloop("runs", "trend", "-o", "gaps.svg")
    assert found.exit_code == 0, found.output
    assert re.findall(r" {2}(yes|no)\b", found.stdout) == ["no", "yes", "yes"]
    assert "\n  files  gaps.svg\n" in found.stdout
    assert ET.parse("gaps.svg").getroot().get("aria-label", "").startswith("The gap of b over a")
    named = judgeloop("runs", "trend", "a", "[ab]").stdout
    assert re.findall(r" {2}(yes|no)\b", named) == ["no", "yes", "yes"], "another judge"
    assert (
        judgeloop("runs", "trend", "./a.jsonl", "b.jsonl").stdout == judgeloop("runs", "trend", "a", "b").stdout != ""
    )
    assert "no comparison of a and c" in judgeloop("runs", "trend", "a", "c").stderr
    assert "expected both, or none, found 1" in judgeloop("runs", "trend", "a").stderr
    assert "expected a file ending in .svg" in judgeloop("runs", "trend", "-o", "x.png").stderr


def of_night(night, system):
    """Compare a with a system, in a suite of a night."""
    Path("night.toml").write_text(
        f'[suite]\nbudget = 1\njudge = "metric:rouge1"\n[pairs.p]\nsystems = ["a.jsonl", "{system}"]'
    )
    judgeloop("suite", "night.toml", "--night", night)


def test_the_trend_of_a_pattern_is_one_of_the_nights_candidates_in_order_of_night(two_runs):
    Path("c.jsonl").write_text(Path("b.jsonl").read_text())
    Path("d.jsonl").write_text(Path("b.jsonl").read_text())
    for night, system in (("2026-01-03", "c.jsonl"), ("2026-01-02", "d.jsonl")):
        of_night(night, system)
    found = judgeloop("runs", "trend", "a", "[cd]").stdout
    assert found.startswith("The gap of d and c over a in 2 runs, in points: ")
    assert re.findall(r"^ +2026-01-0(\d)-night +(\w+) ", found, re.MULTILINE) == [("2", "d"), ("3", "c")]
    assert re.search("^ +night or day +system +run ", found, re.MULTILINE)


def test_the_trend_of_pairs_of_the_same_nights_is_one_for_each_in_one_picture(two_runs):
    Path("c.jsonl").write_text(Path("b.jsonl").read_text())
    for night in ("2026-01-02", "2026-01-03"):
        of_night(night, "[bc].jsonl")
    found = judgeloop("runs", "trend", "a", "c*").stdout
    assert found.count("The gap of ") == 1
    found = judgeloop("runs", "trend", "a", "[bc]").stdout
    assert "The gap of b over a in 4 runs, in points: the share won less the share lost" in found
    assert "\n\nThe gap of c over a in 2 runs, in points: the share won less the share lost" in found
    assert found.count("The null hypothesis is") == 1
    judgeloop("runs", "trend", "a", "[bc]", "-o", "gaps.svg")
    drawn = Path("gaps.svg").read_text()
    assert "The gap of b and c over a in 6 runs" in drawn
    assert drawn.count(">2026-01-03-night, ") == 2


def test_a_runs_result_is_shown_again_as_it_was_printed_or_short_or_as_json(two_runs):
    ids = [run["run"] for run in json.loads(judgeloop("runs", "--json").stdout)]
    assert seen_first(judgeloop("runs", "show", ids[0])) == two_runs[1]
    assert seen_first(judgeloop("runs", "show", ids[1][:6])) == two_runs[0]
    assert seen_first(judgeloop("runs", ids[1][:6])) == two_runs[0]
    short = judgeloop("runs", "show", ids[0], "-q").stdout.rstrip()
    assert two_runs[1].startswith(short)
    assert "What it cost" not in short
    judgeloop("runs", "show", ids[0], "-o", "result.json")
    assert judgeloop("runs", ids[0], "--json").stdout == Path("result.json").read_text()


def test_without_an_id_the_latest_run_that_has_a_result_is_shown(two_runs):
    assert seen_first(judgeloop("runs", "show")) == two_runs[1]
    ids = [run["run"] for run in json.loads(judgeloop("runs", "--json").stdout)]
    for run, shown in zip(ids, (two_runs[0], ""), strict=True):
        forget(run)
        assert seen_first(judgeloop("runs", "show")) == shown
    found = judgeloop("runs", "show")
    assert found.exit_code == 2
    assert "no run in .judgeloop/ledger.sqlite has a result here" in found.stderr


def forget(run):
    """Delete the result of a run."""
    with closing(sqlite3.connect(LEDGER)) as connection, connection:
        connection.execute("DELETE FROM results WHERE run = ?", (run,))


def test_a_run_that_is_not_there_or_that_did_not_end_is_a_clear_error(two_runs):
    result = judgeloop("runs", "show", "none")
    assert result.exit_code == 2
    assert "no run has an id that begins so" in result.stderr
    assert "No such command 'shw'" in judgeloop("runs", "shw").stderr
    result = judgeloop("runs", "show", "")
    assert "2 runs begin with it" in result.stderr
    run = json.loads(judgeloop("runs", "--json").stdout)[0]["run"]
    forget(run)
    assert "no result here: it was deleted" in judgeloop("runs", "show", run).stderr
    assert "no result here" in judgeloop("runs").stdout


def test_each_ledger_shows_the_result_that_the_same_run_had_with_it(two_runs):
    again = ["compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", "--seed", "1"]
    other = LEDGER.with_name("other.sqlite")
    anew = judgeloop(*again, "--ledger", other, SHORT)
    assert f"ledger: new, at {other}" in anew.stderr
    run = json.loads(judgeloop("runs", "--ledger", other, "--json").stdout)[0]["run"]
    assert seen_first(judgeloop("runs", run, "--ledger", other)) == seen_first(anew)
    assert seen_first(judgeloop("runs", run)) == two_runs[1]


@pytest.mark.parametrize("command", [["runs"], ["ledger", "show"], ["ledger", "export"]])
def test_without_a_ledger_it_says_so_and_makes_none(command):
    result = judgeloop(*command)
    assert result.exit_code == 2
    assert "--ledger .judgeloop/ledger.sqlite: there is no ledger there" in result.stderr
    assert not result.stdout
    assert not LEDGER.exists()


def test_what_was_spent_is_shown_by_day_judge_run_and_state(two_runs):
    spent = json.loads(judgeloop("ledger", "show", "--json").stdout)
    assert list(spent) == ["day", "systems", "judge", "run", "state"]
    runs = {run["run"]: run["charged_usd"] for run in json.loads(judgeloop("runs", "--json").stdout)}
    assert {run: group["usd"] for run, group in spent["run"].items()} == runs
    assert set(spent["judge"]) == {"openai/m", "metric:rouge1"}
    for groups in spent.values():
        total = sum(group["usd"] for group in groups.values())
        assert total == pytest.approx(sum(runs.values()))
    assert list(spent["state"]) == ["settled"]
    text = judgeloop("ledger", "show").stdout
    assert re.search(r"attempts .* judge or system asked\n.*  metric:rouge1\n.*  openai/m\n", text)
    assert all(f"  {run}  a and b\n" in text for run in runs), "a run with its systems"
    begun = [run["run"] for run in json.loads(judgeloop("runs", "--json").stdout)][::-1]
    assert re.findall(r"  ([0-9a-f]{16})  a and b\n", text) == begun
    assert set(spent["systems"]) == {"a and b"}


def test_every_request_is_a_line_to_compare_with_an_invoice(two_runs, made):
    done = judgeloop("ledger", "export")
    assert done.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    paid = [row for row in rows if row["judge"] == "openai/m"]
    assert len(paid) == made["requests"]
    assert {row["state"] for row in rows} == {"settled"}
    assert {(row["systems"], row["night"]) for row in paid} == {("a and b", "")}
    assert all(row["model"] and row["began_at"].endswith("+00:00") for row in paid)
    assert all(int(row["input_tokens"]) > 0 < int(row["output_tokens"]) for row in paid)
    spent = json.loads(judgeloop("ledger", "show", "--json").stdout)["judge"]["openai/m"]["usd"]
    assert float(sum(Decimal(row["usd"]) for row in paid)) == pytest.approx(spent)
    assert all("E" not in row["usd"] for row in rows), "exact, and no power of ten"


def test_an_export_has_no_reservation_that_was_never_sent_and_runs_no_formula(tmp_path):
    async def story():
        ledger = open_ledger(tmp_path / "ledger.sqlite")
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


def test_a_run_whose_judge_has_failed_since_was_asked_all_the_same(tmp_path):
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    ledger.keep("0a", KeptResult("open", "t", "{}", {}, exit_code=3, decided=4, tied=2))
    ledger.keep("0a", KeptResult("broken", "t", "{}", {}, exit_code=4))
    ledger.close()
    (run,) = runs_of(tmp_path / "ledger.sqlite")
    assert (run.note.exit_code, run.note.decided, run.note.tied) == (4, 4, 2)


def test_a_result_is_shown_without_commands_to_the_terminal(tmp_path):
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    ledger.keep("0a", KeptResult("h", "\x1b[2J::add-mask::x\n\x1b]8;;http://e\x07\n", "{}", {}))
    ledger.close()
    shown = judgeloop("runs", "show", "0a", "--ledger", tmp_path / "ledger.sqlite").stdout
    assert "\x1b" not in shown
    assert "\n::" not in f"\n{shown}"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_report_is_made_wherever_the_ledger_is(question, tmp_path_factory, monkeypatch):
    write_good_and_poor(Path(), 20, reference="good")
    Path("c.jsonl").write_text(Path("b.jsonl").read_text().replace("poor", "fair"))
    files = [word for form in (".html", ".json", ".csv", ".md") for word in ("-o", f"one{form}")]
    typed = ["--judge", "metric:rouge1", *as_flags(needed(question.settings())), *files]
    paths = given(question.settings(), "a.jsonl", "b.jsonl", "c.jsonl").values()
    done = judgeloop(
        question.name, *(path for one in paths for path in ([one] if isinstance(one, str) else one)), *typed
    )
    assert done.exit_code in {0, 3}, done.output
    written = {path.suffix: path.read_text() for path in Path().glob("one.*")}
    ledger = tmp_path_factory.mktemp("elsewhere") / "mine.sqlite"
    LEDGER.rename(ledger)
    monkeypatch.chdir(ledger.parent)
    again = [word for form in written for word in ("-o", f"one{form}")]
    shown = judgeloop("runs", "show", "--ledger", "mine.sqlite", *again)
    assert shown.exit_code == 0, shown.output
    for form, text in written.items():
        assert without_time(Path(f"one{form}").read_text()) == without_time(text), form


def without_time(text):
    """A file without the minute in which it was written, and which settings files were read."""
    return re.sub(r"\d\d:\d\d UTC|\"settings_files\": .*", "", text)


def test_texts_are_kept_once_however_many_results_name_them(two_runs):
    del two_runs
    with closing(sqlite3.connect(LEDGER)) as connection:
        texts = [text for (text,) in connection.execute("SELECT text FROM judged")]
    assert len(texts) == len(set(texts)) > 0


def test_python_keeps_results_as_well():
    write_good_and_poor(Path(), 20, reference="good")
    result = judgeloop_api.compare("a.jsonl", "b.jsonl", judge="metric:rouge1")
    kept = result_of(stored(LEDGER, result.setup.run))
    assert kept == result
    assert kept.texts.columns(kept.labels) == result.texts.columns(result.labels)

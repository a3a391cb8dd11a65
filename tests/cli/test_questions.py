"""What compare, select and estimate have in common, with a real SDK against a judge on loopback."""

from __future__ import annotations

import csv
import json
import re
import threading
import time
from pathlib import Path

import pytest
from support.chat_server import candidates, completion, error, goodness, verdict
from support.commandline import judged_by, judgeloop, result_of
from support.outputs import write_outputs

import judgeloop as library

ITEMS = 20
SYSTEMS = {"best": 10, "fair": 5, "base": 2}  # good answers among ten
GIVEN = {
    "compare": (["best.jsonl", "base.jsonl"], {"order": "fixed"}),
    "select": (["best.jsonl", "fair.jsonl", "base.jsonl"], {"baseline": "base", "order": "fixed"}),
    "estimate": (["best.jsonl"], {"selector": "random"}),
}


def honest(request, number):
    """Prefers an answer with "good" in it, and rates it 9."""
    material = candidates(request)
    if "answer" not in material:
        return verdict(goodness(request))
    rating = "9" if "good" in material["answer"] else "2"
    return completion(json.dumps({"reason": "because", "rating": rating}))


@pytest.fixture
def server(chat_server, tmp_path):
    """A judge on loopback, and outputs of three systems in the working folder."""
    for name, good in SYSTEMS.items():
        texts = [f"{'good ' * (n % 10 < good)}{n} {name}" for n in range(ITEMS)]
        write_outputs(tmp_path / f"{name}.jsonl", texts)
    chat_server.respond = honest
    return chat_server


@pytest.fixture(params=GIVEN)
def question(request):
    return request.param


@pytest.fixture
def command(question, server):
    files, more = GIVEN[question]
    flags = [word for name, value in more.items() for word in (f"--{name}", value)]
    return [question, *files, *flags, *judged_by(server)]


@pytest.mark.smoke
def test_a_second_run_asks_the_judge_nothing_and_spends_nothing(command, server):
    first = result_of(*command)
    asked = len(server.requests)
    again = result_of(*command)
    assert asked == first["attempts"] == len(server.requests) > 0
    assert (first["spent_usd"], again["attempts"]) == (pytest.approx(asked * 0.0006), 0)
    assert (again["spent_usd"], again["run_spent_usd"]) == (0.0, first["spent_usd"])
    kept = ("headline", "judged", "judge_models", "run")
    assert [again[name] for name in kept] == [first[name] for name in kept]
    assert first["judge_models"] == [["judge-2026-01-01"]]


def test_a_judge_that_fails_exits_4_and_what_was_paid_for_is_kept(command, server):
    server.respond = lambda request, number: honest(request, number) if number < 4 else error(401)
    done = judgeloop(*command, "--concurrency", 1)
    assert done.exit_code == 4
    assert not done.stdout, "what failed does not look like a result"
    why, judged, *how, where = done.stderr.splitlines()[-5:]
    assert why.startswith("judgeloop: ! BROKEN, no result: the judge failed: HTTP 401")
    assert "no key was sent; check JUDGELOOP_JUDGE_API_KEY" in why
    assert re.fullmatch(r"judgeloop: judged: \d+( judgments on \d+)? of .*; cost: [^()]*", judged), judged
    resume = "judgeloop: Then rerun the command to resume. No verdict is paid for twice."
    assert how == ["judgeloop: Fix the problem; if it is the server's, wait.", resume]
    run = re.match(r"judgeloop: All of it: judgeloop runs show (\w{8}).* --details -o report.html", where)
    assert run, where
    failed = judgeloop(*command, "--json")
    outcome = json.loads(failed.stdout)
    assert (outcome["exit_code"], outcome["stop_reason"]) == (4, "judge_failed")
    assert outcome["run"].startswith(run[1])
    assert "no result: the judge failed: HTTP 401" in failed.stderr
    server.respond = honest
    assert result_of(*command)["remembered"] >= 4


def test_a_judge_that_gives_no_verdict_on_too_many_items_exits_4(command, server):
    server.respond = lambda request, number: completion(None, refusal="no")
    done = judgeloop(*command)
    assert (done.exit_code, done.stdout) == (4, "")
    assert "no result: no verdict on" in done.stderr


@pytest.mark.smoke
def test_a_dry_run_asks_nobody_and_its_worst_case_covers_what_is_then_spent(command, server):
    text = judgeloop(*command, "--dry-run")
    assert text.exit_code == 0, text.output
    assert text.stdout.startswith("Forecast only")
    forecast = result_of(*command, "--dry-run")
    assert not server.requests
    for what in ("judgments", "calls", "usd"):
        assert 0 < forecast[what]["low"] <= forecast[what]["expected"] <= forecast[what]["worst"]
    outcome = result_of(*command, "--risk", 0.001)
    assert outcome["judged"] >= forecast["judgments"]["low"]
    assert 0 < outcome["spent_usd"] <= forecast["usd"]["worst"]
    again = result_of(*command, "--risk", 0.001, "--dry-run")
    assert again["calls"]["worst"] == 0
    assert again["answered_from_ledger"] == outcome["asked"]


def test_money_that_ends_is_an_end_and_with_more_the_same_command_goes_on(command):
    strict = [*command, "--risk", "1e-9"]
    first = result_of(*strict, "--budget", 0.015)
    assert first["stop_reason"] == "budget"
    assert 0 < first["run_spent_usd"] <= 0.015
    assert result_of(*strict)["judged"] > first["judged"]


def test_calls_fly_side_by_side(command, question, server, wire):
    """No reply comes before some requests are in flight together; where there are fewer, after a minute."""
    together, until = threading.Event(), time.monotonic() + 60
    some = 2 if question == "select" else 4  # a race's first round asks about two systems

    def respond(request, number):
        if server.most_in_flight >= some:
            together.set()
        together.wait(max(0.0, until - time.monotonic()))
        return honest(request, number)

    server.respond = respond
    judgeloop(*command, "--max-judgments", 16, "--concurrency", 8)
    assert together.is_set(), f"at most {server.most_in_flight} requests were in flight at a time"


def test_a_program_gets_the_same_as_the_command(command, question, server, tmp_path):
    files, more = GIVEN[question]
    ask = getattr(library, question)
    outputs = [files] if question == "select" else files
    result = ask(
        *outputs, **more, judge="openai/judge", judge_base_url=server.url, judge_price="1,10",
        ledger=tmp_path / "other.sqlite",
    )  # fmt: skip
    theirs, ours = result.to_dict(), result_of(*command)
    for name in ("run", "headline", "judged", "spent_usd"):
        assert theirs[name] == ours[name]


@pytest.mark.parametrize("question", ["select", "estimate"], indirect=True)
def test_another_selector_reuses_what_is_known_and_a_table_has_a_row_a_verdict(command, question):
    first = result_of(*command, "-o", "rows.csv")
    rows = list(csv.DictReader(Path("rows.csv").read_text().splitlines()))
    assert len(rows) == first["asked"]
    assert {row["against"] for row in rows} == {"base" if question == "select" else ""}
    other = "random" if question == "select" else "stratified"
    assert result_of(*command, "--selector", other)["remembered"] > 0

"""Outputs of earlier runs: how old they may be, and whether the model that gave them still answers."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.commandline import judged_by, judgeloop, result_of
from support.database import opened
from support.live import ITEMS, generated, number_of, of_both, system_flags
from support.patience import PATIENCE_S

LIVE, LEDGER = "openai/better", Path(".judgeloop/ledger.sqlite")
NEW = b"judge-2026-06-01"
pytestmark = pytest.mark.usefixtures("files")


def comparison(server, *more, first="old.jsonl"):
    items = ["--items", "items.jsonl", *judged_by(server), *system_flags(server, LIVE)]
    return ["compare", first, LIVE, *items, *more]


def generate(server, first):
    flags = ["--items", "items.jsonl", "-o", "out.jsonl", *system_flags(server, LIVE)]
    assert judgeloop("generate", LIVE, *flags, "--first", first).exit_code == 0


def moved(request, n=0):
    """As before, with another model behind the system."""
    response = of_both(request)
    if "response_format" not in request:
        response.body = response.body.replace(b"judge-2026-01-01", NEW)
    return response


def age(days):
    """Let all outputs have been recorded so many days ago."""
    with opened(LEDGER) as connection:
        for seq, created_at in connection.execute("SELECT seq, created_at FROM outputs").fetchall():
            at = (datetime.fromisoformat(created_at) - timedelta(days=days)).isoformat(timespec="milliseconds")
            connection.execute("UPDATE outputs SET created_at = ? WHERE seq = ?", (at, seq))


def test_one_fresh_output_shows_that_the_same_model_answers(server):
    generate(server, 12)
    sent = len(generated(server))
    (one,) = result_of(*comparison(server))["generated"]
    assert (one["asked"], one["left_out"]) == (len(generated(server)) - sent, 0)
    assert one["asked"] == 1 or one["remembered"] < 5
    assert one["remembered"] > 0


def test_outputs_of_another_model_are_left_out_and_said_so(server):
    generate(server, 12)
    old = len(generated(server))
    server.respond = moved
    done = judgeloop(*comparison(server, "JUDGELOOP_MIN_JUDGMENTS=20"))
    assert done.exit_code == 0, done.output
    said = re.sub(r"\s+", " ", done.stdout)
    assert f"{old} from the ledger left out, as another model answers now" in said
    again = [number_of(request) for request in generated(server)[old:]]
    assert len(again) == len(set(again)) >= 20, "those are asked for again, once"
    sent = len(server.requests)
    (one,) = result_of(*comparison(server, "JUDGELOOP_MIN_JUDGMENTS=20"))["generated"]
    assert len(server.requests) == sent, "the run's own outputs show which model answers"
    assert one["models"] == [NEW.decode()]


def test_where_every_output_is_known_nothing_is_asked(server):
    generate(server, ITEMS)
    sent = len(generated(server))
    server.respond = moved
    age(days=3)
    (one,) = result_of(*comparison(server))["generated"]
    assert (len(generated(server)), one["asked"]) == (sent, 0)
    said = re.sub(r"\s+", " ", judgeloop(*comparison(server)).stdout)
    assert f"from the ledger, the oldest of {one['oldest'][:10]}" in said
    assert one["oldest"] < (datetime.now(UTC) - timedelta(days=2)).isoformat()


def test_outputs_that_are_too_old_are_asked_for_again_and_found_then(server):
    generate(server, ITEMS)
    age(days=3)
    sent, today = len(generated(server)), datetime.now(UTC).date()
    since = ["--system", f"{LIVE}.outputs-since=today"]
    first = result_of(*comparison(server, *since))
    asked = len(generated(server)) - sent
    assert first["generated"][0]["asked"] == asked == first["judged"]
    again = result_of(*comparison(server, "--system", f"{LIVE}.outputs-since={today}"))
    assert again["run"] == first["run"]
    assert len(generated(server)) == sent + asked
    older = result_of(*comparison(server, "--system", f"{LIVE}.outputs-since=2020-01-01"))
    assert older["run"] != first["run"], "it is part of the run's id"
    assert len(generated(server)) == sent + asked


def test_what_was_decided_earlier_says_when(server):
    assert "decided earlier" not in judgeloop(*comparison(server)).stdout
    today = datetime.now(UTC).date()
    said = re.sub(r"\s+", " ", judgeloop(*comparison(server)).stdout)
    assert f"0 attempts, 12 answered from the ledger; decided earlier, on {today}" in said
    assert result_of(*comparison(server))["decided_at"][:10] == str(today)


@pytest.mark.processes
def test_two_processes_that_want_one_output_pay_for_one(server):
    def respond(request, n):
        response = of_both(request)
        response.delay_s = 0.05
        return response

    server.respond = respond
    flags = ["--items", "items.jsonl", *system_flags(server, LIVE), "--concurrency", "8"]
    typed = [sys.executable, "-m", "judgeloop", "generate", LIVE, *flags]
    both = [[*typed, "-o", "one.jsonl"], [*typed, "-o", "two.jsonl", "--first", str(ITEMS - 1)]]
    children = [subprocess.Popen(one, stderr=subprocess.PIPE, text=True) for one in both]
    errors = [child.communicate(timeout=PATIENCE_S)[1] for child in children]
    assert [child.returncode for child in children] == [0, 0], errors
    assert len(generated(server)) == len({number_of(one) for one in generated(server)}) == ITEMS
    with closing(sqlite3.connect(LEDGER)) as connection:
        paid = connection.execute("SELECT count(*) FROM attempts WHERE charged_p > 0").fetchone()
    assert paid == (ITEMS,)

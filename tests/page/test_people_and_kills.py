"""Three people judge over HTTP while the process is killed three times: nothing is asked twice, and the sums agree."""

from __future__ import annotations

import math
import random
import socket
import threading
import time

import httpx2
import pytest
from support.page_runs import answered, page_run, write_outputs
from support.patience import PATIENCE_S

PEOPLE = ("anna", "ben", "chi")
pytestmark = pytest.mark.processes


class Window(threading.Thread):
    """A person who enters again when the server was gone, and answers until it is over."""

    def __init__(self, url, token, seed):
        super().__init__(daemon=True)
        self.url, self.token, self.rng = url, token, random.Random(seed)
        self.over, self.given, self.gone = "", 0, False

    def run(self):
        until = time.monotonic() + PATIENCE_S
        with httpx2.Client(base_url=self.url, timeout=40) as client:
            while not (self.over or self.gone) and time.monotonic() < until:
                try:
                    self.judge(client)
                except httpx2.TransportError:
                    time.sleep(0.05)

    def judge(self, client):
        reply = client.get("/api/next")
        if reply.status_code == 401:
            entered = client.post("/api/enter", json={"token": self.token}).json()
            client.headers["authorization"] = f"Bearer {entered['session']}"
            return
        found = reply.json()
        self.over = found.get("over", "")
        if "pair" not in found:
            return
        pair = found["pair"]
        time.sleep(self.rng.random() / 5)
        first, second = ("better" in one["text"] for one in pair["outputs"])
        key = "t" if first == second else "ba"[first]
        body = {"id": pair["id"], "key": key, "seconds": 1.0}
        said = client.post("/api/answer", json=body)
        if said.status_code == 200 and self.rng.random() < 0.2 and client.post("/api/undo", json={}).status_code == 200:
            return  # it comes again
        self.given += said.status_code == 200


def journalled(folder):
    """How many answers the journal has so far."""
    return sum(path.read_bytes().count(b'"what": "answer"') for path in folder.glob("people-*.jsonl"))


def wait_for_answers(folder, wanted):
    """A decision takes more answers than those before all kills."""
    until = time.monotonic() + PATIENCE_S
    while journalled(folder) < wanted:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_three_people_and_three_kills(tmp_path):
    write_outputs(tmp_path, items=80, alike=2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    flags = ("--people", ",".join(PEOPLE), "--human-price", "40", "--budget", "400")
    windows = []
    for _ in range(3):
        with page_run(tmp_path, *flags, JUDGELOOP_PAGE_PORT=port) as run:
            if not windows:
                windows = [Window(run.url, token, seed) for seed, token in enumerate(run.tokens)]
                for window in windows:
                    window.start()
            wait_for_answers(tmp_path, journalled(tmp_path) + 2)
            run.kill()
    with page_run(tmp_path, *flags, JUDGELOOP_PAGE_PORT=port) as run:
        assert run.ended() == 0
    for window in windows:
        window.gone = True
        window.join(PATIENCE_S)
    result, given = run.result(), answered(tmp_path)
    assert result["winner"] == "secret-new"
    assert {one["by"] for one in given} == set(PEOPLE)
    by_seconds = sorted(one["seconds"] * 40 / 3600 for one in given)
    late = sum(
        by_seconds[-len(PEOPLE) :]
    )  # what was answered ahead of a kill, and is not needed after it, is not booked
    assert sum(by_seconds) - late - 1e-9 <= result["run_spent_usd"] <= sum(by_seconds) + 1e-9
    assert result["unconfirmed_usd"] == 0
    assert {window.over for window in windows} <= {"decided", ""}


def test_a_second_person_judges_a_share_that_the_decision_does_not_hear_of(tmp_path):
    write_outputs(tmp_path, items=80, alike=2)
    flags = ("--people", "anna,ben", "--human-price", "40", "--budget", "400", "--shared", "0.2")
    with page_run(tmp_path, *flags) as run:
        windows = [Window(run.url, token, seed) for seed, token in enumerate(run.tokens)]
        for window in windows:
            window.start()
        assert run.ended() == 0
    for window in windows:
        window.gone = True
        window.join(PATIENCE_S)
    result = run.result()
    people, judged = result["by_people"], result["judged"]
    assert result["winner"] == "secret-new"
    assert people["another"]["items"] == math.ceil(judged / 5)
    assert people["another"]["equal"] == 1.0, "both say what is better"
    assert people["answers"] == judged + people["another"]["items"] + result["ahead"]
    assert people["usd"] == pytest.approx(people["seconds"] * 40 / 3600)
    assert result["run_spent_usd"] == pytest.approx(people["usd"])
    assert {window.over for window in windows} == {"decided"}
    by = {}
    for one in answered(tmp_path):
        by.setdefault(one["key"], one["by"])
    assert len(set(by.values())) == 2

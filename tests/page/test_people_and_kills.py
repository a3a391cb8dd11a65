"""Three people judge over HTTP while the process is killed three times: nothing is asked twice, and the sums agree."""

from __future__ import annotations

import json
import math
import os
import random
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx2
import pytest
from support.page_runs import COMPARE, SYSTEMS, answered, page_run, write_outputs
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
        key = self.key(pair)
        body = {"id": pair["id"], "key": key, "seconds": 1.0}
        said = client.post("/api/answer", json=body)
        if said.status_code == 200 and (over := said.json().get("over", "")):
            self.over = over  # which nobody is told twice
            return
        if said.status_code == 200 and self.rng.random() < 0.2 and client.post("/api/undo", json={}).status_code == 200:
            return  # it comes again
        self.given += said.status_code == 200

    def key(self, pair):
        first, second = ("better" in one["text"] for one in pair["outputs"])
        return "t" if first == second else "ba"[first]


class Careless(Window):
    """A person who prefers an answer to another question where there is one, and else says what is better."""

    def key(self, pair):
        number = pair["prompt"]["text"].split()[1]
        foreign = [one["text"].split()[1] != number for one in pair["outputs"]]
        return "ab"[foreign.index(True)] if any(foreign) else super().key(pair)


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


def judged_by(run, *kinds, ends=frozenset({"decided"})):
    """Let people judge on the page of a run until it ends, and return its result."""
    kinds = kinds or [Window] * len(run.tokens)
    windows = [kind(run.url, token, seed) for seed, (kind, token) in enumerate(zip(kinds, run.tokens, strict=True))]
    for window in windows:
        window.start()
    assert run.ended() == 0, run.said
    for window in windows:
        window.gone = True
        window.join(PATIENCE_S)
    assert {window.over for window in windows} == ends
    return run.result()


class Skipping(Window):
    """A person who skips every third pair, and keeps what they said of each."""

    def key(self, pair):
        return "s" if int(pair["prompt"]["text"].split()[1]) % 3 == 0 else super().key(pair)


def test_what_was_skipped_is_not_asked_again_after_a_kill(tmp_path):
    write_outputs(tmp_path, items=24, alike=2)
    flags = ("--human-price", "40", "--budget", "400", "--max-judgments", "12")
    for wanted in (4, 8):
        with page_run(tmp_path, *flags, JUDGELOOP_MAX_ABSTENTIONS="1") as run:
            window = Skipping(run.url, run.tokens[0], wanted)
            window.start()
            wait_for_answers(tmp_path, wanted)
            run.kill()
            window.gone = True
            window.join(PATIENCE_S)
    with page_run(tmp_path, *flags, JUDGELOOP_MAX_ABSTENTIONS="1") as run:
        Skipping(run.url, run.tokens[0], 1).start()
        assert run.ended() == 3
        result = run.result()
    given = answered(tmp_path)  # which holds that nothing was asked twice
    skips = sum(one["said"] == "s" for one in given)
    assert 0 < skips == result["abstentions"]
    assert result["judged"] + skips == len(given) == 12
    assert result["run_spent_usd"] <= sum(one["seconds"] for one in given) * 40 / 3600 + 1e-9, "no skip is paid twice"


LONGER = "def longer(first, second):\n    return 'A' if len(first) > len(second) else 'B'\n"


@pytest.mark.parametrize("about", [(), ("--about", "items")], ids=["left out", "asked"])
def test_a_run_with_a_proxy_says_what_its_dry_run_says(tmp_path, about):
    write_outputs(tmp_path, items=60)
    (tmp_path / "its_judge.py").write_text(LONGER, encoding="utf-8")
    flags = ("--proxy", "python:its_judge:longer", "--allow-plugins", *about)
    command = [sys.executable, "-m", "judgeloop", *COMPARE, *flags, "--dry-run", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = json.loads(done.stdout)["judgments"]["expected"]
    with page_run(tmp_path, *flags) as run:
        assert f"Usually about {expected} are judged, at most 60" in run.said


def test_a_run_with_a_higher_limit_says_how_many_more_are_judged(tmp_path):
    write_outputs(tmp_path, items=60, alike=2)
    with page_run(tmp_path, "--max-judgments", "6") as run:
        Window(run.url, run.tokens[0], 1).start()
        assert run.ended() == 3
    command = [sys.executable, "-m", "judgeloop", *COMPARE, "--page", "--ledger", "l.sqlite", "--dry-run", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = json.loads(done.stdout)["judgments"]["expected"]
    assert 0 < expected < 54
    with page_run(tmp_path) as run:
        assert f"Usually about {expected} more are judged, at most 54 more (6 are known)" in run.said


@pytest.mark.first
def test_second_readings_are_the_ceiling_of_a_judges_agreement(tmp_path):
    """Asked there and then, and read from the ledger of a comparison."""
    write_outputs(tmp_path, items=80)
    (tmp_path / "its_judge.py").write_text(LONGER, encoding="utf-8")
    agree = ["agree", *SYSTEMS, "--judge", "python:its_judge:longer", "--allow-plugins"]
    flags = ("--people", "anna,ben", "--shared", "0.5")
    with page_run(tmp_path, *flags, "--max-judgments", "20", command=[*agree, "--truth", "human"]) as run:
        asked = judged_by(run)
        assert "20 are judged, 10 of them twice: 30 answers" in run.said
    assert (asked["judged"], asked["people_pairs"], asked["people_equal"]) == (20, 10, 1.0)
    assert asked["order"] == "both", "that of the judge, whatever people saw"
    assert asked["equal"] == 1.0

    (tmp_path / "compared").mkdir()
    for name in (*SYSTEMS, "its_judge.py"):
        (tmp_path / name).rename(tmp_path / "compared" / name)
    with page_run(tmp_path / "compared", *flags) as run:
        compared = judged_by(run)
    command = [sys.executable, "-m", "judgeloop", *agree, "--truth", "ledger", "--ledger", "l.sqlite", "--json"]
    done = subprocess.run(command, cwd=tmp_path / "compared", capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["people_pairs"] == compared["by_people"]["another"]["items"]
    assert (found["people_equal"], found["equal"]) == (1.0, 1.0)


def test_a_second_person_judges_a_share_that_the_decision_does_not_hear_of(tmp_path):
    write_outputs(tmp_path, items=80, alike=2)
    flags = ("--people", "anna,ben", "--human-price", "40", "--budget", "400", "--shared", "0.2")
    with page_run(tmp_path, *flags) as run:
        result = judged_by(run)
    people, judged = result["by_people"], result["judged"]
    assert result["winner"] == "secret-new"
    assert sum(people["each"].values()) == people["answers"]
    assert set(people["each"]) == {"anna", "ben"}
    assert people["another"]["items"] == math.ceil(judged / 5)
    assert people["another"]["equal"] == 1.0, "both say what is better"
    assert people["answers"] == judged + people["another"]["items"] + result["ahead"]
    assert people["usd"] == pytest.approx(people["seconds"] * 40 / 3600)
    assert result["run_spent_usd"] == pytest.approx(people["usd"])
    by = {}
    for one in answered(tmp_path):
        by.setdefault(one["key"], one["by"])
    assert len(set(by.values())) == 2


def test_who_stops_in_the_second_readings_hears_that_all_is_judged_and_goes_on_with_these(tmp_path):
    write_outputs(tmp_path, items=80)
    flags = ("--people", "anna,ben", "--shared", "0.5", "--max-judgments", "60")
    with page_run(tmp_path, *flags) as run:
        anna = Window(run.url, run.tokens[0], 1)
        anna.start()
        with owner_of(run) as said:
            while not said()["for_another"]:
                time.sleep(0.05)
        run.interrupt()
        assert run.ended() == 0
        anna.join(PATIENCE_S)
        assert anna.over == "left"
        result = run.result()
    wanted, judged = math.ceil(result["judged"] / 2), result["judged"] + result["by_people"]["beyond"]
    assert (result["by_people"]["asked_again"], result["by_people"]["another"]) == (wanted, None)
    with page_run(tmp_path, *flags) as run:
        with owner_of(run) as owner:
            said = owner()
        assert (said["judged"], said["most"], said["again"]) == (judged, judged + wanted, wanted)
        assert said["usual"] is None, "it was more than there are"
        anna = Window(run.url, run.tokens[0], 1)  # who finds nothing that she may read
        anna.start()
        time.sleep(0.5)
        run.interrupt()
        assert run.ended() == 0
        anna.join(PATIENCE_S)
        assert anna.over == "left"
    with page_run(tmp_path, *flags) as run:
        windows = [Window(run.url, token, seed) for seed, token in enumerate(run.tokens)]
        for one in windows:
            one.start()
        assert run.ended() == 0
        again = run.result()
        assert (again["judged"], again["by_people"]["another"]["items"]) == (result["judged"], wanted)


@contextmanager
def owner_of(run):
    """What the owner of a run sees, when asked."""
    with httpx2.Client(base_url=run.url, timeout=40) as client:
        session = client.post("/api/enter", json={"token": run.owner.partition("#")[2]}).json()["session"]
        client.headers["authorization"] = f"Bearer {session}"
        yield lambda: client.get("/api/owner").json()


class Doubtful(Window):
    """A person to whom every seventh task is a tie."""

    def key(self, pair):
        return "t" if int(pair["prompt"]["text"].split()[1]) % 7 == 0 else super().key(pair)


def test_two_people_judge_each_item_as_a_panel(tmp_path):
    write_outputs(tmp_path, items=80, alike=3)
    flags = ("--people", "anna,ben,chi", "--people-per-item", "2", "--human-price", "40", "--budget", "400")
    with page_run(tmp_path, *flags) as run:
        result = judged_by(run, Window, Doubtful, Window)
    assert (result["winner"], result["judges"]) == ("secret-new", ["human:1", "human:2"])
    assert result["order"] == "both", "one for each of the two"
    given, people = answered(tmp_path), result["by_people"]
    by_pair = {}
    for one in given:
        by_pair.setdefault(one["pair"], []).append(one["by"])
    assert all(len(set(by)) == len(by) for by in by_pair.values()), "two people"
    assert sum(len(by) == 2 for by in by_pair.values()) >= result["judged"]
    assert people["answers"] >= 2 * result["judged"]
    assert result["run_spent_usd"] == pytest.approx(people["seconds"] * 40 / 3600)
    assert result["unconfirmed_usd"] == 0
    assert result["agreement"]["items"] == result["judged"]


class Picky(Window):
    """A person who skips every other task."""

    def key(self, pair):
        return "s" if int(pair["prompt"]["text"].split()[1]) % 2 else super().key(pair)


class Owner(threading.Thread):
    """Whoever runs this, who looks until the run is over."""

    def __init__(self, link):
        super().__init__(daemon=True)
        (self.url, self.token), self.seen = link.split("/#"), []

    def run(self):
        with httpx2.Client(base_url=self.url, timeout=40) as client:
            entered = client.post("/api/enter", json={"token": self.token}).json()
            client.headers["authorization"] = f"Bearer {entered['session']}"
            while not (self.seen and "over" in self.seen[-1]):
                self.seen.append(client.get("/api/owner?wait").json())


def test_an_item_that_one_of_two_skips_is_skipped_for_its_owner_and_in_the_result(tmp_path):
    write_outputs(tmp_path, alike=1)
    flags = ("--people", "anna,ben", "--people-per-item", "2", "--max-judgments", "20")
    with page_run(tmp_path, *flags, JUDGELOOP_MAX_ABSTENTIONS="0.9") as run:
        owner = Owner(run.owner)
        owner.start()
        windows = [Picky(run.url, run.tokens[0], 0), Window(run.url, run.tokens[1], 1)]
        for window in windows:
            window.start()
        run.ended()
        owner.join(PATIENCE_S)
        result = run.result()
    numbers = [(said["judged"], said["skipped"]) for said in owner.seen]
    assert result["judged"] < result["asked"] == 20
    assert numbers[-1] == (result["judged"], result["asked"] - result["judged"])
    assert all(judged <= result["judged"] for judged, _ in numbers), "no half is judged"


def test_the_second_person_of_an_item_is_another_one_in_another_run_too(tmp_path):
    write_outputs(tmp_path)

    def judged(most, *flags):
        with page_run(tmp_path, "--people", "anna,ben", "--people-per-item", "2", *flags) as run:
            with httpx2.Client(base_url=run.url, timeout=40) as client:
                session = client.post("/api/enter", json={"token": run.tokens[0]}).json()["session"]
                client.headers["authorization"] = f"Bearer {session}"
                shown = []
                for _ in range(most):
                    pair = client.get("/api/next").json()["pair"]
                    shown.append(pair["prompt"]["text"])
                    client.post("/api/answer", json={"id": pair["id"], "key": "a", "seconds": 1})
            run.interrupt()
            run.ended()
        return shown

    first, second = judged(2), judged(2, "--risk", "0.2")
    assert len(list(tmp_path.glob("people-*.jsonl"))) == 2, "two runs"
    assert len({*first, *second}) == 4


def test_whoever_goes_on_to_judge_reads_nothing_of_the_lead_meanwhile(tmp_path):
    write_outputs(tmp_path)
    with page_run(tmp_path, *(f"-or{one}" for one in (".md", ".html", ".xml", ".tex", ".txt"))) as run:
        with httpx2.Client(base_url=run.url, timeout=40) as client:
            session = client.post("/api/enter", json={"token": run.tokens[0]}).json()["session"]
            client.headers["authorization"] = f"Bearer {session}"
            for _ in range(4):
                pair = client.get("/api/next").json()["pair"]
                client.post("/api/answer", json={"id": pair["id"], "key": "a", "seconds": 1})
            client.post("/api/pause", json={})
        run.interrupt()
        assert run.ended() == 130
    result = run.result()

    def shown(*flags):
        command = (sys.executable, "-m", "judgeloop", "runs", "show", result["run"], "--ledger", "l.sqlite", *flags)
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    texts = {path.suffix: path.read_text(encoding="utf-8") for path in tmp_path.glob("r.*")} | {"show": shown()}
    assert len(texts) == 6
    votes = f"{result['wins']['secret-new']} for secret-new"
    assert {name for name, text in texts.items() if votes in text or "secret-item" in text} == set()
    assert result["judged"] == 4
    assert votes in shown("--details")
    shown("--details", "-o", "all.md")
    assert votes in (tmp_path / "all.md").read_text(encoding="utf-8")


def test_who_fails_checks_is_asked_no_more_and_the_result_says_so(tmp_path):
    write_outputs(tmp_path, items=150, alike=2)
    flags = ("--people", "anna,ben", "--human-price", "40", "--budget", "400")
    with page_run(tmp_path, *flags, JUDGELOOP_MIN_JUDGMENTS="40", JUDGELOOP_CHECKS="1") as run:
        result = judged_by(run, Window, Careless, ends={"decided", "failed"})
        assert "ben was wrong in 2 of 2 checks" in run.said
    people = result["by_people"]
    anna, ben = people["checks"]
    assert (ben["name"], ben["wrong"], ben["asked_no_more"]) == ("ben", 2, True)
    assert (anna["name"], anna["wrong"], anna["asked_no_more"]) == ("anna", 0, False)
    assert [one["person"] for one in result["warnings"] if one["code"] == "checks_failed"] == ["ben"]
    assert result["winner"] == "secret-new", "what ben said before stays"
    booked = sum(one["seconds"] for one in answered(tmp_path))
    assert people["seconds"] == pytest.approx(booked)
    assert result["run_spent_usd"] == pytest.approx(booked * 40 / 3600)
    (journal,) = tmp_path.glob("people-*.jsonl")
    journal.unlink()
    command = [sys.executable, "-m", "judgeloop", *COMPARE, "--page", "--ledger", "l.sqlite", "--json", *flags]
    environment = os.environ | {"JUDGELOOP_MIN_JUDGMENTS": "40", "JUDGELOOP_CHECKS": "1"}
    again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["by_people"]["checks"] == people["checks"]

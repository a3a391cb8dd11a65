"""What results say, in each form, with their exit codes: the one place where phrases are pinned.

The judges are recorded or scripted, and everything is seeded. `pytest tests/promises --snapshot-update` takes over a
change of words, to be read in one difference.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from pathlib import Path

import pytest
from support.chat_server import candidates, verdict
from support.commandline import judgeloop

from judgeloop.engine.state import Interruption
from judgeloop.report.terminal import MOST_LINES

ITEMS, GROUPS = 120, ("code", "maths", "chat")
# How often a system wins against `old`, and how often it ties; of `mixed`, where it is not in the group chat.
SHARES = {"new": (0.5, 0.35), "close": (0.42, 0.4), "same": (0.3, 0.4), "poor": (0.1, 0.3), "mixed": (0.8, 0.15)}
RECORDED = ("--judge", "replay:scores.csv", "--budget", "5")
SERVER = ("--judge", "openai/judge", "--judge-price", "1,10", "--concurrency", "1", "--budget", "5")
GATE = ("--require-winner", "new")

RESULTS = {
    "decided": ("compare", "old.jsonl", "new.jsonl", *RECORDED),
    "choose": ("compare", "old.jsonl", "close.jsonl", *RECORDED, "--min-gap", "0.3"),
    "not_shown": ("compare", "old.jsonl", "new.jsonl", *RECORDED, "--min-gap", "0.3", *GATE),
    "passed_with_groups": ("compare", "old.jsonl", "new.jsonl", *RECORDED, *GATE, "--by-group", "require"),
    "passed_by_a_model": ("compare", "old.jsonl", "new.jsonl", *SERVER, *GATE, "JUDGELOOP_MAX_FLIPS=0.3"),
    "passed_with_a_warning": ("compare", "old.jsonl", "empty.jsonl", *RECORDED, "--not-worse", "0.2", "JUDGELOOP_FAIL_ON_WARNING=1"),
    "failed": ("compare", "old.jsonl", "poor.jsonl", *RECORDED, "--not-worse", "0.2"),
    "failed_in_a_group": ("compare", "old.jsonl", "mixed.jsonl", *RECORDED, "--by-group", "require"),
    "undecided": ("compare", "old.jsonl", "same.jsonl", *RECORDED, "--about", "like-these"),
    "out_of_money": ("compare", "old.jsonl", "same.jsonl", *RECORDED[:2], "--budget", "0.2", "--not-worse", "0.05"),
    "broken": ("compare", "old.jsonl", "new.jsonl", *SERVER[:1], "openai/blind", *SERVER[2:], *GATE),
    "interrupted": ("compare", "old.jsonl", "same.jsonl", *RECORDED),
    "best_of_many": ("select", "old.jsonl", "new.jsonl", "same.jsonl", "poor.jsonl", "--baseline", "old", *RECORDED),
    "best_of_many_open": (
        *("select", "old.jsonl", "new.jsonl", "same.jsonl", "close.jsonl", "--baseline", "old", *RECORDED),
        *("--max-judgments", "60"),
    ),
    "a_score": ("estimate", "new.jsonl", *RECORDED, "--half-width", "0.1", "--require-score", "0.5"),
    "a_score_out_of_money": ("estimate", "new.jsonl", *RECORDED[:2], "--budget", "0.2", "--half-width", "0.01"),
}  # fmt: skip
NIGHT = """
[suite]
budget = 1.50
judge = "replay:scores.csv"
not-worse = 0.2

[pairs.all]
systems = ["old.jsonl", "[enps]*.jsonl"]

[pairs.lost]
systems = ["old.jsonl", "lost.csv"]
"""


def score(system, n, chance):
    if system == "old":
        return 0.5
    if system == "mixed" and GROUPS[n % 3] == "chat":
        return 0.0
    wins, ties = SHARES["new" if system == "empty" else system]
    return 1.0 if chance < wins else 0.5 if chance < wins + ties else 0.0


@pytest.fixture(autouse=True)
def files():
    """Outputs, and what a judge said of them, at a cent each. The outputs say it, too, for a scripted judge."""
    draws = random.Random(7)
    rows = ["item_id,model,score,cost_usd"]
    for system in ("old", "empty", *SHARES):
        lines = []
        for n in range(ITEMS):
            won = score(system, n, draws.random())
            output = "" if system == "empty" and n % 4 == 0 else f"{system} {n} says {won}"
            item = {"id": f"i{n:03}", "prompt": f"What is {n} of {n * n}?", "group": GROUPS[n % 3], "output": output}
            lines.append(json.dumps(item))
            rows.append(f"i{n:03},{system},{won},0.01")
        Path(f"{system}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    Path("scores.csv").write_text("\n".join(rows), encoding="utf-8")
    Path("night.toml").write_text(NIGHT, encoding="utf-8")


def answer(request, _):
    """A model that reads the scores in the outputs, and knows an answer to another question; `blind` prefers none."""
    shown = candidates(request)
    numbers = re.findall(r"\d+", shown["task"])
    said = [re.match(r"\S+ (\d+) says (\S+)", shown[name]) for name in ("answer_A", "answer_B")]
    if request["model"] == "blind":
        return verdict("tie", "Both are fine.")
    own = [number == numbers[0] for number, _ in (one.groups() for one in said)]
    first, second = (float(one[2]) if all(own) else right for one, right in zip(said, own, strict=True))
    chosen = "tie" if first == second else "A" if first > second else "B"
    if all(own) and int(numbers[0]) % 9 == 1:  # it prefers a place
        chosen = "A"
    return verdict(chosen, f"{shown['answer_A']!r} or {shown['answer_B']!r}.")


def stopped_after_thirty(ask, watching, by_hand):
    """Run a question, and interrupt it once thirty judgments are known."""
    del watching, by_hand

    async def observed():
        interruption = Interruption()

        def observe(progress):
            if progress.asked >= 30 and not interruption.requested.is_set():
                interruption.request()

        return await ask(interruption=interruption, observe=observe)

    return asyncio.run(observed())


def constant(text):
    """A text without what changes from run to run, or with the version."""
    text = re.sub(r"(?<![\w.])[0-9a-f]{16,64}\b", "(a hash)", text)
    text = re.sub(r"(?<=runs show )[0-9a-f]{8}\b", "(run)", text)
    text = re.sub(r"http://127.0.0.1:\d+", "http://server", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00", "(a time)", text)
    return re.sub(r'("version": |judgeloop )"?\d+\.\d+\.[^\s",]+"?', r"\1(version)", text)


def in_every_form(snapshot, *command):
    """Run a command, and compare what it prints and writes with what is pinned."""
    done = judgeloop(*command, "JUDGELOOP_DETAILS=false", "-o", "result.json", "-o", "result.md", "-o", "result.xml")
    assert Path("result.md").exists(), done.output
    assert f"exit code {done.exit_code}\n{constant(done.stdout)}" == snapshot(name="text"), done.output
    for form, ending in (("markdown", "md"), ("json", "json"), ("junit", "xml")):
        text = constant(Path(f"result.{ending}").read_text(encoding="utf-8"))
        assert (json.loads(text.replace("(version)", "0")) if form == "json" else text) == snapshot(name=form)
    return done


@pytest.mark.parametrize("name", RESULTS)
def test_a_result(name, snapshot, chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("JUDGELOOP_JUDGE_BASE_URL", chat_server.url)
    chat_server.respond = answer
    if name == "interrupted":
        monkeypatch.setattr("judgeloop.cli.questions.driven", stopped_after_thirty)
    command = RESULTS[name]
    if "openai" not in " ".join(command):
        monkeypatch.delenv("JUDGELOOP_JUDGE_BASE_URL")
    done = in_every_form(snapshot, *command)
    assert len(done.stdout.splitlines()) <= MOST_LINES


def test_a_night(snapshot):
    in_every_form(snapshot, "suite", "night.toml", "--night", "2026-01-02")

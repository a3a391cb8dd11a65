"""What the command line says about money and results, end to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.chat_server import goodness, used, verdict
from support.commandline import judgeloop
from support.outputs import write_good_and_poor
from support.text import unwrapped

from judgeloop.judges import human


@pytest.fixture
def given(priced):
    """A comparison of 12 items by a priced judge on loopback."""
    return ["compare", "a.jsonl", "b.jsonl", *priced]


def answers(server, *, usage=used):
    server.respond = lambda request, number: verdict(goodness(request), usage=usage(request))


def test_a_lowered_budget_is_not_an_overrun(given, chat_server):
    answers(chat_server)
    first = judgeloop(*given, "--budget", "1")
    again = judgeloop(*given, "--budget", "0.0001")
    assert "BUDGET EXCEEDED" not in first.output + again.output
    assert "spent by earlier commands, of a budget of $0.00010 now" in unwrapped(again.output)
    assert again.exit_code == first.exit_code


def test_a_provider_that_charges_more_than_its_quote_exceeds_the_budget(given, chat_server):
    answers(chat_server, usage=lambda request: used(request) | {"completion_tokens": 10**6})
    assert "BUDGET EXCEEDED" in judgeloop(*given, "--budget", "0.1").output
    assert "BUDGET EXCEEDED" in judgeloop(*given, "--budget", "0.1").output


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 1, "completion_tokens": 1}])
def test_replies_whose_usage_is_not_believed_are_warned_of(given, chat_server, usage):
    answers(chat_server, usage=lambda request: usage)
    shown = unwrapped(judgeloop(*given).output)
    asked = len(chat_server.requests)
    assert f"{asked} requests without a usage, charged at their maximum" in shown
    found = json.loads(judgeloop(*given, "--json").stdout)
    assert found["replies_without_usage"] == asked
    assert "usage_not_believed" in [warning["code"] for warning in found["warnings"]]


@pytest.mark.parametrize(
    ("usage", "said"),
    [(used, False), (lambda request: None, True), (lambda request: {"prompt_tokens": 1, "completion_tokens": 1}, True)],
)
def test_the_doctor_warns_of_usage_that_cannot_be_counted(priced, chat_server, usage, said):
    answers(chat_server, usage=usage)
    shown = unwrapped(judgeloop("doctor", *priced).output)
    warning = (
        "the server reports no usage, or fewer tokens than the texts have words, so every call "
        "counts at its maximum cost"
    )
    assert (warning in shown) == said


@pytest.mark.parametrize(
    ("judge", "meant"),
    [
        ("openai/gpt-4.1-nanoo", "openai/gpt-4.1-nano"),
        ("anthropic/claude-opus-45", "anthropic/claude-opus-4-5"),
        ("token-f1", "metric:token-f1"),
        ("rougel", "metric:rougeL"),
        ("humann", "human"),
    ],
)
def test_a_misspelt_judge_is_told_the_one_that_was_meant(given, monkeypatch, judge, meant):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-test-0123456789")
    result = judgeloop(*given[:3], "--judge", judge)
    assert (result.exit_code, f"(did you mean {meant}?)" in unwrapped(result.output)) == (2, True)


def test_another_server_is_not_told_of_the_models_of_a_provider(given, chat_server):
    result = judgeloop(*given[:3], "--judge", "openai/gpt-4.1-nanoo", "--judge-base-url", chat_server.url)
    assert "no price is known" in unwrapped(result.output)
    assert "did you mean" not in result.output


@pytest.mark.parametrize("budget", ["0.0001", "0.006"])
def test_a_budget_that_did_not_do_is_told_one_that_does(given, chat_server, budget):
    answers(chat_server)
    shown = unwrapped(judgeloop(*given, "--budget", budget).output)
    if "A dry run says what a result would probably cost." in shown:
        shown = unwrapped(judgeloop(*given, "--budget", budget, "--dry-run").output)
    named = re.search(r"--budget (\S+) (?:is enough|in all)", shown)
    assert named is not None, shown
    asked = len(chat_server.requests)
    again = judgeloop(*given, "--budget", named[1])
    assert len(chat_server.requests) > asked
    assert again.exit_code == 0


def test_the_ledger_shows_headings_a_total_and_what_released_means(given, chat_server):
    answers(chat_server)
    judgeloop(*given)
    shown = judgeloop("ledger", "show").output
    headings = [line.split() for line in shown.splitlines() if "attempts" in line]
    columns = ["charged", "attempts", "tokens", "in", "tokens", "out"]
    kinds = ("day", "systems", "judge or system asked", "run", "state")
    assert headings == [[*columns, *kind.split()] for kind in kinds]
    total = next(line.split() for line in shown.splitlines() if line.endswith("total"))
    judge = next(line.split() for line in shown.splitlines() if line.endswith("openai/judge"))
    assert total[:4] == judge[:4]
    assert ("released: set aside for" in shown) == ("  released\n" in shown)


def test_a_ledger_without_an_attempt_says_that_nothing_was_spent(given):
    judgeloop(*given, "--budget", "0.0001")
    assert judgeloop("ledger", "show").output == "no charges yet\n"


@pytest.mark.parametrize(
    ("pressed", "code", "said"),
    [
        ("aq", 130, ["the person who judges has stopped", "Rerun the command to go on: what was judged stays."]),
        ("s", 4, ["no verdict on 7 of 7 items", "Rerun the command to judge what was skipped"]),
    ],
)
def test_of_a_person_nothing_is_said_as_of_a_server(monkeypatch, pressed, code, said):
    write_good_and_poor(Path(), 12)
    keys = [*pressed]
    monkeypatch.setattr(human, "read_key_from_terminal", lambda: keys.pop(0) if keys[1:] else keys[0])
    done = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "human")
    assert done.exit_code == code, done.output
    told = unwrapped(done.stderr)
    assert all(one in told for one in said), told
    for word in ("the judge", "attempt", "paid", "ledger)"):
        assert word not in told.partition("no result")[2], told

"""`doctor --system NAME`: one call, and what it shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support.chat_server import candidates, completion, error, used, verdict
from support.commandline import judged_by, judgeloop
from support.live import generated, system_flags, systems_say

LIVE = "openai/better"


@pytest.fixture
def server(server):
    systems_say(server, lambda request, n: completion("It is Paris.", usage=used(request)))
    return server


def doctor(server, name=LIVE, *more, **variables):
    flags = system_flags(server, name) if server else []
    done = judgeloop("doctor", "--system", name, *flags, *more, **variables)
    return done.exit_code, re.sub(r"\s+", " ", done.stdout + done.stderr)


def test_one_call_shows_limit_price_model_cost_and_output(server):
    code, said = doctor(server)
    assert (code, len(server.requests)) == (0, 1)
    assert "its limit is 4,096 tokens of output by default" in said
    assert "ok price a call costs at most $" in said
    assert "it answers; the call cost $" in said
    assert said.count("judge-2026-01-01") == 1
    assert "12 characters after" in said
    assert "it ended by itself: 'It is Paris.'" in said
    assert "Paris" not in str(generated(server)), "it is told no reference"


def test_thoughts_and_a_cut_output_are_shown(server):
    usage = {"prompt_tokens": 9, "completion_tokens": 64, "completion_tokens_details": {"reasoning_tokens": 60}}
    server.respond = lambda request, n: completion("It is", finish="length", usage=usage)
    code, said = doctor(server, LIVE, "--system", f"{LIVE}.max-tokens=64")
    assert code == 0
    assert "64 output tokens, 60 of them thoughts" in said
    assert "note output 5 characters" in said
    assert "it was cut at a limit of tokens" in said


def test_the_judges_reply_of_now_counts_not_an_earlier_one(server):
    """The wrong answer is preferred, then the right one, then the wrong one again."""
    said = []
    for right in (False, True, False):
        server.respond = lambda request, n, right=right: verdict(
            "AB"[("Paris" in candidates(request)["answer_A"]) != right], usage=used(request)
        )
        said.append(judgeloop("doctor", *judged_by(server)).stdout)
    assert ["the right answer was preferred" in one for one in said] == [False, True, False]


def test_a_judge_and_a_system_are_checked_together(server):
    code, said = doctor(server, LIVE, *judged_by(server))
    assert (code, len(server.requests)) == (0, 2)
    assert "well-formed" in said


def test_it_asks_anew_and_books_each_call(server):
    doctor(server)
    doctor(server)
    assert len(server.requests) == 2


def test_code_and_a_description_are_checked(server):
    Path("own.py").write_text("print('It is Paris.')\n")
    command = f"command:{sys.executable} own.py"
    given = ["--system", f"{command}.max-cost=0", "--allow-plugins"]
    code, said = doctor(None, command, *given)
    assert code == 0
    assert "its limit is 600 s a call" in said
    assert "'It is Paris.'" in said
    Path("candidate.toml").write_text('model = "openai/better"\nmax-tokens = 90\n')
    code, said = doctor(server, "candidate.toml")
    assert code == 0
    assert "candidate.toml: openai/better at http://127.0.0.1" in said
    assert "its limit is 90 tokens of output ok" in said, "no default"


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("old.jsonl", [], "expected a system that answers live"),
        ("exec:./x", [], "did you mean command:./x?"),
        ("command:true", [], "runs your own code"),
        (LIVE, ["--system", f"{LIVE}.price=much"], "expected dollars per million tokens"),
        (LIVE, ["--budget", "0.000001"], "more than --budget"),
    ],
)
def test_what_is_wrong_is_a_finding_and_nothing_is_sent(server, name, more, said):
    code, found = doctor(server if name == LIVE else None, name, *more)
    assert (code, server.requests) == (4, [])
    assert said in found


def test_what_the_server_refuses_or_the_system_fails_at_is_a_finding(server):
    server.respond = lambda request, n: error(401, "invalid_api_key")
    code, said = doctor(server)
    assert code == 4
    assert "FAILED server" in said
    server.respond = lambda request, n: completion("", finish="length", usage=used(request))
    code, said = doctor(server)
    assert code == 4
    assert "it gave no output: the limit of 4,096 tokens was used up by thoughts" in said


def test_something_has_to_be_checked():
    code, said = doctor(None, f"{LIVE}.price=1,1")
    assert code == 2
    assert "expected a judge to check, or a system with --system NAME" in said

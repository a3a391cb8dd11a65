"""Systems that a `.toml` file describes, in whole runs; `tests/systems` has the file itself."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from support.chat_server import completion, used
from support.commandline import judged_by, judgeloop, result_of
from support.live import system_flags, systems_say

FILE = "candidate.toml"
pytestmark = pytest.mark.usefixtures("files")


def described(text, name=FILE):
    Path(name).write_text(text, encoding="utf-8")
    return name


def comparison(server, *more, system=FILE):
    flags = system_flags(server, system)
    base = ["compare", "old.jsonl", system, "--items", "items.jsonl", *judged_by(server)]
    return [*base, *flags, *more]


def test_a_described_system_is_asked_and_named_by_its_file(server):
    described('model = "openai/better"\n')
    result = result_of(*comparison(server))
    assert (result["winner"], result["exit_code"]) == ("candidate", 0)
    described('model = "openai/better"\nname = "the new one"\n', "b.toml")
    assert result_of(*comparison(server, system="b.toml"))["winner"] == "the new one"


def answering(server, words):
    systems_say(server, lambda request, n: completion(words, usage=used(request)))


def shown_to_judges(server):
    return json.dumps([one["messages"] for one in server.requests if "response_format" in one])


def test_thoughts_are_not_judged_and_the_ledger_keeps_them(server):
    answering(server, "<think>SECRET good</think>\n\ngood answer")
    described('model = "openai/better"\nstrip-thoughts = true\n')
    (one,) = result_of(*comparison(server))["generated"]
    assert one["thoughts"] == 0
    assert "good answer" in shown_to_judges(server)
    assert "SECRET" not in shown_to_judges(server)
    assert b"SECRET" in Path(".judgeloop/ledger.sqlite").read_bytes()
    sent = len(server.requests)
    again = result_of(*comparison(server))
    assert (len(server.requests), again["winner"]) == (sent, "candidate")


def test_thoughts_that_are_judged_are_counted_and_the_model_is_named(server):
    answering(server, "<think>hm</think>good answer")
    described('model = "openai/better"\n')
    said = re.sub(r"\s+", " ", judgeloop(*comparison(server)).stdout)
    assert "6 with thoughts in tags, which were judged, too" in said
    assert "its server names the model judge-2026-01-01" in said


def test_two_prompts_of_one_model_are_compared(server):
    described('model = "openai/better"\n')
    described('model = "openai/better"\nsystem-prompt = "Be brief."\n', "b.toml")
    flags = [*system_flags(server, FILE), *system_flags(server, "b.toml")]
    base = ["compare", FILE, "b.toml", "--items", "items.jsonl", *judged_by(server), *flags]
    result = result_of(*base, "--max-judgments", "3")
    assert (result["judged"], result["ties"]) == (3, 3)


def test_a_result_never_replaces_the_description(server):
    described('model = "openai/better"\n', "candidate.md.toml")
    done = judgeloop(*comparison(server, "-o", "candidate.md.toml", system="candidate.md.toml"))
    assert (done.exit_code, server.requests) == (2, [])


def test_a_description_from_a_stranger_reaches_no_address_and_no_key_of_the_caller(server):
    """Its model is asked at its provider's own host, or where the caller says; the judge's key stays."""
    described('model = "vllm/anything"\n')
    base = ["compare", "old.jsonl", FILE, "--items", "items.jsonl", *judged_by(server)]
    keys = {"OPENAI_API_KEY": "sk-own", "JUDGELOOP_JUDGE_API_KEY": "of-judge"}
    done = judgeloop(*base, **keys)
    assert (done.exit_code, server.requests) == (2, [])
    assert f"--system {FILE}.base-url=" in re.sub(r"\s+", " ", done.stderr)
    described('model = "openai/better"\n')
    result_of(*comparison(server), **keys)
    asked = [
        headers
        for request, headers in zip(server.requests, server.headers, strict=True)
        if "response_format" not in request
    ]
    assert asked
    assert not [one for one in asked if "of-judge" in str(one) or "sk-own" in str(one)]
    assert os.environ.get("OPENAI_API_KEY") is None

"""Open models on the command line: lenient replies, and the name of a server that moves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.chat_server import ChatServer, completion, goodness
from support.commandline import judgeloop
from support.outputs import write_outputs

from judgeloop import compare


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two systems' outputs on 20 items, of which one is better throughout."""
    paths = []
    for name, answer in (("a", "a good answer"), ("b", "an answer")):
        texts = [f"{answer} {n}" for n in range(20)]
        paths.append(str(write_outputs(tmp_path / f"{name}.jsonl", texts)))
    return paths


def at(server: ChatServer) -> list[str]:
    return ["--judge", "openai/m", "--judge-base-url", server.url, "--judge-price", "0,0"]


def replying(server: ChatServer, form: str) -> None:
    server.respond = lambda request, _: completion(form.replace("{}", json.dumps({"winner": goodness(request)})))


FORMS = ["```json\n{}\n```", "<think>A is longer.</think>\n{}"]


@pytest.mark.parametrize("form", FORMS)
def test_a_run_that_reads_no_reply_names_the_flag_that_would(files, chat_server, form):
    replying(chat_server, form)
    result = judgeloop("compare", *files, *at(chat_server))
    assert result.exit_code == 4
    assert "--lenient-replies would read this reply" in result.output


@pytest.mark.parametrize("form", FORMS)
def test_lenient_replies_decide_and_are_no_verdicts_of_a_strict_run(files, chat_server, form):
    replying(chat_server, form)
    lenient = judgeloop("compare", *files, *at(chat_server), "--lenient-replies")
    assert lenient.exit_code == 0, lenient.output
    assert lenient.stdout.startswith("✓ DECIDED: a is better than b")
    calls = len(chat_server.requests)
    assert judgeloop("compare", *files, *at(chat_server), "--lenient-replies").exit_code == 0
    assert len(chat_server.requests) == calls
    strict = judgeloop("compare", *files, *at(chat_server))
    assert strict.exit_code == 4
    assert len(chat_server.requests) > calls


def test_the_doctor_says_what_a_reply_needs(chat_server):
    chat_server.respond = lambda request, _: completion('```json\n{"winner": "A"}\n```')
    result = judgeloop("doctor", *at(chat_server))
    assert result.exit_code == 4
    assert "--lenient-replies would read this reply" in result.stdout
    assert judgeloop("doctor", *at(chat_server), "--lenient-replies").exit_code == 0


def test_a_named_server_is_not_paid_again_at_another_address(files, chat_server):
    named = ["JUDGELOOP_JUDGE_NAME=lab"]
    first = judgeloop("compare", *files, *at(chat_server), *named, "--json")
    moved = ChatServer()
    try:
        again = judgeloop("compare", *files, *at(moved), *named, "--json")
        one, other = json.loads(first.stdout), json.loads(again.stdout)
        assert (one["winner"], one["run"]) == (other["winner"], other["run"])
        assert not moved.requests
        assert judgeloop("compare", *files, *at(moved)).exit_code == 0
        assert moved.requests
    finally:
        moved.close()


def test_a_name_is_read_from_the_environment_and_from_a_file_that_the_caller_trusts(files, chat_server):
    first = judgeloop("compare", *files, *at(chat_server), "JUDGELOOP_JUDGE_NAME=lab", "--json")
    run = json.loads(first.stdout)["run"]
    Path("mine.toml").write_text('[compare]\njudge-name = "lab"\n')
    asked = ["compare", *files, *at(chat_server), "--json"]
    for result in (
        judgeloop(*asked, "--config", "mine.toml"),
        judgeloop(*asked, JUDGELOOP_JUDGE_NAME="lab"),
        judgeloop(*asked, JUDGELOOP_JUDGE_NAME="openai/m=lab\n"),
    ):
        assert json.loads(result.stdout)["run"] == run, result.output
    options = {"judge": "openai/m", "judge_base_url": chat_server.url, "judge_price": "0,0"}
    for name in ("lab", ["openai/m=lab"]):
        assert compare(*files, **options, judge_name=name).to_dict()["run"] == run


def test_an_address_is_that_of_the_only_model_of_a_panel(files, chat_server):
    rows = "".join(f"i{n},a,b,1\n" for n in range(20))
    Path("mine.csv").write_text(f"item_id,model_a,model_b,score\n{rows}")
    panel = ["compare", *files, *at(chat_server), "--judge", "replay:mine.csv"]
    assert "5 of 5 items (100 %" in judgeloop(*panel).stdout
    refused = judgeloop(*panel, "--judge", "openai/n")
    assert refused.exit_code == 2
    assert "--judge-base-url is one address for several models; set OPENAI_BASE_URL" in refused.output


def test_one_name_for_a_panel_is_refused_with_the_flags_to_give(files, chat_server):
    panel = ["--judge", "openai/a", "--judge", "openai/b", "--judge-price", "0,0"]
    environment = {"OPENAI_BASE_URL": chat_server.url, "OPENAI_API_KEY": "none"}
    result = judgeloop("compare", *files, *panel, "JUDGELOOP_JUDGE_NAME=gw", **environment)
    assert result.exit_code == 2
    assert "(openai/a=NAME, openai/b=NAME)" in result.output
    names = "JUDGELOOP_JUDGE_NAME=openai/a=gw-a\nopenai/b=gw-b"
    assert judgeloop("compare", *files, *panel, names, **environment).exit_code == 0

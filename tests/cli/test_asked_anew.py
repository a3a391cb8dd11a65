"""A run that asks anew what was asked before says which part of the key differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commandline import judgeloop

from judgeloop.core.records import JudgeIdentity, Reply, Verdict
from judgeloop.judges import human
from judgeloop.judges.page import FORM, PageJudge


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        rows = [f'{{"id": "{n}", "prompt": "p {n}", "reference": "r {n}", "output": "{name} {n}"}}' for n in range(9)]
        Path(f"{name}.jsonl").write_text("\n".join(rows))


def compare(*more):
    return judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", *more).stderr


def test_another_tie_margin_is_named_with_both_values():
    assert "asked anew" not in compare()
    assert "asked anew" not in compare(), "the same command asks nothing"
    told = compare("--tie-margin", "0.05")
    assert "metric:rouge1 was asked anew, as its verdicts in the run " in told
    assert "tie_margin 0.0 then, 0.05 now" in told
    assert "asked anew" not in compare("--tie-margin", "0.05"), "now all is remembered"


def test_other_outputs_are_asked_and_nothing_is_said():
    compare()
    Path("b.jsonl").write_text(Path("b.jsonl").read_text().replace("b 3", "c 3"))
    assert "asked anew" not in compare("--tie-margin", "0.05")


def test_what_people_said_on_the_page_does_not_count_at_the_terminal_and_they_are_told_before(monkeypatch):
    monkeypatch.setattr(human, "read_key_from_terminal", lambda: "a")
    asked = ("compare", "a.jsonl", "b.jsonl", "--judge", "human")
    with monkeypatch.context() as on_page:
        on_page.setattr(human.HumanJudge, "identity", JudgeIdentity("human", "", {"form": FORM}, mark=":"))
        assert "do not count" not in judgeloop(*asked).stderr
    told = judgeloop(*asked, "--seed", "5").stderr
    before, _, after = told.partition("verdicts given on the page, as in the run ")
    assert "of at most" not in before, "the first pair comes later"
    assert "do not count at the terminal; `--page` uses them again" in after
    assert "of at most" in after
    assert "asked anew" not in told
    assert "do not count" not in judgeloop(*asked, "--seed", "5").stderr, "once"
    assert "do not count" not in judgeloop(*asked, "--seed", "6").stderr, "these are of the terminal"


async def says_a(judge, call):
    del judge, call
    return Reply(Verdict(1.0), 0)


def test_what_people_said_at_the_terminal_does_not_count_on_the_page(monkeypatch):
    monkeypatch.setattr(human, "read_key_from_terminal", lambda: "a")
    asked = ("compare", "a.jsonl", "b.jsonl", "--judge", "human")
    judgeloop(*asked)
    monkeypatch.setattr(PageJudge, "judge", says_a)
    told = judgeloop(*asked, "--page").stderr
    assert "verdicts given at the terminal, as in the run " in told
    assert "do not count on the page; the command without `--page` uses them again" in told


def test_another_rubric_of_a_model_is_named_and_not_the_digest_of_its_prompt(chat_server):
    at = ("--judge-base-url", chat_server.url, "--judge-price", "0,0", "--max-judgments", "5")

    def told(*more):
        return judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "openai/judge", *at, *more).stderr

    assert "asked anew" not in told("--rubric", "Which is kinder?")
    assert told("--rubric", "Which is shorter?").strip().endswith("do not count here: the rubric has changed")


def test_another_rubric_is_named_and_not_its_digest(monkeypatch):
    monkeypatch.setattr(human, "read_key_from_terminal", lambda: "a")
    asked = ("compare", "a.jsonl", "b.jsonl", "--judge", "human")
    judgeloop(*asked, "--rubric", "Which is kinder?")
    assert judgeloop(*asked).stderr.strip().endswith("do not count here: the rubric has changed")

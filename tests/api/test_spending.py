"""The bill of a study in Python."""

from __future__ import annotations

import pytest
from support.chat_server import error, respond_with, verdict
from support.commandline import judgeloop as command

import judgeloop


def test_a_ledger_was_charged_what_its_runs_and_a_check_of_the_judge_cost(chat_server, rows, tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE_API_KEY", "key")
    respond_with(chat_server, verdict("A"))
    ledger = tmp_path / "ledger.sqlite"
    judge = {"judge": "openai/mine", "judge_base_url": chat_server.url, "judge_price": "100,200"}
    given = {**judge, "ledger": ledger, "budget": 5, "controls": "off"}
    spent = [
        judgeloop.compare(rows["chatty"], rows["terse"], **given).run_spent_usd,
        judgeloop.compare(rows["terse"], rows["chatty"], **given).run_spent_usd,
    ]
    assert spent[0] > 0
    assert judgeloop.spent_usd(ledger) == judgeloop.spent_usd(str(ledger)) == pytest.approx(sum(spent))
    flags = ["--judge-base-url", chat_server.url, "--judge-price", "100,200", "--ledger", ledger]
    command("doctor", "--judge", "openai/mine", *map(str, flags))
    assert judgeloop.spent_usd(ledger) > sum(spent)


@pytest.mark.parametrize("own", [False, True])
def test_a_command_that_a_result_names_looks_into_the_ledger_of_the_call(own, chat_server, rows, tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE_API_KEY", "key")
    monkeypatch.chdir(tmp_path)
    respond_with(chat_server, error(500))
    result = judgeloop.compare(
        rows["chatty"], rows["terse"], judge="openai/mine", judge_base_url=chat_server.url, judge_price="100,200",
        budget=3, order="random", controls="off", **({"ledger": "my own.sqlite"} if own else {}),
    )  # fmt: skip
    flag = " --ledger 'my own.sqlite'" if own else ""
    held = next(one["message"] for one in result.to_dict()["advice"] if one["code"] == "held_by_failures")
    assert f"`judgeloop ledger settle --run {result.setup.run[:8]} 0{flag}`" in held
    assert held in result.page.text("next")
    assert f"`judgeloop ledger show --unknown{flag}`" in result.page.text("cost")


def test_a_ledger_that_is_not_there_is_an_error_and_is_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(judgeloop.InputError, match=r"ledger\.sqlite"):
        judgeloop.spent_usd()
    assert not list(tmp_path.iterdir())

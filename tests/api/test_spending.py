"""The bill of a study in Python."""

from __future__ import annotations

import pytest
from support.chat_server import respond_with, verdict
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


def test_a_ledger_that_is_not_there_is_an_error_and_is_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(judgeloop.InputError, match=r"ledger\.sqlite"):
        judgeloop.spent_usd()
    assert not list(tmp_path.iterdir())

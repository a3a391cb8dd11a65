"""A dry run from Python says what the command line's says: nobody is asked, nothing is spent."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner
from support.questions import as_flags, given, needed

import judgeloop
from judgeloop.cli.app import app
from judgeloop.questions.catalogue import QUESTIONS

MODEL = {"judge": "openai/gpt-4.1-mini", "environment": {}}  # and no key


def dry_run(question, files, **settings):
    return getattr(judgeloop, f"{question}_dry_run")(*files, **settings)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_it_says_what_the_command_line_says(question, files, tmp_path):
    ledger, paths = tmp_path / "ledger.sqlite", given(question.settings(), *map(str, files.values())).values()
    found = dry_run(question.name, paths, **MODEL, **needed(question.settings()), ledger=ledger, budget=0.02)
    typed = [path for one in paths for path in (one if isinstance(one, list) else [one])]
    command = [
        question.name,
        *typed,
        "--judge",
        MODEL["judge"],
        "--budget",
        "0.02",
        *as_flags(needed(question.settings())),
    ]
    command += ["--ledger", str(ledger), "--dry-run"]
    shown = CliRunner().invoke(app, command, env={"COLUMNS": "100"}).output
    assert f"{found}\n" == shown
    values = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    assert found.to_dict() | {"settings_files": {}} == values
    assert values["usd"]["worst"] > values["usd"]["low"] > 0
    assert not ledger.exists(), "neither has made a ledger"
    assert values["run"] == found.result.setup.run


def test_no_function_is_called_and_the_run_then_has_the_same_id(rows, tmp_path):
    asked = []

    def judge(*, first, second):
        asked.append(first)
        return "A" if len(first) < len(second) else "B"

    two, settings = (rows["terse"], rows["chatty"]), {"judge": judge, "version": "1"}
    found = judgeloop.compare_dry_run(*two, **settings, ledger=tmp_path / "l.sqlite")
    assert not asked
    assert found.judgments.worst == len(rows["terse"])
    assert found.to_dict()["usd"] == {"low": 0, "expected": 0, "worst": 0}
    result = judgeloop.compare(*two, **settings, ledger=tmp_path / "l.sqlite")
    assert asked
    assert result.setup.run == found.result.setup.run
    again = judgeloop.compare_dry_run(*two, **settings, ledger=tmp_path / "l.sqlite")
    assert again.calls.worst == 0


def test_it_works_where_an_event_loop_runs_and_shows_itself_in_a_notebook(files, tmp_path):
    async def cell():
        return dry_run("compare", [*files.values()][:2], **MODEL, ledger=tmp_path / "ledger.sqlite")

    found = asyncio.run(cell())
    assert "Forecast only" in found._repr_html_()
    assert repr(found) == str(found)
    assert found.priced

"""Two finished runs are compared from Python as the command line does it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import judgeloop
from judgeloop.cli.app import app
from judgeloop.core.errors import InputError


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path):
    paths = []
    for name, every in (("june", 3), ("july", 6)):
        path = tmp_path / f"{name}.jsonl"
        rows = [
            {"id": str(n), "prompt": "p", "output": "o", "score": float(n % every != 0)}
            for n in range(120)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths.append(path)
    return paths


def test_it_is_what_the_command_line_says(files):
    result = judgeloop.compare_recorded(*files, risk=0.05)
    printed = command("compare", *files, "--risk", "0.05")
    assert printed.exit_code == result.exit_code == 0
    assert str(result) + "\n" == printed.stdout
    values = json.loads(command("compare", *files, "--risk", "0.05", "--json").stdout)
    labels = result.to_dict().pop("labels")
    assert result.to_dict() | {"settings_files": {}, "labels": labels} == values | {
        "labels": labels
    }
    assert len(labels) == 120


def test_it_shows_itself_in_a_notebook_and_as_a_frame(files):
    result = judgeloop.compare_recorded(str(files[0]), files[1])
    assert "july is better than june" in result._repr_html_()
    assert list(result.to_frame("polars")["item_id"])[:2] == ["0", "1"]


def test_a_setting_that_needs_a_judge_is_refused(files):
    with pytest.raises(InputError, match="`seed`: without a `judge`"):
        judgeloop.compare_recorded(*files, seed=3)


def test_a_judge_is_sent_to_compare(files):
    with pytest.raises(InputError, match="`judge`: `compare_recorded` asks no judge; `compare` do"):
        judgeloop.compare_recorded(*files, judge="human")


def test_compare_says_who_compares_recorded_scores(files):
    with pytest.raises(InputError, match="`score`: recorded scores are compared by `compare_reco"):
        judgeloop.compare(*files, judge="human", score="acc")


def test_rows_in_memory_are_refused_as_no_file(files):
    with pytest.raises(InputError, match="`first`: expected the path of a file, found"):
        judgeloop.compare_recorded([{"id": 1}], files[1])

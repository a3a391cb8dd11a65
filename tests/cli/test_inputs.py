"""What the command line says about the files that it is to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app


@pytest.mark.parametrize("items", [[], ["--items", "items.csv"]])
def test_a_map_of_a_column_that_no_file_has_is_refused_also_beside_an_items_file(items):
    for name in "ab":
        Path(f"{name}.csv").write_text("id,prompt,reply\n1,p,x\n2,q,y\n")
    Path("items.csv").write_text("id,prompt,gold\n1,p,x\n2,q,y\n")
    mapped = ["--map", "output=reply,reference=golden"]
    files = ["a.csv", "b.csv", *items, *mapped]
    done = CliRunner().invoke(app, ["compare", *files, "--judge", "metric:exact"])
    assert done.exit_code == 2
    assert "--map reference=golden: no file has the column 'golden'" in done.stderr


def test_a_mistyped_file_is_an_error_that_names_the_nearest():
    Path("lead.jsonl").write_text('{"id": 1, "prompt": "p", "output": "x"}\n')
    done = CliRunner().invoke(app, ["compare", "leed.jsonl", "lead.jsonl", "--judge", "human"])
    assert done.exit_code == 2
    assert "leed.jsonl: there is no such file (did you mean lead.jsonl?)" in done.stderr

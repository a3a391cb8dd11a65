"""`judgeloop replay --job estimate --proxy history` as people use it."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app

ITEMS, SYSTEMS = 60, 5


@pytest.fixture
def data(tmp_path):
    """Five systems whose scores depend on the item more than on the system."""
    rng = np.random.default_rng(0)
    easy, table = rng.random(ITEMS), ["item_id,model,score"]
    folder = tmp_path / "outputs"
    folder.mkdir()
    for number in range(SYSTEMS):
        scores = np.clip(easy + rng.normal(0, 0.1, ITEMS), 0, 1)
        table += [f"i{at},s{number},{scores[at]:.4f}" for at in range(ITEMS)]
        lines = [
            json.dumps({"id": f"i{at}", "model": f"s{number}", "output": "x"})
            for at in range(ITEMS)
        ]
        (folder / f"s{number}.jsonl").write_text("\n".join(lines) + "\n")
    items, verdicts = tmp_path / "items.jsonl", tmp_path / "verdicts.csv"
    items.write_text(
        "".join(json.dumps({"id": f"i{at}", "prompt": f"p{at}"}) + "\n" for at in range(ITEMS))
    )
    verdicts.write_text("\n".join(table) + "\n")
    return [folder, "--items", items, "--verdicts", verdicts, "--job", "estimate", "--selectors", "random",
            "--shares", "25", "--jobs", 1]  # fmt: skip


def replay(*arguments):
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def error_of(folder):
    with (folder / "accuracy.csv").open(encoding="utf-8") as file:
        return float(next(csv.DictReader(file))["rms"])


def test_a_history_of_other_systems_brings_estimates_nearer(data, tmp_path):
    plain, helped = tmp_path / "plain", tmp_path / "helped"
    assert replay(*data, "-o", plain).exit_code == 0
    result = replay(*data, "--proxy", "history", "--history-systems", 3, "-o", helped)
    assert result.exit_code == 0, result.output
    assert error_of(helped) < 0.7 * error_of(plain)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--proxy", "history"], "neither has an effect without the other"),
        (["--history-systems", "2"], "neither has an effect without the other"),
        (
            ["--proxy", "history", "--history-systems", "5"],
            "besides 's0' there are 4 systems with verdicts",
        ),
    ],
)
def test_a_history_that_cannot_be_drawn_is_refused(data, tmp_path, more, message):
    result = replay(*data, *more, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")

"""`judgeloop replay --job estimate --proxy history` as people use it."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from support.replaying import recorded, replay

ITEMS, SYSTEMS = 60, 5


@pytest.fixture
def data(tmp_path):
    """Five systems whose scores depend on the item more than on the system."""
    rng = np.random.default_rng(0)
    easy = rng.random(ITEMS)
    scores = {f"s{n}": np.clip(easy + rng.normal(0, 0.1, ITEMS), 0, 1) for n in range(SYSTEMS)}
    files = recorded(tmp_path, scores)
    return [*files, "--job", "estimate", "--selectors", "random", "--shares", "25", "--jobs", 1]


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
        (["--proxy", "history", "--history-systems", "5"], "besides 's0' there are 4 systems with verdicts"),
    ],
)
def test_a_history_that_cannot_be_drawn_is_refused(data, tmp_path, more, message):
    result = replay(*data, *more, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")

"""A search says where one with another baseline, or another draw, named another system."""

from __future__ import annotations

import pytest
from support import commandline
from support.outputs import write_outputs

LEVELS = ("no", "yes x y", "yes x", "yes")  # of token F1 against "yes"


@pytest.fixture
def search(tmp_path):
    """Of 40 items, all of B beat C; A beats B on 30, and loses to C on 10."""
    scores = {"A": [3] * 30 + [0] * 10, "B": [2] * 40, "C": [1] * 40}
    files = [
        str(write_outputs(tmp_path / f"{name}.jsonl", [LEVELS[one] for one in row], reference="yes"))
        for name, row in scores.items()
    ]

    def ask(baseline, *more):
        command = ["select", *files, "--judge", "metric:token-f1", "--baseline", baseline, *more]
        return commandline.result_of(*command)

    return ask


def test_a_search_that_another_baseline_turns_says_so(search):
    first, turned = search("C"), search("B")
    assert (first["winner"], turned["winner"]) == ("B", "A")
    assert first["headline"].startswith("B is the best of 3 systems, each compared with C, on ")
    assert not first["rebased"] + first["redrawn"] + turned["redrawn"]
    assert turned["rebased"] == (f"{first['run']}, with {first['judged']} judged: {first['headline']}")
    (said,) = [one["message"] for one in turned["warnings"] if one["code"] == "rebased"]
    assert "with another baseline ended otherwise: run" in said


def test_a_search_that_ends_as_the_last_says_nothing_of_it(search):
    search("C")
    again = search("C", "--seed", "5")
    assert not again["rebased"] + again["redrawn"]


def test_another_risk_is_another_question(search):
    search("C")
    assert not search("B", "--risk", "0.05")["rebased"]

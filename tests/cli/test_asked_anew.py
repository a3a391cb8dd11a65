"""A run that asks anew what was asked before says which part of the key differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commandline import judgeloop


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

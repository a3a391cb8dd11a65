"""`--as-published` as people use it: the paper's configuration, named in the result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commandline import judgeloop
from support.text import unwrapped

from judgeloop.questions.compare import run as comparing
from judgeloop.questions.estimate import selector as estimating

INCIDENTS = Path(__file__).parents[2] / "examples" / "incidents"
SYSTEMS = sorted((INCIDENTS / "systems").glob("*.jsonl"))
JUDGED = ["--items", INCIDENTS / "items.jsonl", "--judge", "metric:rouge2"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _lexical_stands_in(monkeypatch):
    """Word vectors in place of the models' vectors, which need an extra."""
    embed, states = vars(comparing)["embed"], estimating.states_of
    monkeypatch.setattr(
        comparing, "embed", lambda texts, represent, **more: embed(texts, "lexical", **more)
    )
    monkeypatch.setattr(
        estimating,
        "states_of",
        lambda pool, represent, layer, **more: states(pool, "lexical", layer, **more),
    )


@pytest.mark.usefixtures("_lexical_stands_in")
def test_a_comparison_is_diffuse_and_says_so():
    files = [INCIDENTS / "central.jsonl", INCIDENTS / "lead.jsonl"]
    result = judgeloop("compare", *files, *JUDGED, "--as-published", "--json")
    assert result.exit_code in {0, 3}, result.output
    found = json.loads(result.stdout)
    assert found["published"].startswith("DiffUse (Ashury-Tahan et al. 2024): selector diffuse")
    assert (found["selector"], found["rule"], found["represent"], found["variant"]) == (
        "diffuse",
        "hypergeometric",
        "minilm",
        None,
    )
    again = judgeloop("compare", *files, *JUDGED, "--as-published")
    assert "as published" in again.stdout
    assert "rule hypergeometric, min judgments 5, max judgments 200" in unwrapped(again.stdout)
    assert "0 attempts," in again.stdout, "the same run, so nothing is asked twice"


@pytest.mark.usefixtures("_lexical_stands_in")
def test_an_estimate_is_actracer_and_says_so(tmp_path):
    rows = [
        {"id": f"i{n}", "prompt": f"What is {n}?", "output": str(n - n % 2), "reference": str(n),
         "logprobs": [-0.1 * (n % 7) - 0.1]}
        for n in range(40)
    ]  # fmt: skip
    for name in ("outputs", "items"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = judgeloop("estimate", "outputs.jsonl", "--items", "items.jsonl", "--judge", "metric:exact",
                       "--represent", "hidden:MODEL", "--max-judgments", 20, "--as-published", "--json")  # fmt: skip
    assert result.exit_code in {0, 3}, result.output
    found = json.loads(result.stdout)
    assert found["published"].startswith("AcTracer (Huang et al. 2024): selector actracer")
    assert "represent hidden:MODEL, layer middle" in found["published"]

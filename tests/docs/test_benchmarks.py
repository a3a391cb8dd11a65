"""Every benchmark that a page of results names starts, and ends well with its smallest input."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest
from support.pages import DOCS, ROOT

NAMED = {
    name
    for page in (DOCS / "results").glob("*.md")
    for name in re.findall(r"benchmarks/(\w+)\.py", page.read_text("utf-8"))
}
TINY = "{data}/tiny-lm"
# The smallest input of each; {data} is the folder of recorded verdicts, {out} one to write to.
SMALLEST = {
    "alarms": "{data} --runs 10 --pairs 1",
    "bill": "{data} --runs 1",
    "cluster_noise": f"{TINY}/hidden.npz --clusters 2",
    "cluster_search": "--items 100",
    "costs": "--repeats 1 --judgments 20",
    "epsilon": "{data} --pools 2 --queries 2 --seeds 1 --horizons 2",
    "estimate_groups": "{data} --runs 2",
    "estimate_steps": "--items 1000",
    "exact_boundary": "--runs 20 --limits 20 --ties 0.3 --gaps 0.1",
    "gap_bounds": "{data} --runs 1 --pairs 1",
    "growth": "--judgments 20 --rules bets --items 20 --verdicts 1000 --on-server --replays",
    "held_out": "{data} --pairs 1 --repetitions 1",
    "interval_coverage": f"{TINY}/outputs.jsonl {TINY}/verdicts-exact.csv.gz --runs 1",
    "level_systems": "--orders 1 --items 40",
    "live": "{data} --runs 1",
    "live_seconds": "{data} --first 1 --pairs 1 --items 20",
    "one_order": "{data} --runs 1",
    "one_test": "{data} --pairs 3",
    "outlook": "--forecasts --runs 10 --limits 20",
    "pace_outliers": TINY,
    "planning": "--judgments 20",
    "race": "{data} --runs 1 --only few --verdicts gpt4 --pools 20",
    "replay_speed": "--items 40 --pairs 1 --seeds 1",
    "results": "{data} -o {out} --only realsumm-human-pyramid --write {out}/tables.md",
    "people": "{data} --errors --runs 5",
    "risks": "--runs 10 --only bets",
    "scale": "--items 50 --dimensions 8",
    "simulate": "--count 1",
    "speed": "--items 40 --turns 1 --ms 0",
    "start": "--items 60 --limits 20 --asked winner estimate --turns 1",
    "trust": "--corrected {data} --runs 1",
    "window": "--seeds 1 --gaps 0.4",
}
# With the extra embed.
EMBEDDING = {
    "embed_batches": "{data}/tiny-lm/outputs.jsonl --texts 10 --repeats 1",
    "layer_search": "{data}/tiny-lm/model {data}/tiny-lm/outputs.jsonl --prompts 20",
    "hidden_states": "{data}/tiny-lm/model --prompts 10 --plain 5",
    "symbols_lm": "{out} --steps 1",
}
# Not run here: other tools, which their own environments need; what tests/faults/ runs.
APART = {"beside", "beside_jobs", "storms"}


def test_every_benchmark_that_a_page_names_has_an_input():
    known = SMALLEST.keys() | EMBEDDING.keys() | APART | {"diffuse_pictures"}
    assert known >= NAMED
    assert known <= {file.stem for file in (ROOT / "benchmarks").glob("*.py")}


def test_a_benchmark_that_is_not_started_here_can_be_imported(monkeypatch):
    folder = ROOT / "benchmarks"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    every = {path.stem for path in folder.glob("*.py")}
    try:
        for name in every - {*SMALLEST, *EMBEDDING, "live_inspect"}:  # which needs inspect_ai
            import_module(name)
    finally:
        for name in every:
            sys.modules.pop(name, None)


def started(name, arguments, folder, data=""):
    """Run a benchmark in a folder of its own."""
    command = [sys.executable, ROOT / "benchmarks" / f"{name}.py", *arguments.format(data=data, out=folder).split()]
    few = {"JUDGELOOP_JOBS": "1", "JUDGELOOP_PAIRS": "2"}  # of replays that it starts
    done = subprocess.run(command, cwd=folder, env=os.environ | few, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_a_benchmark_ends_well_with_its_smallest_input(name, tmp_path, request):
    data = request.getfixturevalue("recorded_data") if "{data}" in SMALLEST[name] else ""
    shutil.copy(DOCS / "results" / "tables.md", tmp_path)
    started(name, SMALLEST[name], tmp_path, data)
    if name == "results":  # which has made a replay
        started("diffuse_pictures", "{out}/realsumm-human-pyramid", tmp_path)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("growth", "--judgments --items --rules bets --verdicts --replays --on-server 400"),
        ("costs", "--repeats 0 --judgments 20 --in-flight 8 --away 5"),
    ],
)
def test_a_benchmark_measures_a_server_too(name, arguments, tmp_path, postgres):
    started(name, arguments, tmp_path)


@pytest.mark.processes
@pytest.mark.skipif(find_spec("distributed") is None, reason="needs judgeloop[cluster]")
def test_a_benchmark_measures_replays_on_a_cluster_too(tmp_path):
    started("growth", "--judgments --items --rules bets --verdicts --on-server --replays 60", tmp_path)


@pytest.mark.processes
@pytest.mark.embed
@pytest.mark.skipif(find_spec("torch") is None, reason="needs judgeloop[embed]")
@pytest.mark.parametrize("name", sorted(EMBEDDING))
def test_a_benchmark_that_embeds_ends_well(name, tmp_path, recorded_data):
    started(name, EMBEDDING[name], tmp_path, recorded_data)

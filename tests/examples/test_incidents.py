"""The example's files are what its scripts make, byte for byte, and it has an honest oracle."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from judgeloop.core.records import preference
from judgeloop.judges.metric import metric_named


@pytest.fixture
def remade(incidents, tmp_path):
    """A copy without the generated files."""
    folder = tmp_path / "incidents"
    shutil.copytree(incidents, folder, ignore=shutil.ignore_patterns("*.jsonl", "__pycache__"))
    return folder


def test_its_files_are_remade_byte_for_byte(incidents, remade):
    def run(*command):
        return subprocess.run([sys.executable, *command], cwd=remade, check=True, capture_output=True).stdout

    run("make_incidents.py")
    assert (remade / "items.jsonl").read_bytes() == (incidents / "items.jsonl").read_bytes()
    for name in ("lead", "central"):
        assert run("summarise.py", name, "items.jsonl") == (incidents / f"{name}.jsonl").read_bytes()
    for made in sorted((incidents / "systems").iterdir()):
        assert run("summarise.py", made.stem, "items.jsonl") == made.read_bytes()


def test_it_has_at_least_150_items_with_references(incidents):
    rows = [json.loads(line) for line in (incidents / "items.jsonl").read_text().splitlines()]
    assert len(rows) >= 150
    assert all(row["reference"] and row["prompt"] and row["group"] for row in rows)
    assert len({row["prompt"] for row in rows}) == len({row["id"] for row in rows}) == len(rows)


def test_the_better_system_is_the_one_that_its_readme_names(incidents):
    def read(name):
        return [json.loads(line) for line in (incidents / name).read_text().splitlines()]

    metric = metric_named("rouge2")
    votes = [0, 0, 0]
    for item, lead, central in zip(read("items.jsonl"), read("lead.jsonl"), read("central.jsonl"), strict=True):
        scores = [metric(item["reference"], row["output"]) for row in (lead, central)]
        votes[1 + preference(scores[0] - scores[1])] += 1
    assert votes == [156, 14, 70], "wins of centrality, ties, wins of lead-2"

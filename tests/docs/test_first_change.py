"""The steps of "Your first change" in CONTRIBUTING work, one after another, in a copy of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.pages import ROOT, blocks

STEPS = [block for block in blocks(ROOT / "CONTRIBUTING.md") if block.comment == "not run: in a copy of the checkout"]
TABLE = "\nJUDGES: tuple[JudgeRow, ...] = (\n"


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    for name in ("judgeloop", "prompts", "tests", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc*"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def run(folder, command):
    """Run commands of a page; of the quick tests only that there are some."""
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euc", command.replace("-m smoke", "-m smoke --collect-only")],
        cwd=folder,
        env=os.environ | {"PATH": scripts, "PYTHONPATH": str(folder)},
        check=False,
        capture_output=True,
        text=True,
    )


def write(folder, text):
    """Do what a reader does with a block of Python: a new file, or a function above a table and a row at its end."""
    comment, _, code = text.partition("\n")
    file = folder / comment.removeprefix("# ")
    if not file.exists():
        file.write_text(text, encoding="utf-8")
        return
    head, mark, tail = file.read_text(encoding="utf-8").partition(TABLE)
    rows, end, rest = tail.partition("\n)")
    assert mark
    function, _, row = code.strip().rpartition("\n\n\n")
    file.write_text(f"{head}\n{function}\n\n{mark}{rows}\n    {row},{end}{rest}", encoding="utf-8")


@pytest.mark.processes
def test_the_steps_of_a_first_change_lead_to_a_judge_that_works(checkout):
    first, test, *code, last = STEPS
    assert run(checkout, first.text).returncode == 0
    write(checkout, test.text)
    assert run(checkout, "pytest --quiet tests/judges/test_longest.py").returncode != 0
    for block in code:
        write(checkout, block.text)
    done = run(checkout, last.text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "by longest\n" in done.stdout
    refused = run(
        checkout,
        "judgeloop estimate examples/incidents/lead.jsonl --items examples/incidents/items.jsonl --judge longest",
    )
    assert refused.returncode == 2
    assert "gives no score to one" in refused.stderr

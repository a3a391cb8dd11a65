"""Every command in the documents runs, and what is shown under one is what it prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTICES = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
DOCUMENTS = [ROOT / "README.md", *NOTICES, *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def blocks(pattern):
    """The blocks of all documents; fifteen nights are simulated with the other simulations."""
    return [
        pytest.param(
            block,
            id=f"{document.name}-{number}",
            marks=[pytest.mark.simulation] if "nightly.py" in block else [],
        )
        for document in DOCUMENTS
        for number, block in enumerate(pattern.findall(document.read_text(encoding="utf-8")))
    ]


@pytest.fixture
def checkout(tmp_path):
    """A folder with the examples, as a reader has them."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def run(command, folder):
    scripts = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("block", blocks(CONSOLE))
def test_a_command_prints_what_is_shown_under_it(block, checkout):
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    assert commands, "a console block shows a command after '$ '"
    for text in commands:
        command, _, shown = text.partition("\n")
        done = run(command, checkout)
        assert done.returncode == 0, done.stderr
        if shown.strip():
            assert anywhere(done.stdout) == anywhere(shown)


def anywhere(text):
    """What `doctor` shows, without the version of SQLite and the file system of one machine."""
    return re.sub(r"SQLite [\d.]+, (\S+) on .*", r"SQLite, \1", text.strip())


@pytest.mark.parametrize("block", blocks(PYTHON))
def test_a_program_runs_and_prints_something(block, checkout):
    (checkout / "program.py").write_text(block, encoding="utf-8")
    done = run(f"{sys.executable} program.py", checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target


def test_the_set_up_commands_are_there_for_ci_to_run():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for name in re.findall(r"<!-- setup: (\w+) -->", readme):
        assert f"setup {name}" in script
    for name in re.findall(r"<!-- (after \w+: \w+) -->", readme):
        assert f'run_in "{name}"' in script


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_figure_was_left_to_fill_in(document):
    text = document.read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|TBD|XXX|[A-Z]{3,}_[A-Z0-9_]+_NOTE|[A-Z]{3,}_(TA|HG)\d?)\b", text)


def test_every_flag_named_in_the_readme_exists():
    helps = [
        run(f"judgeloop {command} --help-all", ROOT).stdout
        for command in ("compare", "select", "estimate", "replay", "doctor")
    ]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pip = {"--quiet", "--editable"}
    for flag in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", readme)) - pip:
        assert any(flag in text for text in helps), flag

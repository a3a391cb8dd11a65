"""The house rules that a machine can check: layers, types, lint, lazy imports, sizes,
public names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest

import judgeloop

ROOT = Path(__file__).parent.parent
HEAVY = {
    "torch",
    "sentence_transformers",
    "sklearn",
    "scipy",
    "openai",
    "anthropic",
    "genai_prices",
    "rouge_score",
    "narwhals",
    "pandas",
    "polars",
}
LONGEST_FILE = 700  # lines: one concept a file, and the longest holds the statements of the ledger


def run(*command, **more):
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, **more)


def tool(name):
    """A tool that is installed beside this Python."""
    return str(Path(sys.executable).parent / name)


@pytest.mark.parametrize(
    "command",
    [
        ["lint-imports"],
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        pytest.param(
            ["codespell"], marks=pytest.mark.skipif(find_spec("codespell_lib") is None, reason="not installed")
        ),
        pytest.param(["mypy"], marks=[pytest.mark.processes, pytest.mark.first]),
    ],
    ids=" ".join,
)
def test_the_checks_pass(command):
    done = run(tool(command[0]), *command[1:], env=os.environ | {"NO_COLOR": "1"})
    assert done.returncode == 0, done.stdout + done.stderr


def loaded_by(code):
    """The modules that a program has imported at its end."""
    end = "\nimport sys, json; sys.stderr.write(json.dumps(list(sys.modules)))"
    return set(json.loads(run(sys.executable, "-c", code + end).stderr.splitlines()[-1]))


def help_of(*command):
    """A program that prints the help of a command."""
    given = f"import sys; sys.argv[1:] = {[*command, '--help']}"
    return f"{given}\nfrom judgeloop.__main__ import main\ntry: main()\nexcept SystemExit: pass"


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import judgeloop", 1),
        ("import judgeloop.cli.app", 40),
        (help_of(), 42),  # what is printed is looked through for keys
        (help_of("compare"), 65),
    ],
)
def test_the_package_and_its_help_import_little(code, most):
    """Somebody waits for the help: numpy alone takes ten times as long as an empty Python."""
    loaded = loaded_by(code)
    assert not {name.split(".")[0] for name in loaded} & (HEAVY | {"numpy", "pydantic", "statistics"})
    assert len([name for name in loaded if name.startswith("judgeloop.")]) <= most


def test_a_wrong_path_waits_for_nothing_that_reads_files():
    wrong = help_of("compare").replace("'--help'", "'nowhere.jsonl', 'b.jsonl', '--judge', 'metric:exact'")
    loaded = loaded_by(wrong)
    assert not {name.split(".")[0] for name in loaded} & (HEAVY | {"numpy", "asyncio", "sqlite3"})
    assert not {"judgeloop.core.outcomes", "judgeloop.report.page"} & loaded


def test_every_public_name_is_there_and_listed_in_order():
    assert judgeloop.__all__ == sorted(judgeloop.__all__)
    for name in judgeloop.__all__:
        assert getattr(judgeloop, name).__doc__, name
    assert dir(judgeloop) == judgeloop.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = judgeloop.nothing


def modules():
    return sorted((ROOT / "judgeloop").rglob("*.py"))


def test_no_module_is_longer_than_a_reader_can_hold():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert not [path for path, lines in lengths.items() if lines > LONGEST_FILE]


def test_a_class_name_exists_once():
    texts = (path.read_text(encoding="utf-8") for path in modules())
    names = Counter(name for text in texts for name in re.findall(r"^ *class (\w+)[(:\[]", text, re.MULTILINE))
    assert len(names) > 100
    assert not [name for name, times in names.items() if times > 1]


def test_every_module_says_in_its_first_lines_what_it_is():
    for path in modules():
        assert path.read_text(encoding="utf-8").startswith('"""'), path


def test_every_module_stands_in_a_folder_and_every_folder_in_the_architecture():
    plan = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")
    loose = {path.stem for path in (ROOT / "judgeloop").glob("*.py")}
    assert loose == {"__init__", "__main__", "catalogue", "parts"}
    for folder in {path.parent.name for path in modules() if path.parent.name != "judgeloop"}:
        assert f"`{folder}`" in plan, f"{folder} is not in docs/development/architecture.md"


def test_every_file_that_the_architecture_names_is_there():
    plan = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", plan)) - {"docs/make.py"}
    assert len(named) > 30
    assert not [name for name in named if not (ROOT / "judgeloop" / name).exists() and not (ROOT / name).exists()]


def test_no_modules_import_each_other_in_a_circle():
    graph = grimp.build_graph("judgeloop")  # imports for types count, too
    order = TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules})
    order.prepare()  # raises CycleError with the modules of a circle


def test_the_pages_of_the_architecture_fit_on_a_few_screens():
    lines = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150

"""The house rules that a machine can check: layers, types, lint, lazy imports, sizes, public names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
}
LONGEST_FILE = 400


def run(*command, **more):
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, **more)


def tool(name):
    """A tool that is installed beside this Python."""
    return str(Path(sys.executable).parent / name)


@pytest.mark.parametrize(
    "command",
    [["lint-imports"], ["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=" ".join,
)
def test_the_checks_pass(command):
    done = run(tool(command[0]), *command[1:], env=os.environ | {"NO_COLOR": "1"})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "code",
    ["import judgeloop", "import judgeloop.cli.app", "import sys; sys.argv[1:] = ['--help']"],
)
def test_nothing_heavy_is_imported_by_the_package_or_its_help(code):
    if "argv" in code:
        code += (
            "\ntry:\n    from judgeloop.cli.app import main; main()\nexcept SystemExit:\n    pass"
        )
    done = run(
        sys.executable,
        "-c",
        f"{code}\nimport sys, json; sys.stderr.write(json.dumps(list(sys.modules)))",
    )
    loaded = {name.split(".")[0] for name in json.loads(done.stderr)}
    assert not loaded & HEAVY


def test_importing_the_package_imports_no_numpy_and_no_pydantic():
    done = run(
        sys.executable,
        "-c",
        "import judgeloop, sys; print({'numpy', 'pydantic'} & set(sys.modules))",
    )
    assert done.stdout.strip() == "set()"


def test_every_public_name_is_there_and_listed_in_order():
    assert judgeloop.__all__ == sorted(judgeloop.__all__)
    for name in judgeloop.__all__:
        assert getattr(judgeloop, name).__doc__, name
    assert dir(judgeloop) == judgeloop.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = judgeloop.nothing


def test_no_room_is_larger_than_it_should_be():
    for path in (ROOT / "judgeloop").rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE, path


def test_every_module_says_in_its_first_lines_what_it_is():
    for path in (ROOT / "judgeloop").rglob("*.py"):
        assert path.read_text(encoding="utf-8").startswith('"""'), path


def test_every_room_of_the_plan_is_described():
    plan = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in (ROOT / "judgeloop").iterdir():
        if path.name.startswith("__") or path.suffix in {".typed", ".pyc"}:
            continue
        assert f"`{path.stem if path.is_dir() else path.name}" in plan, (
            f"{path.name} is not in docs/architecture.md"
        )

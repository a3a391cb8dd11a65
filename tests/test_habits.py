"""What contributors and CI use: nox's commands, the lock, the hooks."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCK = ROOT / "requirements" / "dev.lock"


def pinned():
    """The versions of the lock, by name; a package may have one for each version of Python."""
    found = {}
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            one = Requirement(line)
            (version,) = one.specifier
            assert version.operator == "==", line
            found.setdefault(one.name, []).append(version.version)
    return found


def test_every_dependency_is_locked_at_a_version_in_its_range():
    locked = pinned()
    ranges = [*PROJECT["project"]["dependencies"], *EXTRAS["test"], *EXTRAS["dev"]]
    for needed in map(Requirement, ranges):
        if needed.name != "judgeloop":
            versions = locked.get(needed.name, [""])
            assert all(map(needed.specifier.contains, versions)), f"{needed}: nox --session lock"


def test_the_lock_has_no_torch_and_no_path_of_a_machine():
    assert "torch" not in pinned()
    assert not re.search(r"file:|@|--(extra-)?index-url|--find-links", LOCK.read_text("utf-8"))


def sessions():
    """The functions of the noxfile, by name."""
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    return {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}


def run_by(session):
    """The commands that a session of nox runs, each as a list of words."""
    calls = [one for one in ast.walk(session) if isinstance(one, ast.Call) and one.args]
    return [[word.value for word in call.args if isinstance(word, ast.Constant)] for call in calls]


def test_every_command_of_nox_says_what_it_does_and_is_in_contributing():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, session in sessions().items():
        assert ast.get_docstring(session)
        assert f"`nox --session {name}`" in page, name


def test_the_hooks_run_the_tools_of_the_lint_command():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    local = {
        hook["entry"].removesuffix(" --force-exclude")
        for repository in hooks["repos"]
        for hook in repository["hooks"]
        if repository["repo"] == "local"
    }
    lint = run_by(sessions()["lint"])
    assert local == {" ".join(word for word in one if word not in {".", "--check"}) for one in lint}


def test_the_page_of_the_tests_names_every_mark_that_the_default_run_leaves_out():
    options = PROJECT["tool"]["pytest"]["ini_options"]["addopts"]
    left_out = re.findall(r"not (\w+)", options[options.index("-m") + 1])
    page = (ROOT / "docs" / "development" / "tests.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == sorted(left_out, key=page.index)
    assert len(left_out) > 4

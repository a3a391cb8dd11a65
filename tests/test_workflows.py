"""GitHub's workflows: least rights, actions pinned by hash, commands that are run here, too."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs():
    """Name of the file, name of the job, and the job, of all workflows."""
    return [(path.name, name, job) for path in WORKFLOWS for name, job in read(path)["jobs"].items()]


def commands():
    return {step["run"] for _, _, job in jobs() for step in job["steps"] if "run" in step}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_hash(path):
    used = re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert PINNED.fullmatch(action), action


def test_a_job_may_only_read_and_only_publishing_may_prove_who_it_is():
    assert all(read(path)["permissions"] == {} for path in WORKFLOWS)
    for file, name, job in jobs():
        publishes = (file, name) == ("release.yml", "publish")
        assert job["permissions"] == ({"id-token": "write"} if publishes else {"contents": "read"}), name


def test_no_checkout_leaves_its_token_and_no_secret_is_read():
    for _, name, job in jobs():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name
    for path in WORKFLOWS:
        assert "secrets." not in path.read_text(encoding="utf-8")


def test_no_command_has_an_expression_that_a_name_of_a_branch_could_break_out_of():
    assert not [command for command in commands() if "${{" in command]


def test_publishing_runs_no_code_of_the_project_and_attests():
    publish = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]["publish"]
    assert not [step for step in publish["steps"] if "run" in step]
    assert publish["environment"] == "pypi"
    last = publish["steps"][-1]
    assert last["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert last["with"] == {"attestations": True}


def test_the_matrix_has_all_versions_and_what_must_pass_has_its_classifier():
    job = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]
    assert job["strategy"]["matrix"] == {
        "os": ["ubuntu-latest", "macos-latest", "windows-latest"],
        "python": ["3.11", "3.12", "3.13", "3.14"],
    }
    must = re.search(r"!contains\(fromJSON\('(\[.*?\])'\), matrix.python\)", job["continue-on-error"])
    prefix = "Programming Language :: Python :: 3."
    classified = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if line.startswith(prefix)]
    assert yaml.safe_load(must[1]) == classified


# Where each command of the workflows is run on this side.
BY_README = {"pip install --quiet --editable '.[test]'", "pytest --quiet -n auto"}
BY_README_AFTERWARDS = {"pytest --quiet -n auto -m 'simulation or processes'"}
BY_CI = {".ci/demo"}
BY_TESTS = {
    'python .ci/check_release.py "$TAG" "$ADDRESS"',  # below
    "python -m hatchling build",  # tests/test_package.py
}
# New seeds each week, and more of them than a test could run.
WEEKLY = {
    'python benchmarks/simulate.py --first "$(($(date +%s) / 604800 * 5000))" --count 5000',
    "python benchmarks/simulate.py --planted",
    "pytest --quiet -n auto -m 'simulation or quick'",
}
BY_NOX = {"nox --session coverage"}
# They install the versions of the lock or a tool of the workflow's own, or ask for advisories.
ONLINE = {
    "pip install --quiet --constraint requirements/dev.lock --editable '.[test]'",
    "pip install --quiet --constraint requirements/dev.lock --editable '.[dev]'",
    "python -m pip install --quiet hatchling",
    "python -m pip install --quiet pip-audit",
    ".ci/audit",
}


def test_every_command_is_run_here_too_unless_it_needs_the_network():
    assert commands() == BY_README | BY_README_AFTERWARDS | BY_CI | BY_TESTS | BY_NOX | WEEKLY | ONLINE


def test_the_set_up_and_the_tests_are_the_readmes():
    block = re.search(r"<!-- setup: test -->\n```sh\n(.*?)\n```", README)[1]
    parts = [part.replace(".venv/bin/", "") for part in block.split(" && ")]
    assert parts[0] == "python3 -m venv .venv"
    assert set(parts[1:]) == BY_README
    block = re.search(r"<!-- after test: simulate -->\n```sh\n(.*?)\n```", README)[1]
    assert {block.replace(".venv/bin/", "")} == BY_README_AFTERWARDS


def test_contributors_read_the_readmes_command():
    block = re.search(r"<!-- setup: test -->\n(```sh\n.*?\n```)", README)[1]
    assert block in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("bash") is None, reason="the scripts are for bash")
@pytest.mark.parametrize("name", ["run", "demo", "audit"])
def test_a_script_can_be_run_and_has_no_error_of_syntax(name):
    script = ROOT / ".ci" / name
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


@pytest.fixture
def ready(tmp_path):
    """A checkout that is ready for the release of this version."""
    for name in ("pyproject.toml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {PROJECT['version']}\n")
    return tmp_path


def problems(*args):
    path = ROOT / ".ci" / "check_release.py"
    spec = importlib.util.spec_from_file_location("check_release", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.problems(*args)


TAG, ADDRESS = f"v{PROJECT['version']}", PROJECT["urls"]["Repository"]


def test_a_release_that_fits_is_let_through(ready):
    assert problems(ready, TAG, ADDRESS) == []


def test_a_release_with_a_placeholder_for_the_address_is_refused(ready):
    (found,) = problems(ready, TAG, "https://example.com/judgeloop")
    assert found == (f"the repository is https://example.com/judgeloop, and pyproject.toml has {ADDRESS}")


@pytest.mark.parametrize(
    ("name", "old", "said"),
    [
        ("CHANGELOG.md", f"## {PROJECT['version']}", "CHANGELOG.md has no section"),
        ("CITATION.cff", f"version: {PROJECT['version']}", "CITATION.cff has not the version"),
    ],
)
def test_a_version_that_a_file_does_not_have_is_refused(ready, name, old, said):
    text = (ready / name).read_text()
    assert old in text
    (ready / name).write_text(text.replace(old, ""))
    (found,) = problems(ready, TAG, ADDRESS)
    assert said in found


def test_the_command_of_the_release_refuses_another_tag():
    command = next(command for command in commands() if "check_release" in command)
    done = subprocess.run(
        [sys.executable, *command.split()[1:2], "v0.0.0", ADDRESS],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"the tag is v0.0.0, and pyproject.toml has version {PROJECT['version']}" in done.stdout

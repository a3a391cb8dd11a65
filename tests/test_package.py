"""What is shipped: wheel and source distribution hold what they should, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = {".cff", ".md", ".py", ".toml", ".yaml", ".yml", ""}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with wheel and source distribution, built as a release builds them, offline."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    """The texts and bytes of the wheel, by name."""
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def sdist(built):
    """The sizes of the source distribution's files, by name below its folder."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2]: member.size for member in archive if member.isfile()}


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = (name for name in wheel if name.endswith(".dist-info/METADATA"))
    return message_from_string(wheel[name].decode())


def below(folder, *suffixes):
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix in suffixes
    }


def test_the_wheel_holds_the_package_what_it_copies_or_reads_and_no_more(wheel):
    prompts = {f"judgeloop/_{name}" for name in below("prompts", ".md")}
    example = {f"judgeloop/_examples/incidents/{name}.jsonl" for name in ("items", "lead", "central")}
    settings = {f"judgeloop/_docs/reference/judgeloop.{ending}" for ending in ("toml", "schema.json")}
    package = below("judgeloop", ".py", ".typed", ".html", ".css", ".js")
    inside = {name for name in wheel if ".dist-info/" not in name}
    assert inside == package | prompts | example | settings


def test_the_wheel_alone_writes_a_settings_file_and_its_schema(built, tmp_path):
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "wheel")

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "judgeloop", *arguments],
            cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "wheel")}, check=True, capture_output=True,
        ).stdout  # fmt: skip

    run("init")
    reference = ROOT / "docs" / "reference"
    made = (tmp_path / "judgeloop.toml").read_bytes()
    assert made == (reference / "judgeloop.toml").read_bytes()
    assert run("init", "--schema") == (reference / "judgeloop.schema.json").read_bytes()


def test_the_licence_is_in_both_and_an_expression_in_the_metadata(wheel, sdist, metadata):
    text = (ROOT / "LICENSE").read_bytes()
    assert b"Version 2.0, January 2004" in text
    assert b"Copyright 2026 The judgeloop authors" in text
    (name,) = (name for name in wheel if name.endswith(".dist-info/licenses/LICENSE"))
    assert wheel[name] == text
    assert sdist["LICENSE"] == len(text)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert not any(line.startswith("License ::") for line in metadata.get_all("Classifier"))


def test_the_base_installation_needs_no_diskcache_and_the_extras_do(metadata):
    base = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert len(base) == len(PROJECT["dependencies"])
    assert not any(line.startswith("diskcache") for line in base)
    extras = PROJECT["optional-dependencies"]
    assert [re.split(r"[<>=]", line)[0] for line in extras["cache"]] == ["diskcache"]
    assert "judgeloop[cache]" in extras["embed"]
    assert "judgeloop[cache,cluster,page,team]" in extras["test"]


def test_every_package_of_the_base_installation_was_audited():
    audit = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8").partition("## Dependencies")[2]
    for line in PROJECT["dependencies"]:
        name = re.split(r"[<>=\[]", line)[0]
        found = re.search(rf"(?<![\w-]){re.escape(name)}[\s|]+\d", audit)
        assert found, f"{name} is not in docs/explanation/security.md"


def test_the_tests_that_the_page_of_security_names_are_there():
    page = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:\w+/)+test_\w+\.py)`", page.partition("**Systems that answer live")[2])
    assert len(set(named)) > 5
    assert not [name for name in named if not (ROOT / "tests" / name).is_file()]


def test_the_source_distribution_holds_what_its_tests_need_and_nothing_built(sdist):
    for name in (
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "pyproject.toml",
        ".ci/run",
        ".github/workflows/tests.yml",
        "docs/development/architecture.md",
        "examples/incidents/items.jsonl",
        "prompts/pairwise.v1.md",
        "tests/test_package.py",
    ):
        assert name in sdist, name
    endings = (".pyc", ".whl", ".so", ".sqlite", ".egg-info")
    assert not [name for name in sdist if name.endswith(endings)]
    assert sum(sdist.values()) < 10_000_000


def test_the_address_of_the_repository_stands_in_one_place():
    address = PROJECT["urls"]["Repository"]
    assert address.startswith("https://")
    assert list(PROJECT["urls"]) == ["Repository"]
    another = re.compile(r"github\.com[/:][\w.-]+/judgeloop|" + re.escape(address))
    found = {
        path.relative_to(ROOT).as_posix(): another.findall(path.read_text(encoding="utf-8", errors="replace"))
        for path in texts()
    }
    assert {name: hits for name, hits in found.items() if hits} == {"pyproject.toml": [address]}


def texts():
    """The text files of the checkout outside caches and environments."""
    folders = [
        ROOT / name for name in (".ci", ".github", "benchmarks", "docs", "examples", "judgeloop", "prompts", "tests")
    ]
    inside = [path for folder in folders for path in folder.rglob("*")]
    return sorted(
        path
        for path in [*ROOT.iterdir(), *inside]
        if path.is_file() and path.suffix in TEXTS and "__pycache__" not in path.parts
    )

"""The demo: it decides the shipped example anywhere, without key, network or settings, and leaves
nothing behind; the commands that it prints work."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.outputs import write_outputs

from judgeloop.cli.app import app
from judgeloop.cli.setup import FILES

OFFLINE = """\
import socket

def refused(*_, **__):
    raise AssertionError("the demo used the network")

socket.socket.connect = socket.getaddrinfo = refused
"""


def demo(*more):
    return CliRunner(env={"COLUMNS": None}).invoke(app, ["demo", *more])


@pytest.fixture(scope="module")
def said():
    """What the demo prints."""
    return demo().output


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, which is empty."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def empty(tmp_path, monkeypatch, temporary):
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def commands(text):
    """The commands in what the demo prints."""
    return [line.strip() for line in text.splitlines() if line.startswith("  judgeloop ")]


def test_it_decides_says_what_it_means_and_leaves_no_files_whatever_is_set(empty, temporary, monkeypatch, said):
    def refused(*_, **__):
        raise AssertionError("the demo used the network")

    (empty / "judgeloop.toml").write_text("risk = 0.5\n")
    (empty / ".env").write_text("JUDGELOOP_RISK=0.5\n")
    monkeypatch.setenv("JUDGELOOP_RISK", "0.5")
    monkeypatch.setenv("JUDGELOOP_MAX_USD", "0")
    monkeypatch.setattr(socket.socket, "connect", refused)
    done = demo()
    assert (done.exit_code, done.output) == (0, said)
    words = " ".join(said.split())
    assert "centrality is better than lead-2 on items like these 240. judged 43 of 240 items, by metric:rouge2" in words
    assert "after 43 of 240 judgments" in words
    assert "they name the same system (70 for lead-2, 156 for centrality, 14 ties)" in words
    assert {path.name for path in empty.iterdir()} == {"judgeloop.toml", ".env"}
    assert not any(temporary.iterdir())


@pytest.mark.processes
def test_it_runs_as_a_command_in_an_empty_folder_without_a_network(empty, tmp_path):
    offline = tmp_path / "offline"
    offline.mkdir()
    (offline / "sitecustomize.py").write_text(OFFLINE)
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    path = os.pathsep.join(filter(None, [str(offline), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "judgeloop", "demo"],
        cwd=empty,
        env=environment | {"PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n\n")[1].startswith("✓ DECIDED: centrality is better than lead-2")
    assert done.stderr == ""
    assert not any(empty.iterdir())


def test_kept_files_answer_the_command_that_it_prints(empty, monkeypatch):
    said = demo("--keep", "kept").output
    kept = empty / "kept"
    assert {path.name for path in kept.iterdir()} == {*FILES, ".judgeloop"}
    command = commands(said)[0]
    monkeypatch.chdir(kept)
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--details"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] in said
    assert "0 attempts, 43 answered from the ledger" in done.output


@pytest.mark.parametrize("name", ["full", "full/file", "full/file/below"])
def test_a_folder_to_keep_that_is_not_empty_or_cannot_be_made_is_refused(empty, name):
    (empty / "full").mkdir()
    (empty / "full" / "file").write_text("mine")
    done = demo("--keep", name)
    assert done.exit_code == 2
    assert f"--keep {Path(name)}:" in done.output
    assert (empty / "full" / "file").read_text() == "mine"
    assert [path.name for path in empty.rglob("*")] == ["full", "file"]


def own_systems(folder, **more):
    """Two files of the shape that the demo shows: the first system answers well."""
    for name, answer in (("a", "a good answer {}"), ("b", "an answer {}")):
        write_outputs(folder / f"{name}.jsonl", [answer.format(n) for n in range(60)], **more)


def test_the_line_that_it_shows_is_a_line_of_a_file_of_outputs(said):
    shown = next(line for line in said.splitlines() if line.startswith('  {"id"'))
    assert set(json.loads(shown)) == {"id", "prompt", "output"}


def test_the_commands_for_a_model_work_on_files_of_that_shape(empty, chat_server, monkeypatch, said):
    own_systems(empty)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    # A price is known at the address of the provider alone.
    monkeypatch.setenv("JUDGELOOP_JUDGE_PRICE", "0.4,1.6")
    shown = [line for line in commands(said) if "openai/" in line]
    assert [line.split()[1] for line in shown] == ["doctor", "compare", "compare"]
    for line in shown:
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, done.output
    assert done.stdout.startswith("✓ DECIDED: a is better than b")


def test_the_command_without_a_key_works_on_files_of_that_shape(empty, said):
    own_systems(empty, reference="a good answer")
    last = commands(said)[-1]
    done = CliRunner().invoke(app, shlex.split(last)[1:])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("✓ DECIDED: a is better than b")

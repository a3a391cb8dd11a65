"""Completion in a shell: the scripts, and what is offered at a place of a command line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app

SHELLS = ("bash", "zsh", "fish")
NAME = "_JUDGELOOP_COMPLETE"


def judgeloop(**environment):
    """Run the command as a shell's completion does; return what it prints."""
    done = CliRunner().invoke(app, [], env=environment, prog_name="judgeloop")
    assert not done.stderr
    return done.stdout


def offered(words, shell="bash"):
    """What is offered at the end of a command line, with its kind."""
    given = words.split(" ")
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(len(given) - 1)}
    if shell == "fish":
        environment["COMP_CWORD"] = given[-1]
    return judgeloop(**environment, **{NAME: f"{shell}_complete"}).splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_gets_a_script_that_asks_judgeloop(shell):
    script = judgeloop(**{NAME: f"{shell}_source"})
    assert f"{NAME}={shell}_complete" in script
    assert re.search(r"(complete|compdef|--command).* judgeloop", script)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_names_of_commands_are_offered(shell):
    assert any("compare" in line for line in offered("judgeloop com", shell))
    assert not any("select" in line for line in offered("judgeloop com", shell))


def test_subcommands_are_offered():
    assert offered("judgeloop ledger s") == ["plain,settle", "plain,show"]
    assert offered("judgeloop runs ") == [f"plain,{one}" for one in ("list", "show", "trend")]


def test_flags_and_the_names_that_a_flag_takes_are_offered():
    assert "plain,--order" in offered("judgeloop compare --o")
    assert offered("judgeloop compare --order ") == ["plain,both", "plain,random", "plain,fixed"]
    assert "plain,diffuse" in offered("judgeloop compare --selector d")
    assert "plain,race" not in offered("judgeloop compare --selector r")
    assert "plain,hypergeometric" in offered("judgeloop replay --rules h")


@pytest.mark.parametrize(
    "words",
    [
        "compare out",
        "compare a.jsonl out",
        "select a.jsonl b.jsonl out",
        "compare --items out",
        "compare --rubric out",
        "compare -o out",
        "compare a.jsonl b.jsonl --output out",
        "convert out",
        "replay out",
    ],
)
def test_files_are_offered_where_a_file_is_taken(words):
    assert offered(f"judgeloop {words}") == ["file,out"]


def test_completion_reads_no_settings_file():
    Path("judgeloop.toml").write_text("this is no TOML")
    assert offered("judgeloop compare --ord") == ["plain,--order"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_with_the_script(tmp_path):
    (tmp_path / "judgeloop").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m judgeloop "$@"\n')
    (tmp_path / "judgeloop").chmod(0o755)
    program = (
        f'eval "$({NAME}=bash_source judgeloop)"; COMP_WORDS=(judgeloop est); COMP_CWORD=1; '
        '_judgeloop_completion judgeloop; echo "${COMPREPLY[@]}"'
    )
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "estimate", done.stderr


def test_every_command_is_offered_by_name():
    found = {line.partition(",")[2] for line in offered("judgeloop ")}
    assert found == set(app.list_commands(None))

"""Runs the command line in this process."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result

from judgeloop.cli.app import app
from judgeloop.cli.commands import FIELDS
from judgeloop.cli.output import EVERY
from judgeloop.questions import catalogue

QUESTIONS, SHORT = tuple(row.name for row in catalogue.QUESTIONS), {"-q", "--quiet", "--json", "--dry-run"}


def judgeloop(*arguments: object, **variables: str) -> Result:
    """Run `judgeloop ARGUMENTS`; an argument JUDGELOOP_NAME=value sets a variable, as in a shell.

    A question prints all of its result, unless JUDGELOOP_DETAILS=false is among them.
    """
    given = [str(argument) for argument in arguments]
    named = [one for one in given if re.match(r"JUDGELOOP_[A-Z_]+=", one)]
    environment = variables | dict(one.split("=", 1) for one in named)
    rest = [one for one in given if one not in named]
    if {*QUESTIONS} & {*rest[:1]} and not SHORT & {*rest}:
        environment = {"JUDGELOOP_DETAILS": "true"} | environment
    return CliRunner().invoke(app, rest, env=environment, prog_name="judgeloop")


def result_of(*arguments: object, **variables: str) -> dict[str, Any]:
    """Run a question, which ends decided or undecided; its result as JSON has it."""
    done = judgeloop(*arguments, "--json", **variables)
    assert done.exit_code in {0, 3}, done.output
    values: dict[str, Any] = json.loads(done.stdout)
    return values


def shown_and_found(*arguments: object, **variables: str) -> tuple[Result, dict[str, Any]]:
    """Run a question once; what it shows, and its result as JSON has it."""
    file = Path("shown-and-found.json")
    done = judgeloop(*arguments, "-o", file, **variables)
    assert file.exists(), done.output
    return done, json.loads(file.read_text(encoding="utf-8"))


def timeless(values: dict[str, Any]) -> dict[str, Any]:
    """A result without what follows from when answers arrived: times and rounds."""
    models = [[one | {"first": "", "last": ""} for one in judge] for judge in values["answered_by"]]
    return values | {"rounds": 0, "answered_by": models}


def judged_by(server: Any) -> list[str]:
    """The flags for a priced judge at a server of the tests."""
    return ["--judge", "openai/judge", "--judge-base-url", server.url, "--judge-price", "1,10"]


@contextmanager
def in_a_command() -> Iterator[None]:
    """A command that has none of the settings, as `demo`: it names those of all commands."""
    with click.Context(app) as context:
        context.meta[EVERY] = FIELDS
        yield

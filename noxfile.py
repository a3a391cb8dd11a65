"""The commands that contributors and CI run: `nox --list` shows them.

They run in the environment in which nox is installed (`pip install --editable '.[dev]'`):
nothing is installed twice.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "test"]
# The tools beside this Python, also if its environment is not activated.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, layers and spelling."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("codespell")


@nox.session
def test(session: nox.Session) -> None:
    """Run the tests, or those that follow `--`."""
    session.run("pytest", "--quiet", "-n", "auto", *session.posargs)


@nox.session
def promises(session: nox.Session) -> None:
    """Run the simulations, the commands on the pages, signals and kills."""
    session.run("pytest", "--quiet", "-n", "auto", "-m", "simulation or processes")


@nox.session
def docs(session: nox.Session) -> None:
    """Check the pages, and run every command on them."""
    session.run("pytest", "--quiet", "-n", "auto", "-m", "processes or not processes", "tests/docs")


@nox.session
def made(session: nox.Session) -> None:
    """Make the files that come from the code: the reference, the schemas, .env.example."""
    session.run("python", "docs/make.py")


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests, and fail if they reach fewer lines than `fail_under` in pyproject.toml."""
    session.run("pytest", "--quiet", "-n", "auto", "--cov", "--cov-report=term:skip-covered")


@nox.session
def lock(session: nox.Session) -> None:
    """Make requirements/dev.lock: the versions that contributors and CI use."""
    python = ("--python-version", "3.11", "--universal")
    command = ("uv", "pip", "compile", "pyproject.toml", "--extra", "dev", *python, "--upgrade")
    output = ("--no-annotate", "--output-file", "requirements/dev.lock")
    session.run(*command, *output, env={"UV_CUSTOM_COMPILE_COMMAND": "nox --session lock"})

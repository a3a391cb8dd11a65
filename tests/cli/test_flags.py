"""How a command is given its flags."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from click.testing import CliRunner

from judgeloop.cli.flags import (
    AS_JSON,
    COMPARISON,
    JUDGE,
    LEDGER,
    MAX_JUDGMENTS,
    MIN_JUDGMENTS,
    SEED,
    STOPPING,
    SYSTEMS,
    takes,
)


@pytest.fixture
def run():
    """A function that runs a command of its own, and gives what it received."""

    def run_(declare, *arguments, env=None):
        app = typer.Typer()
        received = {}

        def command(*, as_json: bool = False, **flags: Any) -> None:
            received.update(flags, as_json=as_json)

        app.command()(declare(command))
        done = CliRunner().invoke(app, list(arguments), env=env)
        assert done.exit_code == 0, done.output
        return received

    return run_


def test_flags_arrive_by_name_with_their_defaults_and_their_kinds(run):
    received = run(
        takes(SYSTEMS, JUDGE, LEDGER, AS_JSON), "a", "b", "--judge", "x", "--judge", "y", "--json"
    )
    assert received == {
        "first": Path("a"),
        "second": Path("b"),
        "judge": ["x", "y"],
        "ledger": Path(".judgeloop/ledger.sqlite"),
        "as_json": True,
    }


def test_a_flag_is_read_from_its_variable(run):
    assert run(takes(SEED, AS_JSON), env={"JUDGELOOP_SEED": "7"}) == {"seed": 7, "as_json": False}


def test_a_flag_given_again_stands_in_the_place_of_the_first(run):
    declare = takes(
        STOPPING, replace(MAX_JUDGMENTS, default=2000), replace(MIN_JUDGMENTS, default=1)
    )
    received = run(declare)
    plain = run(takes(STOPPING))
    assert received == plain | {"min_judgments": 1, "max_judgments": 2000}
    assert list(received) == list(plain)


def test_a_command_may_have_a_parameter_of_its_own_before_its_flags():
    app = typer.Typer()

    @app.command()
    @takes(SYSTEMS, SEED)
    def explain(item: Annotated[str, typer.Argument(metavar="ITEM")], **flags: Any) -> None:
        print(item, *flags.values())

    done = CliRunner().invoke(app, ["i", "a", "b", "--seed", "3"])
    assert done.output == "i a b 3\n"


def test_no_two_flags_of_a_comparison_share_a_name():
    names = [flag.parameter for flag in (*SYSTEMS, *COMPARISON)]
    assert len(set(names)) == len(names)

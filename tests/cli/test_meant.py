"""Options of other tools, values that are missing, and names that are nearly right."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app
from judgeloop.cli.every_command import every_command
from judgeloop.cli.meant import MEANT, meant_by


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["--metric", "exact"], "--judge metric:NAME"),
        (["--junit", "out.xml"], "-o FILE.xml"),
        (["--max-usd=1"], "--budget"),
        (["--alpha", "0.05"], "--risk"),
        (["--timeout", "3"], "--deadline"),
        (["--output_column", "x"], "--map output=COLUMN"),
    ],
)
def test_an_option_of_another_tool_names_the_one_here(typed, meant):
    done = command("compare", "a.jsonl", "b.jsonl", *typed)
    assert done.exit_code == 2
    assert f"No such option: {typed[0].partition('=')[0]}. Did you mean {meant}" in done.stderr


def test_what_is_named_exists_and_what_is_meant_does_not():
    commands = {" ".join(path): one for path, one in every_command(app)}
    flags = {option for each in commands["compare"].params for option in each.opts}
    assert all(meant_by(f"--{name}", flags) == meant for name, meant in MEANT.items())
    assert not {f"--{name}" for name in MEANT} & flags
    assert command("runs", "--metric", "exact").stderr.count("metric:NAME") == 0


def test_a_missing_baseline_says_what_it_is():
    done = command("select", "a.jsonl", "b.jsonl", "c.jsonl", "--judge", "metric:exact")
    assert done.exit_code == 2
    assert "Missing option '--baseline'. System that all others are compared with" in done.stderr


@pytest.fixture
def systems(incidents):
    return [
        incidents / "lead.jsonl",
        incidents / "central.jsonl",
        incidents / "systems" / "longest.jsonl",
    ]


def test_the_name_of_a_file_in_place_of_a_systems_leads_to_it(systems, incidents):
    shared = [
        "--items",
        incidents / "items.jsonl",
        "--judge",
        "metric:exact",
        "--names",
        "lead,central,longest",
    ]
    done = command("select", *systems, *shared, "--baseline", "lead.jsonl")
    assert done.exit_code == 2
    assert "found 'lead.jsonl' (did you mean lead?)" in done.stderr
    two = [*systems[:2], *shared[:-1], "lead,central"]
    done = command("compare", *two, "--require-winner", Path("folder") / "central.jsonl")
    assert done.exit_code == 2
    assert "found 'folder/central.jsonl' (did you mean central?)" in done.stderr

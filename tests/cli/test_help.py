"""The two forms of a question's help, and what a mistyped name is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commandline import judgeloop

from judgeloop.cli.commands import COMMANDS, FIELDS
from judgeloop.questions.catalogue import QUESTIONS

MOST_OPTIONS, MOST_COMMON, MOST_LINES = 54, 15, 60


def flags_in(text):
    """The flags that a help lists."""
    lines = [line.strip() for line in text.splitlines()]
    return [line.split()[0] for line in lines if line.startswith("-")]


@pytest.mark.parametrize("question", [question.name for question in QUESTIONS])
def test_the_short_help_lists_few_options_and_says_how_many_more_there_are(question):
    short, full = judgeloop(question, "--help"), judgeloop(question, "--help-all")
    assert short.exit_code == full.exit_code == 0
    listed, everything = flags_in(short.output), flags_in(full.output)
    assert set(listed) < set(everything)
    left_out = len(everything) - len(listed)
    assert f"{left_out} more options: judgeloop {question} --help-all" in short.output
    assert "more options" not in full.output
    helps = {"--help-all", "-h,"}
    assert len(set(listed) - helps) <= MOST_COMMON
    assert len(short.output.splitlines()) <= MOST_LINES
    assert max(map(len, short.output.splitlines())) <= 80
    assert len(everything) <= MOST_OPTIONS
    assert f"Example:\n    judgeloop {question} " in short.output


def test_shares_may_be_given_in_per_cent_and_dollars_with_their_sign(pair):
    plain = json.loads(judgeloop(*pair, "--risk", "0.05", "--budget", "2").stdout)
    signs = json.loads(judgeloop(*pair, "--risk", "5%", "--budget", "$2").stdout)
    assert signs["run"] == plain["run"]
    assert (signs["risk_threshold"], signs["budget_usd"]) == (0.05, 2)


@pytest.mark.parametrize("value", ["%", "five%", "500%", "-5%"])
def test_what_is_no_share_in_per_cent_is_refused(pair, value):
    result = judgeloop(*pair, "--risk", value)
    assert result.exit_code == 2
    assert "--risk: expected" in result.stderr


def test_a_mistyped_name_is_answered_with_the_nearest(pair):
    for given, meant in ((["--selector", "difuse"], "diffuse"), (["--rule", "tie-awre"], "tie-aware")):
        result = judgeloop(*pair, *given)
        assert (result.exit_code, f"did you mean {meant}?" in result.stderr) == (2, True)


def test_a_variable_that_sets_nothing_is_an_error_that_names_the_nearest(pair):
    result = judgeloop(*pair, JUDGELOOP_BUDJET="1")
    assert result.exit_code == 2
    said = "the environment: JUDGELOOP_BUDJET sets nothing (did you mean JUDGELOOP_BUDGET?)"
    assert said in result.stderr
    Path(".env").write_text("JUDGELOOP_RISC=0.2\n")
    result = judgeloop(*pair)
    assert ".env: JUDGELOOP_RISC sets nothing (did you mean JUDGELOOP_RISK?)" in result.stderr


def test_a_variable_of_another_command_is_no_error(pair):
    result = judgeloop(*pair, JUDGELOOP_HALF_WIDTH="0.1")
    assert result.exit_code == 0, result.stderr


EVERY = [(), *dict.fromkeys([*((row.name,) for row in COMMANDS), *FIELDS])]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_h_is_help_for_every_command(path):
    short, long = judgeloop(*path, "-h"), judgeloop(*path, "--help")
    assert short.exit_code == long.exit_code == 0
    assert short.output == long.output
    assert "-h, --help" in short.output


def test_a_mistyped_command_is_an_error_that_names_the_nearest():
    result = judgeloop("compar")
    assert result.exit_code == 2
    assert "there is no command 'compar' (did you mean compare?)" in result.stderr


def test_reading_no_settings_has_its_own_spelling():
    done = judgeloop("compare", "a.jsonl", "b.jsonl", "--no-config")
    assert done.exit_code == 2
    assert "No such option: --no-config. Did you mean --config none?" in done.stderr


def test_the_name_of_a_file_in_place_of_a_systems_leads_to_it(pair, incidents):
    _, *two = pair
    third = incidents / "systems" / "longest.jsonl"
    named = [*two, "--names", "lead,central,longest", "--baseline", "lea.jsonl"]
    done = judgeloop("select", third, *named)
    assert done.exit_code == 2
    assert "found 'lea.jsonl' (did you mean lead?)" in done.stderr
    required = ["--names", "lead,central", "--require-winner", Path("folder") / "central.jsonl"]
    done = judgeloop(*pair, *required)
    assert done.exit_code == 2
    assert "found 'folder/central.jsonl' (did you mean central?)" in done.stderr

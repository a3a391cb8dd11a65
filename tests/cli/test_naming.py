"""How settings named in sentences are shown on the command line."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commandline import in_a_command

from judgeloop.cli.commands import FIELDS
from judgeloop.cli.output import as_flags
from judgeloop.report.page import Fact, Page, Section, decided

CHANGED_BY_A_SHELL = ["two words", "$HOME", "*.csv", "[ab].csv", "{a,b}", "!1", "a\nb"]


@pytest.fixture(autouse=True, scope="module")
def a_command():
    with in_a_command():
        yield


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("raise `max_judgments`", "raise --max-judgments"),
        ("use `selector=random` or `budget=none`", "use --selector random or --budget none"),
        ("`judge_price=0,0`: free", "--judge-price 0,0: free"),
        ("`first` and `second`", "A and B"),
        ("`rpm=60`, or no `rpm`", "JUDGELOOP_RPM=60, or no JUDGELOOP_RPM"),
        ("`outputs_dir` is no setting", "`outputs_dir` is no setting"),
        ("the code `x = 1` and `f()`", "the code `x = 1` and `f()`"),
        ("a lone ` stays", "a lone ` stays"),
        ("budget", "budget"),
        ("`represent=hidden:MODEL`", "--represent hidden:MODEL"),
        ("`risk=0.1,0.2`", "--risk 0.1,0.2"),
        *((f"`judge={value}`", f"--judge '{value}'") for value in CHANGED_BY_A_SHELL),
    ],
)
def test_what_stands_between_backticks_is_shown_as_a_flag_if_it_is_a_setting(said, shown):
    assert as_flags(said) == shown


def test_every_setting_of_every_command_is_known():
    arguments = {"first": "A", "file": "FILE"}  # in a command without it, an earlier command's argument hides a flag
    for fields in FIELDS.values():
        for field in fields.values():
            shown = field.variable if field.setting.file_only else f"--{field.key}"
            expected = {shown, field.variable, arguments.get(field.name)}
            assert as_flags(f"`{field.name}`") in expected


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="`\0")))
def test_a_shell_reads_a_value_back_as_it_was(value):
    assert shlex.split(as_flags(f"`judge={value}`")) == ["--judge", value]


def test_a_page_shows_settings_as_flags_and_keeps_the_names_of_its_rows():
    def page(decision, seed):
        return Page((decided(decision), Fact("seed", Section.DATA, "`seed`", seed)))

    assert page("raise `budget`", "or `seed=2`").said(as_flags) == page("raise --budget", "or --seed 2")

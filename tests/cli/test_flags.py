"""How declared settings become the options of a command, and where their values come from."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Annotated

import click
import pytest
from click.testing import CliRunner
from support.commandline import judgeloop

from judgeloop.cli.commands import COMMANDS, FIELDS
from judgeloop.cli.options import OF_RUNS, PanelOption, SettingsCommand, settings_command, settings_of
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.settings.checking import Configuration
from judgeloop.settings.setting import Role, Setting, anybody, declared

PAIR = ("a.jsonl", "b.jsonl")


def setting(text, **more):
    return Setting(text, "Selection", Role.RUN, anybody, **more)


@dataclass(frozen=True, kw_only=True)
class Small(Configuration):
    """A few settings."""

    place: Annotated[Path, setting("A place.")]
    seed: Annotated[int, setting("Seed.")] = 0
    most: Annotated[int, setting("How many.")] = 200


@dataclass(frozen=True, kw_only=True)
class Large(Configuration):
    """Two of them with another default, and one of its own that has to be given."""

    seed: Annotated[int, setting("Another seed.")] = 0
    most: Annotated[int, setting("How many more.")] = 2000
    name: Annotated[str, setting("Its name.")]


def received(*arguments, env=None):
    """What the callback of a command is given, without what is not given."""
    found = {}
    command = settings_command("compare", lambda **given: found.update(given), CompareSettings, switches=OF_RUNS)
    done = CliRunner().invoke(command, list(arguments), env=env)
    assert done.exit_code == 0, done.output
    return {name: value for name, value in found.items() if value}


def test_what_is_typed_arrives_by_name_and_nothing_else_does():
    typed = ["--judge", "x", "--judge", "y", "--max-judgments", "7", "--allow-partial"]
    assert received(*PAIR, *typed) == {
        "first": "a.jsonl",
        "second": "b.jsonl",
        "judge": ("x", "y"),
        "max_judgments": "7",
        "allow_partial": True,
    }


def test_the_command_line_wins_over_a_variable_that_over_env_and_that_over_the_file():
    Path("judgeloop.toml").write_text("[compare]\nseed = 1\nrisk = 0.2\nallow-partial = true\n")
    assert received(*PAIR)["seed"] == 1
    Path(".env").write_text("JUDGELOOP_SEED=2\n")
    assert received(*PAIR)["seed"] == "2"
    assert received(*PAIR, env={"JUDGELOOP_SEED": "3"})["seed"] == "3"
    found = received(*PAIR, "--seed", "4", "--no-allow-partial", env={"JUDGELOOP_SEED": "3"})
    assert (found["seed"], found["risk"]) == ("4", 0.2)
    assert "allow_partial" not in found


def test_a_setting_of_the_file_only_is_a_key_and_a_variable_but_no_flag():
    assert received(*PAIR, env={"JUDGELOOP_RPM": "60"})["rpm"] == "60"
    Path("judgeloop.toml").write_text("[compare]\nrpm = 30\n")
    assert received(*PAIR)["rpm"] == 30
    done = judgeloop("compare", *PAIR, "--rpm", "60")
    assert done.exit_code == 2
    said = "No such option: --rpm. Set rpm in judgeloop.toml, or JUDGELOOP_RPM"
    assert said in done.stderr


def test_switches_are_checked_like_any_setting():
    assert received(*PAIR, env={"JUDGELOOP_JSON": "yes"})["json"] is True
    done = judgeloop("compare", *PAIR, JUDGELOOP_JSON="maybe")
    assert done.exit_code == 2
    assert "JUDGELOOP_JSON: expected a valid boolean" in done.stderr


def test_a_setting_of_several_configurations_is_one_with_the_first_help():
    found = settings_of([Small, Large])
    assert list(found) == ["place", "seed", "most", "name"]
    assert found["seed"].setting.help == "Seed."
    assert (found["seed"].default, found["most"].default) == (0, None)


def test_a_setting_is_required_if_all_configurations_have_and_require_it():
    assert settings_of([Small])["place"].default is MISSING
    assert settings_of([Small, Large])["place"].default is None
    assert settings_of([Large, Large])["name"].default is MISSING


def leaves():
    """Every command that has settings."""
    for row in COMMANDS:
        made = row.make()
        commands = made.commands.values() if isinstance(made, click.Group) else [made]
        for command in commands:
            if isinstance(command, SettingsCommand):
                yield command


def test_the_table_names_the_subcommands_of_a_group():
    assert [one.path for one in leaves()] == list(FIELDS)


@pytest.mark.parametrize("command", list(leaves()), ids=lambda one: " ".join(one.path))
def test_every_setting_of_a_command_is_one_parameter_of_it(command):
    names = [parameter.name for parameter in command.params]
    assert len(set(names)) == len(names)
    settings = command.settings.values()
    assert {one.name for one in settings if not one.setting.file_only} <= set(names)
    assert not {one.name for one in settings if one.setting.file_only} & set(names)
    spelt = [flag for one in command.params for flag in (*one.opts, *one.secondary_opts)]
    assert len(set(spelt)) == len(spelt)
    assert all(one.help and one.panel for one in command.params if isinstance(one, PanelOption))


def test_configurations_declare_the_same_setting_once():
    declarations = {}
    for command in leaves():
        for config in command.configs:
            for name, field in declared(config).items():
                first = declarations.setdefault((name, field.setting.help), field.setting)
                shown = {"file_only": field.setting.file_only, "common": field.setting.common}
                assert field.setting == replace(first, **shown), (config, name)


@pytest.mark.parametrize("command", [one for one in leaves() if len(one.configs) > 1], ids=lambda one: one.name)
def test_what_a_command_does_with_a_setting_holds_for_each_of_its_configurations(command):
    """Files are read, and values added and refused, by the declaration in the first."""
    for field in command.fields.values():
        for config in command.configs:
            if (one := declared(config).get(field.name)) is not None:
                for what in ("role", "may_set", "gate", "many", "adds"):
                    assert getattr(one.setting, what) == getattr(field.setting, what), (config, field.name)

"""How declared settings become the options of a command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click
import pytest
from annotated_types import Ge
from click.testing import CliRunner

from judgeloop.calibration.config import CalibrateConfig
from judgeloop.cli import flags
from judgeloop.cli.app import app
from judgeloop.cli.panel_command import PanelArgument, PanelCommand, PanelOption
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.questions.estimate.config import EstimateConfig
from judgeloop.questions.select.config import SelectConfig
from judgeloop.replay.config import CONFIGS as REPLAYS
from judgeloop.settings.run_settings import JudgeSettings
from judgeloop.settings.setting import Part, Setting, Source, declared
from judgeloop.settings.shared import ITEMS, JUDGE, OUTPUT, SELECTION, STOPPING
from judgeloop.settings.validation import Configuration

COMMANDS = {
    "compare": (CompareConfig,),
    "select": (SelectConfig,),
    "estimate": (EstimateConfig,),
    "doctor": (JudgeSettings,),
    "calibrate": (CalibrateConfig,),
    "replay": tuple(REPLAYS.values()),
}


def setting(text, panel=SELECTION, **more):
    return Setting(text, panel, Part.RUN, Source.CALLER, **more)


@dataclass(frozen=True, kw_only=True)
class Small(Configuration):
    """A setting of each kind."""

    first: Annotated[Path, setting("One.", ITEMS, argument="A")]
    judge: Annotated[tuple[str, ...], setting("Who judges.", JUDGE, many=True)] = ("nobody",)
    seed: Annotated[int, setting("Seed.")] = 0
    max_judgments: Annotated[int, Ge(1), setting("How many.", STOPPING)] = 200
    margin: Annotated[float | None, setting("How far.", STOPPING)] = None
    draw: Annotated[bool, setting("Draw.", OUTPUT, short="-d")] = False
    hidden: Annotated[int, setting("", flag=False)] = 3


@dataclass(frozen=True, kw_only=True)
class Large(Small):
    """The same with another default, and a setting of its own that has to be given."""

    max_judgments: Annotated[int, Ge(1), setting("How many more.", STOPPING)] = 2000
    name: Annotated[str, setting("Its name.", ITEMS)]


def run(*arguments, configs=(Small,), env=None, more=()):
    """What a command with these settings is given."""
    received = {}
    command = PanelCommand(
        "c", callback=received.update, params=[*more, *flags.parameters_of(*configs)]
    )
    done = CliRunner().invoke(command, list(arguments), env=env)
    assert done.exit_code == 0, done.output
    return received


def help_of(*configs):
    command = PanelCommand("c", params=flags.parameters_of(*configs))
    return CliRunner().invoke(command, ["--help"]).output


def given(received):
    return {name: value for name, value in received.items() if value is not None and value != ()}


def test_flags_arrive_by_name_with_the_kinds_and_defaults_of_settings():
    received = run("a", "--judge", "x", "--judge", "y", "--max-judgments", "7", "-d")
    assert Small.of(**received) == Small(
        first=Path("a"), judge=("x", "y"), max_judgments=7, draw=True
    )


def test_a_flag_that_is_not_given_leaves_the_default_to_the_configuration():
    assert given(run("a")) == {"first": "a"}


@pytest.mark.parametrize(("flag", "value"), [("--draw", True), ("--no-draw", False), (None, None)])
def test_a_setting_that_is_on_or_off_can_be_said_either_way_or_not_at_all(flag, value):
    assert run("a", *([flag] if flag else []))["draw"] is value


def test_a_flag_is_read_from_its_variable():
    received = run("a", env={"JUDGELOOP_SEED": "7", "JUDGELOOP_DRAW": "true"})
    assert given(received) == {"first": "a", "seed": "7", "draw": True}


def test_a_flag_wins_over_its_variable():
    assert run("a", "--seed", "8", env={"JUDGELOOP_SEED": "7"})["seed"] == "8"


def test_a_judges_variable_is_not_split_at_spaces():
    assert run("a", env={"JUDGELOOP_JUDGE": "one name"})["judge"] == ("one name",)


def test_a_setting_without_a_flag_has_none():
    assert "hidden" not in run("a")


def test_a_setting_declared_again_keeps_its_place_and_has_its_own_default():
    plain, again = (
        [parameter.name for parameter in flags.parameters_of(config)] for config in (Small, Large)
    )
    assert [name for name in again if name != "name"] == plain
    assert "How many more.  [default: 2000]" in help_of(Large)


def test_a_shared_setting_is_one_flag_required_only_if_all_require_it():
    received = run("a", configs=(Small, Large))
    assert list(received) == [*run("a"), "name"]
    missing = CliRunner().invoke(
        PanelCommand("c", params=flags.parameters_of(Large)), ["a"], prog_name="c"
    )
    assert missing.exit_code == 2
    assert "Missing option '--name'" in missing.output


def test_a_default_is_said_where_all_configurations_share_it():
    text = help_of(Small, Large)
    assert "Seed.  [default: 0]" in text
    assert "[default: 200" not in text


def test_the_help_lists_settings_under_their_panels_in_the_panels_order():
    text = help_of(Small)
    headings = ["Arguments:", "Items:", "Judge:", "Selection:", "Stopping:", "Files and output:"]
    found = [line for line in text.splitlines() if line in {*headings, "Other:"}]
    assert found == [name for name in headings if name != "Items:"] + ["Other:"]
    assert text.index("Stopping:") < text.index("--max-judgments INTEGER") < text.index("--draw")
    assert "--margin NUMBER" in text
    assert "-d, --draw / --no-draw" in text


def test_a_command_may_have_a_parameter_of_its_own_before_its_flags():
    item = PanelArgument(["item"], metavar="ITEM", required=True, help="The item's id.")
    received = run("i", "a", "--seed", "3", more=[item])
    assert (received["item"], received["first"], received["seed"]) == ("i", "a", "3")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_declared_setting_of_a_command_is_one_parameter_of_it(name):
    command = app.get_command(click.Context(app), name)
    names = [parameter.name for parameter in command.params]
    assert len(set(names)) == len(names)
    settings = {
        field.name: field.setting
        for config in COMMANDS[name]
        for field in declared(config).values()
    }
    shown = {each for each, one in settings.items() if one is not None and one.flag}
    assert shown <= set(names)
    assert not (settings.keys() - shown) & set(names)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_two_parameters_of_a_command_share_a_flag_or_a_variable(name):
    command = app.get_command(click.Context(app), name)
    spelt = [
        option
        for one in command.params
        if isinstance(one, click.Option)
        for option in (*one.opts, *one.secondary_opts)
    ]
    variables = [one.envvar for one in command.params if one.envvar]
    assert len(set(spelt)) == len(spelt)
    assert len(set(variables)) == len(variables)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_of_a_command_has_a_help_and_a_panel(name):
    command = app.get_command(click.Context(app), name)
    for one in command.params:
        if isinstance(one, PanelOption):
            assert one.help, one.name
            assert one.panel, one.name
        else:
            assert one.text, one.name

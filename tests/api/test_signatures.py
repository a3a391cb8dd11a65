"""The parameters of the Python functions are the settings, each of them, with their defaults."""

from __future__ import annotations

import inspect
from dataclasses import MISSING
from pathlib import Path

import pytest
from support.questions import arguments

import judgeloop
from judgeloop.api import questions
from judgeloop.api.calling import NO_SETTINGS
from judgeloop.api.in_memory import holds_data
from judgeloop.api.questions import CallArguments
from judgeloop.core.errors import InputError
from judgeloop.questions.catalogue import QUESTIONS as ROWS
from judgeloop.settings.setting import declared

ROOT = Path(__file__).parents[2]
QUESTIONS = {
    row.name: (row.settings(), getattr(questions, f"{row.name.title()}Arguments"), arguments(row.settings()))
    for row in ROWS
}
# What a program may pass for a setting of each type, besides None.
ACCEPTS = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    "Path": "File",
    "Decimal": "Dollars",
    "Order": "OrderName",
    "Vote": "VoteName",
}


def settings(config):
    """The settings that a program may give by keyword."""
    return {name: field for name, field in declared(config).items() if not field.setting.argument}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_typed_keyword_is_a_setting_and_every_setting_is_typed(name):
    config, typed, _ = QUESTIONS[name]
    keywords = typed.__annotations__.keys() - CallArguments.__annotations__.keys()
    assert keywords == settings(config).keys()
    assert NO_SETTINGS.keys() == CallArguments.__annotations__.keys()


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("form", ["", "_async", "_dry_run"])
def test_the_signature_shows_every_parameter_with_its_default(name, form):
    config, _, data = QUESTIONS[name]
    shown = inspect.signature(getattr(judgeloop, name + form)).parameters
    assert list(shown)[: len(data)] == data
    assert shown.keys() - {*data} == settings(config).keys() | CallArguments.__annotations__.keys()
    for parameter, field in settings(config).items():
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        assert shown[parameter].default == default
        assert shown[parameter].kind is inspect.Parameter.KEYWORD_ONLY
    assert shown["raise_on_failure"].default is False
    assert shown["environment"].default is None


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_parameter_takes_the_type_of_its_setting(name):
    config, typed, _ = QUESTIONS[name]
    both = typed.__annotations__.keys() & settings(config).keys()
    for parameter, field in ((name, settings(config)[name]) for name in both):
        written = typed.__annotations__[parameter].__forward_arg__
        # A configuration of `compare` without a judge is refused when the files are read.
        required = field.default is MISSING or parameter == "judge"
        assert required == written.startswith("Required["), parameter
        assert required or written.endswith(" | None"), parameter
        if parameter in {"judge", "proxy"} or holds_data(field) or parameter == "deadline":
            continue
        kinds = list(getattr(field.type, "__args__", [field.type]))
        kind = next(kind for kind in kinds if kind is not type(None))
        accepted = ACCEPTS.get(kind, ACCEPTS.get(getattr(kind, "__name__", "")))
        if accepted is not None:
            assert accepted in written, parameter


def test_a_setting_of_the_command_line_alone_is_refused(rows):
    with pytest.raises(InputError, match="`output`: only the command line"):
        judgeloop.compare(rows["terse"], rows["chatty"], judge="human", output="x")


def test_an_error_names_the_parameter_and_no_flag(rows):
    with pytest.raises(InputError, match="`max_judgments`: expected a value") as raised:
        judgeloop.compare(rows["terse"], rows["chatty"], judge="human", max_judgments=0)
    assert "--" not in str(raised.value)
    with pytest.raises(InputError, match="`hue`: there is no such setting"):
        judgeloop.compare(rows["terse"], rows["chatty"], judge="human", hue="red")
    with pytest.raises(InputError, match="`second`: expected a value, found none"):
        judgeloop.compare(rows["terse"], judge="human")
    with pytest.raises(InputError, match="expected first and second by position, once"):
        judgeloop.compare(rows["terse"], rows["chatty"], {}, judge="human")
    with pytest.raises(InputError, match=r"found 3 by position; .*: `select\(\[…\], …\)`"):
        judgeloop.select(rows["terse"], rows["chatty"], rows["terse"], judge="human")
    with pytest.raises(InputError, match="expected outputs by position, once"):
        judgeloop.estimate(rows["terse"], outputs=rows["terse"], judge="human")

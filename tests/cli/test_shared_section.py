"""The section [shared] of a settings file: for which commands it holds, and what it may hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app
from judgeloop.cli.commands import FIELDS
from judgeloop.core.errors import DataError
from judgeloop.settings.sources import read_settings


def read(content, *table, trusted=False):
    path = Path("judgeloop.toml")
    path.write_text(content)
    return read_settings(FIELDS, table, path if trusted else None)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    ("command", "names"),
    [
        (("compare",), {"seed": 3, "risk": 0.2, "half_width": None}),
        (("estimate",), {"seed": 3, "risk": 0.2, "half_width": 0.1}),
        (("ledger", "show"), {}),
    ],
)
def test_a_shared_setting_holds_for_every_command_that_has_it(command, names, trusted):
    found = read("[shared]\nseed = 3\nrisk = 0.2\nhalf-width = 0.1\n", *command, trusted=trusted)
    assert found.values == {name: value for name, value in names.items() if value is not None}


def test_a_commands_own_section_wins_and_the_command_line_wins_over_both(pair):
    Path("judgeloop.toml").write_text("[shared]\nrisk = 0.3\nseed = 4\n[compare]\nrisk = 0.2\n")

    def shown(*more):
        done = CliRunner().invoke(app, [*map(str, pair), *more])
        values = json.loads(done.stdout)
        return values["risk_threshold"], values["seed"], values["settings_files"]

    assert shown() == (0.2, 4, {"judgeloop.toml": ["risk", "seed"]})
    assert shown("--risk", "0.1")[:2] == (0.1, 4)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("bugdet = 1", r"\[shared\] no command has a setting 'bugdet' \(did you mean budget\?\)"),
        ("halfwidth = 0.1", r"\(did you mean half-width\?\)"),
        ("config = 'x'", r"no command has a setting 'config'"),
        ("outputs = 1", r"no command has a setting 'outputs'"),
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_name_that_no_command_has_is_refused_with_the_nearest(line, said, trusted):
    with pytest.raises(DataError, match=said):
        read(f"[shared]\n{line}\n", "compare", trusted=trusted)


def test_a_mistyped_section_is_answered_with_the_nearest():
    with pytest.raises(DataError, match=r"found 'sharde' \(did you mean shared\?\)"):
        read("[sharde]\nrisk = 0.2\n", "compare")
    with pytest.raises(DataError, match=r"found 'setle' \(did you mean settle\?\)"):
        read("[ledger.setle]\nrisk = 0.2\n", "ledger", "settle")
    with pytest.raises(DataError, match=r"expected the table \[shared\], found a single value"):
        read("shared = 1\n", "compare")
    with pytest.raises(DataError, match=r"\[compare\] has no setting 'judges' \(did you mean judge\?"):
        read("[compare.judges]\nname = 'x'\n", "compare")


def test_result_files_are_shared_by_questions_and_are_no_place_of_other_commands():
    content = '[shared]\noutput = "r.json"\n'
    assert read(content, "select", trusted=True).values == {"output": "r.json"}
    for command in ("replay", "convert"):
        assert read(content, command, trusted=True).values == {}


def test_a_file_that_a_command_has_to_be_given_is_not_that_of_another_command():
    content = '[shared]\nitems = "items.jsonl"\n'
    assert read(content, "compare").values == {"items": "items.jsonl"}
    for trusted in (True, False):
        assert read(content, "replay", trusted=trusted).values == {}


def test_what_a_found_file_may_set_for_no_command_is_refused():
    for command in ("compare", "doctor"):
        with pytest.raises(DataError, match=r"\[shared\] judge-price: only the caller"):
            read('[shared]\njudge-price = "0,0"\n', command)

"""Names that the caller gives the systems: one for each file, on the command line and in Python."""

from __future__ import annotations

import pytest
from support.commandline import judgeloop as command
from support.outputs import write_outputs

import judgeloop
from judgeloop.core.errors import InputError
from judgeloop.runs.inputs import names_for


@pytest.fixture
def nights(tmp_path, monkeypatch):
    """Two files of the same name, whose rows name the same system."""
    monkeypatch.chdir(tmp_path)
    paths = []
    for night, text in (("22", "yes"), ("23", "no")):
        path = tmp_path / night / "outputs.jsonl"
        path.parent.mkdir()
        write_outputs(path, [text] * 40, reference="yes", model="bot", score=1)
        paths.append(path.relative_to(tmp_path))
    return paths


def test_names_replace_those_in_the_files(nights):
    done = command("compare", *nights, "--names", "last night,tonight", "--judge", "metric:exact")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("✓ DECIDED: last night is better than tonight")
    unnamed = command("compare", *nights, "--judge", "metric:exact")
    assert unnamed.stdout.startswith("✓ DECIDED: 22/outputs.jsonl is better than 23/outputs.jsonl")


def test_the_baseline_and_the_required_winner_go_by_these_names(nights):
    given = ["--names", "old,new", "--judge", "metric:exact"]
    assert command("compare", *nights, *given, "--require-winner", "new").exit_code == 5
    found = command("select", *nights, *given, "--baseline", "new")
    assert (found.exit_code, found.stdout.split()[2]) == (0, "old")


def test_an_empty_name_leaves_the_files_own(nights):
    assert names_for(["a", ""], nights) == ["a", None]


def test_one_name_is_for_an_estimate(nights):
    done = command("estimate", nights[0], "--names", "bot 2", "--judge", "metric:exact")
    assert done.exit_code == 0, done.output
    assert "bot 2" in done.stdout.splitlines()[0]


def test_recorded_scores_go_by_these_names(nights):
    result = judgeloop.compare(*nights, names=["old", "new"], judge="recorded:")
    assert result.setup.systems == ("old", "new")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["one"], "expected as many names as files, 2; found 1"),
        (["a", "b", "c"], "expected as many names as files, 2; found 3"),
        (["a", "a"], "two systems have the same name"),
    ],
)
def test_wrong_names_are_a_clear_error(names, said, nights):
    given = ",".join(names)
    with pytest.raises(InputError, match=f"`names={given}`: {said}"):
        names_for(names, nights)
    with pytest.raises(InputError, match=f'`names="{given}"`: {said}'):
        judgeloop.compare(*nights, names=names, judge="metric:exact")

"""Several `-o` files of one run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.commandline import judgeloop
from support.outputs import write_outputs

from judgeloop.cli.files import FORMS, check_outputs
from judgeloop.core.errors import InputError
from judgeloop.formats.own_files import write_whole

EVERY = [f"result{ending}" for ending in FORMS]


@pytest.fixture
def command():
    """A run that needs no server."""
    for name, score in (("a", 1.0), ("b", 0.0)):
        rows = [{"id": n, "prompt": f"p{n}", "output": "o", "score": score} for n in range(9)]
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return ["compare", "a.jsonl", "b.jsonl", "--judge", "recorded:score"]


def every_question(command):
    """The same of each question."""
    for name, right in (("x", 2), ("y", 3)):
        write_outputs(Path(f"{name}.jsonl"), ["yes" if n % right else "no" for n in range(30)], reference="yes")
    yield command
    yield ["select", "x.jsonl", "y.jsonl", "--baseline", "x", "--judge", "metric:exact"]
    yield ["estimate", "x.jsonl", "--judge", "metric:exact"]


def written():
    return sorted(path.name for path in Path().glob("result*"))


def of_each(files):
    return [argument for file in files for argument in ("-o", file)]


def test_every_file_is_written_in_its_own_form(command):
    for asked in every_question(command):
        result = judgeloop(*asked, *of_each(EVERY), "--json")
        assert result.exit_code in {0, 3}, result.output
        assert written() == sorted(EVERY)
        shown, file = json.loads(result.stdout), json.loads(Path("result.json").read_text())
        assert (file["job"], file["judged"]) == (shown["job"], shown["judged"])
        assert Path("result.html").read_text().startswith("<!doctype html>")


def test_the_result_names_the_files_that_it_was_written_to(command):
    result = judgeloop(*command, "-o", "result.html", "-o", "result.md")
    (line,) = re.findall(r"^  files +(.*)$", result.stdout, flags=re.MULTILINE)
    assert line.endswith("result.html, result.md")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["result.json", "result.pdf"], "-o result.pdf: expected a file ending in"),
        (["result.json", "missing/result.md"], "missing does not exist"),
        (["result.json", "folder.md"], "-o folder.md: this is a folder"),
        (["result"], "expected a file ending in"),
        (["result.json.gz"], "expected a file ending in"),
        ([".json"], "expected a file ending in"),
        (["result.json", "./result.json"], "-o result.json: this is the same file as -o"),
    ],
)
def test_all_files_are_checked_before_anything_is_done(files, said, command):
    Path("folder.md").mkdir()
    result = judgeloop(*command, *of_each(files))
    assert result.exit_code == 2
    assert said in result.stderr
    told = [file for file in files[:1] if file == "result.json"]  # it says how the command ended
    assert written() == told
    for file in told:
        ended = json.loads(Path(file).read_text())
        assert (ended["job"], ended["exit_code"]) == ("compare", 2)
        assert said in ended["error"]
    assert not Path(".judgeloop").exists()


def test_a_link_to_the_same_file_is_the_same_file(tmp_path):
    (tmp_path / "r.json").write_text("")
    (tmp_path / "link.json").symlink_to(tmp_path / "r.json")
    with pytest.raises(InputError, match=re.escape("r.json; give each file once")):
        check_outputs([tmp_path / "r.json", tmp_path / "link.json"])


@pytest.mark.parametrize("value", ['"result.json"', '["result.json"]', '["result.md", "result.csv"]'])
def test_a_settings_file_gives_one_or_several(value, command):
    Path("judgeloop.toml").write_text(f"[shared]\noutput = {value}\n")
    assert judgeloop(*command).exit_code in {0, 3}
    assert written() == sorted(re.findall(r"result\.\w+", value))


def test_the_environment_gives_one_a_line_and_the_command_line_more(command):
    variable = {"JUDGELOOP_OUTPUT": "result.json\nresult of today.md"}
    judgeloop(*command, **variable)
    assert written() == ["result of today.md", "result.json"]
    for name in written():
        Path(name).unlink()
    judgeloop(*command, *of_each(["result.json", "result.txt"]), **variable)
    assert written() == ["result of today.md", "result.json", "result.txt"]


def test_files_that_cannot_be_written_do_not_keep_the_others_from_being_written(command, monkeypatch):
    def failing(path, text):
        if path.name == "result.md":
            path = path / "no folder"
        write_whole(path, text)

    monkeypatch.setattr("judgeloop.cli.files.write_whole", failing)
    result = judgeloop(*command, *of_each(["result.md", "result.csv"]))
    assert result.exit_code == 1
    assert "result.md" in result.stderr
    assert written() == ["result.csv"]


def test_a_dry_run_writes_no_files_and_says_so_of_those_on_the_command_line(pair):
    pair.append("--dry-run")
    said = judgeloop(*pair, "-o", "result.json")
    assert said.exit_code == 0
    assert "the files of -o are not written" in said.stderr
    assert said.stdout == judgeloop(*pair).stdout
    Path("judgeloop.toml").write_text('[shared]\noutput = "result.json"\n')
    assert judgeloop(*pair).exit_code == 0
    assert judgeloop(*pair, JUDGELOOP_OUTPUT="result.md").exit_code == 0
    assert written() == []


@pytest.mark.parametrize("command", ["convert", "replay"])
def test_a_command_that_writes_to_one_place_refuses_a_second(command):
    more = ["a.jsonl"] if command == "convert" else ["outputs", "--items", "i", "--verdicts", "v"]
    result = judgeloop(command, *more, "-o", "one.jsonl", "-o", "two.jsonl")
    assert result.exit_code == 2
    assert "-o: expected one, found 2" in result.stderr

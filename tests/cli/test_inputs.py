"""What the command line says about the files that it is to read."""

from __future__ import annotations

from json import dumps, loads
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app
from judgeloop.formats.tables import read_rows


@pytest.mark.parametrize("items", [[], ["--items", "items.csv"]])
def test_a_map_of_a_column_that_no_file_has_is_refused_also_beside_an_items_file(items):
    for name in "ab":
        Path(f"{name}.csv").write_text("id,prompt,reply\n1,p,x\n2,q,y\n")
    Path("items.csv").write_text("id,prompt,gold\n1,p,x\n2,q,y\n")
    mapped = ["--map", "output=reply,reference=golden"]
    files = ["a.csv", "b.csv", *items, *mapped]
    done = CliRunner().invoke(app, ["compare", *files, "--judge", "metric:exact"])
    assert done.exit_code == 2
    assert "--map reference=golden: no file has the column 'golden'" in done.stderr


def test_a_table_that_also_says_which_items_are_meant_is_read_once(monkeypatch):
    for name in "ab":
        Path(f"{name}.jsonl").write_text(
            "".join(f"{dumps({'id': n, 'prompt': str(n), 'output': name})}\n" for n in range(9))
        )
    Path("v.csv").write_text(
        "item_id,model,score\n" + "".join(f"{n},{name},{name == 'a':d}\n" for n in range(8) for name in "ab")
    )
    read = []
    monkeypatch.setattr("judgeloop.judges.recorded.read_rows", lambda path: read.append(path) or read_rows(path))
    command = ["compare", "a.jsonl", "b.jsonl", "--judge", "replay:v.csv", "--allow-partial", "--json"]
    found = CliRunner().invoke(app, command)
    assert (loads(found.stdout)["items"], read) == (8, [Path("v.csv")])


def test_a_mistyped_file_is_an_error_that_names_the_nearest():
    Path("lead.jsonl").write_text('{"id": 1, "prompt": "p", "output": "x"}\n')
    done = CliRunner().invoke(app, ["compare", "leed.jsonl", "lead.jsonl", "--judge", "human"])
    assert done.exit_code == 2
    assert "leed.jsonl: there is no such file (did you mean lead.jsonl?)" in done.stderr


def refused(*arguments):
    """Return what a command that is refused says."""
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == 2
    return found.stderr


@pytest.mark.parametrize(
    ("given", "expected"),
    [("2$", "expected dollars, such as 2 or '$2', found '2$'"), ("2,50", "expected dollars, such as 2.50 or '$2.50', "),
     ("USD 2", "expected dollars, such as 2 or '$2', "), ("US$2", "expected dollars, such as 2 or '$2', "),
     ("€2", "expected US dollars such as 5.00"), ("1_0", "expected dollars such as 5.00")],
)  # fmt: skip
def test_a_budget_in_another_form_is_refused_with_the_form_to_write(given, expected):
    said = refused("compare", "a.jsonl", "b.jsonl", "--judge", "length", "--budget", given)
    assert f"--budget: {expected}" in said


def test_a_comparison_without_a_judge_is_refused_with_two_to_try():
    for name in ("a", "b"):
        Path(f"{name}.jsonl").write_text(dumps({"id": 1, "prompt": "p", "output": name}))
    said = refused("compare", "a.jsonl", "b.jsonl")
    assert "found none; for example --judge openai/gpt-4.1, or --judge metric:token-f1" in said


def test_a_share_given_in_points_is_refused_with_the_form_to_write():
    said = refused("compare", "a.jsonl", "b.jsonl", "--judge", "length", "--risk", "5")
    assert said.endswith("found '5'; for 5 points write 0.05 or 5%\n")


def test_a_third_system_of_compare_is_refused_with_the_command_for_it():
    assert "judgeloop select" in refused("compare", "a.jsonl", "b.jsonl", "c.jsonl")
    assert "judgeloop select" not in refused("ledger", "show", "x")


def test_an_answer_that_lacks_items_warns_of_it_in_every_output():
    lines = [f'{{"id": {n}, "prompt": "p{n}", "output": "x", "reference": "x"}}\n' for n in range(60)]
    Path("a.jsonl").write_text("".join(lines))
    Path("b.jsonl").write_text("".join(lines[:58]))
    says = "The answer is about 58 items; others are left out: 58 matched, 2 only in a ('58', '59')"
    typed = ["a.jsonl", "b.jsonl", "--judge", "metric:exact", "--allow-partial"]
    files = ["r.json", "r.md", "r.txt", "r.html", "r.tex", "r.xml"]
    outputs = [word for file in files for word in ("-o", file)]
    short = CliRunner().invoke(app, ["compare", *typed, "--quiet", *outputs])
    assert f"Warning: {says}." in " ".join(short.stdout.split())
    for text in map(Path.read_text, map(Path, files)):
        assert "The answer is about 58 items" in " ".join(text.split())
    (warning,) = (one for one in loads(Path("r.json").read_text())["warnings"] if "left_out" in one)
    assert (warning["code"], warning["items"]) == ("items_left_out", 58)
    forecast = CliRunner().invoke(app, ["compare", *typed, "--dry-run", "--json", "--seed", "1"])
    assert warning in loads(forecast.stdout)["warnings"]


@pytest.mark.parametrize("maps", [["output=Antwort Bot", "output=reply"], ["output=Antwort Bot,output=reply"]])
def test_each_file_takes_the_one_of_a_fields_columns_that_it_has(maps):
    Path("a.csv").write_text("id,prompt,Antwort Bot\n1,p,x\n2,q,y\n")
    Path("b.csv").write_text("id,prompt,reply\n1,p,x\n2,q,y\n")
    flags = [word for one in maps for word in ("--map", one)]
    typed = ["compare", "a.csv", "b.csv", "--judge", "openai/gpt-4.1", *flags]
    done = CliRunner().invoke(app, [*typed, "--dry-run", "--json"])
    assert (done.exit_code, loads(done.stdout)["guessed"]) == (0, ""), done.stderr
    assert "no file has the column 'gold'" in refused(*typed, "--map", "output=gold")
    Path("b.csv").write_text("id,prompt,reply,Antwort Bot\n1,p,x,x\n2,q,y,z\n")
    assert "both 'Antwort Bot' and 'reply' may be the output; say which" in refused(*typed)


def with_thoughts(**variables):
    """Compare plain answers with others behind thoughts, of which every third does not end."""
    plain = [{"id": n, "prompt": f"p {n}", "output": f"yes {n}", "reference": f"yes {n}"} for n in range(30)]
    ends = ("", "</think>\n\n{output}", "</think>{output}")
    thinks = [{**row, "output": f"<think>{row['output']}?" + ends[n % 3].format(**row)} for n, row in enumerate(plain)]
    for name, rows in (("plain", plain), ("thinks", thinks)):
        Path(f"{name}.jsonl").write_text("".join(f"{dumps(row)}\n" for row in rows))
    command = ["compare", "plain.jsonl", "thinks.jsonl", "--judge", "metric:exact", "--json", "-o", "verdict.xml"]
    return CliRunner().invoke(app, command, env=variables)


def test_thoughts_in_a_file_are_warned_of_and_left_out_if_that_is_said():
    found = loads(with_thoughts().stdout)
    assert (found["thoughts"], found["unanswered"]) == ({"thinks": 30}, {"thinks": 10})
    assert "thoughts_judged" in {one["code"] for one in found["warnings"]}
    assert found["ties"] == 0
    (warned,) = ET.parse("verdict.xml").getroot().iter("system-err")
    assert "JUDGELOOP_STRIP_THOUGHTS=thinks" in warned.text, "as it would be typed"
    stripped = loads(with_thoughts(JUDGELOOP_STRIP_THOUGHTS="thinks").stdout)
    assert (stripped["thoughts"], stripped["unanswered"], stripped["empty"]) == ({}, {}, {"thinks": 10})
    assert stripped["ties"] > 0
    assert stripped["run"] != found["run"]


@pytest.mark.parametrize(
    ("name", "says"), [("think", "did you mean thinks?"), ("plain", "has an answer behind the end of thoughts")]
)
def test_thoughts_to_leave_out_that_are_not_there_are_refused(name, says):
    done = with_thoughts(JUDGELOOP_STRIP_THOUGHTS=name)
    assert done.exit_code == 2
    assert f"JUDGELOOP_STRIP_THOUGHTS={name}" in done.stderr
    assert says in done.stderr

"""The ledger knows how often the same outputs met, whatever was asked: the risks add up, and each result says so."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from support import commandline
from support.outputs import write_outputs
from support.text import unwrapped

import judgeloop
from judgeloop.ledger.records import RecordedRun, RunNote
from judgeloop.ledger.sqlite import FOLDER
from judgeloop.runs.earlier import askings

ITEMS = 60
LEVELS = ("no", "yes")  # of token F1 against "yes"


def write(name, wins, turn=0):
    texts = [f"{LEVELS[(n * 7 % ITEMS < wins) ^ turn]} {n}" for n in range(ITEMS)]
    return str(write_outputs(Path(f"{name}.jsonl"), texts, reference="yes"))


@pytest.fixture
def pair():
    """Of 60 items a wins 31, and b 29."""
    return write("a", 31), write("b", 31, turn=1)


@pytest.fixture(scope="module")
def thrice():
    """The folder of a ledger after three runs without an answer, once it is made."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def asked_thrice(pair, thrice):
    """The pair, which was asked about three times without an answer; each test has a copy of the ledger."""
    if not (thrice / FOLDER).exists():
        for seed in (3, 4, 5):
            asked(pair, "--risk", "0.05", "--seed", seed)
        shutil.copytree(FOLDER, thrice / FOLDER)
    shutil.copytree(thrice / FOLDER, FOLDER, dirs_exist_ok=True)
    return pair


def command(pair, *more):
    return ["compare", *pair, "--judge", "metric:token-f1", *more]


def asked(pair, *more):
    done = commandline.judgeloop(*command(pair, *more), "--json")
    assert done.exit_code in {0, 3, 5}, done.output
    found = json.loads(done.stdout)
    return found["asked_before"]["risks"], found["risk_in_all"]


def test_the_first_asking_says_nothing(pair):
    assert asked(pair) == ([], None)
    assert asked(pair) == ([], None), "the same command again is none"
    shown = commandline.judgeloop("runs", "show", "--json")
    assert json.loads(shown.stdout)["asked_before"]["risks"] == [], "nor is a sentence read off a finished run"


WAYS = {
    "another risk": ("--risk", "0.2"),
    "another limit": ("--max-judgments", "30"),
    "another answer": ("--near-tie", "0.05"),
    "a gap": ("--min-gap", "0.3"),
    "a gate": ("--not-worse", "0.3"),
    "another population": ("--about", "items"),
    "another tie margin": ("--tie-margin", "0.01"),
    "another seed": ("--seed", "9"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_each_way_of_asking_again_is_counted_with_its_risk(asked_thrice, way):
    risk = float(way[1]) if way[0] == "--risk" else 0.1
    assert asked(asked_thrice, *way) == ([0.05] * 3, pytest.approx(0.15 + risk))


def test_the_sum_stands_in_the_first_block_of_every_form(asked_thrice):
    files = [f"result.{ending}" for ending in ("md", "xml", "html", "json")]
    done = commandline.judgeloop(
        *command(asked_thrice, "--risk", "0.1", "--quiet"), *(one for name in files for one in ("-o", name))
    )
    said = "these two were compared by this judge 3 times before on these items, without an answer; with this test, the chance of any wrong decision is at most 0.25"
    assert f"before {said}" in unwrapped(done.stdout)
    for name in files[:3]:
        assert said in unwrapped(Path(name).read_text()), name
    assert json.loads(Path("result.json").read_text())["risk_in_all"] == pytest.approx(0.25)
    dry = commandline.judgeloop(*command(asked_thrice, "--risk", "0.02", "--max-judgments", "55", "--dry-run"))
    assert (
        "these two were compared by this judge 4 times before on these items, without an answer; with this test"
        in unwrapped(dry.stdout)
    )


def test_a_gate_of_the_other_system_is_another_question_and_a_winner_is_the_same(pair):
    a, b = pair
    asked((a, b), "--not-worse", "0.2")
    assert asked((b, a), "--not-worse", "0.2") == ([0.1], pytest.approx(0.2))
    assert asked((a, b)) == ([0.1, 0.1], pytest.approx(0.3))
    assert asked((b, a)) == ([0.1, 0.1], pytest.approx(0.3))


def test_at_a_half_a_new_set_is_needed(asked_thrice):
    assert asked(asked_thrice, "--risk", "0.3")[1] == pytest.approx(0.45)
    found = commandline.result_of(*command(asked_thrice, "--risk", "0.04"))
    assert found["risk_in_all"] == pytest.approx(0.49)
    found = commandline.result_of(*command(asked_thrice, "--risk", "0.06"))
    assert [one["code"] for one in found["warnings"]].count("asked_often") == 1


def test_it_is_the_outputs_that_count_whatever_names_ids_and_order_are(asked_thrice):
    for name, path in zip("xy", asked_thrice, strict=True):
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()][::-1]
        for row in rows:
            row["id"] = f"other-{row['id']}"
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert asked(("y.jsonl", "x.jsonl"))[0] == [0.05] * 3
    assert asked((asked_thrice[0], write("c", 20, turn=1)))[0] == [], "another output is another pair"


def test_lines_in_another_order_and_other_families_are_other_draws(pair):
    """The same command on the same outputs, whose files were shuffled, is another seed by another name."""
    assert asked(pair) == ([], None)
    for columns, before in (
        ({}, 1),
        ({"family": lambda at: f"f{at // 2}"}, 2),
        ({"family": lambda at: f"f{at // 3}"}, 3),
    ):
        for path in pair:
            rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
            rows = rows[7:] + rows[:7] if before == 1 else rows
            for at, row in enumerate(rows):
                row |= {name: each(at) for name, each in columns.items()}
            Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert asked(pair) == ([0.1] * before, pytest.approx(0.1 * (before + 1)))


def test_what_the_ledger_holds_beyond_the_draws_is_said_where_it_points_the_other_way(pair):
    """All 60 verdicts are known, 31 of them for a; a later run of few judgments names b."""
    commandline.result_of(*command(pair, "--risk", "0.001"))
    for seed in range(40):
        found = commandline.result_of(*command(pair, "--risk", "0.3", "--seed", seed))
        told = [one["message"] for one in found["warnings"] if one["code"] == "known_otherwise"]
        assert bool(told) is (found["winner"] == "b")
        if told:
            won, lost = found["wins"]["a"], found["wins"]["b"]
            assert told == [f"a is behind here, {won} to {lost}, but leads with the verdicts of other runs, 31 to 29."]
            return
    pytest.fail("no seed names the other one")


def test_what_a_run_drew_for_its_groups_is_not_beyond_its_draws(pair):
    """Both groups stay open, so that most are judged whoever is named."""
    for path in pair:
        rows = [
            json.loads(line) | {"group": f"g{at % 2}"} for at, line in enumerate(Path(path).read_text().splitlines())
        ]
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    for seed in range(40):
        risky = command(pair, "--risk", "0.3", "--seed", seed)
        found = commandline.result_of(*risky, "--by-group", "report")
        if found["winner"] == "b":
            assert "known_otherwise" not in {one["code"] for one in found["warnings"]}
            alone = commandline.result_of(*risky)
            assert "known_otherwise" in {one["code"] for one in alone["warnings"]}
            return
    pytest.fail("no seed names the other one")


@pytest.mark.parametrize(
    ("note", "counts"),
    [
        ({"exit_code": 3}, False),
        ({"exit_code": 3, "tied": 1}, True),
        ({"exit_code": 3, "systems": ("a", "b", "c")}, True),
        ({"exit_code": 4}, False),
        ({}, True),
    ],
)
def test_a_run_that_judged_nothing_is_no_comparison(note, counts):
    earlier = RecordedRun("first", "", 0, note=RunNote(**{"systems": ("a", "b"), "met": "m", "asking": "1"} | note))
    assert [*askings([earlier], "second", RunNote(met="m", asking="2"))] == [earlier] * counts


def test_searches_of_the_same_outputs_with_another_baseline_add_up():
    files = [write(name, wins) for name, wins in (("a", 45), ("b", 30), ("c", 15))]
    search = ["select", *files, "--judge", "metric:token-f1"]
    first = commandline.result_of(*search, "--baseline", "a")
    other = commandline.result_of(*search, "--baseline", "b")
    assert (first["asked_before"]["risks"], other["asked_before"]["risks"]) == ([], [0.1])
    assert (other["asked_before"]["answered"], other["risk_in_all"]) == (1, pytest.approx(0.2))


def test_verdicts_that_change_on_the_way_are_warned_of():
    """The judge prefers a at first, and b later, which no item says: a function that counts its calls."""
    calls = []

    def turns(prompt, first, second):
        calls.append(prompt)
        return "A" if first.startswith("a") == (len(calls) <= 20) else "B"

    prompts = [f"question {n}" for n in range(ITEMS)]
    texts = {name: [f"{name} says {n}" for n in range(ITEMS)] for name in ("a", "b")}
    result = judgeloop.compare(prompts=prompts, a=texts["a"], b=texts["b"], judge=turns, order="random", concurrency=1,
                               version="1", risk=1e-9)  # fmt: skip
    (said,) = [one for one in result.warnings if one.code == "drift"]
    assert said.values["first"] > 0.5 > said.values["second"]

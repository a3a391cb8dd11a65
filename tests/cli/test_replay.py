"""`judgeloop replay` as people use it."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from support.replaying import recorded, replay

ITEMS, SYSTEMS = 30, 4
NAMES = [f"s{number}" for number in range(SYSTEMS)]
SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def data(tmp_path):
    """Four systems, each better than the one before."""
    rng = np.random.default_rng(0)
    scores = {name: rng.normal(0.5 * at, size=ITEMS).round(3) for at, name in enumerate(NAMES)}
    return recorded(tmp_path, scores)


SHORT = ["--seeds", 2, "--jobs", 1, "--sizes", "3:9:3"]


def test_the_table_is_printed_and_written(data, tmp_path):
    out = tmp_path / "out"
    result = replay(*data, *SHORT, "-o", out)
    assert result.exit_code == 0, result.output
    said, table = result.stdout.split("\n\n")
    assert all(f"{name}: " in said or f"{name}, " in said for name in ("success", "estimate", "bias"))
    assert table.splitlines()[0].split() == ["selector", "judgments", "runs", "success", "estimate", "gap", "bias"]
    assert len(table.splitlines()) == 1 + 3 * 3
    with (out / "sizes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["judgments"] for row in rows if row["selector"] == "diffuse"] == ["3", "6", "9"]
    assert {row["runs"] for row in rows} == {str(6 * 2)}
    assert json.loads((out / "sizes.json").read_text())[0]["selector"] == "random"


def test_of_many_sizes_some_are_printed_and_all_are_written(data, tmp_path):
    out = tmp_path / "out"
    result = replay(*data, *SHORT[:4], "--sizes", "1:20:1", "--selectors", "random", "-o", out)
    _, table = result.stdout.split("\n\n")
    printed = [int(line.split()[1]) for line in table.splitlines()[1:]]
    assert len(printed) <= 12
    assert printed[-1] == 20
    assert len((out / "sizes.csv").read_text().splitlines()) == 1 + 20


def test_all_that_is_missing_is_named_at_once(data):
    refused = replay(data[0])
    assert refused.exit_code == 2
    assert all(name in refused.stderr for name in ("--items", "--verdicts", "--output")), refused.stderr


def test_iterative_runs_have_the_papers_columns(data, tmp_path):
    out = tmp_path / "out"
    by_rule = ["--iterative", "--rules", "bets,tie-aware", "--risk", "0.2"]
    result = replay(*data, *SHORT, *by_rule, "-o", out, "--json")
    table = json.loads(result.stdout)
    assert [(row["rule"], row["selector"]) for row in table] == [
        ("bets", "random"), ("tie-aware", "random"), ("tie-aware", "diffuse"), ("tie-aware", "max-norm"),
    ]  # fmt: skip
    assert {"judgments", "error", "success", "inconclusive", "gap", "gap_error"} <= table[0].keys()


def test_runs_may_be_given_up_and_then_make_fewer_judgments_and_name_no_more(data, tmp_path):
    rules = ["--iterative", "--rules", "bets", "--selectors", "random"]
    plain, ending = (
        json.loads(replay(*data, *SHORT, *rules, "--max-judgments", 22, *more, "-o", tmp_path / name, "--json").stdout)
        for name, more in (("plain", []), ("ending", ["--give-up", "0.4"]))
    )
    for without, with_ in zip(plain, ending, strict=True):
        assert with_["judgments"] < without["judgments"]
        assert with_["inconclusive"] >= without["inconclusive"]
        assert with_["error"] <= without["error"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [([], "--give-up: only runs until a rule is met"), (["--job", "select"], "--give-up: --job select has no such choice"),
     (["--job", "estimate"], "--give-up: --job estimate has no such choice")],
)  # fmt: skip
def test_only_runs_by_a_rule_are_given_up(data, tmp_path, flags, message):
    result = replay(*data, "-o", tmp_path / "out", "--give-up", "0.2", *flags)
    assert result.exit_code == 2
    assert message in result.stderr


def test_it_resumes_with_the_pairs_not_finished_and_ends_the_same(data, tmp_path):
    whole = replay(*data, *SHORT, "-o", tmp_path / "whole", "--json")
    part = tmp_path / "part"
    replay(*data, *SHORT, "--pairs", 2, "-o", part)
    resumed = replay(*data, *SHORT, "-o", part, "--resume", "--json")
    assert json.loads(resumed.stdout) == json.loads(whole.stdout)
    refused = replay(*data, *SHORT, "-o", part)
    assert refused.exit_code == 2
    assert "--resume" in refused.stderr


def test_two_processes_give_what_one_gives(data, tmp_path):
    one = replay(*data, *SHORT, "-o", tmp_path / "one", "--json")
    two = replay(*data, *SHORT, "-o", tmp_path / "two", "--json", "--jobs", 2)
    assert one.stdout == two.stdout


@pytest.mark.parametrize("named", ["{}", "{}_out.txt"])
def test_vectors_may_be_given_and_then_no_output_is_read(data, tmp_path, vectors, named):
    given = vectors([named.format(name) for name in NAMES], np.random.default_rng(1).normal(size=(SYSTEMS, ITEMS, 3)))
    result = replay(tmp_path / "nothing", *data[1:], *SHORT, "--vectors", given, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output


@pytest.mark.processes
def test_scripts_draw_a_finished_replay_and_what_diffuse_picked(data, tmp_path):
    """Each picture, at several numbers and bins."""
    out = tmp_path / "out"
    assert replay(*data, *SHORT, "-o", out).exit_code == 0
    for script, *flags in (["replay_pictures.py"], ["diffuse_pictures.py", "--numbers", "6,9,12", "--bins", "4"]):
        subprocess.run([sys.executable, SCRIPTS / script, out, *flags], check=True)
    for picture in ("judged-gaps", "gaps", "pairs", "clusters", "norms", "outcome-norms", "projection",
                    "norm-bins", "cluster-numbers", "success", "bias"):  # fmt: skip
        assert ET.parse(out / f"{picture}.svg").getroot().tag.endswith("svg")
    drawn = (out / "cluster-numbers.svg").read_text()
    assert all(f"{number} clusters" in drawn for number in (6, 9, 12))
    assert "4 bins, the shortest first" in (out / "norm-bins.svg").read_text()
    pairs = (out / "pairs.svg").read_text()
    far, near = (float(found) for found in re.findall(r"gap (\d\.\d\d)<", pairs))
    assert far > near
    assert any(f">s{number}<" in pairs for number in range(SYSTEMS))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--selectors", "best"], "--selectors"),
        (["--sizes", "5:x:1"], "--sizes: expected FIRST:LAST:STEP"),
        (["--sizes", "0"], "--sizes"),
        (["--leave-out", "s9"], "--leave-out s9: the verdicts contain no such system"),
        (["--leave-out", "s0,s1,s2"], "expected scores of at least 2 of the systems, found s3"),
        (["--subset", "0"], "--subset"),
        (["--max-judgments", "40"], "--max-judgments: only runs until a rule is met have a limit"),
        (["--verdicts", "none.csv"], "none.csv"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(data, tmp_path, flags, message):
    result = replay(*data, *SHORT, *flags, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_system_without_outputs_is_named(data, tmp_path):
    (data[0] / "s2.jsonl").unlink()
    result = replay(*data, *SHORT, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "no outputs of 's2'" in result.stderr


def test_verdicts_on_items_of_other_ids_are_refused_with_one_of_them(data, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("item_id,model,score\nq1,s0,1\nq1,s1,0\n")
    result = replay(*data, *SHORT, "--verdicts", other, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "found none; they are on items such as 'q1'" in result.stderr


@pytest.fixture
def vectors(tmp_path):
    """Writes a file of vectors, and returns its path."""

    def written(names, numbers):
        path = tmp_path / "vectors.npz"
        np.savez(path, models=np.array(names), embeddings=numbers)
        return path

    return written


@pytest.mark.parametrize(
    ("names", "shape", "said"),
    [
        (["other"], (1, ITEMS, 2), "vectors.npz names other, and the verdicts s0, s1, s2, s3"),
        (["s0", "s1"], (2, ITEMS + 1, 3), f"each of {ITEMS} items, in their order, found {ITEMS + 1}"),
    ],
)  # fmt: skip
def test_vectors_that_do_not_fit_the_verdicts_are_refused(data, tmp_path, vectors, names, shape, said):
    given = ["--vectors", vectors(names, np.zeros(shape)), "-o", tmp_path / "out"]
    result = replay(*data, *SHORT, *given)
    assert result.exit_code == 2
    assert said in result.stderr

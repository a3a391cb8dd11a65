"""`judgeloop calibrate`: what it replays from a ledger, its runs or a file, and what it says where
there is too little."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.commandline import judgeloop

ITEMS = 30
LEDGER = Path(".judgeloop/ledger.sqlite")
WHOLE = (f"JUDGELOOP_MIN_JUDGMENTS={ITEMS}", "--max-judgments", ITEMS)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Outputs of "prod" and five candidates, and a table of scores, each for a cent, that tie but
    on every third item; and a ledger in which four candidates were judged whole against "prod"."""
    folder = tmp_path_factory.mktemp("prepared")
    rng = np.random.default_rng(4)
    rows = ["item_id,model,score,cost_usd"]
    for name in ("prod", "c1", "c2", "c3", "c4", "c5"):
        write_outputs(folder, name)
        for at in range(ITEMS):
            score = rng.random() if at % 3 == 0 else 0.5
            rows.append(f"i{at},{name},{score:.4f},0.01")
    (folder / "verdicts.csv").write_text("\n".join(rows) + "\n")
    with contextlib.chdir(folder):
        for number in (1, 2, 3, 4):
            compare("prod", f"c{number}", *WHOLE)
    return folder


@pytest.fixture
def folder(prepared, tmp_path):
    """The same without the ledger."""
    ignored = shutil.ignore_patterns(".judgeloop")
    return shutil.copytree(prepared, tmp_path, ignore=ignored, dirs_exist_ok=True)


@pytest.fixture
def ledger(prepared, tmp_path):
    """The same with it."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return LEDGER


def write_outputs(folder, name, prompt="p"):
    lines = [
        {"id": f"i{at}", "prompt": f"{prompt}{at}", "model": name, "output": f"{name} {at}"} for at in range(ITEMS)
    ]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def compare(first, second, *more, judge="verdicts.csv"):
    files = (f"{first}.jsonl", f"{second}.jsonl")
    result = judgeloop("compare", *files, "--judge", f"replay:{judge}", "--json", *more)
    assert result.exit_code in {0, 3}, result.output
    return json.loads(result.stdout)["run"]


def calibrate(*more):
    result = judgeloop("calibrate", "--json", *more)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*more):
    result = judgeloop("calibrate", *more)
    assert result.exit_code == 2, result.output
    assert not result.stdout
    return result.stderr


@pytest.mark.usefixtures("ledger")
def test_from_the_ledger_whole_comparisons_with_a_baseline_and_what_they_cost():
    found = calibrate()
    counts = (found["comparisons"], found["systems"], found["items"], found["baseline"])
    assert counts == (4, 5, 30, "prod")
    assert (found["judge"], found["beside"]) == ("replay:verdicts.csv", [])
    assert {one["risk"] for one in found["tried"]} == {0.1, 0.2}
    assert found["usd_per_item"] == pytest.approx(0.02)
    for one in found["tried"]:
        if one["judgments"]:
            assert one["usd"] == pytest.approx(0.02 * one["judgments"]["mean"])


def test_nothing_is_asked_and_the_ledger_is_left_as_it_was(ledger):
    before = ledger.read_bytes()
    calibrate()
    assert ledger.read_bytes() == before


@pytest.mark.usefixtures("ledger")
def test_text_begins_with_the_decision_and_ends_with_what_it_rests_on():
    result = judgeloop("calibrate", "--risk", "0.2")
    assert result.exit_code == 0
    first, *_, last = result.stdout.splitlines()
    assert first == "at a risk of 0.2: --selector random --rule anytime --risk 0.2"
    assert "4 past comparisons replayed, 10 times each" in result.stdout
    assert "This rests on 4 comparisons of 5 systems" in last
    assert len(re.findall(r"^\*?  +0\.2 ", result.stdout, flags=re.MULTILINE)) == 8


@pytest.mark.usefixtures("ledger")
def test_the_same_seed_says_the_same_and_another_draws_anew():
    assert calibrate() == calibrate() != calibrate("--seed", 1)


def test_only_the_runs_named_count(folder):
    runs = [compare("prod", name, *WHOLE) for name in ("c1", "c2", "c3")]
    found = calibrate("--history", f"{runs[0]},{runs[2]}")
    assert (found["comparisons"], found["systems"]) == (2, 3)
    assert found["source"] == f"runs {runs[0]}, {runs[2]} (.judgeloop/ledger.sqlite)"


@pytest.mark.usefixtures("ledger")
def test_what_is_not_the_default_is_part_of_the_advice():
    found = calibrate("--max-judgments", 20, "JUDGELOOP_MIN_JUDGMENTS=3", "--risk", "0.9")
    flags = found["advice"][0]["flags"]
    assert flags.startswith("JUDGELOOP_MIN_JUDGMENTS=3 --selector ")
    assert flags.endswith("--risk 0.9 --max-judgments 20")


@pytest.mark.usefixtures("ledger")
def test_of_several_judges_the_one_with_most_verdicts_counts_unless_one_is_named():
    Path("other.csv").write_text(Path("verdicts.csv").read_text() + "\n")
    for name in ("c1", "c2"):
        compare("prod", name, *WHOLE, judge="other.csv")
    most = calibrate()
    assert (most["judge"], most["comparisons"]) == ("replay:verdicts.csv", 4)
    assert most["beside"] == ["replay:other.csv, 60 verdicts (--judge-name)"]
    named = calibrate("--judge-name", "replay:other.csv")
    assert (named["judge"], named["comparisons"]) == ("replay:other.csv", 2)
    assert named["beside"] == ["replay:verdicts.csv, 120 verdicts (--judge-name)"]
    assert "it has replay:other.csv, replay:verdicts.csv" in refused("--judge-name", "openai/gpt-4.1")


@pytest.mark.usefixtures("ledger")
def test_a_judge_of_the_same_name_with_other_settings_is_another():
    for name in ("c1", "c2"):
        compare("prod", name, *WHOLE, "--tie-margin", 0.2)
    assert calibrate()["beside"] == [
        "replay:verdicts.csv with another prompt or other settings, 60 verdicts (--judge-name)"
    ]


def test_items_whose_prompts_differ_are_other_items(ledger, tmp_path):
    for name in ("prod", "c1", "c2"):
        write_outputs(tmp_path, name, prompt="another ")
    for name in ("c1", "c2"):
        compare("prod", name, *WHOLE)
    found = calibrate()
    assert (found["items"], found["comparisons"]) == (30, 4)
    assert found["beside"] == ["1 other test set, 60 verdicts (--history RUN,RUN...)"]


def test_ratings_are_no_comparisons(folder):
    rated = judgeloop("estimate", "c1.jsonl", "--judge", "replay:verdicts.csv", "--max-judgments", 30)
    assert rated.exit_code in {0, 3}, rated.output
    said = "found 0; it has no comparisons of systems that differ in a verdict. Judge all items of some pairs"
    assert said in refused()
    assert "there are no comparisons in the ledger" in refused("--judge-name", "openai/x")
    for number in (1, 2):
        compare("prod", f"c{number}", *WHOLE)
    assert calibrate()["comparisons"] == 2


@pytest.mark.usefixtures("folder")
def test_a_file_of_scores_is_all_pairs_of_its_systems_and_no_ledger_is_made():
    found = calibrate("--history", "verdicts.csv", "--risk", "0.9")
    assert (found["source"], found["comparisons"], found["systems"]) == ("verdicts.csv", 15, 6)
    assert (found["baseline"], found["judge"], found["usd_per_item"]) == (None, None, 0.02)
    assert "--history verdicts.csv" in found["advice"][0]["flags"]
    assert not LEDGER.exists()


@pytest.mark.usefixtures("folder")
def test_the_advice_quotes_a_file_name_as_a_shell_takes_it():
    Path("verdicts.csv").rename("my past.csv")
    asked = ("--history", "my past.csv", "--risk", "0.9")
    assert calibrate(*asked)["advice"][0]["flags"].endswith("--risk 0.9 --history 'my past.csv'")
    first, *_ = judgeloop("calibrate", *asked).stdout.splitlines()
    assert first.endswith("--risk 0.9 --history 'my past.csv'")


@pytest.mark.usefixtures("folder")
def test_a_tie_margin_makes_scores_of_a_file_tie():
    apart = calibrate("--history", "verdicts.csv")
    tied = calibrate("--history", "verdicts.csv", "--tie-margin", 0.6)
    rules = [next(one for one in found["tried"] if one["rule"] == "tie-aware") for found in (apart, tied)]
    assert rules[0]["judgments"]["mean"] < rules[1]["judgments"]["mean"]


@pytest.mark.usefixtures("folder")
def test_a_file_of_pairs_costs_what_its_verdicts_do():
    rows = [f"i{at},{name},prod,1,0.03" for name in ("c1", "c2") for at in range(10)]
    Path("pairs.csv").write_text("item_id,model_a,model_b,score,cost_usd\n" + "\n".join(rows) + "\n")
    found = calibrate("--history", "pairs.csv")
    assert (found["usd_per_item"], found["baseline"], found["items"]) == (0.03, "prod", 10)


@pytest.mark.usefixtures("folder")
def test_three_systems_that_all_met_have_no_baseline():
    rows = Path("verdicts.csv").read_text().splitlines()
    Path("three.csv").write_text("\n".join(row for row in rows if not re.search(",c[345],", row)) + "\n")
    found = calibrate("--history", "three.csv")
    assert (found["comparisons"], found["baseline"]) == (3, None)


@pytest.mark.usefixtures("folder")
def test_very_many_comparisons_are_replayed_in_part():
    rows = [f"i{at},s{name},{at * name % 17 / 17}" for name in range(17) for at in range(8)]
    Path("many.csv").write_text("item_id,model,score\n" + "\n".join(rows) + "\n")
    found = calibrate("--history", "many.csv", "--risk", "0.2")
    assert (found["found"], found["comparisons"]) == (136, 120)


@pytest.mark.usefixtures("ledger")
def test_what_is_not_replayed_is_counted_and_still_learned_from():
    whole = calibrate()
    compare("prod", "c5", "--max-judgments", 10)
    found = calibrate()
    assert (whole["beside"], found["comparisons"]) == ([], whole["comparisons"])
    assert found["beside"] == ["1 comparison known on less than 90 % of the items, or without a decisive verdict"]
    assert found["known_verdicts"] == whole["known_verdicts"] + 10
    assert found["known_comparisons"] == whole["known_comparisons"] + 1


@pytest.mark.usefixtures("ledger")
def test_whole_comparisons_without_the_baseline_are_counted_as_left_out():
    compare("c1", "c2", *WHOLE)
    found = calibrate()
    assert (found["baseline"], found["comparisons"]) == ("prod", 4)
    assert found["beside"] == ["1 comparison without prod"]


@pytest.mark.usefixtures("folder")
def test_too_few_whole_comparisons_say_what_is_there():
    compare("prod", "c1", *WHOLE)
    compare("prod", "c2", "--max-judgments", 10)
    said = refused()
    assert "found 1; it has 2 comparisons, of which the fullest is known on 30 of 30 items" in said
    assert "JUDGELOOP_MIN_JUDGMENTS=N --max-judgments N with N the number of items of your test set" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--history", "none"), "without earlier comparisons there is nothing to replay"),
        (("--history", "nowhere.csv"), "there is no such file"),
        (("--risk", "0.1,2"), "--risk: "),
        (("--risk", ","), "--risk: expected at least one, found ','"),
        (("JUDGELOOP_MIN_JUDGMENTS=9", "--max-judgments", 8), "expected 1 ≤ JUDGELOOP_MIN_JUDGMENTS ≤ --max-judgments"),
        (("--judge-name", "openai/x"), "there is no ledger there"),
        (("--history", "verdicts.csv", "--judge-name", "openai/x"), "a file of verdicts names no judge"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_is_refused(given, said):
    assert said in refused(*given)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("ledger", "said"),
    [
        ("verdicts.csv", "verdicts.csv is not a ledger, nor any SQLite database"),
        ("empty", "--ledger empty: there is no ledger there"),
        (LEDGER, f"--ledger {LEDGER}: there is no ledger there; name the ledger with the comparisons"),
    ],
)  # fmt: skip
def test_what_is_no_ledger_is_refused_and_stays_as_it_is(ledger, said):
    Path("empty").write_bytes(b"")
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    assert said in refused("--ledger", ledger)
    assert {path: path.read_bytes() for path in Path().iterdir()} == before

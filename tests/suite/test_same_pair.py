"""Which pair of the last night is one of this night, and that an unchanged one is drawn as in its first night."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from support.commandline import judgeloop

from judgeloop.cli import questions

ITEMS = 60
METRIC, PYTHON = "metric:exact", "python:words:shorter"
PAIRS = {"exact": METRIC, "words": PYTHON}
ESTIMATE = (
    '[pairs.quality]\nquestion = "estimate"\nsystems = ["rag.jsonl"]\njudge = "metric:exact"\nmax-judgments = 20\n'
)


@pytest.fixture(autouse=True)
def files(monkeypatch):
    """An exact match prefers rag, and the shorter answer is that of production."""
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("words.py").write_text("def shorter(first, second):\n    return float(len(first) < len(second))\n")
    write("production", lambda n: f"no {n}")
    write("rag", lambda n: f"answer {n}" if n % 2 else "none of the answers")


def write(name, output, prompt="p{}".format):
    rows = [{"id": n, "prompt": prompt(n), "reference": f"answer {n}", "output": output(n)} for n in range(ITEMS)]
    Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def night(date, pairs=PAIRS, more=""):
    tables = [
        f'[pairs.{name}]\nsystems = ["production.jsonl", "rag.jsonl"]\njudge = "{judge}"\n'
        for name, judge in pairs.items()
    ]
    Path("night.toml").write_text("\n".join(["[suite]\nbudget = 1\n[shared]\nmax-judgments = 40", *tables, more]))
    arguments = (
        "--config",
        "night.toml",
        "--allow-plugins",
        "--night",
        f"2026-01-{date:02}",
        "--json",
        "-o",
        "night.json",
    )
    found = json.loads(judgeloop("suite", "night.toml", *arguments).stdout)
    return {one["name"]: one for one in found["pairs"]}


def known(pair):
    return pair["before"], pair["outputs"], pair["same_as"], pair["further"]


def test_pairs_of_the_same_systems_by_different_judges_are_told_apart():
    first = night(1)
    assert [first[name]["winner"] for name in PAIRS] == ["rag", "production"]
    assert first["exact"]["judged"] >= 10 > first["words"]["judged"], "from ten on the change has an interval"
    second = night(2)
    for name, one in second.items():
        assert known(one) == ("decided", "same", "2026-01-01", False)
        assert (one["turned"], one["gap"], one["judged_in_both"]) == ([], first[name]["gap"], first[name]["judged"])
        assert one["moved"] == ([0, 0, 0] if name == "exact" else [0, None, None])
        assert not one["other_judge"]
        assert one["nights"] == first[name]["nights"] * 2, "its own gap, twice"


def test_a_night_that_is_interrupted_keeps_the_answers_it_had_and_shows_no_figures_of_others(monkeypatch):
    first = night(1)
    monkeypatch.setattr(questions, "catch_signals", lambda interruption, *, by_hand: interruption.request())
    again = night(1)
    assert [(one["state"], one["judged"]) for one in again.values()] == [
        (one["state"], one["judged"]) for one in first.values()
    ]
    shown = judgeloop(
        "suite", "night.toml", "--config", "night.toml", "--allow-plugins", "--night", "2026-01-02", "--details"
    )
    assert shown.exit_code == 130
    assert re.search(r"^  exact +- interrupted +\$0\.00 +✓ decided", shown.stdout, re.MULTILINE)


def test_what_was_asked_otherwise_says_so_in_the_place_of_a_change():
    night(1)
    path = Path("night.toml")
    assert night(2)["exact"]["asked_otherwise"] == ""
    path.write_text(path.read_text().replace("[shared]", "[shared]\nmin-gap = 0.3"))
    found = judgeloop(
        "suite", "night.toml", "--config", "night.toml", "--allow-plugins", "--night", "2026-01-03", "--json"
    )
    one = json.loads(found.stdout)["pairs"][0]
    assert (one["asked_otherwise"], one["moved"], one["before"]) == ("min-gap none, now 0.3", None, "decided")


def test_a_pair_has_no_state_of_another_that_compared_the_same_systems():
    night(1)
    again = night(2, {"exact": METRIC, "fresh": PYTHON, "torn": "python:words:nothing"})
    assert [one["before"] for one in again.values()] == ["decided", "decided", ""], "words has become fresh"
    again = night(3, {"exact": "python:words:nothing", "new": "metric:f1"})
    assert [one["before"] for one in again.values()] == ["decided", ""]


def test_a_name_that_has_another_judge_now_has_the_state_and_no_change():
    night(1)
    one = night(2, {"exact": PYTHON})["exact"]
    assert (one["before"], one["moved"], one["judged_in_both"], one["nights"][0]) == ("decided", None, 0, None)
    assert (one["other_judge"], len(one["nights"])) == (True, 2), "a gap by another judge is no bar of the line"


def test_an_estimate_of_unchanged_files_is_drawn_as_in_its_first_night():
    nights = [night(date, {}, ESTIMATE)["quality"] for date in (1, 2, 3)]
    assert len({one["headline"] for one in nights}) == 1
    assert known(nights[2]) == ("decided", "same", "2026-01-01", False)
    write("rag", lambda n: f"answer {n}" if n % 2 else "none")
    changed = night(4, {}, ESTIMATE)["quality"]
    assert known(changed) == ("decided", "new", "", False)


def test_families_of_unchanged_files_are_drawn_as_in_their_first_night():
    write("production", lambda n: f"no {n}", prompt=lambda n: f"p{n // 2}")
    write("rag", lambda n: f"answer {n}" if n % 3 else "none", prompt=lambda n: f"p{n // 2}")
    nights = [night(date, {"exact": METRIC})["exact"] for date in (1, 2)]
    assert (nights[1]["same_as"], nights[1]["further"]) == ("2026-01-01", False)
    assert nights[0]["gap"] == nights[1]["gap"]


def test_a_pair_whose_families_are_all_judged_says_so_and_not_that_its_items_are():
    write("production", lambda n: f"answer {n}" if n % 8 > 3 else "none", prompt=lambda n: f"p{n % 8}")
    write("rag", lambda n: f"answer {n}" if n % 8 < 4 else "none", prompt=lambda n: f"p{n % 8}")
    found = night(1, {"exact": f'{METRIC}"\nnot-worse = 0.01 # "'})["exact"]
    assert (found["state"], found["judged"]) == ("undecided", 8)
    assert re.findall(r"\d+", found["stopped"]) == ["8"]


def test_an_unchanged_pair_asks_once_however_many_nights_it_has_and_no_later_search_chose_it():
    write("other", lambda n: f"answer {n}" if n % 4 else "none")
    search = '[pairs.best]\nquestion = "select"\nsystems = ["production.jsonl", "rag.jsonl", "other.jsonl"]\n'
    search += f'judge = "{METRIC}"\nmax-judgments = 90\n'
    nights = [night(date, {"exact": METRIC}, search if date > 1 else "")["exact"] for date in range(1, 7)]
    assert [one["warnings"] for one in nights] == [nights[0]["warnings"]] * 6
    assert {one["state"] for one in nights} == {nights[0]["state"]}
    assert not any(one["doubtful"] for one in nights)


def test_a_search_counts_the_items_that_it_judged_and_has_no_gap_that_could_move():
    write("other", lambda n: f"answer {n}" if n % 4 else "none")
    search = f'[pairs.best]\nquestion = "select"\nsystems = ["*.jsonl"]\njudge = "{METRIC}"\nmax-judgments = 90\n'
    first, second = (night(date, {}, search)["best"] for date in (1, 2))
    judgments = json.loads(judgeloop("runs", "show", first["run"], "--json").stdout)["judged"]
    assert first["judged"] <= ITEMS
    assert first["judged"] < judgments, "an item is judged once for each system"
    assert (second["judged"], second["moved"], second["turned"]) == (first["judged"], None, [])


def test_a_pair_that_could_not_be_read_last_night_is_told_of_in_the_next():
    whole = Path("rag.jsonl").read_text()
    Path("rag.jsonl").write_text(whole[:200])
    more = '[pairs.well]\nsystems = ["production.jsonl", "production.jsonl"]\njudge = "metric:exact"\n'
    write("copy", lambda n: f"no, {n}")
    more = more.replace('production.jsonl"]', 'copy.jsonl"]')
    torn = night(1, {"exact": METRIC}, more)["exact"]
    assert (torn["state"], torn["before"]) == ("wrong input", "")
    (run,) = [one for one in json.loads(judgeloop("runs", "--json").stdout) if one["pair"] == "exact"]
    assert (run["state"], run["exit_code"], run["headline"]) == ("refused", 2, torn["headline"])
    assert judgeloop("runs", "show", run["run"]).exit_code == 2
    Path("rag.jsonl").write_text(whole)
    mended = night(2, {"exact": METRIC, "new": "metric:f1"}, more)
    assert {name: one["before"] for name, one in mended.items()} == {
        "exact": "wrong input",
        "new": "",
        "well": mended["well"]["state"],
    }
    assert night(3, {"exact": METRIC}, more)["exact"]["before"] == mended["exact"]["state"]


def test_a_judge_whose_code_was_edited_is_told_of_in_the_place_of_a_change():
    first = night(1)["words"]
    Path("words.py").write_text("def shorter(first, second):\n    return float(len(first) + 1 < len(second))\n")
    sys.modules.pop("words")
    edited = night(2)
    assert [edited[name]["other_judge"] for name in PAIRS] == [False, True]
    assert (edited["words"]["moved"], edited["words"]["outputs"]) == (None, "same")
    assert edited["words"]["before"] == first["state"]


def test_recorded_scores_are_compared_in_a_suite_whose_other_pairs_have_a_judge(monkeypatch):
    for name, score in (("production", 0.2), ("rag", 0.8)):
        rows = [json.loads(line) for line in Path(f"{name}.jsonl").read_text().splitlines()]
        Path(f"{name}-scored.jsonl").write_text("".join(f"{json.dumps(row | {'score': score})}\n" for row in rows))
    Path("items.jsonl").write_text("".join(f"{json.dumps({'id': n, 'prompt': f'p{n}'})}\n" for n in range(ITEMS)))
    monkeypatch.setenv("JUDGELOOP_JUDGE_BASE_URL", "http://127.0.0.1:9/v1")
    shared = '[suite]\nbudget = 1\njudge = "metric:exact"\nitems = "items.jsonl"\nmax-judgments = 40\nseed = 3\n'
    scored = '[pairs.scored]\nsystems = ["production-scored.jsonl", "rag-scored.jsonl"]\njudge = "recorded:score"\n'
    Path("night.toml").write_text(shared + scored)
    (pair,) = json.loads(judgeloop("suite", "night.toml", "--json").stdout)["pairs"]
    assert (pair["exit_code"], pair["winner"], pair["judged"]) == (0, "rag-scored", ITEMS)
    for more in ("max-judgments = 40\n", "not-worse = 0.1\n"):
        Path("night.toml").write_text(shared + scored + more)
        (pair,) = json.loads(judgeloop("suite", "night.toml", "--json").stdout)["pairs"]
        assert pair["exit_code"] == 2, "what stands in its own table is refused, and so is a condition"


def test_a_system_of_empty_outputs_is_no_newer_doubt_on_the_second_night():
    write("rag", lambda n: "")
    pairs = [night(date, {"exact": METRIC})["exact"] for date in (1, 2)]
    assert [(one["doubtful"], one["before"]) for one in pairs] == [(True, ""), (True, pairs[0]["state"])]
    assert len(pairs[0]["one_output"]) == 1


def test_a_night_that_was_started_again_ended_as_its_last_start_did(monkeypatch):
    first, whole = night(1), Path("rag.jsonl").read_text()
    assert {one["state"] for one in first.values()} == {"decided"}
    Path("rag.jsonl").write_text(whole[:200])
    monkeypatch.setattr("judgeloop.ledger.ledger.platform.node", lambda: "another")
    night(1, {"exact": METRIC})
    Path("rag.jsonl").write_text(whole)
    found = json.loads(judgeloop("runs", "--night", "2026-01-01", "--json").stdout)
    assert {(run["pair"], run["state"]): run["replaced"] for run in found} == {
        ("exact", "ended"): True,
        ("exact", "refused"): False,
        ("words", "ended"): True,
    }
    shown = judgeloop("runs", "--night", "2026-01-01").stdout
    assert shown.count("exit 0, replaced") == 2
    monkeypatch.setattr("judgeloop.ledger.ledger.platform.node", lambda: "a third")
    again = night(2, {"exact": METRIC})["exact"]
    assert (again["before"], again["winner_before"], again["nights"][0]) == ("wrong input", "", None)
    assert json.loads(Path("night.json").read_text())["absent"] == []


def test_the_same_outputs_under_another_name_are_no_other_winner():
    search = '[pairs.best]\nquestion = "select"\nsystems = ["production.jsonl", "{}.jsonl", "other.jsonl"]\n'
    search += f'judge = "{METRIC}"\nmax-judgments = 90\n'
    write("other", lambda n: f"answer {n}" if n % 8 == 0 else "none")
    write("rag", lambda n: f"answer {n}")
    assert night(1, {}, search.format("rag"))["best"]["winner"] == "rag"
    Path("rag.jsonl").rename("renamed.jsonl")
    found = night(2, {}, search.format("renamed"))["best"]
    assert (found["winner"], found["winner_before"], found["outputs"]) == ("renamed", "", "same")
    write("renamed", lambda n: "none")
    assert night(3, {}, search.format("renamed"))["best"]["winner_before"] == "renamed"


def test_a_score_of_which_every_item_is_judged_is_a_certain_answer():
    whole = night(1, {"exact": METRIC}, ESTIMATE.replace("= 20", f"= {ITEMS}"))
    assert [(one["risk"], one["certain"]) for one in whole.values()] == [(0.1, False), (0.0, True)]
    part = night(2, {}, ESTIMATE)["quality"]
    assert (part["risk"], part["certain"]) == (0.1, False)


def test_an_item_that_a_search_judged_for_several_systems_is_named_with_the_two_that_met():
    write("other", lambda n: f"answer {n}" if n % 4 else "none")
    search = f'[pairs.best]\nquestion = "select"\nsystems = ["*.jsonl"]\njudge = "{METRIC}"\nmax-judgments = 90\n'
    night(1, {}, search)
    write("rag", lambda n: "none" if n % 2 else f"answer {n}")
    found = night(2, {}, search)["best"]
    assert found["turned"]
    assert {len(one["systems"]) for one in found["turned"]} == {2}
    assert all("rag" in one["systems"] for one in found["turned"])


def test_another_judge_and_other_settings_are_both_told_of():
    night(1)
    path = Path("night.toml")
    path.write_text(path.read_text().replace("[shared]", "[shared]\nmin-gap = 0.3").replace(METRIC, "metric:rouge1"))
    found = judgeloop(
        "suite", "night.toml", "--config", "night.toml", "--allow-plugins", "--night", "2026-01-03", "--json"
    )
    one = json.loads(found.stdout)["pairs"][0]
    assert (one["other_judge"], one["asked_otherwise"], one["moved"]) == (True, "min-gap none, now 0.3", None)

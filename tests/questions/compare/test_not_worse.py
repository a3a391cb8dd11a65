"""`compare --not-worse` and `--min-gap`: what is said, with which exit code, and what goes with it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support import commandline
from support.outputs import write_outputs

import judgeloop
from judgeloop.ledger.opening import runs_of
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.questions.kept import result_of, stored
from judgeloop.report.terminal import MOST_LINES

ITEMS = 100
NOT_WORSE, MIN_GAP = ("--not-worse", "0.2"), ("--min-gap", "0.2")


def command(*arguments):
    return commandline.judgeloop("compare", *arguments)


@pytest.fixture
def old(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return outputs(tmp_path / "old.jsonl", 50)


# Each item is judged.
ALL = ("--risk", "1e-9")


def outputs(path, right, after=0):
    """Write a system's outputs, of which so many are right, `after` others."""
    texts = ["no"] * after + ["yes"] * right + ["no"] * ITEMS
    return write_outputs(path, texts[:ITEMS], reference="yes")


@pytest.fixture
def new(old, request):
    """A system that is right on more items than the old one, or on fewer; most are ties."""
    after = 10 if abs(request.param) < 10 else 0
    return outputs(old.with_name("new.jsonl"), 50 + request.param, after)


def asked(old, new, *more, about=NOT_WORSE):
    return command(old, new, "--judge", "metric:exact", *about, *more)


def shown_and_found(old, new, *more, about=NOT_WORSE):
    return commandline.shown_and_found("compare", old, new, "--judge", "metric:exact", *about, *more)


def words(done):
    """What is said, without the sign and the word for what is no gate."""
    return re.sub(r"^\S (DECIDED: |OPEN: (?=no ))?", "", " ".join(done.stdout.split()))


@pytest.mark.parametrize("new", [-2, 0], indirect=True)
def test_a_system_that_is_level_or_a_little_worse_passes(old, new):
    done, values = shown_and_found(old, new, "--details")
    assert done.exit_code == 0, done.output
    assert words(done).startswith(
        "PASSED, in doubt: new is not worse than old by 20 points or more on items like these 100."
    )
    assert ": at most 1 in 10 such runs passes a system worse by 20 points or more" in words(done)
    doubted = {"neighbours"} & {one["code"] for one in values["warnings"]}
    assert ("0.1, if the items are independent draws: " in words(done)) is bool(doubted)
    assert ("At a risk of 0.1, if the items are independent draws, new is not worse" in words(done)) is bool(doubted)
    assert "the chance of ever passing a second system that is worse by 20 points or more is at most 10 %" in words(
        done
    )
    assert (values["claim"], values["better"], values["winner"]) == ("not_worse", False, None)


@pytest.mark.parametrize("new", [45], indirect=True)
def test_a_system_that_is_better_passes_and_that_is_said_where_it_is_shown(old, new):
    narrow = ("--not-worse", "0.02")
    done, values = shown_and_found(old, new, about=narrow)
    assert done.exit_code == 0, done.output
    assert words(done).startswith("PASSED: new is better than old on items like these 100, and so not worse by")
    assert (values["claim"], values["better"]) == ("not_worse", True)
    kept = result_of(stored(Path(".judgeloop/ledger.sqlite"), values["run"]))
    assert (kept.winner, kept.named) == (None, "new"), "as the table of a night names it"


@pytest.mark.parametrize("new", [-45], indirect=True)
def test_a_system_that_is_worse_fails(old, new, tmp_path):
    done, values = shown_and_found(old, new, "-o", "report.xml")
    assert done.exit_code == 5, done.output
    assert words(done).startswith("FAILED: new is worse than old ")
    suite = ET.parse(tmp_path / "report.xml").getroot()
    assert suite.find(".//failure").get("message").startswith("FAILED: new is worse")
    assert (values["claim"], values["winner"], values["exit_code"]) == ("worse", "old", 5)
    assert isinstance(values["worse_by_margin"], bool)


@pytest.mark.parametrize("new", [-45], indirect=True)
def test_worse_by_more_than_the_margin_is_said_where_it_is_shown(old, new):
    done = asked(old, new, about=("--not-worse", "0.01"))
    assert words(done).startswith("FAILED: new is worse than old by more than 1 point ")


@pytest.mark.parametrize("new", [0], indirect=True)
@pytest.mark.parametrize("items", [20, 100])
def test_without_an_answer_what_the_bounds_say_is_said(old, new, items):
    done = asked(old, new, "--max-judgments", items, "--risk", "0.0001", "--about", "items")
    assert done.exit_code == (0 if items == ITEMS else 3)
    if items < ITEMS:
        said = "OPEN: it is not shown whether new is worse than old"
        assert words(done).startswith(said)
        assert re.search(
            r"new [+-]\d+ points? against old \(-\d+ to \+\d+ on all items; allowed: above -20\)", words(done)
        )
        assert re.search(
            r"equal, 4 of 5 runs with --max-judgments \d+ would pass \(with \d+ % ties, as here\). More judgments",
            words(done),
        )


@pytest.mark.parametrize("new", [0], indirect=True)
def test_a_program_reads_the_answer(old, new):
    values = json.loads(asked(old, new, "--json").stdout)
    expected = {"stop_reason": "not_worse", "winner": None, "not_worse": 0.2, "exit_code": 0}
    expected |= {"rule": "bets", "more_judgments": None, "worse_by_margin": False}
    assert {name: values[name] for name in expected} == expected
    assert values["risk"] == 0.1
    result = judgeloop.compare(old, new, judge="metric:exact", not_worse=0.2)
    assert (result.exit_code, result.stop_reason, result.claim) == (0, "not_worse", "not_worse")
    assert str(result).startswith("✓ PASSED, in doubt: new is not worse than old")


@pytest.mark.parametrize("new", [40], indirect=True)
def test_a_dry_run_says_what_becomes_of_an_equal_system(old, new):
    done = asked(old, new, "--max-judgments", "60", "--dry-run")
    assert done.exit_code == 0
    assert "assumes that both systems are level, with 72 % ties." in words(done)
    assert "How often an equal system would pass:" in done.stdout
    values = json.loads(asked(old, new, "--max-judgments", "60", "--dry-run", "--json").stdout)
    tied = [0.6 + 0.4 * others for others in (0.0, 0.3, 0.7)]  # 60 outputs are identical
    assert [one["ties"] for one in values["equal_system"]] == pytest.approx(tied)
    for one in values["equal_system"]:
        assert one["passes"] + one["fails"] + one["none"] == pytest.approx(1)
        assert one["fails"] <= 0.13
        assert one["judgments"] <= 60
    asked(old, new, "--max-judgments", "60")
    known = asked(old, new, "--max-judgments", "60", "--dry-run").stdout
    assert known.startswith("✓ PASSED: new is not worse than old")
    assert len(known.splitlines()) <= MOST_LINES
    assert "Nothing would be asked" in known


@pytest.mark.parametrize("new", [0], indirect=True)
def test_less_than_an_even_chance_to_pass_is_warned_of_before_the_first_call(old, new):
    warned = "Warning: with at most 20 judgments an equal system passes in only"
    weak = [*("--not-worse", "0.05"), *("--max-judgments", "20")]
    shares = set[str]()
    choices = r" For 80 % it takes [\d,]+ items \(there are 100\) and --max-judgments \d+, or a margin of about 0"
    for more, stream, mend in ((["--dry-run"], "stdout", choices), ([], "stderr", " A dry run says what it takes.")):
        text = " ".join(getattr(asked(old, new, *more, about=weak), stream).split())
        assert text.count(warned) == 1
        found = re.search(rf"of the runs, and with all 100 in \d+ % \(if (\d+) % are ties\)\.{mend}", text)
        shares.add(found[1])
    assert shares == {"86"}, "80 outputs are identical, and of the others 30 % are taken to be ties"
    assert warned not in asked(old, new).output
    assert warned not in asked(old, new, about=weak).output  # the ledger has this run


def test_other_candidates_verdicts_say_which_share_is_tied(tmp_path, monkeypatch):
    """`other` and `old` are tied on 25 of 100 items; of `new` nothing is known yet."""
    monkeypatch.chdir(tmp_path)
    written = {
        "old": ["yes"] * 50 + ["no"] * 50,
        "other": ["nay"] * 50 + ["yes"] * 25 + ["nay"] * 25,
        "new": ["well"] * 100,
    }
    old, other, new = (
        write_outputs(tmp_path / f"{name}.jsonl", texts, reference="yes") for name, texts in written.items()
    )
    command(old, other, "--judge", "metric:exact", *ALL)
    command(old, new, "--judge", "metric:token-f1", *ALL)  # another judge does not count
    dry = json.loads(asked(old, new, "--dry-run", "--json").stdout)
    (one,) = dry["equal_system"]
    assert one["ties"] == pytest.approx(0.25)
    weak = asked(old, new, about=("--not-worse", "0.05", "--max-judgments", "20"))
    assert "(if 25 % are ties)" in weak.stderr


def test_identical_outputs_say_nothing_of_the_share_that_a_judge_finds_tied(old, tmp_path):
    """They met in an earlier run, whose judge was asked about none."""
    same, new = outputs(tmp_path / "same.jsonl", 50), write_outputs(tmp_path / "new.jsonl", ["well"] * ITEMS)
    command(old, same, "--judge", "metric:exact", *ALL)
    (run,) = runs_of(Path(".judgeloop/ledger.sqlite"))
    assert (run.note.decided, run.note.tied) == (0, 0)
    dry = json.loads(asked(old, new, "--dry-run", "--json").stdout)
    assert [one["ties"] for one in dry["equal_system"]] == [0.0, 0.3, 0.7], "as where nothing is known"
    weak = asked(old, new, about=("--not-worse", "0.05", "--max-judgments", "20"))
    assert "(if 30 % are ties)" in weak.stderr


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"not_worse": 0.1}, 462),
        ({"not_worse": "5%"}, 805),
        ({"not_worse": 0.15, "risk": 0.05}, 256),
        ({"not_worse": 0.1, "max_judgments": 90}, 90),
        ({"min_gap": 0.1}, 200),
        ({"not_worse": 0.3}, 200),
        ({}, 200),
    ],
)
def test_the_default_limit_lets_an_equal_system_pass(given, limit):
    config = CompareSettings.of(first="a", second="b", judge="human", **given)
    assert config.max_judgments == limit
    assert bool(config.usual_limit) is ("max_judgments" not in given), "why a run that reaches it has it"


@pytest.mark.parametrize("new", [0], indirect=True)
def test_a_name_within_the_gap_says_how_far_behind_it_may_be(old, new):
    done, values = shown_and_found(old, new, about=MIN_GAP)
    assert done.exit_code == 0, done.output
    assert words(done).startswith("choose ")
    assert ", or less than 20 points behind it, on items like these " in words(done)
    expected = {"claim": "better_or_within", "better": False, "min_gap": 0.2, "exit_code": 0}
    assert {name: values[name] for name in expected} == expected


@pytest.mark.parametrize("new", [26], indirect=True)
def test_of_a_name_within_the_gap_no_number_is_promised_that_would_show_it_better(old, new):
    _, values = shown_and_found(old, new, about=MIN_GAP)
    assert (values["claim"], values["more_judgments"], values["advice"]) == ("better_or_within", None, [])


@pytest.mark.parametrize("new", [0], indirect=True)
@pytest.mark.parametrize("required", ["old", "new"])
def test_a_required_winner_is_not_met_by_a_name_within_the_gap(old, new, required, tmp_path):
    gate = ["--require-winner", required, "-o", "report.xml"]
    done = asked(old, new, *gate, about=MIN_GAP)
    assert done.exit_code == 3
    assert words(done).startswith(f"OPEN: {required} is not shown to be better")
    suite = ET.parse(tmp_path / "report.xml").getroot()
    assert suite.find(".//failure").get("message").startswith("OPEN")


@pytest.mark.parametrize("new", [48], indirect=True)
def test_where_it_is_shown_a_system_is_called_better_and_the_gate_passes(old, new):
    narrow = ("--min-gap", "0.01")
    done, values = shown_and_found(old, new, "--require-winner", "new", about=narrow)
    assert done.exit_code == 0, done.output
    assert words(done).startswith("PASSED: new is better than old on items like these 100.")
    assert asked(old, new, "--require-winner", "old", about=narrow).exit_code == 5
    assert (values["claim"], values["better"]) == ("better", True)


@pytest.mark.parametrize("new", [8], indirect=True)
def test_at_the_limit_what_the_bounds_say_is_said(old, new):
    done = asked(old, new, "--max-judgments", "30", about=("--min-gap", "0.02"))
    assert done.exit_code == 3
    assert words(done).startswith(
        "no winner yet between old and new, not even one that may be less than 2 points behind, on items like these 100"
    )
    assert re.search(
        r"(new|old) \+\d+ points against (?!\1)(new|old) \(-\d+ to \+\d+ on items like these\)", words(done)
    )
    assert "a new test, with its own risk" in words(done)


@pytest.mark.parametrize("new", [0], indirect=True)
@pytest.mark.parametrize(
    ("about", "other", "said"),
    [
        (NOT_WORSE, ["--near-tie", "0.1"], "--near-tie 0.1 does not go with --not-worse 0.2"),
        (NOT_WORSE, ["--require-winner", "new"], "--require-winner new does not go with --not-worse 0.2"),
        (NOT_WORSE, MIN_GAP, "--not-worse 0.2 does not go with --min-gap 0.2"),
        (NOT_WORSE, ["--rule", "not-worse"], "not-worse is now"),
        (MIN_GAP, ["--rule", "tie-aware"], "--min-gap 0.2 has no effect with"),
        (MIN_GAP, ["--near-tie", "0.1"], "--near-tie 0.1 does not go with --min-gap 0.2"),
        (MIN_GAP, ["--risk", "0.5"], "--risk 0.5: --min-gap 0.2 needs a risk below 0.4"),
        (MIN_GAP, ["--selector", "max-norm"], "it applies to --rule bets"),
    ],
)  # fmt: skip
def test_settings_of_another_question_are_refused(old, new, about, other, said):
    done = asked(old, new, *other, about=about)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize("new", [0], indirect=True)
@pytest.mark.parametrize("margin", ["0", "1", "-0.1", "much"])
@pytest.mark.parametrize("flag", ["--not-worse", "--min-gap"])
def test_a_margin_is_above_0_and_below_1(old, new, margin, flag):
    done = command(old, new, "--judge", "metric:exact", f"{flag}={margin}")
    assert done.exit_code == 2
    assert flag in done.stderr


@pytest.mark.parametrize("new", [0], indirect=True)
@pytest.mark.parametrize("flag", ["--not-worse", "--min-gap"])
def test_recorded_scores_do_not_answer_it(old, new, flag):
    done = command(old, new, flag, "0.1", "--judge", "recorded:score")
    assert done.exit_code == 2
    assert f"{flag} has no effect with --judge recorded:score" in done.stderr


@pytest.mark.parametrize("new", [0], indirect=True)
def test_items_like_these_have_no_answer_when_all_are_judged_without_one(old, new):
    like = ["--about", "like-these"]
    done = asked(old, new, *like, about=("--not-worse", "0.02"))
    assert done.exit_code == 3
    assert "it is not shown whether new is worse than old by 2 points or more, on items like these 100" in words(done)
    assert re.search(
        r"Add [\d,]+ items to these 100, with --max-judgments \d+: if the two were equal, 4 of 5 such runs would pass "
        r"\(with 80 % ties, as here\). More judgments",
        words(done),
    )
    passed = asked(old, new, *like)
    assert passed.exit_code == 0
    assert words(passed).startswith(
        "PASSED, in doubt: new is not worse than old by 20 points or more on items like these 100."
    )

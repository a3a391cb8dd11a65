"""Every answer is read off one sequence of bounds: of a kept run, whatever it was asked, however it was worked on."""

from __future__ import annotations

import importlib
import json
import re

import pytest
from support import commandline
from support.outputs import write_outputs
from support.results import make_result

import judgeloop
from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import Tally
from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stopping import bets
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.rule import asked
from judgeloop.questions.compare.reading import reading

ITEMS = 100


def command(*arguments):
    return commandline.judgeloop(*arguments)


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    """Write a system's outputs, of which the first so many are right after `skipped` wrong ones."""
    monkeypatch.chdir(tmp_path)

    def write(name, right, skipped=0):
        texts = ["no"] * skipped + ["yes"] * right + ["no"] * ITEMS
        return write_outputs(tmp_path / f"{name}.jsonl", texts[:ITEMS], reference="yes")

    return write


def compared(outputs, right, *more, skipped=0):
    files = outputs("old", 50), outputs("new", right, skipped)
    return json.loads(command("compare", *files, "--judge", "metric:exact", "--json", *more).stdout)


@pytest.mark.parametrize(
    ("right", "skipped", "margin", "code", "word"),
    [
        (50, 10, "0.3", 0, "PASSED: new is not worse than old by 30 points or more on items like these 100."),
        (5, 0, "0.3", 5, "FAILED: new is worse than old on items like these 100. Being worse fails"),
        (5, 0, "0.02", 5, "FAILED: new is worse than old by more than 2 points on items like these 100."),
        (
            50,
            10,
            "0.02",
            3,
            "OPEN: it is not shown whether new is worse than old by 2 points or more, on items like these 100.",
        ),
    ],
)
def test_another_question_is_read_off_a_kept_run_at_no_cost(outputs, right, skipped, margin, code, word):
    run = compared(outputs, right, skipped=skipped)
    kept = command("runs", "--json").stdout
    done = command("runs", "show", run["run"], "--not-worse", margin)
    said = " ".join(done.stdout.split())
    assert (done.exit_code, said[2:].startswith(word)) == (code, True), done.output
    assert "risk 0.1 for each bound; a margin that is chosen afterwards adds none" in said
    assert command("runs", "--json").stdout == kept, "nothing is stored"
    again = command("runs", "show", run["run"])
    assert "not worse" not in again.stdout, "the run keeps its own answer"


def test_what_is_read_off_a_run_is_what_it_was_asked(outputs):
    run = compared(outputs, 50, "--not-worse", "0.2", skipped=10)
    assert (run["claim"], run["exit_code"]) == ("not_worse", 0)
    assert command("runs", "show", run["run"], "--not-worse", "0.2").exit_code == 0


def test_a_bound_that_excludes_a_gap_of_0_says_so_as_the_run_does():
    tally = Tally(items=100, wins=(6, 15), ties=3)
    run = make_result(tally=tally, winner=1, guarantee="proved", rule="bets")
    assert run.bounds_of("large") == "more than 0, at most +69"
    assert reading(run, 0.9).text("gap") == "large +38 points against small (more than 0, at most +69)"


def test_what_is_read_off_a_run_never_looks_like_the_margin_and_keeps_the_doubts_of_the_run(outputs):
    """A bound that is inside the margin is not rounded onto it; a search that may have chosen the two is warned of."""
    files = outputs("old", 50), outputs("new", 50, 10), outputs("third", 5)
    command("select", *files, "--judge", "metric:exact")
    run = compared(outputs, 50, "--require-winner", "new", "JUDGELOOP_FAIL_ON_WARNING=1", skipped=10)
    low = run["gap_interval"][0] if run["leader"] == "new" else -run["gap_interval"][1]
    margin = 1e-5 - low
    done = command("runs", "show", run["run"], "--not-worse", f"{margin:.6f}", "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["outcome"], found["exit_code"]) == (5, "failed", 5), "warnings fail the gate"
    assert found["sentence"].startswith("FAILED: warnings fail here. Otherwise it passes: ")
    assert found["warnings"] == [one["message"] for one in run["warnings"]] != []
    said = command("runs", "show", run["run"], "--not-worse", f"{margin:.6f}").stdout
    shown = float(re.search(r"against old \((?:more than )?([-+.\d]+)(?: to|,)", said)[1])
    assert shown > -100 * round(margin, 6) or "(above" in said
    assert "had these two among 3 systems" in " ".join(said.split())


def refused(run, word):
    done = command("runs", "show", run, "--not-worse", "0.1")
    assert done.exit_code == 2, done.output
    assert word in done.stderr


def test_a_run_without_such_bounds_is_refused_by_name(outputs):
    refused(compared(outputs, 40, "--rule", "tie-aware")["run"], "rule=tie-aware")
    files = outputs("old", 50), outputs("new", 40), outputs("third", 30)
    chosen = json.loads(command("select", *files, "--judge", "metric:exact", "--json").stdout)
    refused(chosen["run"], "no comparison of two systems")


def test_a_smaller_risk_and_another_population_are_refused_and_what_the_run_has_is_read(outputs):
    run = compared(outputs, 50, skipped=10)["run"]
    show = ("runs", "show", run, "--not-worse", "0.3")
    for more, word in (
        (("--risk", "0.05"), "at most 0.1; a smaller risk takes a run of its own"),
        (("--about", "items"), "are about like-these"),
        (("--details",), "--details has no effect"),
        (("-o", "reading.html"), "--output has no effect"),
    ):
        done = command(*show, *more)
        assert (done.exit_code, word in " ".join(done.stderr.split())) == (2, True), done.output
    assert command(*show, "--risk", "0.1", "--about", "like-these").exit_code == 0
    assert command("runs", "show", run, "--risk", "0.1").exit_code == 2, "it is about a reading"


def test_a_reading_is_json_where_that_is_asked_for(outputs):
    run = compared(outputs, 5)["run"]
    done = command("runs", "show", run, "--not-worse", "0.3", "--json")
    found = json.loads(done.stdout)
    assert (found["run"], found["not_worse"], found["outcome"]) == (run, 0.3, "failed")
    assert found["exit_code"] == done.exit_code == 5


def test_what_new_runs_are_asked_reads_nothing_off_old_ones(outputs, tmp_path, monkeypatch):
    run = compared(outputs, 5)["run"]
    (tmp_path / "judgeloop.toml").write_text("[shared]\nnot-worse = 0.3\nrisk = 0.05\n", encoding="utf-8")
    monkeypatch.setenv("JUDGELOOP_NOT_WORSE", "0.3")
    done = command("runs", "show", run, "--json")
    assert (done.exit_code, json.loads(done.stdout)["claim"]) == (0, "better")


@pytest.mark.parametrize(
    "judge",
    [
        pytest.param(lambda first, second: "no verdict", id="abstains"),
        pytest.param(lambda first, second: "A", id="contradicts itself"),
    ],
)
def test_verdicts_that_no_gate_could_rely_on_pass_nothing(judge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = ([{"id": str(n), "prompt": f"q{n}", "output": f"{name} {n}"} for n in range(60)] for name in "ab")
    found = judgeloop.compare(first, second, judge=judge, version="1", names=("a", "b"), ledger="l.sqlite")
    done = command("runs", "show", found.setup.run, "--not-worse", "0.99", "--ledger", "l.sqlite")
    assert (done.exit_code, done.stdout.startswith("! BROKEN")) == (4, True), done.output


def test_recorded_scores_answer_their_own_question_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, score in (("a", 1), ("b", 0)):
        rows = [json.dumps({"id": n, "prompt": f"q{n}", "score": score}) for n in range(20)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    compared = judgeloop.compare("a.jsonl", "b.jsonl", judge="recorded:score")
    with pytest.raises(InputError, match="read all verdicts at once"):
        compared.not_worse_by(0.1)


def test_a_question_that_is_not_read_off_a_run_is_refused_and_nothing_else_proposed(outputs):
    run = compared(outputs, 5)["run"]
    for flag in ("--min-gap", "--near-tie"):
        done = command("runs", "show", run, flag, "0.1")
        assert done.exit_code == 2
        assert f"No such option: {flag}. Another command has it" in done.stderr
        assert "Did you mean" not in done.stderr


def test_a_margin_that_is_none_is_refused(outputs):
    run = compared(outputs, 5)["run"]
    for margin in ("0", "1", "-0.1", "much"):
        assert command("runs", "show", run, "--not-worse", margin).exit_code == 2, margin


JUDGE = """
from pathlib import Path

def judge(*, first, second):
    if Path("broken").exists() and len(list(Path("asked").iterdir())) >= 15:
        raise RuntimeError("down")
    Path("asked", str(abs(hash((first, second))))).touch()
    one, other = (int(text.split()[1]) for text in (first, second))
    return "tie" if one == other else "A" if one > other else "B"
"""


@pytest.fixture
def followed(monkeypatch):
    """The wealth of all bets after each number of draws, as a session comes to know it."""
    seen = {}
    reason = Bets.reason_to_stop

    def watched(rule, tally):
        seen[asked(tally)] = [(one.wealth.tolist(), one.ruled_out.tolist()) for one in rule._bets(tally)]
        return reason(rule, tally)

    monkeypatch.setattr(Bets, "reason_to_stop", watched)
    return seen


@pytest.mark.parametrize("question", [{}, {"not_worse": 0.1, "controls": "off"}, {"near_tie": 0.3}])
def test_a_run_has_the_same_bets_to_the_last_bit_resumed_and_at_any_concurrency(
    question, followed, own_modules, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "asked").mkdir()
    (tmp_path / "own_judge.py").write_text(JUDGE, encoding="utf-8")
    judge = importlib.import_module("own_judge").judge
    first, second = ([f"{n} {(n * factor) % 7}" for n in range(40)] for factor in (1, 4))
    items = [{"id": str(n), "prompt": f"q{n}"} for n in range(40)]
    outputs = [[row | {"output": text} for row, text in zip(items, texts, strict=True)] for texts in (first, second)]

    def run(name, concurrency):
        followed.clear()
        result = judgeloop.compare(
            *outputs, judge=judge, names=("a", "b"), ledger=tmp_path / name, concurrency=concurrency, **question
        )
        return result, dict(followed)

    (one, alone), (many, ahead) = run("one.sqlite", 1), run("many.sqlite", 64)
    for path in (tmp_path / "asked").iterdir():
        path.unlink()
    (tmp_path / "broken").touch()
    cut, before = run("cut.sqlite", 1)
    (tmp_path / "broken").unlink()
    resumed, after = run("cut.sqlite", 64)
    assert 0 < cut.judged < one.judged, cut.stop_sentence
    assert cut.setup.run == resumed.setup.run
    for other, staked in ((many, ahead), (resumed, after)):
        assert (other.winner, other.claim, other.judged, other.course) == (
            one.winner,
            one.claim,
            one.judged,
            one.course,
        )
        assert staked[one.judged] == alone[one.judged]
        assert all(staked[drawn] == alone[drawn] for drawn in staked.keys() & alone.keys())
    assert all(before[drawn] == alone[drawn] for drawn in before.keys() & alone.keys())


def test_what_the_stakes_depend_on_makes_another_run(outputs):
    """So no stake of a draw that was seen can change."""
    asked = [
        (), ("--max-judgments", "90"), ("--risk", "0.05"), ("--min-gap", "0.1"), ("--not-worse", "0.1"),
        ("--near-tie", "0.1"), ("--about", "items"),
    ]  # fmt: skip
    assert len({compared(outputs, 5, *more)["run"] for more in asked}) == len(asked)


def test_a_run_of_other_stakes_keeps_its_bounds_and_its_command_makes_another(outputs, monkeypatch):
    """Such as of an earlier version, that spent less of the risk early."""
    monkeypatch.setattr(bets, "lower_bounds", lower_bounds)  # none that is known from another test
    with monkeypatch.context() as earlier:
        earlier.setattr("judgeloop.questions.compare.question.VERSION", 1)
        earlier.setattr("judgeloop.methods.stats.hedged.SPENT", 0.5)
        before = compared(outputs, 80, "--max-judgments", "40", skipped=3)
        shown = command("runs", "show", before["run"]).stdout
    after = compared(outputs, 80, "--max-judgments", "40", skipped=3)
    assert before["run"] != after["run"]
    assert (after["claim"], after["winner"], after["judged"]) == (before["claim"], before["winner"], before["judged"])
    assert (before["gap_interval"], after["gap_interval"]) == (
        pytest.approx([0.050625, 0.51875]),
        pytest.approx([0.0575, 0.52375]),
    )
    assert command("runs", "show", before["run"]).stdout == shown


def test_what_may_change_within_a_run_changes_no_stake(outputs):
    first = compared(outputs, 50, "--budget", "1", skipped=10)
    again = compared(outputs, 50, "--budget", "2", "--concurrency", "3", skipped=10)
    assert (first["run"], first["gap_interval"]) == (again["run"], again["gap_interval"])

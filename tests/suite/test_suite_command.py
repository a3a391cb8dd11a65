"""`judgeloop suite`: many questions, one budget, one summary in every form, one night."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from contextlib import chdir
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.chat_server import Response, candidates, respond_with, verdict
from support.commandline import judgeloop
from support.text import unwrapped

from judgeloop.cli.files import FORMS, OF_NIGHTS
from judgeloop.diagnostics.past_runs import State, past_runs
from judgeloop.formats import rows as judgeloop_rows
from judgeloop.formats.tables import read_rows
from judgeloop.ledger.opening import MEMORY, open_ledger
from judgeloop.suite.changes import compared
from judgeloop.suite.line import FURTHER, KNOWN, MOVED, Line

ITEMS = 60
SUITE = """
[suite]
budget = 0.30
judge = "replay:verdicts.csv"

[pairs.all]
systems = ["old.jsonl", "new/*.jsonl"]
"""
BY_NAME = {"better": 1.0, "even": 0.5, "worse": 0.0}


@pytest.fixture(autouse=True)
def files():
    write_files()


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """The night as its file has it, played once for each date: its folder and what it printed."""
    made = {}

    def night_of(date):
        if date not in made:
            folder = tmp_path_factory.mktemp("night")
            with chdir(folder):
                write_files()
                night = found("--night", date, "-o", "night.xml")
            made[date] = folder, night
        return made[date]

    return night_of


@pytest.fixture
def played(nights, today):
    """Begin where the night has been played: the ledger and night.xml are here, as if this test had asked."""

    def play(date=str(today)):
        folder, night = nights(date)
        shutil.copytree(folder, ".", dirs_exist_ok=True)
        return deepcopy(night)

    return play


def write_files():
    """Three candidates: one always wins, one always loses, one half of the time. A verdict costs a cent."""
    Path("new").mkdir()
    verdicts = ["item_id,model_a,model_b,score,cost_usd"]
    for name in ("old", *BY_NAME):
        rows = [{"id": n, "prompt": f"p{n}", "output": f"{name} {n}"} for n in range(ITEMS)]
        path = Path("old.jsonl" if name == "old" else f"new/{name}.jsonl")
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name, wins in BY_NAME.items():
        for n in range(ITEMS):
            score = n % 2 if wins == 0.5 else 1 - wins
            verdicts.append(f"{n},old,{name},{score},0.01")
    Path("verdicts.csv").write_text("\n".join(verdicts))
    Path("night.toml").write_text(SUITE)


def suite(*arguments, **variables):
    return judgeloop("suite", "night.toml", *arguments, **variables)


def found(*arguments, **variables):
    done = suite(*arguments, "--json", **variables)
    return json.loads(done.stdout)


def shown_and_found(*arguments, **variables):
    """What a night shows, and its values."""
    done = suite(*arguments, "-o", "values.json", **variables)
    return done.stdout, json.loads(Path("values.json").read_text())


def charged(night):
    return {one["name"]: one["charged_usd"] for one in night["pairs"]}


def test_the_pair_that_is_not_decided_gets_what_the_others_left_and_no_more(played):
    night = played()
    costs = charged(night)
    assert night["exit_code"] == 3
    assert [one["winner"] for one in night["pairs"]] == ["better", None, "old"]
    assert costs["all even"] > 0.10 > costs["all better"] == costs["all worse"]
    assert night["charged_usd"] == pytest.approx(sum(costs.values()))
    assert 0.29 < night["charged_usd"] <= 0.30
    rich = found("--night", "2026-01-06", "--budget", "0.45", "--ledger", "rich.sqlite")
    run = rich["pairs"][1]["run"]
    shown = judgeloop("runs", "show", run, "--ledger", "rich.sqlite", "--json").stdout
    advice = {one["code"] for one in json.loads(shown)["advice"]}
    assert "out_of_reach" in advice
    assert "raise_budget" not in advice
    at = ["--ledger", "little.sqlite"]
    said, little = shown_and_found("--night", "2026-01-05", "--budget", "0.09", *at, "--details")
    dry = found("--night", "2026-01-05", "--budget", "0.09", *at, "--dry-run")["pairs"]
    assert [one["wants_usd"] for one in little["pairs"]] == [one["usd"]["worst"] for one in dry.values()]
    likely = [one["usd"]["expected"] + one_more for one, one_more in zip(dry.values(), [0.01] * 3, strict=True)]
    assert [one["likely_usd"] for one in little["pairs"]] == pytest.approx(likely), "the last is held at its maximum"
    assert "3 pairs Out of money, as another judgment may cost up to $0.010. The next" in unwrapped(said)
    sums = [little["charged_usd"] + sum(one[name] for one in little["pairs"]) for name in ("likely_usd", "wants_usd")]
    assert re.findall(r"\$([0-9.]+) (?:in all is|even at)", unwrapped(said))[:2] == [f"{one:.2f}" for one in sums]
    shown = json.loads(judgeloop("runs", "show", little["pairs"][0]["run"], *at, "--json").stdout)
    assert shown["advice"][0]["code"] == "raise_night"


def test_a_second_start_pays_and_changes_nothing_and_a_larger_sum_goes_on(played):
    first, tests = played(), Path("night.xml").read_text()
    again, same = found("-o", "night.xml"), Path("night.xml").read_text()
    more = found("--budget", "0.40")
    assert charged(again) == charged(first)
    assert tests == same
    assert 0.39 < more["charged_usd"] <= 0.40


def test_a_changed_file_has_no_second_sum_in_the_same_night(played):
    first = played()
    shown, other = shown_and_found("--risk", "0.05")
    assert other["charged_usd"] <= 0.30
    assert sum(charged(other).values()) <= 0.30 - first["charged_usd"] + 1e-9
    assert "of it with other settings or outputs" in shown


def test_another_night_has_its_own_sum_and_draws_what_changed_anew(played):
    first = played()
    changed = Path("new/worse.jsonl")
    changed.write_text(changed.read_text().replace("worse 0", "worse than worse"))
    shown_other, other = shown_and_found("--night", "2026-01-02", "--details")
    runs = [{one["run"] for one in night["pairs"]} for night in (first, other)]
    assert not runs[0] & runs[1]
    assert other["charged_usd"] == 0.30 or other["charged_usd"] > 0.2
    shown = json.loads(judgeloop("runs", "list", "--json").stdout)
    assert {one["run"]: one["night"] for one in shown} == {
        run: night["night"] for night, its in zip((first, other), runs, strict=True) for run in its
    }
    of_night = judgeloop("runs", "--night", "2026-01-02").stdout.splitlines()
    assert {line.split()[0] for line in of_night} == runs[1]
    both = [
        [json.loads(judgeloop("runs", "show", one["run"], "--json").stdout) for one in night["pairs"]]
        for night in (first, other)
    ]
    seeds = [[one["seed"] for one in each] for each in both]
    assert seeds[1] == [*seeds[0][:2], 20260102], "what is unchanged is drawn as before"
    since = [[(one["same_as"], one["further"]) for one in night["pairs"]] for night in (first, other)]
    before = first["night"][:10]
    assert since == [[("", False)] * 3, [(before, False), (before, True), ("", False)]]
    page = unwrapped(shown_other)
    assert f"all better {KNOWN.format(before)}" in page
    assert f"all even {FURTHER.format(before)}" in page
    assert "Out of money" not in page
    assert not any(one["wants_usd"] for one in other["pairs"]), "no sum would be enough if the lead stays"
    third = found("--night", "2026-01-03")["pairs"]
    assert [(one["same_as"], one["further"]) for one in third] == [
        (before, False),
        ("2026-01-02", True),  # money ended it twice
        ("2026-01-02", False),
    ], "the night that has the last verdicts"
    counted = [one["comparison"] for one in both[1]]
    assert counted == [3, 3, 4], "the same draws of the same outputs are one comparison, others another"
    unchanged = [(one["headline"], one["wins"]) for one in both[0][:1]]
    assert [(one["headline"], one["wins"]) for one in both[1][:1]] == unchanged


def test_a_night_to_come_is_refused(today):
    done = suite("--night", str(today + timedelta(days=1)))
    assert done.exit_code == 2
    assert "date of today, or an earlier one" in done.stderr


@pytest.mark.parametrize("given", [(), ("--budget", "none")])
def test_a_budget_is_required(given):
    Path("night.toml").write_text(SUITE.replace("budget = 0.30", ""))
    done = suite(*given)
    assert done.exit_code == 2
    assert "expected dollars for all pairs together" in done.stderr
    assert not Path(".judgeloop").exists()


def test_the_ceiling_of_the_person_who_pays_holds_for_the_sum():
    done = suite("--budget", "3", JUDGELOOP_MAX_USD="2")
    assert done.exit_code == 2
    assert "JUDGELOOP_MAX_USD" in done.stderr


def test_one_pairs_failure_does_not_stop_the_others():
    Path("night.toml").write_text(
        SUITE + '[pairs.none]\nsystems = ["old.jsonl", "nope/*"]\n'
        '[pairs.twice]\nsystems = ["old.jsonl", "new/better.jsonl"]\n'
        '[pairs.torn]\nsystems = ["old.jsonl", "torn.jsonl"]\n'
    )
    Path("torn.jsonl").write_text("{")
    night = found()
    codes = {one["name"]: one["exit_code"] for one in night["pairs"]}
    assert codes == {
        "all better": 0, "all even": 3, "all worse": 0, "none": 2, "twice": 2, "torn": 2,
    }  # fmt: skip
    assert night["exit_code"] == 2
    assert "asks the same as the pair all better" in night["pairs"][4]["headline"]


def test_a_night_is_at_most_twelve_lines_and_has_each_pair_once(played, monkeypatch):
    monkeypatch.setattr("judgeloop.cli.progress.SECONDS_BETWEEN_LINES", 3600.0)
    played("2026-01-02")
    for n in range(8):
        Path(f"new/twin{n}.jsonl").write_text(Path("new/worse.jsonl").read_text().replace("worse 0", f"twin {n}"))
    table = Path("verdicts.csv").read_text()
    twins = [line.replace("worse", f"twin{n}") for n in range(8) for line in table.splitlines() if "worse" in line]
    Path("verdicts.csv").write_text("\n".join([table.strip(), *twins]))
    Path("night.toml").write_text(SUITE.replace("0.30", "3") + '[pairs.gone]\nsystems = ["old.jsonl", "gone.jsonl"]\n')
    done = suite("--not-worse", "0.2", "--night", "2026-01-03")
    assert done.exit_code == 2
    assert not done.stderr, "a pair is named once"
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) == 12, done.stdout
    assert lines[0].startswith("! BROKEN, 1 of 12 pairs: ")
    assert lines[1] == "Since 2026-01-02 newly failed, asked otherwise: all worse."
    assert lines[2].startswith(
        "Asked otherwise than in 2026-01-02: all better, all even, all worse (not-worse none, now 0.2"
    )
    assert next(one for one in lines[3:] if one.startswith("  ")).startswith("  pair "), "what failed comes first"
    assert any(line.startswith("gone: gone.jsonl: there is no such file") for line in lines[4:])
    rows = re.findall(r"^  (all \w+) +(\S) ", done.stdout, re.MULTILINE)
    assert {sign for _, sign in rows} == {"✗"}
    assert len({name for name, _ in rows}) == len(rows)
    (others,) = re.findall(
        r"^(\d+) others: \d+ failed, 1 open, 1 passed \(open: all even\)$", done.stdout, re.MULTILINE
    )
    assert len(rows) + int(others) + 1 == 12, "no pair is left out"
    assert [one["hopeless"] for one in found("--not-worse", "0.2", "--night", "2026-01-03")["pairs"]][-1] is False
    assert "What must hold" in suite("--not-worse", "0.2", "--night", "2026-01-03", "--details").stdout


def test_an_error_of_many_pairs_is_said_once_and_without_a_cost():
    Path("night.toml").write_text(SUITE.replace("0.30", "3.0").replace("replay:verdicts.csv", "openai/mine"))
    done = suite("--judge-base-url", "http://127.0.0.1:9/v1", "--quiet")
    assert done.stderr.count("no price is known") == 1
    assert "without one the budget of $3.00 cannot be kept" in done.stderr
    assert "all worse: no result, by the same cause as all better\n" in done.stderr
    assert "($0.00)" not in done.stderr
    assert "none" not in done.stderr


def test_a_judge_without_a_key_is_no_wrong_input_tonight_and_in_the_next_night(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("night.toml").write_text(SUITE.replace("replay:verdicts.csv", "openai/gpt-4.1-mini"))
    shown, first = shown_and_found("--night", "2026-01-02")
    assert [(one["state"], one["exit_code"]) for one in first["pairs"]] == [("no key", 2)] * 3
    assert "3 pairs, 3 no key." in shown
    second = found("--night", "2026-01-03", "--judge", "replay:verdicts.csv")["pairs"]
    assert [one["before"] for one in second] == ["", "", ""], "no night had a run before"
    third = found("--night", "2026-01-04")["pairs"]
    assert [(one["state"], one["before"]) for one in third] == [("no key", one["state"]) for one in second]
    fourth = found("--night", "2026-01-05", "--judge", "replay:verdicts.csv")["pairs"]
    assert [one["state"] for one in fourth] == [one["state"] for one in second]


def test_what_a_pair_may_set_is_proposed_as_a_key_of_its_table():
    lines = Path("new/worse.jsonl").read_text().splitlines(keepends=True)
    Path("new/worse.jsonl").write_text("".join(lines[:20]))
    night = found("--night", "2026-01-02")
    (short,) = [one for one in night["pairs"] if one["exit_code"] == 2]
    assert short["name"] == "all worse"
    assert short["headline"].endswith("with allow-partial = true")


def test_a_judge_that_is_down_is_what_every_pair_says(chat_server):
    respond_with(chat_server, Response(401, b'{"error": {"message": "no such key"}}'))
    Path("night.toml").write_text(SUITE.replace("replay:verdicts.csv", "openai/mine"))
    at = ["--judge-base-url", chat_server.url, "--judge-price", "1,2"]
    night = found(*at, JUDGELOOP_JUDGE_API_KEY="wrong")
    assert [one["exit_code"] for one in night["pairs"]] == [4, 4, 4]
    assert all("the key is not accepted" in one["headline"] for one in night["pairs"])
    quiet = suite(*at, "--quiet", JUDGELOOP_JUDGE_API_KEY="wrong")
    assert "all better: " in quiet.stderr
    assert "the key is not accepted" in quiet.stderr
    assert "Once the cause is gone, the same command goes on (on another day" in unwrapped(quiet.stdout)


def test_a_night_names_its_judge_the_risk_and_how_controls_ended(chat_server):
    respond_with(chat_server, verdict("tie"))
    for path in (Path("old.jsonl"), *Path("new").iterdir()):  # controls take no short answers
        path.write_text(path.read_text().replace('"output": "', '"output": "a longer answer of '))
    Path("night.toml").write_text(SUITE.replace("replay:verdicts.csv", "openai/mine"))
    at = ["--judge-base-url", chat_server.url, "--judge-price", "1,2", "--not-worse", "0.2"]
    shown = suite(*at, "--details", JUDGELOOP_JUDGE_API_KEY="key").stdout
    assert "\n  all 3 pairs  openai/mine; each answer at a risk of 0.1; controls not passed\n" in shown
    assert (
        "  all 3 pairs  replay:verdicts.csv; each answer at a risk of 0.1"
        in suite("--judge", "replay:verdicts.csv", "--details").stdout
    )


def test_a_night_says_what_would_answer_a_pair_that_is_undecided():
    at = ["--details", "--not-worse", "0.3", "--max-judgments"]
    shown = " ".join(suite(*at, "3").stdout.split())
    assert "What to do next " in shown
    assert "a new test, with its own risk" in shown
    assert "What to do next" not in suite(*at, "60", "--budget", "$2").stdout


def test_a_limit_that_is_advised_first_is_a_key_of_the_pair_and_no_flag_of_all():
    verdicts = [f"{n},old,{name},{n % 2},0.01" for n in range(ITEMS) for name in ("even", "level")]
    Path("verdicts.csv").write_text("\n".join(["item_id,model_a,model_b,score,cost_usd", *verdicts]))
    Path("level.jsonl").write_text(Path("new/even.jsonl").read_text().replace("even", "level"))
    search = '[pairs.best]\nquestion = "select"\nsystems = ["old.jsonl", "new/even.jsonl", "level.jsonl"]\n'
    limits = 'baseline = "old"\nabout = "like-these"\nmax-judgments = 4\n'
    Path("night.toml").write_text(f"{SUITE.partition('[pairs')[0]}\n{search}{limits}")
    (best,) = found()["pairs"]
    assert best["advice"].startswith("max-judgments = "), best


def test_pairs_whose_judge_flips_share_that_cause_and_add_no_risk(chat_server):
    respond_with(chat_server, verdict("A"))
    Path("night.toml").write_text(SUITE.replace("replay:verdicts.csv", "openai/mine"))
    at = ["--judge-base-url", chat_server.url, "--judge-price", "1,2", "--not-worse", "0.2", "--controls", "off"]
    why = "3 pairs: more than half of the verdicts changed with the order"
    for form in ("--quiet", "--details"):
        shown = suite(*at, form, JUDGELOOP_JUDGE_API_KEY="key").stdout
        assert why in shown.splitlines()
        assert "of 3 answers" not in shown
    brief = suite(*at, JUDGELOOP_JUDGE_API_KEY="key").stdout
    assert why in brief
    assert "are ties" not in brief
    assert "asks again" not in brief, "it has its answer"


def test_a_pass_by_a_judge_that_prefers_a_position_is_in_the_quiet_log(chat_server):
    def prefers_the_first(request, number):
        texts = [candidates(request)[f"answer_{side}"] for side in "AB"]
        if int(texts[0].split()[-1]) % 2:
            return verdict("A")
        return verdict("AB"["better" in texts[1]])

    chat_server.respond = prefers_the_first
    Path("night.toml").write_text(SUITE.replace("replay:verdicts.csv", "openai/mine").replace("*", "better"))
    at = ["--judge-base-url", chat_server.url, "--judge-price", "1,2", "--not-worse", "0.2"]
    done = suite(*at, "--controls", "off", "--quiet", JUDGELOOP_JUDGE_API_KEY="key")
    assert done.exit_code == 0
    assert re.search(r"all: Warning: it passed, but: \d+ of \d+ verdicts that named a system", done.stderr)
    at = [*at, "--controls", "off", "--night", "2026-01-02"]
    shown = suite(*at, "--details", "-onight.html", JUDGELOOP_JUDGE_API_KEY="key").stdout
    assert "1 pair, 1 passed in doubt." in shown
    assert re.search(r"\n +order +\d+ of \d+ verdicts asked in both orders changed \(\d+ %\); each", shown)
    assert '<span class="chip open">\N{CHECK MARK}\N{NO-BREAK SPACE}passed in doubt' in Path("night.html").read_text()
    (pair,) = found(*at, "--night", "2026-01-03", JUDGELOOP_JUDGE_API_KEY="key")["pairs"]
    assert (pair["state"], pair["before"], pair["outputs"]) == ("passed in doubt", "passed in doubt", "same")


def test_a_mistyped_suite_file_is_an_error_that_names_the_nearest():
    done = judgeloop("suite", "nigt.toml")
    assert done.exit_code == 2
    assert "nigt.toml: there is no such file (did you mean night.toml?)" in done.stderr


def test_every_form_has_a_line_a_pair_and_the_page_leads_to_reports():
    offered = re.sub(r"\s+", " ", judgeloop("suite", "--help-all").stdout)
    endings = re.findall(r"\.(\w+)", re.search(r"this file, too: (.+?)\. May be", offered)[1])
    assert {f".{one}" for one in endings} == set(FORMS)
    endings = [one for one in endings if f".{one}" in OF_NIGHTS]
    done = suite(*(f"-onight.{ending}" for ending in endings), "--not-worse", "0.3", "--details")
    texts = {one: Path(f"night.{one}").read_text() for one in endings}
    for text in (*texts.values(), done.stdout):
        assert all(f"all {name}" in text for name in BY_NAME)
    assert "not-worse = 0.3 (the caller)" in done.stdout
    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    lines = json.loads(texts["json"])["pairs"]
    for row, line in zip(rows, lines, strict=True):
        assert row["name"] == line["name"]
        assert float(row["charged_usd"]) == line["charged_usd"] > 0
        assert int(row["exit_code"]) == line["exit_code"]
    links = re.findall(r'href="([^"]+)"', texts["html"])
    assert sorted(links) == [f"night/0{n}-all-{name}.html" for n, name in enumerate(BY_NAME, 1)]
    assert all("Judged items" in Path(link).read_text() for link in links)
    cases = ET.fromstring(texts["xml"]).findall("testcase")
    assert [one.get("name") for one in cases] == [f"all {name}" for name in BY_NAME]
    assert [one.find("failure") is not None for one in cases] == [False, True, True]
    assert done.exit_code == 5
    gates = [one["gate"] for one in json.loads(texts["json"])["pairs"]]
    assert gates == [{"not-worse = 0.3": "the caller"}] * 3


def test_a_night_that_is_asked_again_about_other_outputs_says_so(played):
    first = played("2026-01-02")
    assert not any("other outputs" in said for one in first["pairs"] for said in one["warnings"])
    changed = Path("new/worse.jsonl")
    changed.write_text(changed.read_text().replace("worse 0", "worse than worse"))
    pairs = {one["name"]: one for one in found("--night", "2026-01-02")["pairs"]}
    run = first["pairs"][-1]["run"]
    said = f"In this night other outputs of worse were judged before, in run {run}, which may have ended otherwise."
    assert said in pairs["all worse"]["warnings"]
    assert not any("other outputs" in one for one in pairs["all better"]["warnings"])
    next_night = found("--night", "2026-01-03")["pairs"]
    assert not any("other outputs" in said for one in next_night for said in one["warnings"])


def test_a_night_says_how_many_of_its_answers_to_expect_wrong():
    shown, night = shown_and_found("--not-worse", "0.3", "--budget", "$2", "--details")
    assert "  risk         of 3 answers, expect at most 0.3 wrong\n" in shown
    assert [one["risk"] for one in night["pairs"]] == [0.1] * 3


def test_quiet_shows_the_night_of_the_local_date_and_its_cost_alone(played, today):
    played()
    done = suite("--quiet")
    assert done.stdout.startswith(f"? OPEN, 1 of 3 pairs: Night {today}-night: 1 open")
    assert done.stdout.splitlines()[2].startswith("  cost  ")
    assert "pairs" not in done.stdout.partition("cost")[2]


def test_a_quiet_night_logs_the_pairs_that_are_not_passed_and_the_night_or_nothing():
    for name in BY_NAME:  # at a budget of 0.30 two are decided and one is not
        rows = [
            {"id": n, "prompt": f"p{n}", "output": "same" if name == "even" else f"{name} {n}"} for n in range(ITEMS)
        ]
        Path(f"new/{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    log = suite("--quiet", "--night", "2026-01-02").stderr.splitlines()
    assert re.match(r"judgeloop: 2026-01-02, all even: No winner yet.* \(cost: ", log[0])
    assert log[1].startswith("judgeloop: 2026-01-02, all even: Warning: ")
    assert "all 60 outputs of even are the same" in log[1]
    assert re.match("judgeloop: OPEN, 1 of 3 pairs: Night .*: 1 open, 2 decided.", log[2])
    assert len(log) == 3
    Path("night.toml").write_text(SUITE.replace("new/*", "new/better"))
    assert not suite("--quiet", "--night", "2026-01-02").stderr


def test_a_system_that_is_better_than_was_asked_for_is_named_in_the_table():
    rows = [f"{n},old,better,0.0,0.01" for n in range(ITEMS)]
    Path("verdicts.csv").write_text("\n".join(["item_id,model_a,model_b,score,cost_usd", *rows]))
    Path("night.toml").write_text(SUITE.replace("new/*", "new/better"))
    given = ("--not-worse", "0.02", "--seed", "7", "--budget", "2", "--night", "2026-01-26")
    shown, night = shown_and_found(*given, "--details")
    (better,) = night["pairs"]
    assert "better is better than old" in better["headline"]
    assert (better["winner"], better["exit_code"]) == ("better", 0)
    assert "seed = 7 (the caller)" in shown


def test_a_log_of_json_says_of_each_pair_that_it_starts_and_how_it_ends(monkeypatch):
    monkeypatch.setattr("judgeloop.cli.progress.SECONDS_BETWEEN_LINES", 0.0)
    done = suite("--log-format", "json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    for name in BY_NAME:
        events = [one["event"] for one in lines if one.get("pair") == f"all {name}"]
        assert set(events) == {"start", "progress"}
    ends = {one["name"]: one["exit_code"] for one in lines if one["event"] == "pair"}
    assert ends == {"all better": 0, "all even": 3, "all worse": 0}


def test_a_budget_of_the_ledger_that_is_used_up_is_named_with_when_it_starts_again():
    judgeloop("budget", "set", "--name", "nightly", "0.12", "--per", "day")
    night = found("--charge-to", "nightly")
    assert 0.10 < night["charged_usd"] <= 0.12
    open_ = [one["headline"] for one in night["pairs"] if one["exit_code"] == 3]
    assert open_
    for headline in open_:
        assert "the budget nightly of $0.12 a day does not cover" in headline
        assert re.search(r"it starts again at \d{4}-\d\d-\d\d \d\d:\d\d UTC", headline)


def test_a_dry_run_forecasts_each_pair_and_what_all_cost_at_worst_and_asks_nobody():
    Path("night.toml").write_text(SUITE + '[pairs.torn]\nsystems = ["old.jsonl", "torn.jsonl"]\n')
    shown = suite("--dry-run", JUDGELOOP_OUTPUT="night.xml")
    assert shown.exit_code == 2, "a pair cannot be asked"
    values = json.loads(suite("--dry-run", "--json").stdout)
    assert not list(Path().rglob("*.sqlite"))
    pairs = values["pairs"]
    assert list(pairs) == [*(f"all {name}" for name in BY_NAME), "torn"]
    assert "torn.jsonl" in pairs["torn"]["error"]
    worst = [one["usd"]["worst"] for one in pairs.values() if "usd" in one]
    assert values["worst_usd"] == pytest.approx(sum(worst))
    figures = r" +60 +60 +\$[0-9.]+ +\$[0-9.]+\n"
    assert all(re.search(rf"^  all {name}{figures}", shown.stdout, re.MULTILINE) for name in BY_NAME)
    assert re.search(r"^  together +180 +\$[0-9.]+ +\$1\.80\n", shown.stdout, re.MULTILINE)
    assert "The night stops at $0.30; a pair begins with at most $0.10." in shown.stdout
    assert re.search(r"^  torn +torn.jsonl", shown.stdout, re.MULTILINE)
    assert len(shown.stdout.splitlines()) <= 20
    assert not Path("night.xml").exists()
    assert suite("--dry-run", "-o", "night.xml").exit_code == 2


def test_the_forecast_of_a_gate_says_how_often_an_equal_system_passes():
    assert "equal passes" not in suite("--dry-run").stdout
    gate = ("--dry-run", "--not-worse", "0.2")
    pairs = json.loads(suite(*gate, "--json").stdout)["pairs"]
    chance = f"{pairs['all even']['equal_system'][1]['passes']:.0%}".replace("%", " %")
    said = suite(*gate).stdout
    assert re.search(rf"^  all even +60 .* +{chance}$", said, re.MULTILINE)
    assert "equal passes: how often a system that is equal would pass if the money lasts, with 30 % ties." in unwrapped(
        said
    )
    assert suite("--budget", "0.3", *gate[1:]).exit_code, "some verdicts are known now"
    for name in ("base", "fresh"):
        Path(f"{name}.jsonl").write_text(Path("new/even.jsonl").read_text().replace("even", name))
    other = 'judge = "openai/gpt-4.1"\ncontrols = "off"'
    own = SUITE.replace("[pairs", "not-worse = 0.2\n[pairs", 1)
    Path("night.toml").write_text(f'{own}[pairs.fresh]\nsystems = ["base.jsonl", "fresh.jsonl"]\n{other}\n')
    said = unwrapped(suite("--dry-run", "--risk", "0.05").stdout)
    (note,) = re.findall("equal passes: how often(.*?)\\.", said)
    assert "%" not in note, "each pair's expected case has its own"
    assert re.search(r"fresh The expected case assumes that both systems are level, with 30 % ties\.", said)
    Path("night.toml").write_text(SUITE)
    short = unwrapped(suite(*gate, "--budget", "0.05", "--ledger", "fresh.sqlite").stdout)
    assert re.search(r"Expected to take \$[0-9.]+ \(a guess, often too high\), and \$0.050 is left", short)
    Path("new/even.jsonl").write_text(Path("old.jsonl").read_text())
    alike = suite(*gate, "--judge", "openai/gpt-4.1", "--judge-price", "1,2", "--controls", "off").stdout
    assert "of outputs that were drawn are identical" in unwrapped(alike)
    assert re.search(r"^  all even .*\$0\.00 +\$0\.00$", alike, re.MULTILINE), "it needs no chance"


def test_a_forecast_says_three_warnings_that_differ_and_how_many_more_there_are():
    given = ["--dry-run", "--judge", "openai/gpt-4.1", "--judge-price", "1,2"]
    for name in "vwxyz":
        rows = [{"id": n, "prompt": f"p{n}", "output": "the same"} for n in range(ITEMS)]
        Path(f"new/{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    shown = suite(*given).stdout
    assert shown.count("gives the same output for 60 of 60 items") == 3
    assert "2 more like these: --json has their figures." in shown
    pairs = json.loads(suite(*given, "--json").stdout)["pairs"]
    codes = [note["code"] for one in pairs.values() for note in one["warnings"]]
    assert codes == ["output_repeated"] * 5


def test_a_night_names_the_items_that_turned_since_the_last_night():
    thorough = ("JUDGELOOP_MIN_JUDGMENTS=40", "--budget", "2")  # so that both nights judge some of the same items
    first = found("--night", "2026-01-02", *thorough)
    assert [one["turned"] for one in first["pairs"]] == [[]] * 3
    table = Path("verdicts.csv").read_text()
    Path("verdicts.csv").write_text(re.sub(r"(old,better),0.0", r"\1,1.0", table))
    output = Path("new/better.jsonl")
    output.write_text(output.read_text().replace("better ", "another "))
    shown, second = shown_and_found("--night", "2026-01-03", "--details", *thorough)
    assert [night["pairs"][0]["winner"] for night in (first, second)] == ["better", "old"]
    turned = second["pairs"][0]["turned"]
    assert 0 < len(turned) <= second["pairs"][0]["judged_in_both"]
    assert {(one["before"], one["after"], *one["changed"]) for one in turned} == {("better", "old", "better")}
    page = unwrapped(shown)
    assert f"all better turned since the last night: {len(turned)} of " in page
    assert f"{turned[0]['item_id']} (better, then old; other output of better)" in page


def test_a_pair_that_got_more_of_the_budget_counts_what_all_rounds_asked(played):
    night = played()
    shown = {one["name"]: json.loads(judgeloop("runs", "show", one["run"], "--json").stdout) for one in night["pairs"]}
    assert charged(night)["all even"] > 0.1, "it went on after its share"
    for one in shown.values():
        assert one["remembered"] == 0, "the ledger is new, and no pair shares a call with another"
        assert (one["attempts"], one["looked_up"]) == (0, one["asked"] + one["ahead"]), "a look-up is no attempt"
    run = found()["pairs"][1]["run"]
    after = json.loads(judgeloop("runs", "show", run, "--json").stdout)
    assert (after["looked_up"], after["remembered"]) == (0, shown["all even"]["looked_up"])
    run = found("--budget", "0.45")["pairs"][1]["run"]
    more = json.loads(judgeloop("runs", "show", run, "--json").stdout)
    assert more["looked_up"] > 0
    assert more["looked_up"] + more["remembered"] == more["asked"] + more["ahead"], "each once"


def test_a_pair_that_runs_again_is_running_whatever_it_decided_before(played, monkeypatch):
    played("2026-01-02")
    ledger = Path(".judgeloop/ledger.sqlite")
    [run] = [one for one in past_runs(ledger) if one.recorded.note.pair == "all better"]
    line = Line(name="all better", question="compare", exit_code=0, headline="", systems=("old", "better"))
    for code, state, word in ((0, State.ENDED, "decided"), (None, State.RUNNING, "running")):
        note = replace(run.recorded.note, exit_code=code)
        known = [replace(run, state=state, recorded=replace(run.recorded, note=note))]
        monkeypatch.setattr("judgeloop.suite.changes.past_runs", lambda _, known=known: known)
        assert compared(ledger, "2026-01-03-night", [line])[1][0].before == word


def test_a_night_has_the_states_of_the_one_before():
    gate = ("--not-worse", "0.2")
    shown, first = shown_and_found(*gate, "--night", "2026-01-02")
    assert "2026-01-02  " not in shown
    assert [one["before"] for one in first["pairs"]] == [""] * 3
    Path("new/fresh.jsonl").write_text(Path("new/even.jsonl").read_text())
    changed = Path("new/worse.jsonl")
    changed.write_text(changed.read_text().replace("worse 0", "worse than worse"))
    shown = suite(*gate, "--night", "2026-01-04", "-o", "n.html", "--details").stdout
    table = dict(re.findall(r"^  all (\w+) +(\S \w+ .* \$[0-9.]+.*)$", shown, re.MULTILINE))
    assert re.search(rf"^  pair +state .* cost +{MOVED} +2026-01-02  outputs +nights$", shown, re.MULTILINE)
    ends = {name: [line.split()[1], *re.split(" {2,}", line)[-3:]] for name, line in table.items()}
    assert ends["better"] == ["passed", "✓ passed", "same", "██"]
    assert ends["worse"] == ["failed", "✗ failed", "new", "▁▁"]
    assert table["fresh"].endswith("$0.00"), "which pair it is could not be read"
    Path("new/worse.jsonl").write_text("")
    torn = {one["name"]: one for one in found(*gate, "--night", "2026-01-05")["pairs"]}["all worse"]
    assert (torn["state"], torn["before"], torn["outputs"]) == ("wrong input", "failed", "")
    assert (
        '<td class="word" data-name="2026-01-02"><span class="chip bad">✗\N{NO-BREAK SPACE}failed'
        in Path("n.html").read_text()
    )


def test_pairs_of_the_last_night_that_are_gone_are_named_everywhere_with_their_files(played):
    assert played("2026-01-02")["absent"] == []
    assert found("--night", "2026-01-03")["absent"] == []
    Path("new/better.jsonl").unlink()
    Path("new/worse.jsonl").write_text("no JSON")
    done = suite("--quiet", "--night", "2026-01-05", "-o", "n.xml", "-o", "n.json", "-o", "n.html")
    said = "Missing since 2026-01-03: all better (no file new/better.jsonl)."
    assert f"judgeloop: Warning: {said}\n" in done.stderr
    files = "n.xml, n.json, n.html."
    assert unwrapped(done.stdout).endswith(f"the file holds no rows). Report: {files}"), (
        "what cron mails: which, why, and where"
    )
    assert said in unwrapped(suite("--night", "2026-01-05").stdout)
    assert said in re.sub("</?span>", "", Path("n.html").read_text())
    values = json.loads(Path("n.json").read_text())
    assert (values["last_night"], values["absent"]) == ("2026-01-03", ["all better"])
    tests = ET.fromstring(Path("n.xml").read_text("utf-8"))
    assert (tests.get("tests"), tests.get("skipped"), tests.get("errors")) == ("3", "1", "1")
    (skipped,) = tests.iter("skipped")
    assert skipped.get("message") == said
    assert found("--night", "2026-01-02")["absent"] == [], "no night came before"
    ledger = Path(".judgeloop/ledger.sqlite")
    here = Line(name="all even", question="compare", exit_code=0, headline="", run="a")
    gone = {"all better": "new/better.jsonl", "all worse": ""}
    assert compared(ledger, "2026-01-05-night", [here]).absent == gone
    assert compared(ledger, "2026-01-05-night", [replace(here, name="another")]).absent == {}
    refused = Line(name="all", question="compare", exit_code=2, headline="no such key")
    assert compared(ledger, "2026-01-05-night", [here, refused]).absent == {}, "why they are gone is said"


def test_a_pair_whose_file_is_gone_is_missed_though_another_that_cannot_be_read_names_it(played):
    best = '[pairs.best]\nquestion = "select"\nsystems = ["old.jsonl", "new/better.jsonl", "new/worse.jsonl"]\n'
    Path("night.toml").write_text(SUITE + best)
    assert found("--night", "2026-01-02")["absent"] == []
    Path("new/better.jsonl").unlink()
    shown, night = shown_and_found("--night", "2026-01-03")
    assert (night["absent"], night["exit_code"]) == (["all better"], 2)
    assert [one["name"] for one in night["pairs"] if one["state"] == "wrong input"] == ["best"]
    assert "all better (no file new/better.jsonl)" in unwrapped(shown)
    assert found("--night", "2026-01-04")["absent"] == [], "it was told once"


def test_a_folder_for_each_night_is_named_by_its_date():
    Path("new").rename("2026-01-02")
    Path("night.toml").write_text(SUITE.replace("new/*", "{night}/*"))
    assert [one["exit_code"] for one in found("--night", "2026-01-02")["pairs"]] == [0, 3, 0]
    missing = suite("--night", "2026-01-03")
    assert missing.exit_code == 2
    assert "the pattern '2026-01-03/*.jsonl' matches no file" in unwrapped(missing.stdout)


def test_names_that_are_others_every_night_are_not_missed(played):
    played("2026-01-02")
    for path in list(Path("new").iterdir()):
        path.rename(path.with_name(f"{path.stem}-3.jsonl"))
    table = Path("verdicts.csv").read_text()
    Path("verdicts.csv").write_text(re.sub(r"old,(\w+)", r"old,\1-3", table))
    assert found("--night", "2026-01-03")["absent"] == []


def test_the_folder_of_a_night_has_its_pages_and_none_of_an_earlier_one():
    found("-o", "night.html", "--night", "2026-01-02")
    assert "old is better than worse" in Path("night/03-all-worse.html").read_text()
    Path("night/04-mine.html").write_text("mine")
    Path("new/better.jsonl").unlink()
    Path("new/worse.jsonl").write_text("no JSON")
    assert found("-o", "night.html", "--night", "2026-01-03")["pairs"][1]["exit_code"] == 2
    assert sorted(path.name for path in Path("night").iterdir()) == ["01-all-even.html", "04-mine.html"]
    assert "worse.jsonl" in Path("night.html").read_text(), "why there is no page"


@pytest.mark.parametrize("named", [True, False], ids=["named", "found"])
@pytest.mark.parametrize("place", ["link", "dangling", "file"])
def test_reports_are_written_into_no_folder_elsewhere(tmp_path, named, place):
    elsewhere = tmp_path / "elsewhere"
    if place == "link":
        elsewhere.mkdir()
        (elsewhere / "01-all-better.html").write_text("precious")
    Path("night").write_text("mine") if place == "file" else Path("night").symlink_to(elsewhere)
    if not named:
        Path("judgeloop.toml").write_text("[suite]\noutput = 'night.html'\n")
    done = suite("--night", "2026-01-02", *(["-o", "night.html"] if named else []))
    assert done.exit_code == 2
    assert f"night is a {'file' if place == 'file' else f'link, to {elsewhere}'}" in unwrapped(done.stderr)
    assert elsewhere.exists() is (place == "link")
    assert not elsewhere.exists() or (elsewhere / "01-all-better.html").read_text() == "precious"
    assert not Path(".judgeloop/ledger.sqlite").exists(), "nothing is asked"


@pytest.mark.parametrize("forecast", [True, False])
def test_a_file_that_pairs_have_in_common_is_read_once(monkeypatch, forecast):
    read, rows = [], judgeloop_rows._read
    monkeypatch.setattr(judgeloop_rows, "_read", lambda place, *more: read.append(place.stem) or rows(place, *more))
    monkeypatch.setattr(
        "judgeloop.judges.recorded.read_rows", lambda place: read.append(place.stem) or read_rows(place)
    )
    suite("--dry-run") if forecast else suite()
    first = sorted(["old", "verdicts", *BY_NAME])
    assert sorted(read[: len(first)]) == first, "and again only before another round, as it may have changed"


def test_all_forecasts_of_a_night_look_into_one_ledger(monkeypatch):
    opened = []
    counted = "judgeloop.runs.begin.open_ledger"
    monkeypatch.setattr(counted, lambda *given: opened.append(given[0]) or open_ledger(*given))
    for where in (MEMORY, Path(".judgeloop/ledger.sqlite")):
        assert len(json.loads(suite("--dry-run", "--json").stdout)["pairs"]) == 3
        assert opened == [where]
        opened.clear()
        suite()
        opened.clear()


def test_a_dry_run_says_what_the_night_has_spent():
    spent = found()["charged_usd"]
    said = unwrapped(suite("--dry-run", "--budget", "0.36").stdout)
    assert f"The night stops at $0.36, and ${spent:.2f} is spent." in said
    expected, left = re.search(r" Expected to take \$([\d.]+) more.*?, and \$([\d.]+) is left: ", said).groups()
    assert float(left) == pytest.approx(0.36 - spent)
    assert float(expected) > float(left)


def test_a_dry_run_says_where_a_budget_of_the_ledger_ends_the_night():
    assert "The night stops at $0.30; a pair begins with at most $0.10." in suite("--dry-run").stdout
    found("--night", "2026-01-02", "--budget", "0.05")
    judgeloop("budget", "set", "0.06")
    said = unwrapped(suite("--dry-run", "--night", "2026-01-03").stdout)
    assert "The night stops at $0.010: a budget of the ledger has no more left. Expected to take $" in said

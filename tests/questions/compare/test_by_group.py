"""`compare --by-group`: each group tested by itself, after the overall question."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import chdir
from xml.etree import ElementTree as ET

import pytest
from support import commandline
from support.chat_server import Response, candidates, completion, respond_with, used, verdict
from support.text import unwrapped

HOUR_S = 3600
# How often the second system wins, ties and loses, of the items of a group.
CLEAR = {"code": (40, 0, 0), "maths": (0, 0, 40), "chat": (17, 6, 17)}
BETTER = {"code": (40, 0, 0), "chat": (33, 7, 0)}


def write(folder, shares):
    """Write two files, whose outputs are right or wrong as the shares say."""
    rights = {name: [] for name in "ab"}
    for group, (wins, ties, losses) in shares.items():
        for n, preference in enumerate([1] * wins + [0] * ties + [-1] * losses):
            for name, right in (("a", preference < 0), ("b", preference > 0)):
                about = {"id": f"{group} {n}", "prompt": f"{group} {n}", "group": group}
                about |= {"reference": "yes", "output": "yes" if right else f"no, {name}"}
                rights[name].append(json.dumps(about))
    for name, lines in rights.items():
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return [str(folder / f"{name}.jsonl") for name in "ab"]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    def ask(shares, *more):
        monkeypatch.chdir(tmp_path)
        files = write(tmp_path, shares)
        return commandline.judgeloop("compare", *files, "--judge", "metric:exact", *more)

    return ask


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What a run with groups reports, and its folder: each was run once."""
    made = {}

    def run_of(shares):
        if (key := str(shares)) not in made:
            folder = tmp_path_factory.mktemp("run")
            with chdir(folder):
                done = commandline.judgeloop("compare", *write(folder, shares), "--judge", "metric:exact",
                                             "--by-group", "report", "--json")  # fmt: skip
            made[key] = json.loads(done.stdout), folder
        return made[key]

    return run_of


@pytest.fixture
def reported(runs, tmp_path):
    """Begin where the groups were tested: the ledger is here, as if this test had asked."""

    def report(shares):
        values, folder = runs(shares)
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        return values, {row["group"]: row for row in values["groups"]}

    return report


def by_name(done):
    values = json.loads(done.stdout)
    return values, {row["group"]: row for row in values["groups"]}


@pytest.mark.parametrize("about", ["items", "like-these"])
def test_a_group_in_which_the_second_system_loses_is_found(asked, about):
    values, groups = by_name(asked(CLEAR, "--by-group", "report", "--about", about, "--json"))
    assert groups["maths"]["claim"] == "worse"
    assert groups["maths"]["interval"][1] <= 0
    assert groups["code"]["claim"] == "better"
    assert groups["code"]["interval"][0] >= 0
    assert groups["chat"]["claim"] == "open"
    low, high = groups["chat"]["interval"]
    assert low <= 0 <= high
    assert values["exit_code"] != 5, "it is reported, and nothing is required"


def test_a_required_group_that_is_worse_fails_the_gate(asked, tmp_path):
    xml = tmp_path / "result.xml"
    done = asked(CLEAR, "--by-group", "require", "-o", str(xml))
    assert done.exit_code == 5
    cases = {case.get("name"): case for case in ET.fromstring(xml.read_text("utf-8")).iter("testcase")}
    groups = {"group code", "group maths", "group chat"}
    assert cases.keys() == {"a or b", "groups", *groups, "flips", "abstentions", "cost"}
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert "group maths" in failed
    assert not {"group code", "group chat"} & failed
    assert cases["group maths"].find("failure").get("type") == "exit code 5"
    assert "open" in cases["group chat"].findtext("system-out")


def test_what_did_not_pass_is_named_whole_and_a_bound_beyond_0_is_never_0(asked, tmp_path):
    xml = tmp_path / "result.xml"
    losing = {"code": (7, 6, 27), "maths": (6, 10, 24), "chat": (17, 6, 17)}
    done = asked(losing, "--by-group", "require", "--not-worse", "0.1", "-o", str(xml))
    assert done.exit_code == 5
    found = json.loads(asked(losing, "--by-group", "require", "--not-worse", "0.1", "--json").stdout)
    worse = [row["group"] for row in found["groups"] if row["claim"] == "worse"]
    assert worse
    cases = ET.fromstring(xml.read_text("utf-8")).iter("testcase")
    said = {case.get("name"): failure.get("message") for case in cases for failure in case.iter("failure")}
    for name in worse:
        assert name in said["groups"]
        assert re.search(r"; gap -\d+ points \((-\d+ to below 0|-\d+ to -\d+)\)", said[f"group {name}"])


def test_where_the_judge_failed_no_group_and_no_condition_passes(tmp_path, chat_server):
    respond_with(chat_server, Response(401, b'{"error": {"message": "no such key"}}'))
    xml, page = tmp_path / "result.xml", tmp_path / "result.md"
    at = ["--judge", "openai/judge", "--judge-base-url", chat_server.url, "--judge-price", "1,2"]
    gate = ["--by-group", "require", "--not-worse", "0.1", "--controls", "off"]
    gate += ["-o", str(xml), "-o", str(page)]
    key = {"JUDGELOOP_JUDGE_API_KEY": "none"}
    done = commandline.judgeloop("compare", *write(tmp_path, CLEAR), *at, *gate, **key)
    assert done.exit_code == 4, done.output
    cases = list(ET.fromstring(xml.read_text("utf-8")).iter("testcase"))
    assert [case.get("name") for case in cases] == ["b is not worse than a", "groups"]
    assert all(case.find("error") is not None for case in cases)
    assert "risk of the groups" not in page.read_text()


def test_all_ties_are_counted_with_those_of_the_groups(asked):
    values = json.loads(
        asked({"code": (0, 40, 0), "chat": (0, 40, 0)}, "--by-group", "report", "--not-worse", "0.1", "--json").stdout
    )
    assert values["further"] > 0
    (said,) = [one["message"] for one in values["warnings"] if one["code"] == "all_ties"]
    assert said.startswith(f"All {values['judged'] + values['further']} verdicts on outputs that differ are ties")


def test_groups_that_are_open_or_better_pass_the_gate(asked):
    done = asked({**BETTER, "talk": (3, 34, 3)}, "--by-group", "require")
    assert done.exit_code == 0
    assert "(open: talk)" in unwrapped(done.stdout)
    assert done.stdout.startswith("✓ PASSED: ")


def test_the_overall_decision_is_that_of_the_run_without_groups(asked, reported):
    """Further judgments are no random sample of all items."""
    alone = json.loads(asked(BETTER, "--json").stdout)
    values, groups = reported(BETTER)
    same = ("winner", "wins", "ties", "gap", "gap_interval", "risk", "judged", "asked", "stop_reason")
    assert {name: values[name] for name in same} == {name: alone[name] for name in same}
    assert values["further"] > 0
    assert sum(row["judged"] for row in groups.values()) == values["judged"] + values["further"]


def test_what_is_spent_on_groups_is_money_of_the_run(asked, reported):
    values, _ = reported(BETTER)
    assert values["attempts"] == values["asked"] + values["further"]
    said = asked(BETTER, "--by-group", "report").stdout
    assert f" {values['judged']} of 80 items, {values['further']} more for groups" in said


def test_the_result_says_that_there_are_two_families_and_both_risks(asked):
    said = " ".join(asked(BETTER, "--by-group", "report", "--risk", "0.05").stdout.split())
    assert "is at most 5 %, whichever group was asked about next" in said
    assert "a second family of statements" in said
    assert "has a chance of at most 10 %" in said


def test_a_repeated_command_pays_for_no_judgment_again(asked, reported):
    first, _ = reported(CLEAR)
    again = json.loads(asked(CLEAR, "--by-group", "report", "--json").stdout)
    assert again["attempts"] == 0
    assert again["groups"] == first["groups"]


def test_the_same_groups_are_found_at_any_concurrency(asked, runs):
    alone = asked(CLEAR, "--by-group", "report", "--concurrency", "1", "--json")
    assert json.loads(alone.stdout)["groups"] == runs(CLEAR)[0]["groups"]


def test_other_groups_are_another_run(asked, runs):
    other = asked({"code": (40, 0, 0), "maths": (0, 0, 40), "talk": (17, 6, 17)}, "--by-group", "report", "--json")
    assert json.loads(other.stdout)["run"] != runs(CLEAR)[0]["run"]


def test_a_forecast_of_a_decided_question_says_what_its_open_groups_still_take(asked, reported):
    asked(BETTER)
    forecast = (BETTER, "--by-group", "report", "--dry-run")
    said = " ".join(asked(*forecast).stdout.split())
    assert "already decide. The open groups still need " in said
    calls = json.loads(asked(*forecast, "--json").stdout)["calls"]
    assert calls["low"] == calls["expected"] == 0 < calls["worst"]
    reported(BETTER)
    assert "Nothing would be asked" in asked(*forecast).stdout


def test_a_forecast_says_what_the_groups_add_and_which_gap_they_can_show(asked):
    done = asked(CLEAR, "--by-group", "report", "--dry-run")
    assert "code (40 items) 0.4" in " ".join(done.stdout.split())
    values = json.loads(asked(CLEAR, "--by-group", "report", "--dry-run", "--json").stdout)
    assert values["judgments"]["worst"] == 120
    assert {one["items"] for one in values["groups"]} == {40}
    whole = json.loads(asked(CLEAR, "--by-group", "report", "--about", "items", "--dry-run", "--json").stdout)
    assert {one["gap_found"] for one in whole["groups"]} == {None}


@pytest.mark.parametrize(
    ("shares", "more", "says"),
    [
        ({"code": (10, 0, 0)}, (), "expected items of two or more groups, found 1"),
        (CLEAR, ("--selector", "diffuse"), "needs uniform random draws"),
        (CLEAR, ("--by-group", "yes"), "expected report or require"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_anything_is_asked(asked, shares, more, says):
    done = asked(shares, "--by-group", "report", *more)
    assert done.exit_code == 2
    assert says in " ".join(done.stderr.split())


GATE = """
[compare]
not-worse = 0.3
by-group = "require"
controls = "off"
"""


def test_of_several_conditions_in_a_settings_file_all_must_hold(asked, tmp_path):
    (tmp_path / "judgeloop.toml").write_text(GATE)
    assert asked(BETTER, "--max-judgments", "80").exit_code == 0
    level = {"code": (20, 20, 20), "maths": (20, 20, 20), "chat": (5, 0, 55)}
    done = asked(level | {"talk": (55, 0, 5)}, "--max-judgments", "240")
    assert done.exit_code == 5
    assert "worse in group chat" in done.stdout.partition(".")[0]


def test_a_failed_condition_comes_before_an_open_question(asked, tmp_path):
    """Exit code 5 before 3: more money cannot make the gate pass."""
    level = {"code": (33, 0, 7), "maths": (7, 0, 33)}
    xml = tmp_path / "result.xml"
    done = asked(level, "--by-group", "require", "--max-judgments", "30", "-o", str(xml))
    assert done.exit_code == 5
    types = {
        case.get("name"): case.find("failure").get("type")
        for case in ET.fromstring(xml.read_text("utf-8")).iter("testcase")
        if case.find("failure") is not None
    }
    assert types == {"a or b": "exit code 3", "groups": "exit code 5", "group maths": "exit code 5"}


MIXED = {"code": (40, 0, 0), "more": (40, 0, 0), "chat": (17, 6, 17)}


@pytest.mark.parametrize("mode", ["report", "require"])
def test_tests_of_groups_that_the_budget_cut_off_are_no_pass(tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    files = write(tmp_path, MIXED)
    rows = ["item_id,model_a,model_b,score,cost_usd"]
    for group, (wins, ties, losses) in MIXED.items():
        scores = [0.0] * wins + [0.5] * ties + [1.0] * losses
        rows += [f"{group} {n},a,b,{score},0.01" for n, score in enumerate(scores)]
    (tmp_path / "verdicts.csv").write_text("\n".join(rows))
    asked = ["compare", *files, "--judge", "replay:verdicts.csv", "--by-group", mode, "--json"]
    whole = json.loads(commandline.judgeloop(*asked, "--budget", "5", "--ledger", "w").stdout)
    assert (whole["groups_cut"], whole["exit_code"]) == (None, 0), "a group that stays open passes"
    assert whole["further"] > 3
    budget = str((whole["judged"] + 3) / 100)
    cut = json.loads(commandline.judgeloop(*asked, "--budget", budget, "--ledger", "c").stdout)
    assert (cut["winner"], cut["groups_cut"], cut["further"]) == (whole["winner"], "budget", 3)
    assert cut["exit_code"] == (3 if mode == "require" else 0)
    why = cut["stop_sentence"], cut["groups_cut_sentence"]
    assert why[0] == whole["stop_sentence"]
    assert "does not cover the worst case of a query, $0.010" in why[1]
    open_ = [row for row in cut["groups"] if row["claim"] == "open"]
    wanted = sum(min(row["more"] or row["items"], row["items"] - row["judged"]) for row in open_)
    advice, recorded = cut["advice"]
    assert (recorded["code"], advice["code"], advice["judgments"]) == ("recorded_costs", "raise_budget", wanted)
    assert advice["budget"] == pytest.approx((cut["judged"] + cut["further"] + 1.05 * wanted) / 100, abs=0.01)
    plain = unwrapped(commandline.judgeloop(*asked[:-1], "--budget", budget, "--ledger", "c").stdout)
    assert "Then the tests of groups were cut off. What is left of the budget" in plain
    said = "are open, as their tests were cut off: the recorded costs have used up the budget"
    warned = " ".join(one["message"] for one in cut["warnings"] if one["code"] == "groups_cut")
    money = [one["outcome"] for one in cut["conditions"] if one["name"] == "cost"]
    assert money == (["undecided"] if mode == "require" else [])
    assert said in (cut["headline"] if mode == "require" else warned)


@pytest.fixture
def gate(tmp_path, monkeypatch, chat_server):
    """A comparison that is soon decided, by a judge that has `chat_server.most` replies, with groups to test."""
    monkeypatch.chdir(tmp_path)
    files, chat_server.most = write(tmp_path, {"code": (60, 0, 0), "maths": (30, 0, 30)}), 10**6

    def respond(request, n):
        if len(chat_server.requests) > chat_server.most:
            return Response(status=503, body=b'{"error": {"message": "asleep"}}')
        return verdict("A" if candidates(request)["answer_A"] == "yes" else "B", usage=used(request))

    chat_server.respond = respond
    return ["compare", *files, "--judge", "openai/judge", "--judge-base-url", chat_server.url, "--judge-price", "1,10",
            "--by-group", "require", "--order", "fixed", "--controls", "off", "--concurrency", "1"]  # fmt: skip


@pytest.mark.parametrize("mode", ["report", "require"])
def test_a_judge_that_is_silent_about_a_group_fails_the_limit_of_abstentions(tmp_path, monkeypatch, chat_server, mode):
    """The decision falls on few items, before the judge grows silent."""
    monkeypatch.chdir(tmp_path)
    shares = {"code": (40, 0, 0), "more": (40, 0, 0), "maths": (20, 0, 20), "chat": (40, 0, 0)}
    files = write(tmp_path, shares)

    def respond(request, n):
        usage = used(request)
        if len(chat_server.requests) > 20 and "maths" in str(candidates(request)):
            return completion("I would rather not say.", usage=usage)
        return verdict("A" if candidates(request)["answer_A"] == "yes" else "B", usage=usage)

    chat_server.respond = respond
    given = ["compare", *files, *commandline.judged_by(chat_server), "--by-group", mode, "--order", "fixed",
             "--controls", "off", "--json", "-o", "o.xml"]  # fmt: skip
    done = commandline.judgeloop(*given)
    found = json.loads(done.stdout)
    assert (found["winner"], found["groups_cut"]) == ("b", "too_many_abstentions")
    silent = found["abstentions"] + found["abstentions_beside"]
    seen = silent + found["judged"] + found["further"]
    assert found["abstentions"] / (found["abstentions"] + found["judged"]) <= 0.05 < silent / seen
    assert f"no verdict on {silent:,} of {seen:,} items" in found["groups_cut_sentence"]
    assert seen - silent == sum(row["judged"] for row in found["groups"])
    assert len(chat_server.requests) >= seen
    assert found["exit_code"] == done.exit_code == (4 if mode == "require" else 0)
    if mode == "require":
        assert f'<error message="{silent:,} of {seen:,} items without a verdict"' in (tmp_path / "o.xml").read_text()


def test_a_budget_of_the_ledger_that_cuts_the_tests_of_groups_off_is_named(gate, chat_server):
    whole = commandline.result_of(*gate, "--ledger", "w")
    chat_server.requests.clear()
    each = whole["spent_usd"] / (whole["judged"] + whole["further"])
    limit = f"{each * (whole['judged'] + whole['further'] / 2):.5f}"
    assert commandline.judgeloop("budget", "set", limit, "--per", "month").exit_code == 0
    done = commandline.judgeloop(*gate)
    assert done.exit_code == 3
    assert "as their tests were cut off: the budget of $" in unwrapped(done.stdout)
    assert "judgeloop budget set" in unwrapped(done.stdout).partition("ended ")[2]


def test_a_judge_that_died_before_the_deadline_is_named_where_it_cut_groups_off(gate, chat_server, clock):
    whole = commandline.result_of(*gate, "--ledger", "w")
    chat_server.requests.clear()
    chat_server.most = whole["judged"] + 2
    alive = chat_server.respond

    def respond(request, n):
        if len(chat_server.requests) == chat_server.most + 2:  # the call that has failed is made again
            clock.skip(2 * HOUR_S)
        return alive(request, n)

    chat_server.respond = respond
    done = commandline.judgeloop(*gate, "--deadline", HOUR_S)
    assert done.exit_code == 3
    assert (
        "tests were cut off: the deadline of 3600 s is reached, and the calls on their way were waited for; the last call failed: HTTP 503"
        in unwrapped(done.stdout)
    )
    assert "Rerun the command to resume" in unwrapped(done.stdout)
    chat_server.most = 10**6
    assert commandline.result_of(*gate)["exit_code"] == whole["exit_code"]


def test_a_headline_names_the_groups_in_which_it_is_otherwise(asked):
    mixed = {"code": (40, 0, 0), "more": (40, 0, 0), "maths": (0, 0, 40)}
    found = json.loads(asked(mixed, "--by-group", "report", "--json").stdout)
    assert found["winner"] == "b"
    assert found["headline"].endswith(". b is worse in group maths.")
    turned = {name: share[::-1] for name, share in mixed.items()}
    found = json.loads(asked(turned, "--by-group", "report", "--json").stdout)
    assert found["winner"] == "a"
    assert found["headline"].endswith(". b is better in group maths.")

"""A judge that cannot tell never passes a gate: the command line against servers on loopback."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.chat_server import ChatServer, candidates, completion, error, used, verdict
from support.commandline import judged_by, judgeloop
from support.live import system_flags
from support.outputs import write_outputs
from support.text import unwrapped

WORDS = ("quartz", "violin", "penguin", "harvest", "turbine", "saffron", "glacier", "lantern")


def write(name, output, items=60):
    """Outputs on items whose prompts name their subject; `output` makes one of the subject."""
    subjects = [f"{WORDS[n % len(WORDS)]} {n:02}" for n in range(items)]
    rows = [
        {"id": f"q{n}", "prompt": f"Tell me about the {subject}.", "output": output(subject)}
        for n, subject in enumerate(subjects)
    ]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def files():
    write("old.jsonl", lambda subject: f"The {subject} is old and well known to all.")
    write("new.jsonl", lambda subject: f"The {subject} is new, and much the same.")
    write("empty.jsonl", lambda subject: "")


def reads(request):
    """Prefers the answer that names the subject of the question."""
    shown = candidates(request)
    subject = shown["task"].removeprefix("Tell me about the ").removesuffix(".")
    first, second = (subject in shown[name] for name in ("answer_A", "answer_B"))
    return "tie" if first == second else ("A" if first else "B")


def tosses(request):
    """Tosses a coin, the same for the same request."""
    shown = candidates(request)
    return "AB"[sum(map(ord, shown["answer_A"] + shown["answer_B"][:9])) // 7 % 2]


def longer(request):
    first, second = (len(candidates(request)[name]) for name in ("answer_A", "answer_B"))
    return "tie" if first == second else ("A" if first > second else "B")


JUDGES = {
    "always A": lambda request: "A",
    "always B": lambda request: "B",
    "always a tie": lambda request: "tie",
    "a coin": tosses,
    "the longer": longer,
}


@pytest.fixture
def judge():
    """Makes a server whose judge answers by a function of the request."""
    servers = []

    def made(answer):
        servers.append(ChatServer(lambda request, n: verdict(answer(request), usage=used(request))))
        return servers[-1]

    yield made
    for server in servers:
        server.close()


def compare(server, *more, candidate="new.jsonl"):
    # The controls follow the judge: a name of its own, so that they do not follow the port.
    return judgeloop("compare", "old.jsonl", candidate, *judged_by(server), "JUDGELOOP_JUDGE_NAME=gateway", *more)


NOT_WORSE, WINNER = ["--not-worse", "5%"], ["--require-winner", "new"]
GATES = [(name, NOT_WORSE) for name in JUDGES] + [("always A", WINNER)]


@pytest.mark.parametrize(("name", "gate"), GATES)
def test_a_judge_that_cannot_tell_never_passes_a_gate(judge, name, gate):
    server = judge(JUDGES[name])
    done = compare(server, *gate, "-o", "verdict.xml", "-o", "verdict.md", "-o", "verdict.html")
    assert done.exit_code == 4, done.output
    assert len(server.requests) <= 40
    said = "openai/judge cannot tell an answer to the question from an answer to another question"
    assert f"no result: {said}" in unwrapped(done.stderr)
    assert "--controls off" in unwrapped(done.stderr)
    suite = ET.parse("verdict.xml").getroot()
    cases = [case.get("name") for case in suite if case.find("error") is not None]
    assert cases[1:] == ["controls of openai/judge"], "the answer and its controls, nothing else"
    assert {error.get("type") for error in suite.iter("error")} == {"exit code 4"}
    for written in ("verdict.md", "verdict.html"):
        assert said in Path(written).read_text()


def test_a_server_that_refuses_the_key_is_the_only_cause_that_is_named(judge):
    server = judge(reads)
    server.respond = lambda request, number: error(401)
    warned = "JUDGELOOP_FAIL_ON_WARNING=true"
    done = compare(server, *WINNER, "-o", "verdict.xml", "-o", "verdict.html", "-o", "verdict.json", warned)
    assert done.exit_code == 4
    suite = ET.parse("verdict.xml").getroot()
    red = [case.get("name") for case in suite if case.find("error") is not None or case.find("failure") is not None]
    assert (len(red), "controls" in red[0]) == (1, False)
    html = Path("verdict.html").read_text()
    assert json.loads(Path("verdict.json").read_text())["controls"][0]["end"] is None
    assert "<dt>! BROKEN</dt><dd>new must be better than old (no answer)</dd>" in html
    assert "<dt>passed</dt>" not in html, "where the judge failed, nothing passes"


def test_an_outage_after_the_controls_is_no_abstention_and_draws_no_lead(judge):
    server = judge(reads)
    assert compare(server, *WINNER, "--max-judgments", "1").exit_code == 3
    server.respond = lambda request, number: error(500)
    done = compare(server, *WINNER, "-o", "verdict.json", "-o", "verdict.html", "-o", "verdict.xml")
    assert done.exit_code == 4
    assert "no result: the judge failed" in done.stderr
    assert "not needed" not in done.stderr
    assert json.loads(Path("verdict.json").read_text())["stop_reason"] == "judge_failed"
    assert "held for calls without a reply" in Path("verdict.html").read_text()
    assert 'name="abstentions"' not in Path("verdict.xml").read_text()
    assert re.search("all attempts at .* failed|calls in a row failed", done.stderr)
    assert len(list(ET.parse("verdict.xml").getroot().iter("error"))) == 1


def test_who_leaves_the_gate_out_is_told_that_the_judge_did_not_pass(judge):
    server = judge(JUDGES["always A"])
    assert compare(server, *WINNER).exit_code == 4
    done = compare(server, "-o", "open.json", "-o", "open.html")
    kept = json.loads(Path("open.json").read_text())
    tally = kept["controls"][0]
    asked = sum(tally[name] for name in ("right", "tied", "wrong"))
    (said,) = [one for one in kept["warnings"] if one["code"] == "controls_before"]
    values = [said[name] for name in ("judge", "right", "tied", "asked")]
    assert values == ["openai/judge", tally["right"], tally["tied"], asked]
    assert "asked by an earlier command of this run" in unwrapped(done.stdout)
    assert "asked by an earlier command of this run" in Path("open.html").read_text()
    compare(server, "--dry-run")
    another = json.loads(compare(server, "--json", "--seed", "5").stdout)
    assert not another["controls"], "another run has asked none"


def test_a_server_that_was_repaired_is_tried_again_by_the_same_command(judge):
    repaired = []
    server = judge(lambda request: reads(request) if repaired else "A")
    gate = ("--not-worse", "20%")
    done = compare(server, *gate)
    assert done.exit_code == 4
    assert "tries this judge again" in unwrapped(done.stderr)
    repaired.append(True)
    again = compare(server, *gate, "--json")
    assert again.exit_code == 0
    (tally,) = json.loads(again.stdout)["controls"]
    assert (tally["right"], tally["number"], tally["end"]) == (11, 2, "passed")


def named(model):
    """The reply of a judge that reads, as a model of this name."""

    def reply(request, number):
        del number
        response = verdict(reads(request), usage=used(request))
        return replace(response, body=response.body.replace(b"judge-2026-01-01", model.encode()))

    return reply


TIES = ("--not-worse", "20%", "--max-judgments", "60")


def takes_the_first(request):
    """Passes the easy controls, and takes the first answer wherever both are to the question."""
    said = reads(request)
    return "A" if said == "tie" else said


def test_a_judge_that_contradicts_itself_passes_no_gate(judge):
    server = judge(takes_the_first)
    gate = ("--not-worse", "20%", "-o", "verdict.xml", "-o", "verdict.json")
    done = compare(server, *gate)
    assert done.exit_code == 4, done.output
    assert "shown to be more than 50 %" in unwrapped(done.stdout)
    assert "each time for the output shown first" in unwrapped(done.stdout)
    found = json.loads(Path("verdict.json").read_text())
    assert found["flips"] == found["both_orders"] == found["leanings"]["first"]
    cases = {case.get("name"): case for case in ET.parse("verdict.xml").getroot()}
    assert cases["flips"].find("error") is not None
    off = compare(server, "--not-worse", "20%", "JUDGELOOP_MAX_FLIPS=none")
    assert (off.exit_code, "that named a system changed in the other order" in unwrapped(off.stdout)) == (0, True), (
        "warned of"
    )


def test_the_default_of_flips_makes_no_gate_and_is_left_out_in_one_order(judge):
    server = judge(reads)
    found = json.loads(compare(server, "--json", "--max-judgments", "8").stdout)
    assert (found["max_flips"], found["controls"]) == (None, [])
    both = json.loads(compare(server, "--not-worse", "20%", "--json").stdout)
    assert both["max_flips"] == 0.5
    done = compare(server, "--not-worse", "20%", "--order", "random", "--details", "-o", "one.json")
    assert "unknown how often it contradicts itself" in unwrapped(done.stdout)
    one = json.loads(Path("one.json").read_text())
    (flips,) = [condition for condition in one["conditions"] if condition["name"] == "flips"]
    assert flips["outcome"] == "passed"
    compare(server, "--not-worse", "20%", "--order", "fixed", "-o", "fixed.json")
    assert json.loads(Path("fixed.json").read_text())["max_flips"] is None


def test_in_one_random_order_a_judge_that_takes_the_first_passes_no_gate(judge):
    """Its verdicts are coins, which would be no worse; their places show that it contradicts itself."""
    server = judge(takes_the_first)
    gate = ("--not-worse", "20%", "--order", "random", "-o", "verdict.json")
    done = compare(server, *gate)
    assert done.exit_code == 4, done.output
    assert "so that more than 50 % change with the order" in unwrapped(done.stdout)
    found = json.loads(Path("verdict.json").read_text())
    assert found["leanings"]["first"] == found["judged"]
    off = compare(server, *gate, "JUDGELOOP_MAX_FLIPS=none")
    assert (off.exit_code, "prefers the output shown first" in unwrapped(off.stdout)) == (0, True)


def test_a_swapped_judge_answers_controls_and_all_that_the_old_one_judged(judge):
    server = judge(reads)
    server.respond = named("judge-1")
    assert compare(server, *TIES).exit_code == 0
    before = len(server.requests)
    server.respond = named("judge-2")
    assert compare(server, *TIES).exit_code == 0, "nothing is asked"
    assert len(server.requests) == before
    more = (*TIES, "--risk", "0.02")
    after = json.loads(compare(server, *more, "--json").stdout)
    assert after["controls"][0]["model"] == "judge-2"
    ((by,),) = after["answered_by"]
    assert by["model"] == "judge-2"
    assert len(server.requests) == before + 18 + by["verdicts"]
    sent = len(server.requests)
    again = json.loads(compare(server, *more, "--json").stdout)
    assert (len(server.requests), again["headline"]) == (sent, after["headline"]), "a finished run stays as it was"
    forecast = unwrapped(compare(server, *TIES, "--risk", "0.01", "--dry-run").stdout)
    assert "another model than the one that answers now" not in forecast


def test_where_the_money_ends_in_the_controls_of_a_new_model_it_is_said_whose_verdicts_do_not_count(judge):
    server = judge(reads)
    server.respond = named("judge-1")
    run = (*TIES, "--judge-price", "1,4", "--json", "--concurrency", "1")
    first = json.loads(compare(server, *run, "--budget", "0.02").stdout)
    assert (first["stop_reason"], first["judged"] > 0) == ("budget", True)
    server.respond = named("judge-2")
    found = json.loads(compare(server, *run, "--budget", "0.0205").stdout)
    assert (found["run"], found["judged"], found["judge_models"]) == (first["run"], 0, [["judge-1", "judge-2"]])
    (said,) = found["advice"]
    assert said["code"] == "nothing_counts"
    then = json.loads(compare(server, *run, "--budget", "0.5").stdout)
    assert (then["run"], then["stop_reason"] == "budget", then["judged"] > 0) == (first["run"], False, True)


@pytest.mark.parametrize(("items", "advised"), [(3, "add items"), (12, "give the items references")])
def test_a_set_that_is_too_small_for_controls_is_told_apart_from_outputs_that_are_too_short(judge, items, advised):
    for name in ("old", "new"):
        write_outputs(Path(f"{name}.jsonl"), [("long enough, that is, " * (items == 3)) + f"{n}" for n in range(items)])
    done = compare(judge(reads), *NOT_WORSE)
    assert (done.exit_code, advised in unwrapped(done.stderr)) == (2, True)


def test_the_forecast_says_what_is_asked_again(judge):
    server = judge(reads)
    for number in (1, 2):
        server.respond = named(f"judge-{number}")
        compare(server, "--max-judgments", "20", "--seed", str(number))
    forecast = compare(server, "--not-worse", "10%", "--max-judgments", "60", "--dry-run")
    assert re.search(r"Up to \d+ verdicts of another model than the one that answers now", unwrapped(forecast.stdout))


def test_a_judge_that_changes_within_a_gate_ends_it(judge):
    server = judge(reads)
    server.respond = lambda request, number: named("judge-1" if number < 25 else "judge-2")(request, number)
    done = compare(server, *TIES, "-o", "verdict.json", "-o", "verdict.xml")
    assert done.exit_code == 4
    said = unwrapped(done.stderr)
    assert "answered as judge-1, then as judge-2" in said
    assert "Rerun the command" in said
    assert json.loads(Path("verdict.json").read_text())["stop_reason"] == "judge_changed"
    assert "exit code 4" in Path("verdict.xml").read_text()
    done = compare(server, *TIES, "-o", "again.json")
    assert done.exit_code == 0
    again = json.loads(Path("again.json").read_text())
    assert (again["asked_before"]["risks"], again["risk_in_all"]) == ([0.1], pytest.approx(0.2)), "it began anew"


def test_controls_are_not_said_to_be_asked_anew(judge):
    server = judge(reads)
    compare(server, "--max-judgments", "60")
    assert "asked anew" not in compare(server, *TIES).stderr


def test_without_a_gate_verdicts_of_two_models_are_used_and_warned_of(judge):
    server = judge(reads)
    server.respond = named("judge-1")
    compare(server, "--max-judgments", "20")
    server.respond = named("judge-2")
    found = json.loads(compare(server, "--max-judgments", "30", "--json").stdout)
    (warning,) = [one["message"] for one in found["warnings"] if one["code"] == "judge_changed"]
    assert re.search(r"by 2 models: 20 by judge-1 \(.*\), 10 by judge-2", warning)


def test_a_gate_warns_of_a_judge_that_was_replaced_with_both_names_and_what_does_not_count(judge):
    server = judge(reads)
    server.respond = named("judge-1")
    compare(server, *TIES, "--max-judgments", "10")
    server.respond = named("judge-2")
    found = json.loads(compare(server, *TIES, "--json").stdout)
    warning = found["warnings"][0]
    assert warning["code"] == "judge_replaced"
    assert (warning["before"], warning["model"]) == ("judge-1", "judge-2")
    assert found["superseded"] == [{"judge-1": warning["verdicts"]}]
    assert warning["verdicts"] == found["again"] > 0
    kept = json.loads(compare(server, *TIES, "--json").stdout)
    assert (kept["warnings"], kept["again"], kept["again_usd"]) == (found["warnings"], 0, 0.0), "nothing is asked now"
    assert compare(server, *TIES, "JUDGELOOP_FAIL_ON_WARNING=true").exit_code == 5


def prefers_the_old(request):
    shown, said = candidates(request), reads(request)
    return ("A" if "is old" in shown["answer_A"] else "B") if said == "tie" else said


def test_a_gate_to_which_verdicts_of_the_newest_model_are_enough_asks_nothing_as_a_dry_run_says(judge):
    """Those of the model before would not be enough, and another answers now."""
    server = judge(prefers_the_old)
    compare(server, "--not-worse", "20%", "--max-judgments", "4")
    server.respond = named("judge-2")
    compare(server, *TIES)
    server.respond = named("judge-3")
    before = len(server.requests)
    forecast = json.loads(compare(server, *TIES, "--risk", "0.11", "--dry-run", "--json").stdout)
    found = json.loads(compare(server, *TIES, "--risk", "0.11", "--json").stdout)
    assert (forecast["calls"]["worst"], len(server.requests) - before) == (0, 0)
    assert (found["outcome"], found["superseded"]) == ("passed", [{"judge-2026-01-01": 4}])
    assert [[one["model"] for one in models] for models in found["answered_by"]] == [["judge-2"]]


def test_the_model_that_has_to_answer_is_pinned_or_any_is(judge):
    server = judge(reads)
    server.respond = named("judge-1")
    pinned = "JUDGELOOP_JUDGE_MODEL=judge-0"
    done = compare(server, *TIES, pinned, "-o", "pinned.json")
    assert done.exit_code == 4
    assert json.loads(Path("pinned.json").read_text())["stop_reason"] == "other_model"
    assert "asks for judge-0" in unwrapped(done.stderr)
    server.respond = lambda request, number: named(f"judge-{number % 3}")(request, number)
    assert compare(server, *TIES, "JUDGELOOP_JUDGE_MODEL=any").exit_code == 0
    refused = compare(server, *TIES, "JUDGELOOP_JUDGE_MODEL=openai/other=judge-0")
    assert refused.exit_code == 2
    Path("table.csv").write_text("item_id,model_a,model_b,score\n" + "".join(f"q{n},old,new,1\n" for n in range(60)))
    table = judgeloop("compare", "old.jsonl", "new.jsonl", "--judge", "replay:table.csv", pinned)
    assert (table.exit_code, "is no model" in table.stderr) == (2, True)


@pytest.mark.parametrize(("answer", "code"), [(reads, 5), (JUDGES["always a tie"], 4)])
def test_a_candidate_with_only_empty_outputs_never_passes_not_worse(judge, answer, code):
    done = compare(judge(answer), *NOT_WORSE, candidate="empty.jsonl")
    assert done.exit_code == code, done.output


def test_a_judge_that_reads_passes_its_controls_once_for_all_nights(judge):
    server = judge(reads)
    first = compare(server, "--not-worse", "20%", "--json", "--seed", 1)
    found = json.loads(first.stdout)
    assert found["controls"] == [
        {"right": 9, "tied": 0, "wrong": 0, "abstained": 0, "end": "passed", "number": 1}
        | {"model": "judge-2026-01-01", "flipped": 0}
    ]
    assert (first.exit_code, found["controlled"]) == (0, True)
    asked = len(server.requests)
    again = compare(server, "--not-worse", "20%", "--seed", 2)
    assert "openai/judge can tell an answer to the question from an answer to another question (9 right" in unwrapped(
        again.stdout
    )
    assert len(server.requests) <= asked + 60, "ties take one call, and no control is asked again"


def test_another_system_that_has_to_win_brings_other_controls_and_the_result_says_whose_answers_they_show(judge):
    server, found = judge(reads), []
    for required in ("new", "old", "new"):
        asked = len(server.requests)
        result = json.loads(compare(server, "--require-winner", required, "--json").stdout)
        found.append((result["controls_from"], len(server.requests) - asked >= 18))
    assert found == [("old", True), ("new", True), ("old", False)]


def test_a_control_whose_verdict_changed_with_the_order_is_not_said_to_be_a_tie(judge):
    found = [json.loads(compare(judge(JUDGES[f"always {one}"]), *NOT_WORSE, "--json").stdout) for one in ("A", "a tie")]
    assert [(one["controls"][0]["tied"], one["controls"][0]["flipped"]) for one in found] == [(7, 7), (7, 0)]
    assert ["tied" in one["stop_sentence"] for one in found] == [False, True]


def test_the_forecast_counts_the_controls_until_they_are_known(judge):
    server = judge(reads)

    said = unwrapped(compare(server, "--not-worse", "20%", "--dry-run").stdout)
    assert "The calls include 26 to 80 for controls" in said

    def calls(*more):
        done = compare(server, "--not-worse", "20%", "--dry-run", "--json", *more)
        return json.loads(done.stdout)["calls"]

    without = calls("--controls", "off")
    assert {name: number - without[name] for name, number in calls().items()} == {
        "low": 26, "expected": 26, "worst": 80,
    }  # fmt: skip
    compare(server, "--not-worse", "20%")
    assert calls()["worst"] <= without["worst"]


def test_what_judging_everything_would_cost_has_the_controls_once_at_their_own_price(judge):
    server = judge(lambda request: {"tie": longer(request)}.get(reads(request), reads(request)))
    at = ["--json", "--ledger"]
    plain, tested = (json.loads(compare(server, *at, f"{on}.sqlite", "--controls", on).stdout) for on in ("off", "on"))
    assert tested["answers_usd"] > plain["answers_usd"], "whose texts are others"
    controls = tested["answers_usd"] - plain["answers_usd"]
    assert tested["usd_of_all"] == pytest.approx(plain["usd_of_all"] + controls, rel=1e-9)


def test_controls_are_on_only_for_a_gate_unless_asked_for(judge):
    server = judge(JUDGES["always A"])
    assert compare(server).exit_code in {0, 3}
    assert compare(server, "--controls", "on").exit_code == 4
    assert compare(server, "--not-worse", "5%", "--controls", "off", "JUDGELOOP_MAX_FLIPS=none").exit_code in {0, 3}


@pytest.mark.parametrize("output", [lambda subject: "yes", lambda subject: "It is not known to anyone."])
def test_without_answers_that_differ_nothing_is_asked(judge, output):
    for name in ("old.jsonl", "new.jsonl"):
        write(name, output)
    server = judge(reads)
    done = compare(server, "--not-worse", "5%")
    assert (done.exit_code, server.requests) == (2, [])
    assert "give the items references, or set --controls off" in unwrapped(done.stderr)


def test_short_answers_are_tested_with_their_references(judge):
    write("old.jsonl", lambda subject: "yes")
    write("new.jsonl", lambda subject: "yes")
    rows = [json.loads(line) for line in Path("old.jsonl").read_text().splitlines()]
    for row in rows:
        row["reference"] = row["prompt"].removeprefix("Tell me about the ").removesuffix(".")
        del row["output"]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = judge(reads)
    done = compare(server, "--not-worse", "20%", "--items", "items.jsonl")
    assert done.exit_code == 0, done.output
    assert all(candidates(request)["reference"] in candidates(request)["task"] for request in server.requests)


def rates(other):
    """A judge that rates an answer to the question 9, and another one as `other` says."""

    def answer(request, n):
        shown = candidates(request)
        subject = shown["task"].removeprefix("Tell me about the ").removesuffix(".")
        rating = "9" if subject in shown["answer"] else other(shown["answer"])
        return completion(json.dumps({"reason": "because", "rating": rating}), usage=used(request))

    return answer


@pytest.fixture
def rater(chat_server):
    def made(answer):
        chat_server.respond = answer
        return chat_server

    return made


def estimate(server, *more):
    judged = [*judged_by(server), "JUDGELOOP_JUDGE_NAME=gateway", "--max-judgments", 20]
    return judgeloop("estimate", "old.jsonl", *judged, *more)


def test_a_judge_that_rates_passes_with_two_calls_a_control(rater):
    server = rater(rates(lambda answer: "2"))
    assert estimate(server).exit_code == 0
    asked = len(server.requests)
    done = estimate(server, "--controls", "on", "--json", "--seed", 2)
    found = json.loads(done.stdout)
    assert (done.exit_code, found["controls"][0]["end"], found["judged"]) == (0, "passed", 20)
    assert found["controls"][0]["right"] == 9
    assert 9 < len(server.requests) - asked <= 18 + 20, "own ratings may be known already"
    calls = json.loads(estimate(server, "--controls", "on", "--dry-run", "--json", "--seed", 3).stdout)
    assert calls["calls"]["worst"] <= 20, "known controls cost nothing"


def test_controls_of_ratings_are_in_the_forecast(rater):
    server = rater(rates(lambda answer: "2"))

    def calls(*more):
        return json.loads(estimate(server, "--dry-run", "--json", *more).stdout)["calls"]

    without, with_them = calls(), calls("--controls", "on")
    assert {name: number - without[name] for name, number in with_them.items()} == {
        "low": 26, "expected": 26, "worst": 80,
    }  # fmt: skip


def test_an_estimate_takes_references_before_the_systems_own_answers(rater):
    rows = [json.loads(line) for line in Path("old.jsonl").read_text().splitlines()]
    given = [row | {"reference": f"Truly, {row['prompt']}"} for row in rows]
    Path("old.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    server = rater(rates(lambda answer: "2"))
    estimate(server, "--controls", "on")
    shown = [candidates(request)["answer"] for request in server.requests]
    assert all(answer.startswith("Truly") for answer in shown[:18])


def test_select_tests_its_judge_where_that_is_asked(judge):
    write("third.jsonl", lambda subject: f"A third answer about the {subject}, in other words.")

    def select(server, *more, name="gateway"):
        judged = [*judged_by(server), f"JUDGELOOP_JUDGE_NAME={name}", "--max-judgments", 40]
        return judgeloop("select", "old.jsonl", "new.jsonl", "third.jsonl", *judged, *more)

    blind = judge(JUDGES["always A"])
    assert select(blind).exit_code in {0, 3}
    asked = len(blind.requests)
    assert select(blind, "--controls", "on", "--seed", 2).exit_code == 4
    assert len(blind.requests) - asked <= 40
    found = json.loads(select(judge(reads), "--controls", "on", "--json", name="2").stdout)
    assert found["controls"][0]["end"] == "passed"


def live_baseline(server, about, *more):
    """Compare a baseline that answers live, and says the text `about` of the subject."""
    server.respond = lambda request, n: (
        verdict(reads(request), usage=used(request))
        if "response_format" in request
        else completion(about(request["messages"][-1]["content"][18:-1]), usage=used(request))
    )
    rows = [json.loads(line) for line in Path("new.jsonl").read_text().splitlines()]
    items = [{"id": row["id"], "prompt": row["prompt"]} for row in rows]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    systems = ["--items", "items.jsonl", *system_flags(server, "openai/old")]
    named = [*judged_by(server), "JUDGELOOP_JUDGE_NAME=gateway", "--not-worse", "20%"]
    return judgeloop("compare", "openai/old", "new.jsonl", *named, *systems, *more)


def well_known(subject):
    return f"The {subject} is old and well known to all."


def test_controls_of_a_live_baseline_are_made_of_the_items_drawn_first(server):
    without = json.loads(live_baseline(server, well_known, "--dry-run", "--json").stdout)["calls"]
    assert server.requests == []
    done = live_baseline(server, well_known, "--json", "--concurrency", "1")
    found = json.loads(done.stdout)
    assert (found["controls"][0]["right"], found["exit_code"]) == (9, 0)
    judged = ["response_format" in request for request in server.requests]
    assert judged[:18] == [False] * 10 + [True] * 8, "ten outputs, and then the controls"
    controls = [candidates(request) for request in server.requests[10:18]]
    shown = {one[name] for one in controls for name in ("answer_A", "answer_B")}
    assert all(text.endswith("to all.") for text in shown), "a control may be drawn twice"
    (one,) = found["generated"]
    assert (one["asked"], one["unjudged"]) == (found["judged"], 0), "they are the items of the run"
    again = json.loads(live_baseline(server, well_known, "--dry-run", "--json").stdout)["calls"]
    assert without["low"] - again["low"] > 13, "controls are in the forecast until they are passed"


def test_a_live_baseline_without_answers_that_differ_halts_before_a_judge_is_asked(server):
    done = live_baseline(server, lambda subject: "No.")
    assert (done.exit_code, len(server.requests)) == (4, 20), done.output
    said = unwrapped(done.stderr)
    assert "of the outputs of openai/old to the 20 items that were drawn first, too few differ" in said
    assert "give the items references, or set --controls off" in said
    assert live_baseline(server, lambda subject: "No.", "--controls", "off").exit_code != 4


@pytest.mark.parametrize("order", ["random", "fixed"])
def test_a_limit_of_flips_is_refused_where_no_flip_is_seen(judge, order):
    server = judge(reads)
    Path("judgeloop.toml").write_text("[compare]\nmax-flips = 0.2\n")
    done = compare(server, "--order", order)
    assert (done.exit_code, server.requests) == (2, [])
    assert "needs verdicts in both orders" in unwrapped(done.stderr)


def test_the_required_winner_does_not_choose_its_own_controls(judge):
    server = judge(JUDGES["always A"])
    compare(server, "--require-winner", "old")
    shown = [candidates(request) for request in server.requests]
    assert all("much the same" in one["answer_A"] + one["answer_B"] for one in shown)


def test_a_metric_has_no_controls_and_the_result_says_so():
    for name in ("old.jsonl", "new.jsonl"):
        rows = [json.loads(line) for line in Path(name).read_text().splitlines()]
        with_reference = [row | {"reference": row["prompt"]} for row in rows]
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in with_reference))
    metric = ["compare", "old.jsonl", "new.jsonl", "--judge", "metric:rouge2"]
    done = judgeloop(*metric, "--not-worse", "5%")
    assert "none for metric:rouge2, which is no model" in unwrapped(done.stdout)
    refused = judgeloop(*metric, "--controls", "on")
    assert refused.exit_code == 2
    assert "--controls on is for judges that are models, and none is" in unwrapped(refused.stderr)


def test_a_warning_fails_the_pipeline_where_that_is_asked(judge):
    write("old.jsonl", lambda subject: f"The {subject} is old and well known to all.", items=30)
    write("new.jsonl", lambda subject: f"The {subject} is new, and much the same.", items=30)
    gate = ["--not-worse", "30%", "-o", "verdict.xml"]
    assert compare(judge(reads), *gate).exit_code == 0
    done = compare(judge(reads), *gate, "JUDGELOOP_FAIL_ON_WARNING=true")
    assert done.exit_code == 5
    answer, *beside = ET.parse("verdict.xml").getroot().iter("testcase")
    assert [case.get("name") for case in beside if case.find("failure") is not None] == ["warnings"]
    assert "only 30 items" in answer.findtext("system-err")

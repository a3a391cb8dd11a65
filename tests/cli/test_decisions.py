"""Decision models on the command line, against a server on loopback that keeps the bill."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from support.chat_server import ChatServer, completion, goodness
from support.commandline import judgeloop, result_of
from support.decision_server import billed_tokens, decided, decision_server, honest
from support.outputs import write_outputs

ITEMS = 40
JEV_P = 42_000  # picodollars a token: $0.042 a million


def write(name, text):
    return write_outputs(Path(f"{name}.jsonl"), [text(n) for n in range(ITEMS)])


@pytest.fixture(autouse=True)
def files():
    write("old", lambda n: f"an answer of some length to {n}")
    write("new", lambda n: f"a {'good' if n % 8 else 'poor'} answer of some length to {n}")


@pytest.fixture
def server():
    found = decision_server()
    yield found
    found.close()


def typesafe(server: ChatServer) -> dict[str, str]:
    return {"TYPESAFE_API_KEY": "tsk-of-tests", "TYPESAFE_BASE_URL": server.root}


def systemone(server: ChatServer) -> list[str]:
    return ["--judge", "systemone/m", "--judge-base-url", server.url]


COMPARE = ["compare", "old.jsonl", "new.jsonl", "--controls", "off"]


@pytest.mark.parametrize(
    ("flags", "price_p"),
    [
        (["--judge", "typesafe/jev-latest", "--judge-price", "0.042,0"], JEV_P),
        (["--judge", "openai-decisions/gpt-6-luna", "--judge-price", "0.10,0"], 100_000),
        (["--judge", "systemone/m", "--judge-price", "0.02,0"], 20_000),
    ],
)
def test_a_comparison_is_decided_and_the_bill_is_the_servers(server, flags, price_p):
    found = result_of(*COMPARE, *flags, "--judge-base-url", server.url, "--budget", "0.10")
    assert (found["winner"], found["outcome"]) == ("new", "decided")
    assert len(server.requests) == found["attempts"]
    assert round(found["spent_usd"] * 10**12) == billed_tokens(server) * price_p
    again = result_of(*COMPARE, *flags, "--judge-base-url", server.url, "--budget", "0.10")
    assert (again["attempts"], again["winner"]) == (0, "new")
    assert len(server.requests) == found["attempts"]


def test_an_address_of_ones_own_is_free_of_charge(server):
    found = result_of(*COMPARE, *systemone(server))
    assert (found["winner"], found["spent_usd"]) == ("new", 0.0)


def test_every_pair_is_asked_in_both_orders_also_after_a_tie(server):
    write("same", lambda n: f"no answer of some length to {n}")
    found = result_of(
        "compare", "old.jsonl", "same.jsonl", *systemone(server), "--controls", "off", "--max-judgments", "12"
    )
    assert (found["judged"], found["ties"]) == (12, 12)
    assert found["attempts"] == 24


def test_another_margin_costs_nothing_and_is_another_run(server):
    server.respond = lambda request, number: decided(request, leaning)
    flags = [*COMPARE, *systemone(server), "--max-judgments", "30"]
    wider = result_of(*flags, "--tie-margin", "0.2")
    assert wider["ties"] == wider["judged"] > 0
    asked = len(server.requests)
    usual = result_of(*flags)
    assert (usual["winner"], usual["ties"]) == ("new", usual["flips"])
    assert len(server.requests) == asked, "the verdicts of before are read with the new margin"
    assert wider["run"] != usual["run"]


def leaning(shown, question, names):
    """Leans to what is good by 0.1."""
    best = "first" if shown["first_answer"].count("good") else "second"
    return {name: 0.5 if name == best else 0.4 if name != "neither" else 0.1 for name in names}


def test_orders_that_disagree_are_a_tie_that_is_told(server):
    server.respond = lambda request, number: decided(
        request, lambda shown, question, names: {"first": 0.8, "second": 0.1, "neither": 0.1}
    )
    found = result_of(*COMPARE, *systemone(server), "--max-judgments", "10")
    assert (found["ties"], found["flips"]) == (10, 10)


def test_refusals_are_abstentions_and_no_ties(server):
    def some(shown, question, names):
        return None if shown["task"] in {"p3", "p7"} else honest(shown, question, names)

    server.respond = lambda request, number: decided(request, some)
    found = result_of(
        *COMPARE,
        *systemone(server),
        "--max-judgments",
        str(ITEMS),
        JUDGELOOP_MAX_ABSTENTIONS="0.5",
        JUDGELOOP_MIN_JUDGMENTS=str(ITEMS - 2),
    )
    assert (found["abstentions"], found["ties"]) == (2, 5)


def test_a_chat_judge_and_a_decision_model_form_a_panel_each_in_its_form(server):
    usage = {"prompt_tokens": 400, "completion_tokens": 9}

    def both(request, number):
        if "questions" in request:
            return decided(request)
        return completion(json.dumps({"winner": goodness(request)}), usage=usage)

    server.respond = both
    found = result_of(
        *COMPARE, "--judge", "openai/gpt-4.1", "--judge", "typesafe/jev-1.14.0", "--rubric", "Which is better?",
        OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k", **typesafe(server), JUDGELOOP_JUDGE_PRICE="1,1",
    )  # fmt: skip
    assert (found["winner"], found["judges"]) == ("new", ["openai/gpt-4.1", "typesafe/jev-1.14.0"])
    asked = [json.dumps(request) for request in server.requests]
    assert all("Which is better?" in request for request in asked), "a rubric is for every judge"
    assert {"questions" in request for request in server.requests} == {True, False}


@pytest.mark.usefixtures("own_modules")
def test_a_decision_model_is_a_proxy_of_another_judge_in_an_estimate(server):
    Path("own_rating.py").write_text("def rate(output):\n    return float('good' in output)\n", encoding="utf-8")
    Path("prices.toml").write_text('["typesafe/jev-1.14.0"]\ninput_per_mtok = 0.042\noutput_per_mtok = 0\n')
    found = result_of(
        "estimate", "new.jsonl", "--judge", "python:own_rating:rate", "--allow-plugins", "--proxy",
        "typesafe/jev-1.14.0", "--budget", "0.05", "--max-judgments", "20", "--judge-price", "prices.toml", **typesafe(server),
    )  # fmt: skip
    assert found["proxy"] == "typesafe/jev-1.14.0"
    assert 0.5 < found["proxy_mean"] < 1.0
    assert len(server.requests) == ITEMS
    assert round(found["spent_usd"] * 10**12) == billed_tokens(server) * JEV_P


@pytest.mark.parametrize(
    ("flags", "meant"),
    [
        (["--judge", "openai:decisions:gpt-6-luna"], "openai-decisions/gpt-6-luna"),
        (["--judge", "openai/decisions:gpt-6-luna"], "openai-decisions/gpt-6-luna"),
        (["--judge", "jev-latest"], "typesafe/jev-latest"),
        (["--judge", "typsafe/jev-latest"], "typesafe/jev-latest"),
        (["--judge", "openai/gpt-6-luna", "--verdict", "decision"], "openai-decisions/gpt-6-luna"),
        (["--judge", "vllm/Qwen/Qwen3-8B", "--verdict", "decision", "--judge-base-url", "http://localhost:1/v1"],
         "systemone/Qwen/Qwen3-8B"),
    ],
)  # fmt: skip
def test_other_names_of_decision_models_are_understood(flags, meant):
    done = judgeloop("compare", "old.jsonl", "new.jsonl", *flags, OPENAI_API_KEY="k")
    assert done.exit_code == 2
    assert f"did you mean {meant}?" in done.stderr


def test_a_server_of_others_without_a_known_price_is_refused_before_anything_is_sent():
    done = judgeloop(*COMPARE, "--judge", "systemone/m", "--judge-base-url", "https://decisions.example/v1")
    assert done.exit_code == 2
    assert "no price is known for this model" in done.stderr


CLASS = """
from judgeloop.parts import BaseJudge, JudgeIdentity
from judgeloop.core.records import Reply, Verdict


class Longer(BaseJudge):
    identity = JudgeIdentity("python", "own_class:Longer", {"version": "1"}, mark=":")

    async def judge(self, call):
        lengths = [len(output) for output in call.outputs]
        return Reply(Verdict(0.5 + 0.5 * ((lengths[0] > lengths[1]) - (lengths[0] < lengths[1]))), cost_p=0)


class Comparing(Longer):
    rates = False


class Half:
    identity = Longer.identity


class Needy(Longer):
    def __init__(self, address):
        self.address = address
"""


@pytest.mark.usefixtures("own_modules")
def test_a_judge_of_a_class_works_on_the_command_line():
    Path("own_class.py").write_text(CLASS, encoding="utf-8")
    write("long", lambda n: f"an answer of some length to {n}, and then more of it")
    flags = ["compare", "old.jsonl", "long.jsonl", "--allow-plugins", "--judge"]
    found = result_of(*flags, "python:own_class:Longer")
    assert (found["winner"], found["judges"]) == ("long", ["python:own_class:Longer"])
    assert result_of(*flags, "python:own_class:Longer")["attempts"] == 0
    done = judgeloop("estimate", "old.jsonl", *flags[3:], "python:own_class:Comparing")
    assert done.exit_code == 2
    assert "gives no score to one" in done.stderr
    for name, said in (("Half", "lacks aclose, blind"), ("Needy", "missing 1 required positional argument")):
        done = judgeloop(*flags, f"python:own_class:{name}")
        assert done.exit_code == 2
        assert said in done.stderr


CRITERIA = """
[[criterion]]
name = "good"
question = "Which answer is better?"
[[criterion]]
name = "long"
question = "Which answer is longer?"
"""


def by_two(shown, question, names):
    """By length the old answers are better."""
    if question == "long":
        first, second = (len(shown[name]) for name in ("first_answer", "second_answer"))
        best = "neither" if first == second else ("first" if first < second else "second")
        return {name: 0.9 if name == best else 0.05 for name in names}
    return honest(shown, question, names)


def test_criteria_are_counts_until_a_claim_for_each_is_asked_for(server):
    Path("criteria.toml").write_text(CRITERIA)
    server.respond = lambda request, number: decided(request, by_two)
    flags = [*COMPARE, *systemone(server), "--rubric", "criteria.toml", "--ahead", "0"]
    found = result_of(*flags)
    assert found["winner"] == "new"
    rows = {one["group"]: one for one in found["criteria"]}
    assert rows["good"]["losses"] == 0 < rows["good"]["wins"]
    assert rows["long"]["wins"] == 0 < rows["long"]["losses"]
    assert {one["claim"] for one in found["criteria"]} == {None}
    asked = len(server.requests)
    assert asked == found["attempts"] == 2 * found["judged"], "all criteria in the same requests"
    printed = judgeloop(*flags).stdout
    assert "counts, without a claim" in printed
    claimed = result_of(*flags, "JUDGELOOP_BY_CRITERION=true")
    assert claimed["winner"] == "new"
    assert len(server.requests) > asked, "further judgments go to open criteria"
    assert {one["group"]: one["claim"] for one in claimed["criteria"]} == {"good": "better", "long": "worse"}
    result_of(*flags, "JUDGELOOP_BY_CRITERION=true", "-o", "labels.csv")
    labels = list(csv.DictReader(io.StringIO(Path("labels.csv").read_text())))
    assert {row["criteria"] for row in labels} == {"good=0 long=1", "good=0.5 long=1"}
    assert {round(float(row["graded"]), 3) for row in labels if row["winner"] == "new"} == {0.075}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["JUDGELOOP_BY_CRITERION=true"], "needs a rubric of several criteria"),
        (["JUDGELOOP_BY_CRITERION=true", "--by-group", "report"], "does not go with --by-group"),
    ],
)
def test_claims_by_criterion_need_criteria(server, flags, said):
    done = judgeloop(*COMPARE, *systemone(server), *flags)
    assert done.exit_code == 2
    assert said in done.stderr


def write_subjects(name, text):
    """Outputs that answer their question and no other, long enough for controls."""
    rows = [
        {"id": f"q{n}", "prompt": f"Tell me about subject {n:02}.", "output": text(f"subject {n:02}")}
        for n in range(60)
    ]
    Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def reads(shown, question, names):
    """Prefers the answer that names the subject of the question; of two that do, the good one."""
    subject = shown["task"].removeprefix("Tell me about ").removesuffix(".")
    first, second = (subject in shown[name] for name in ("first_answer", "second_answer"))
    if first == second:
        return honest(shown, question, names)
    return {name: 0.9 if name == ("first" if first else "second") else 0.05 for name in names}


@pytest.fixture
def subjects():
    write_subjects("old", lambda subject: f"The {subject} is old and well known to all.")
    write_subjects("new", lambda subject: f"The {subject} is good, new, and much the same.")


PLAIN = ["compare", "old.jsonl", "new.jsonl"]


@pytest.mark.usefixtures("subjects")
def test_controls_are_asked_by_default_and_stop_a_model_that_cannot_tell(server):
    done = judgeloop(*PLAIN, *systemone(server))
    assert done.exit_code == 4
    assert "systemone/m cannot tell an answer to the question" in " ".join(done.stderr.split())
    assert len(server.requests) <= 60


@pytest.mark.usefixtures("subjects")
def test_a_model_that_can_tell_passes_its_controls(server):
    server.respond = lambda request, number: decided(request, reads)
    found = result_of(*PLAIN, *systemone(server))
    assert (found["winner"], found["controls"][0]["end"], found["controlled"]) == ("new", "passed", True)
    assert judgeloop(*PLAIN, *systemone(server), "--controls", "off").exit_code == 0


@pytest.mark.usefixtures("subjects")
def test_with_a_rubric_of_ones_own_controls_that_are_not_passed_are_a_warning_outside_a_gate(server):
    flags = [*PLAIN, *systemone(server), "--rubric", "Which is better?"]
    found = result_of(*flags)
    assert (found["winner"], found["controlled"], found["advised"]) == ("new", False, True)
    assert found["controls"][0]["end"] in {"failed", "not_shown"}
    warned = [one for one in found["warnings"] if one["code"] == "controls_not_passed"]
    assert len(warned) == 1
    assert "--controls off" in judgeloop(*flags).output
    assert judgeloop(*flags, "--require-winner", "new").exit_code == 4
    assert "controls_not_passed" not in str(result_of(*flags, "--controls", "off")["warnings"])


def test_too_few_texts_for_controls_are_no_error_unless_they_must_be_passed(server):
    write_outputs(Path("few.jsonl"), ["an answer of some length"])
    write_outputs(Path("other.jsonl"), ["a good answer of some length"])
    flags = ["compare", "few.jsonl", "other.jsonl", *systemone(server)]
    assert judgeloop(*flags).exit_code == 3
    assert judgeloop(*flags, "--controls", "on").exit_code == 2


def test_a_name_for_the_latest_model_is_warned_of_with_the_version_that_answered(server):
    flags = [*COMPARE, "--judge-price", "0.042,0", "--max-judgments", "10"]
    moving = result_of(*flags, "--judge", "typesafe/jev-latest", **typesafe(server))
    (warned,) = [one for one in moving["warnings"] if one["code"] == "name_moves"]
    assert (warned["judge"], warned["model"]) == ("typesafe/jev-latest", "jev-1.14.0")
    pinned = result_of(*flags, "--judge", "typesafe/jev-1.14.0", **typesafe(server))
    assert "name_moves" not in {one["code"] for one in pinned["warnings"]}


def test_the_doctor_asks_in_both_orders_and_twice(server):
    flags = ["doctor", "--judge", "typesafe/jev-latest", "--judge-price", "0.042,0"]

    def right(shown, question, names):
        first = "Paris" in shown["first_answer"]
        return {"first": 0.95 if first else 0.03, "second": 0.03 if first else 0.95, "neither": 0.01}

    server.respond = lambda request, number: decided(request, right)
    done = judgeloop(*flags, **typesafe(server))
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert len(server.requests) == 4
    assert "add up to 0.99, with up to 2 decimals" in said
    assert "the same request twice gave the same probabilities" in said
    assert "the same answer in both orders" in said
    assert "name jev-1.14.0" in said
    server.respond = lambda request, number: decided(
        request,
        lambda shown, question, names: {
            "first": 0.8 + number % 2 / 50,
            "second": 0.1 - number % 2 / 50,
            "neither": 0.1,
        },
    )
    said = " ".join(judgeloop(*flags, **typesafe(server)).output.split())
    assert "differ by up to 0.02" in said
    assert "a flip" in said


def test_an_estimate_says_the_mean_by_each_criterion(server):
    Path("criteria.toml").write_text(CRITERIA)
    flags = ["estimate", "new.jsonl", *systemone(server), "--rubric", "criteria.toml", "--controls", "off"]
    found = result_of(*flags, "--max-judgments", "20")
    assert set(found["criteria"]) == {"good", "long"}
    assert found["criteria"]["good"] == pytest.approx(found["sampled_mean"], abs=0.001)
    assert "means of the judged items, without a claim" in " ".join(
        judgeloop(*flags, "--max-judgments", "20").stdout.split()
    )


def test_a_prompt_is_for_the_judges_of_its_form(server):
    usage = {"prompt_tokens": 400, "completion_tokens": 9}
    server.respond = lambda request, number: (
        decided(request)
        if "questions" in request
        else completion(json.dumps({"winner": goodness(request)}), usage=usage)
    )
    flags = [
        "--judge",
        "openai/gpt-4.1",
        "--judge",
        "typesafe/jev-1.14.0",
        "--judge-price",
        "1,1",
        "--max-judgments",
        "5",
    ]
    told = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", **typesafe(server)}
    sent = {}
    for prompt in ("pairwise-decision.v1", "pairwise-reference.v1"):
        server.requests.clear()
        result_of(*COMPARE, *flags, "--prompt", prompt, **told)
        chat = {one["messages"][0]["content"] for one in server.requests if "messages" in one}
        asked = {json.dumps(one["questions"]) for one in server.requests if "questions" in one}
        sent[prompt] = (chat, asked)
    (usual, _), (reference, none) = sent.values()
    assert usual != reference
    assert none == set(), "the decision model's question is the same, and its answers are known"


@pytest.mark.parametrize(
    "flags",
    [
        ["--judge-max-tokens", "99"],
        ["--judge-effort", "low"],
        ["--lenient-replies"],
        ["--verdict", "logprob"],
        ["--tier", "flex"],
        ["--prompt", "pairwise.v1"],
    ],
)
def test_what_a_decision_model_has_no_use_for_is_refused(flags):
    done = judgeloop(*COMPARE, "--judge", "typesafe/jev-1.14.0", *flags, TYPESAFE_API_KEY="k")
    assert done.exit_code == 2
    assert flags[0] in done.stderr


def test_the_form_of_a_decision_may_be_named(server):
    assert result_of(*COMPARE, *systemone(server), "--verdict", "decision")["winner"] == "new"

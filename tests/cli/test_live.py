"""Comparisons of systems that answer live: only what is judged is generated, and never twice."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.chat_server import ChatServer, Response, completion, used
from support.commandline import judged_by, judgeloop, result_of
from support.live import ITEMS, generated, number_of, of_both, system_flags, systems_say, write_items, write_outputs

import judgeloop as judgeloop_api
from judgeloop.core.errors import InputError
from judgeloop.engine import pace

LIVE = "openai/better"
TWO = (LIVE, "openai/plain")
pytestmark = pytest.mark.usefixtures("files")


def comparison(server, first="old.jsonl", second=LIVE, *more, price="1,10", version="1"):
    live = [name for name in (first, second) if "/" in name]
    systems = system_flags(server, *live, price=price, version=version)
    return ["compare", first, second, "--items", "items.jsonl", *judged_by(server), *systems, *more]


def test_only_outputs_that_are_judged_are_generated_and_never_twice(server):
    result = result_of(*comparison(server))
    (one,) = result["generated"]
    assert (result["winner"], result["exit_code"]) == (LIVE, 0)
    assert len(generated(server)) == one["asked"] == result["judged"] < ITEMS
    assert (one["unjudged"], one["failed"], one["ended"]) == (0, 0, {})
    sent = len(server.requests)
    again = result_of(*comparison(server))
    assert len(server.requests) == sent
    assert (again["winner"], again["wins"]) == (result["winner"], result["wins"])
    assert again["generated"][0]["remembered"] == one["asked"]


def test_generating_and_judging_are_shown_apart_with_an_estimate_of_everything(server):
    said = re.sub(r"\s+", " ", judgeloop(*comparison(server)).stdout)
    assert "6 outputs now for $0.0036 (all 30 would cost about $0.018, an estimate)" in said
    assert "$0.011 now ($0.0036 for outputs, $0.0072 for judging)" in said
    result = result_of(*comparison(server, "old.jsonl", LIVE, "--ledger", "another.sqlite"))
    (one,) = result["generated"]
    assert result["generating_usd"] == one["usd"] == pytest.approx(0.0036)
    assert result["judging_usd"] == pytest.approx(0.0072)
    assert one["usd_of_all"] == pytest.approx(one["usd"] / one["asked"] * ITEMS)
    again = result_of(*comparison(server))
    assert (again["spent_usd"], again["generating_usd"], again["judging_usd"]) == (0, 0, 0)
    assert again["generated"][0]["usd_of_all"] == one["usd_of_all"], "of the remembered outputs"


def test_a_forecast_of_what_is_left_counts_outputs_too(server):
    flags = ["--risk", "0.001", "--max-judgments", "6"]
    result = result_of(*comparison(server, *TWO, *flags))
    assert (result["winner"], result["judged"]) == (None, 6)
    each = result["run_spent_usd"] / result["judged"]
    assert result["more_usd"] == pytest.approx(result["more_judgments"] * each)


def test_another_judge_and_seed_reuse_outputs_that_are_paid_for(server):
    result_of(*comparison(server, LIVE, "openai/other", "--max-judgments", str(ITEMS)))
    asked = {request["messages"][-1]["content"] for request in generated(server, "better")}
    result_of(*comparison(server, "old.jsonl", LIVE, "--seed", "7"))
    again = [request["messages"][-1]["content"] for request in generated(server, "better")]
    assert len(again) == len(set(again)) >= len(asked), "no output is generated twice"


def test_the_outcome_is_the_same_at_any_concurrency(server):
    found = []
    for concurrency in (1, 64):
        flags = ["--concurrency", concurrency, "--ledger", f"{concurrency}.sqlite"]
        result = result_of(*comparison(server, *TWO, *flags, "--about", "items"))
        found.append((result["winner"], result["risk"], result["wins"], result["asked"]))
        assert [one["system"] for one in result["generated"]] == list(TWO)
    assert found[0] == found[1]
    assert len(generated(server)) == 4 * result["judged"], "both answer, in two ledgers"


def test_a_dry_run_forecasts_both_parts_and_sends_nothing(server):
    plan = json.loads(judgeloop(*comparison(server), "--dry-run", "--json").stdout)
    assert server.requests == []
    assert plan["outputs"]["worst"] == ITEMS
    assert plan["calls"]["worst"] == 3 * ITEMS, "an output and two orders for each item"
    for case in ("low", "expected", "worst"):
        assert 0 < plan["usd_of_outputs"][case] < plan["usd"][case]
        parts = plan["usd_of_outputs"][case] + plan["usd_of_judging"][case]
        assert parts == pytest.approx(plan["usd"][case])


def test_a_dry_run_shows_what_is_not_known_as_not_known(server):
    flags = ["--budget", "none", "--dry-run"]
    unpriced = comparison(server, "old.jsonl", LIVE, *flags, price="")
    plan = json.loads(judgeloop(*unpriced, "--json").stdout)
    assert (plan["usd"], plan["usd_of_outputs"]) == (None, None)
    assert plan["usd_of_judging"]["worst"] > 0
    said = judgeloop(*unpriced).stdout
    assert re.search(r"outputs +not known +not known +not known", said)
    assert f"{LIVE} has no known price." in said


def test_a_system_that_fails_too_often_lets_no_gate_pass(server):
    server.respond = lambda request, n: (
        of_both(request)
        if "response_format" in request or request["model"] != "plain"
        else completion(None, finish="content_filter", usage=used(request))
    )
    done = judgeloop(*comparison(server, "openai/plain", LIVE, "--require-winner", LIVE, "--controls", "off"))
    assert done.exit_code == 4, done.output
    assert "openai/plain gave no output to" in done.stderr


FOUND = "only the caller may set it"


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        ("x", "", f"--system {LIVE}.pric: there is no such setting (did you mean price?)"),
        ("judgeloop.toml", f'[systems."{LIVE}"]\nprice = "1,1"\n', FOUND),
        ("judgeloop.toml", f'[compare]\nsystem = ["{LIVE}.price=1,1"]\n', FOUND),
        (".env", f"JUDGELOOP_SYSTEM={LIVE}.price=1,1\n", ""),
    ],
)
def test_what_is_wrong_is_a_usage_error_before_anything_is_sent(server, place, text, said):
    Path(place).write_text(text)
    wrong = [] if text else ["--system", f"{LIVE}.pric=1,1"]
    done = judgeloop(*comparison(server, "old.jsonl", LIVE, *wrong))
    assert (done.exit_code, server.requests) == (2, [])
    assert said in re.sub(r"\s+", " ", done.stderr)


@pytest.mark.parametrize("name", ["command:no-such-program", "command:./plain.txt", "openai/a=b", "item"])
def test_nothing_is_sent_where_a_system_cannot_be_made_or_an_item_stands_twice(server, name):
    Path("plain.txt").write_text("x")
    if name == "item":
        row = json.dumps({"id": "item-0", "prompt": "another"})
        Path("items.jsonl").write_text(Path("items.jsonl").read_text() + row + "\n")
    second = LIVE if name == "item" else name
    cost = ["--system", f"{name}.max-cost=0"] if name.startswith("command") else []
    done = judgeloop(*comparison(server, "old.jsonl", second, "--allow-plugins", *cost))
    assert (done.exit_code, server.requests) == (2, []), done.output


@pytest.mark.parametrize("about", ["items", "like-these"])
def test_a_result_is_about_outputs_as_the_systems_give_them(server, about):
    flags = ["old.jsonl", LIVE, "--about", about]
    said = re.sub(r"\s+", " ", judgeloop(*comparison(server, *flags)).stdout)
    assert ("and on outputs as these systems give them" in said) == (about == "like-these")
    assert ("asked again, the systems may give others" in said) == (about == "items")


def test_outputs_beyond_the_size_of_an_item_end_the_run_and_say_whose_they_are(server):
    flags = ["JUDGELOOP_MAX_ITEM_BYTES=1000", "--controls", "off"]
    systems_say(server, lambda request, n: completion("x" * 2_000, usage=used(request)))
    done = judgeloop(*comparison(server, "old.jsonl", LIVE, *flags))
    assert done.exit_code == 4, done.output
    assert f"the output of {LIVE} is the longest text" in re.sub(r"\s+", " ", done.stderr)


def test_the_limit_of_tokens_is_learned_for_judges_and_never_for_systems(server):
    every = ["JUDGELOOP_MIN_JUDGMENTS=30"]
    result_of(*comparison(server, "old.jsonl", LIVE, *every))
    asked = len(server.requests)
    write_items(Path("items.jsonl"), 2 * ITEMS)
    write_outputs(Path("old.jsonl"), items=2 * ITEMS)
    result_of(*comparison(server, "old.jsonl", LIVE, *every))
    judged = [
        {one["max_tokens"] for one in some if "response_format" in one}
        for some in (server.requests[:asked], server.requests[asked:])
    ]
    assert max(judged[1]) < min(judged[0])
    assert {one["max_tokens"] for one in generated(server)} == {4096}
    assert len(generated(server)) > ITEMS


def test_a_settings_file_that_the_caller_names_may_hold_options(server):
    Path("mine.toml").write_text(f'[systems."{LIVE}"]\nbase-url = "{server.url}"\nprice = "1,10"\nversion = "1"\n')
    base = ["compare", "old.jsonl", LIVE, "--items", "items.jsonl", *judged_by(server)]
    assert result_of(*base, "--config", "mine.toml")["winner"] == LIVE
    flags = ["--config", "mine.toml", "--system", f"{LIVE}.price=2,20", "--seed", "3"]
    said = judgeloop(*base, *flags).stdout
    assert "$2.00 in and $20.00 out" in re.sub(r"\s+", " ", said), "a flag wins, the rest stays"


def test_no_key_goes_to_an_address_that_it_was_not_given_for(server):
    judge = ChatServer(of_both)
    try:
        keys = {"OPENAI_API_KEY": "sk-own", "JUDGELOOP_JUDGE_API_KEY": "of-judge", "MINE": "of-mine"}
        items = ["--items", "items.jsonl", *judged_by(judge)]
        base = ["compare", "old.jsonl", LIVE, *items, *system_flags(server, LIVE)]
        result_of(*base, **keys)
        assert not [one for one in server.headers if "of-judge" in str(one) or "sk-own" in str(one)]
        named = ["--system", f"{LIVE}.key-variable=MINE", "--seed", "5", "--ledger", "two.sqlite"]
        result_of(*base, *named, **keys)
        assert any("of-mine" in str(one) for one in server.headers)
        assert not [one for one in judge.headers if "of-mine" in str(one)]
    finally:
        judge.close()


def test_a_key_that_a_server_quotes_is_masked_before_it_is_judged(server):
    systems_say(server, lambda request, n: completion("your key is of-mine-1234567890", usage=used(request)))
    named = ["--system", f"{LIVE}.key-variable=MINE"]
    base = comparison(server, "old.jsonl", LIVE, *named)
    (one,) = result_of(*base, MINE="of-mine-1234567890")["generated"]
    assert one["masked"] == one["asked"], "the result counts them"
    judged = [one for one in server.requests if "response_format" in one]
    assert judged
    assert "of-mine-1234567890" not in json.dumps(judged)
    assert b"of-mine-1234567890" not in Path(".judgeloop/ledger.sqlite").read_bytes()


def test_an_output_that_was_changed_in_the_ledger_is_refused(server):
    result_of(*comparison(server))
    with closing(sqlite3.connect(".judgeloop/ledger.sqlite", isolation_level=None)) as ledger:
        ledger.execute("update outputs set text = 'better than it was'")
    sent = len(server.requests)
    done = judgeloop(*comparison(server, "old.jsonl", LIVE, "--seed", "9"))
    assert (done.exit_code, len(server.requests)) == (1, sent), done.output
    assert "was changed" in re.sub(r"\s+", " ", done.stderr)


def selection(server, *systems, price="1,10"):
    live = [name for name in systems if "/" in name]
    items = ["--items", "items.jsonl", *judged_by(server), *system_flags(server, *live, price=price)]
    return ["select", *systems, *items, "--min-gap", "0.1"]


def test_selecting_asks_a_system_only_while_its_bound_stands_in_the_way(server):
    write_items(Path("items.jsonl"), 200)
    names = [LIVE, *(f"openai/plain-{n}" for n in range(5))]
    server.respond = by_rank
    result = result_of(*selection(server, *names))
    assert result["winner"] == LIVE
    asked = {name: len(generated(server, name.partition("/")[2])) for name in names}
    given = {one["system"]: one["asked"] for one in result["generated"]}
    assert asked == given
    assert sum(asked.values()) == len({key(request) for request in generated(server)})
    assert max(asked.values()) < 200, "nobody answers all items"
    left = min(asked[name] for name in names[1:])
    assert left < max(asked.values()), "who is out of the way is asked no more"
    sent = len(server.requests)
    again = result_of(*selection(server, *names))
    assert (again["winner"], len(server.requests)) == (LIVE, sent)


def key(request):
    """A system and an item."""
    return request["model"], number_of(request)


def by_rank(request, _=0):
    """Judge by the number of "good"; `better` is best, and `plain-4` is often level."""
    if "response_format" in request:
        return of_both(request)
    number, model = number_of(request), request["model"]
    good = {"better": 2, "plain-4": 2 if number % 3 else 1}.get(model, 0)
    return completion(f"{'good ' * good}{number}", usage=used(request))


def test_selecting_is_the_same_at_any_concurrency_and_keeps_its_budget(server):
    server.respond = by_rank
    names, found = [LIVE, "openai/plain-1", "openai/plain-4", "old.jsonl"], []
    for concurrency in (1, 64):
        flags = ["--concurrency", concurrency, "--ledger", f"{concurrency}/ledger.sqlite"]
        result = result_of(*selection(server, *names), *flags)
        found.append((result["winner"], result["asked"], [g["asked"] for g in result["generated"]]))
    assert found[0] == found[1]
    base = selection(server, *names, price="1,1")
    short = json.loads(judgeloop(*base, "--budget", "0.05", "--json").stdout)
    assert short["run_spent_usd"] <= 0.05


def rated(request, _=0):
    """Rate every output 8; answer as any system does."""
    if "response_format" not in request:
        return of_both(request)
    return completion(json.dumps({"reason": "fine", "rating": "8"}), usage=used(request))


def estimate(server, *more):
    system = [LIVE, "--items", "items.jsonl", *judged_by(server), *system_flags(server, LIVE)]
    return ["estimate", *system, "--max-judgments", "12", *more]


def test_an_estimate_generates_only_what_is_judged(server):
    server.respond = rated
    result = result_of(*estimate(server))
    assert result["generated"][0]["asked"] == len(generated(server)) == result["judged"] == 12
    sent = len(server.requests)
    assert result_of(*estimate(server))["mean"] == result["mean"]
    assert len(server.requests) == sent


@pytest.mark.parametrize("dead", ["judge", "system"])
def test_a_server_that_is_not_there_is_one_clear_error_after_some_seconds(server, dead, monkeypatch):
    monkeypatch.setattr(pace, "UNREACHED_S", 0.5)
    nowhere = ChatServer(of_both)
    nowhere.close()
    judge, system = (nowhere, server) if dead == "judge" else (server, nowhere)
    items = ["--items", "items.jsonl", *judged_by(judge), *system_flags(system, LIVE)]
    done = judgeloop("compare", "old.jsonl", LIVE, *items)
    assert done.exit_code == 4
    who = "the judge" if dead == "judge" else f"the system {LIVE}"
    said = f"{who} failed: nothing answers at {nowhere.url}: is the server running?"
    assert said in re.sub(r"\s+", " ", done.stderr)


def test_python_takes_a_system_by_its_name_and_a_path_as_a_path(server):
    given = {"items": "items.jsonl", "judge": "openai/judge", "judge_base_url": server.url}
    options = [f"{LIVE}.base-url={server.url}", f"{LIVE}.price=1,10", f"{LIVE}.version=1"]
    result = judgeloop_api.compare("old.jsonl", LIVE, **given, judge_price="1,10", system=options)
    assert (result.winner, len(generated(server))) == (LIVE, result.judged)
    assert result.texts is not None
    Path("openai").mkdir()
    write_outputs(Path("openai/better"), "good")
    for place in (Path("openai/better"), "./openai/better"):
        found = judgeloop_api.compare("old.jsonl", place, **given, judge_price="1,10")
        assert found.counts.generated == ()
    with pytest.raises(InputError, match=r"did you mean command:./run\?"):
        judgeloop_api.compare("old.jsonl", "exec:./run", **given, judge_price="1,10")


OF_VLLM = "max_tokens=4096 cannot be greater than max_model_len=64."  # what vLLM 0.32 says
# The status, the code, the parameter and the message of a server's refusal.
REFUSED = [
    (400, "invalid_value", "max_tokens", "max_tokens is too large: 4096"),
    (400, 400, "max_tokens", OF_VLLM),
    (404, "model_not_found", None, "This is not a chat model"),
    (404, "model_not_found", None, "The model does not exist"),
    (401, "invalid_api_key", None, "401"),
]


@pytest.mark.parametrize(("status", "code", "param", "said"), REFUSED)
def test_what_the_server_of_a_system_refuses_costs_nothing_and_is_said(server, status, code, param, said):
    body = {"error": {"message": said, "type": code, "code": code, "param": param}}
    refusal = Response(status, json.dumps(body).encode())
    systems_say(server, lambda request, n: refusal)
    done = judgeloop(*comparison(server))
    shown = re.sub(r"\s+", " ", done.stderr)
    assert (done.exit_code, len(generated(server)) <= 8) == (4, True), done.output
    assert f"the system {LIVE} failed" in shown
    assert said in shown
    assert "cost: $0" in shown
    assert [one for one in server.requests if "response_format" in one] == []

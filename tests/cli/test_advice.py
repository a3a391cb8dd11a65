"""What a result advises to type can be typed, and does what it says: its runs, ledgers, settings and counts."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from support import commandline
from support.chat_server import Response, completion, goodness, used, verdict
from support.outputs import write_good_and_poor, write_outputs
from support.text import unwrapped

from judgeloop.report.words import dollars

ITEMS = 30


@pytest.fixture
def by_function(tmp_path, monkeypatch):
    """Returns the arguments of a comparison of a.jsonl and b.jsonl by a function with this body."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    write_good_and_poor(tmp_path, ITEMS)

    def arguments(body, *more):
        monkeypatch.delitem(sys.modules, "mine", raising=False)
        (tmp_path / "mine.py").write_text(f"def judge(prompt, first, second):\n    {body}\n")
        return ["compare", "a.jsonl", "b.jsonl", "--judge", "python:mine:judge", "--allow-plugins", *more]

    yield arguments
    sys.modules.pop("mine", None)


def found(*arguments, **variables):
    """How a command ends, and its result."""
    done = commandline.judgeloop(*arguments, "--json", **variables)
    return done.exit_code, json.loads(done.stdout)


def typed(text):
    """The command that a text advises, run."""
    (command,) = re.findall(r"`judgeloop ([^`]*)`", unwrapped(text))
    return commandline.judgeloop(*shlex.split(command))


def unclear(silent):
    """A judge who finds all answers level, and gives no verdict on so many of the items."""
    return f"return None if int(prompt[1:]) < {silent} else 'tie'"


def test_items_without_a_verdict_stand_beside_those_that_are_judged(by_function):
    command = by_function(unclear(7))
    shown, result = commandline.shown_and_found(*command, JUDGELOOP_MAX_ABSTENTIONS="0.5")
    assert (result["judged"], result["abstentions"], result["stop_reason"]) == (23, 7, "pool_exhausted")
    said = unwrapped(shown.stdout)
    assert "23 of 30 items, by python:mine:judge; 7 more without a verdict, counted in the bounds alone" in said
    assert "all were asked about, and 7 got no verdict" in said
    assert "left to judge" not in said


def test_a_share_that_lets_the_run_go_on_is_named(by_function):
    code, result = found(*by_function(unclear(3), "--not-worse", "0.3"))
    assert (code, result["stop_reason"]) == (4, "too_many_abstentions")
    ((advised, share),) = [(one["code"], one["share"]) for one in result["advice"]]
    assert advised == "silent"
    assert result["abstentions"] / (result["judged"] + result["abstentions"]) < share < 1
    again, then = found(*by_function(unclear(3), "--not-worse", "0.3"), JUDGELOOP_MAX_ABSTENTIONS=str(share))
    assert (again, then["stop_reason"]) == (0, "not_worse")


def test_controls_without_a_verdict_ask_for_another_judge_whatever_share_may_lack_one(priced, chat_server):
    chat_server.respond = lambda request, n: completion("I like both.", usage=used(request))
    for share in ("0.05", "1"):
        command = ["compare", "a.jsonl", "b.jsonl", *priced, "--not-worse", "0.3", "--budget", "1"]
        code, result = found(*command, JUDGELOOP_MAX_ABSTENTIONS=share)
        assert (code, [one["code"] for one in result["advice"]]) == (4, ["no_verdicts"])
        assert (result["judged"], result["usd_of_all"]) == (0, None), "there is nothing to forecast a sum from"


def test_what_had_no_verdict_before_does_not_make_the_rest_look_dearer(priced, chat_server):
    def respond(request, number):
        lacks = "answer 3." in str(request["messages"])
        usage = used(request)
        return completion("Both.", usage=usage) if lacks else verdict(goodness(request), usage=usage)

    chat_server.respond = respond
    command = [
        "compare",
        "a.jsonl",
        "b.jsonl",
        *priced,
        "--about",
        "items",
        "--risk",
        "0.0001",
        "--max-judgments",
        "11",
    ]
    costs = [found(*command, "--seed", seed, JUDGELOOP_MAX_ABSTENTIONS="0.5")[1]["usd_of_all"] for seed in range(1, 6)]
    assert max(costs) == pytest.approx(min(costs), rel=0.25)


def test_other_code_is_another_judge_and_both_the_end_and_the_next_run_say_so(by_function):
    first, result = found(*by_function("assert prompt != 'p9'; return 'tie'", "--near-tie", "0.001"))
    assert (first, result["stop_reason"]) == (4, "judge_failed")
    (advised,) = result["advice"]
    assert (advised["code"], advised["judge"]) == ("fix_is_another", "python:mine:judge")
    assert advised["judged"] == result["judged"] > 0
    then = commandline.judgeloop(*by_function("return 'tie'", "--near-tie", "0.001"))
    assert f"verdicts in the run {result['run'][:8]} do not count here: its code has changed" in unwrapped(then.stderr)


def test_a_judge_that_failed_before_any_verdict_is_mended_and_nothing_is_lost(by_function):
    _, result = found(*by_function("raise ValueError(prompt)"))
    assert [one["code"] for one in result["advice"]] == ["fix", "then_resume"]


@pytest.mark.parametrize("ledger", [[], ["--ledger", "my own.sqlite"]])
def test_another_margin_is_asked_of_the_run_in_the_ledger_that_was_typed(by_function, ledger):
    body = "return 'AB'[('good' in first) ^ int(prompt[1:]) % 2]"
    commandline.judgeloop(*by_function(body, *ledger))
    shown, result = commandline.shown_and_found(*by_function(body, "--not-worse", "0.02", *ledger))
    read = typed(shown.stdout.partition("The judge")[0])
    assert (shown.exit_code, read.exit_code, result["attempts"]) == (3, 3, 0)
    assert "by 4 points or more" in unwrapped(read.stdout)
    assert "runs show" not in read.stdout, "nobody is sent there twice"
    passed = commandline.judgeloop(*by_function(body, "--not-worse", "0.2", *ledger))
    assert (passed.exit_code, "another margin" in passed.stdout) == (0, False)


def test_calls_of_unknown_cost_are_listed_by_the_command_that_is_named(priced, chat_server):
    chat_server.respond = lambda request, n: Response(500, b"{}")
    failed = commandline.judgeloop("compare", "a.jsonl", "b.jsonl", *priced, "--budget", "5", "--ledger", "m.sqlite")
    listed = typed(failed.stderr)
    assert failed.exit_code == 4
    assert int(re.search(r"(\d+) calls? of unknown cost", unwrapped(listed.stdout))[1]) > 0


def test_after_an_outage_either_what_is_advised_frees_the_budget_or_the_sum_that_is_named_is_enough(
    priced, chat_server
):
    def command(budget, ledger="m.sqlite"):
        return ["compare", "a.jsonl", "b.jsonl", *priced, "--budget", budget, "--ledger", ledger]

    respond, chat_server.respond = chat_server.respond, lambda request, n: Response(500, b"{}")
    budget = 1.5 * found(*command("5", "other.sqlite"))[1]["unconfirmed_usd"]
    for _ in range(5):  # how many calls fail until a run ends is a matter of time
        code, result = found(*command(budget))
        advised = [one["code"] for one in result["advice"]]
        assert code == 4
        if "fix" not in advised:
            break
    assert advised == ["held_by_failures", "make_up", "then_resume"]
    (held,) = [one for one in result["advice"] if one["code"] == "held_by_failures"]
    assert f"hold {dollars(held['held'])}," in held["message"]
    starved = commandline.judgeloop(*command(budget))
    *_, settle = re.findall(r"`judgeloop (ledger settle [^`]*)`", unwrapped(starved.stderr))
    chat_server.respond = respond
    shutil.copy("m.sqlite", "copy.sqlite")
    enough = next(one["budget"] for one in result["advice"] if one["code"] == "make_up")
    assert found(*command(enough, "copy.sqlite"))[0] == 0
    assert commandline.judgeloop(*shlex.split(settle)).exit_code == 0
    code, result = found(*command(budget))
    assert (code, result["unconfirmed_usd"]) == (0, 0)
    assert commandline.judgeloop(*shlex.split(settle)).exit_code == 2, "nothing is open"


def test_a_night_names_its_runs_and_settles_an_outage_in_the_ledger_that_was_typed(priced, chat_server):
    Path("night.toml").write_text('[pairs.x]\nsystems = ["a.jsonl", "b.jsonl"]\n')
    chat_server.respond = lambda request, n: Response(500, b"{}")
    command = ["suite", "night.toml", *priced, "--budget", "5", "--ledger", "m.sqlite"]
    failed = commandline.judgeloop(*command, JUDGELOOP_DETAILS="false")
    assert failed.exit_code == 4
    settle, runs = re.findall(r"judgeloop ((?:ledger settle|runs) [^`\n]*m\.sqlite)", unwrapped(failed.stdout))
    assert commandline.judgeloop(*shlex.split(settle)).exit_code == 0
    (row,) = json.loads(commandline.judgeloop(*shlex.split(runs), "--json").stdout)
    assert (row["exit_code"], row["charged_usd"]) == (4, 0)
    assert commandline.judgeloop("runs", "--night", "2020-01-01", "--ledger", "m.sqlite").exit_code == 2


def test_a_table_with_costs_says_from_its_first_line_on_that_they_count(tmp_path):
    write_good_and_poor(tmp_path, ITEMS)
    rows = "".join(f"i{n},a,b,0.5,0.01\n" for n in range(ITEMS))
    Path("table.csv").write_text(f"item_id,model_a,model_b,score,cost_usd\n{rows}")
    command = ["compare", "a.jsonl", "b.jsonl", "--judge", "replay:table.csv"]
    done, result = commandline.shown_and_found(*command, "--budget", "0.1")
    assert "$0.10 of recorded costs" in unwrapped(done.stderr)
    assert "the recorded costs have used up the budget" in unwrapped(done.stdout)
    advised = {one["code"]: one for one in result["advice"]}
    every = advised["recorded_costs"]["every"]
    assert (result["judged"], result["stop_reason"], every) == (10, "budget", ITEMS)
    whole = commandline.result_of(*command, "--budget", "none", "--max-judgments", every)
    assert whole["judged"] == ITEMS


def test_what_only_groups_are_asked_about_is_apart_in_the_first_line_and_they_stand_on_the_terminal(by_function):
    for name in "ab":
        rows = [json.loads(line) for line in Path(f"{name}.jsonl").read_text().splitlines()]
        rows = [row | {"group": ("x", "y")[n % 2]} for n, row in enumerate(rows)]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = by_function("return 'A' if 'good' in first else 'B'", "--by-group", "report", "--max-judgments", "20")
    done = commandline.judgeloop(*command, JUDGELOOP_DETAILS="false")
    assert "at most 30 judgments (20 for the decision) and $5.00" in unwrapped(done.stderr)
    assert "groups a is better in x, y" in unwrapped(done.stdout)


def test_runs_before_are_counted_alike_whichever_system_is_required_and_one_that_named_the_other_is_said(tmp_path):
    """`a` is better where the judge counts words, `b` where it also counts letters that only its tie margin tells."""
    write_outputs(tmp_path / "a.jsonl", [f"yes {n}" for n in range(ITEMS)], reference="yes")
    write_outputs(tmp_path / "b.jsonl", [f"no {n}" for n in range(ITEMS)], reference="yes")
    write_outputs(tmp_path / "c.jsonl", [f"nor {n}" for n in range(ITEMS)], reference="yes")
    by_f1 = ["--judge", "metric:token-f1"]
    first = commandline.result_of("compare", "a.jsonl", "b.jsonl", *by_f1)
    commandline.result_of("compare", "a.jsonl", "c.jsonl", *by_f1)
    for required, others in (("a", 0), ("b", 1)):
        _, result = found("compare", "a.jsonl", "b.jsonl", *by_f1, "--seed", "9", "--require-winner", required)
        before = result["asked_before"]
        assert (len(before["risks"]), before["by_others"], before["named"]) == (1, 0, {})
        assert result["comparison"] - 1 - len(before["risks"]) == others, "a met c, which says nothing of b"
        assert result["wrong_expected"] == pytest.approx(0.1 * (2 + others))
    panel = commandline.result_of("compare", "a.jsonl", "b.jsonl", *by_f1, "--judge", "metric:exact")
    assert panel["asked_before"]["by_others"] == 2, "of the same two, by one of these judges"
    assert (panel["asked_before"]["risks"], panel["comparison"]) == ([], 4)
    open_ = commandline.result_of("compare", "a.jsonl", "b.jsonl", *by_f1, "--max-judgments", "3", "--seed", "8")
    assert list(open_["asked_before"]["named"].values()) == ["a"], (
        f"as the run {first['run']} did, and this one did not"
    )

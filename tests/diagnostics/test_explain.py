"""`ledger explain`: why a run called a judge for an item, or made no call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.chat_server import error, goodness, verdict
from support.commandline import judgeloop
from support.outputs import write_good_and_poor


def ids():
    """The ids of the runs, the latest first."""
    return [run["run"] for run in json.loads(judgeloop("runs", "--json").stdout)]


@pytest.fixture
def compare():
    """Run a comparison by a metric on all of six items, with more flags."""
    write_good_and_poor(Path(), 6, reference="A good answer")
    every = ["JUDGELOOP_MIN_JUDGMENTS=6", "--max-judgments", 6]

    def run(*more):
        flags = ["--judge", "metric:rouge1", *every, *more]
        done = judgeloop("compare", "a.jsonl", "b.jsonl", *flags)
        assert done.exit_code in {0, 3}, done.output
        return ids()[0]

    return run


def explained(run, item="i1"):
    done = judgeloop("ledger", "explain", run, item)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_a_call_on_an_item_that_no_earlier_run_asked_about_says_so(compare):
    run = compare()
    head, call, reason = explained(run[:8])
    assert head == f"run {run}, item i1: 1 call"
    assert "metric:rouge1  settled, $0.00 charged: verdict" in call
    assert reason == "    no earlier run made a call on this item"


def test_a_call_names_what_differs_from_the_nearest_earlier_one(compare):
    compare("--tie-margin", 0.2)
    nearest = compare()
    run = compare("--tie-margin", 0.05)
    assert explained(run)[2:] == [
        f"    the nearest earlier call, of run {nearest}, differs in",
        "      judge's tie_margin: 0.0 then, 0.05 now",
    ]


def test_a_run_whose_verdicts_were_known_made_no_call(compare):
    first = compare()
    run = compare("--seed", 1)
    head, other = explained(run)
    assert head.startswith(f"run {run}, item i1: no call; its verdict was in the ledger already")
    assert other.endswith(f"verdict, by run {first}")


def test_a_retry_is_the_same_call_and_the_other_order_is_another(chat_server):
    """The retry has the key of the attempt that failed; both orders of one query differ in it."""
    failed = []

    def respond(request, n):
        if failed:
            return verdict(goodness(request))
        failed.append(n)
        return error(500)

    chat_server.respond = respond
    write_good_and_poor(Path(), 1)
    judge = ["--judge", "openai/m", "--judge-price", "1,10", "--judge-base-url", chat_server.url]
    judgeloop("compare", "a.jsonl", "b.jsonl", *judge, "--concurrency", 1)
    head, *lines = explained(ids()[0], "i0")
    assert head.endswith("3 calls")
    *first, retried = lines[1::2]
    assert first == ["    no earlier run made a call on this item"] * 2
    assert retried.startswith("    the same call as before: ")


@pytest.mark.parametrize(
    ("run", "item", "said"),
    [("none", "i1", "no run has an id that begins so"), ("", "nowhere", "found no attempt on it")],
)
def test_an_unknown_run_or_item_is_an_error(compare, run, item, said):
    compare()
    done = judgeloop("ledger", "explain", run, item)
    assert done.exit_code == 2
    assert said in done.stderr

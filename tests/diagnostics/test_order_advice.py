"""What `doctor` says about the order of presentation, from a judge's verdicts in the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commandline import judgeloop

from judgeloop.core.ledger import PastReply
from judgeloop.core.records import Call, Item, JudgeIdentity, Verdict
from judgeloop.core.verdict_key import KeyIngredients
from judgeloop.diagnostics.doctor import order_advice
from judgeloop.methods.stats.agreement import FEWEST_BOTH

JUDGE = JudgeIdentity("openai", "m")


def reply(item, first, second, score):
    call = Call(Item(item, item), (first, second), (first, second))
    return PastReply(KeyIngredients.of(JUDGE, call, blind=True), Verdict(score))


def replies(ties, agreed, flipped):
    """So many items of each kind, each in both orders unless the first verdict is a tie."""
    found = [reply(f"t{n}", "a", "b", 0.5) for n in range(ties)]
    for n in range(agreed):
        found += [reply(f"i{n}", "a", "b", 1.0), reply(f"i{n}", "b", "a", 0.0)]
    for n in range(flipped):
        found += [reply(f"f{n}", "a", "b", 1.0), reply(f"f{n}", "b", "a", 1.0)]
    return found


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((0, 30, 0), "contradicts the first on 0; one order (`order=random`) would take about 50% of the calls"),
        ((10, 20, 10), "on 10; one order and both take about as many calls"),
        ((60, 10, 20), "on 20; both orders (`order=both`) take about 44% of the calls of one order"),
        ((0, FEWEST_BOTH - 1, 0), ""),
        ((200, 0, 0), ""),
    ],
)  # fmt: skip
def test_the_order_that_takes_clearly_fewer_calls_is_named(counts, said):
    found = order_advice(replies(*counts))
    assert said in found
    assert bool(found) == bool(said)


def test_a_rating_and_a_verdict_in_the_same_order_say_nothing():
    rated = Call(Item("i", "p"), ("a",), ("a",))
    found = [PastReply(KeyIngredients.of(JUDGE, rated, blind=True), Verdict(1.0))] * 50
    found += [reply(f"i{n}", "a", "b", 1.0) for n in range(50)] * 2
    assert order_advice(found) == ""


def test_doctor_says_it_of_this_judge_and_prompt_only(chat_server):
    for name, good in (("a", 3), ("b", 1)):
        rows = [
            {"id": f"i{at}", "prompt": f"p{at}", "output": f"{'good ' * good}{name}{at}"}
            for at in range(40)
        ]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = ["--judge", "openai/m", "--judge-price", "1,10", "--judge-base-url", chat_server.url]
    run = judgeloop("compare", "a.jsonl", "b.jsonl", *judge, "JUDGELOOP_MIN_JUDGMENTS=40")
    assert run.exit_code == 0, run.output
    said = "of 40 items that it judged in both orders"
    assert said in judgeloop("doctor", *judge).output
    other = [*judge, "--rubric", "The shorter answer is better."]
    assert said not in judgeloop("doctor", *other).output

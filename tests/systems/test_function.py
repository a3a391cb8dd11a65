"""Systems that are functions: what they are told, what they may return, and how they fail."""

from __future__ import annotations

import asyncio

import pytest
from support.code import ITEM, answered, function, made

from judgeloop.core.records import Call, Item

pytestmark = pytest.mark.usefixtures("own_modules")


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_it_gets_the_prompt(kind):
    name = function(f"{kind} answer(prompt):\n    return 'good ' + prompt\n", kind[:2])
    assert answered(made(name)).text == f"good {ITEM.prompt}"


def test_it_is_told_what_it_takes_and_no_more():
    source = (
        "def answer(*, prompt, messages, id, context, late=None, **more):\n"
        "    return repr((prompt, messages, id, context, sorted(more)))\n"
    )
    item = Item("7", "Why?", reference="r", group="g", columns={"context": {"n": 1}, "other": 2})
    messages = [{"role": "user", "content": "Why?"}]
    expected = ("Why?", messages, "7", {"n": 1}, ["other"])
    assert answered(made(function(source, "told")), item).text == repr(expected)


RETURNED = [
    ("None", "expected an output as text, found None"),
    ("{'text': 'x'}", "expected a text, or a dictionary with 'output', 'cost' and 'model'; found 'text'"),
    ("{'output': 'x', 'cost': 'much'}", "expected its cost in dollars, found 'much'"),
    ("{'output': 'x', 'model': 5}", "expected the name of a model, found 5"),
    ("'\\ud800'", "no Unicode text (character 0)"),
    ("'x' * (5 << 20)", "has more than 4 MiB"),
    ("1 / 0", "raised ZeroDivisionError: division by zero (own_"),
    ("__import__('sys').exit(3)", "raised SystemExit: 3"),
    ("(_ for _ in ()).throw(__import__('asyncio').CancelledError())", "raised CancelledError"),
    ("__import__('time').sleep(30)", "no output within 0.2 s; its threads left behind: 1"),
]


@pytest.mark.parametrize("number", range(len(RETURNED)))
def test_how_it_failed_by_itself_is_said(number):
    value, said = RETURNED[number]
    name = function(f"def answer(prompt):\n    return {value}\n", f"f{number}")
    output = answered(made(name, "timeout=0.2"))
    assert output.text is None
    assert said in output.failed


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_what_comes_after_the_time_limit_is_no_output(kind):
    source = f"import time\n{kind} answer(prompt):\n    time.sleep(0.5)\n    return 'late'\n"
    output = answered(made(function(source, kind[:2]), "timeout=0.1"))
    assert output.text is None
    assert "it gave no output within 0.1 s" in output.failed


@pytest.mark.parametrize(("cost", "booked_p"), [(", 'cost': 0.001", 10**9), ("", 2 * 10**9)])
def test_the_cost_that_it_reports_is_booked_else_its_maximum(cost, booked_p):
    source = f"def answer(prompt):\n    return {{'output': 'good', 'model': 'm-1'{cost}}}\n"
    system = made(function(source, f"cost{len(cost)}"), "max-cost=0.002")
    reply = asyncio.run(system.answer(Call(ITEM, ("s",), ())))
    assert (reply.cost_p, reply.model) == (booked_p, "m-1")

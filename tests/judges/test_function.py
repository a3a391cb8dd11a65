from __future__ import annotations

import asyncio
import functools
import re
import sys
import threading

import pytest
from support.endings import ends

from judgeloop.core.errors import ErrorKind, InputError
from judgeloop.core.keys import KeyIngredients
from judgeloop.core.records import Abstention, Call, Item, Quote, Verdict
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.function import PluginJudge, answer_from, make_judge

CALL = Call(Item("q1", "2+2?", "4"), ("small", "large"), ("4", "four"))
RATING = Call(CALL.item, ("large",), ("four",))


def load_plugin(spec, *, allowed):
    return make_judge(spec, JudgeOptions(template=None, allow_plugins=allowed))


@pytest.fixture
def plugin(tmp_path, monkeypatch, own_modules):
    """Writes a module into the working folder and loads `judge` from it."""

    def load(source, name="own_judge"):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
        return load_plugin(f"{name}:judge", allowed=True)

    return load


def answer(judge, call=CALL):
    return asyncio.run(judge.judge(call))


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_function_sync_or_async_gets_the_texts_and_gives_the_verdict(plugin, kind):
    judge = plugin(
        f"{kind} judge(*, prompt, first, second, reference):\n"
        "    assert (prompt, first, second, reference) == ('2+2?', '4', 'four', '4')\n"
        "    return 'A' if first == reference else 'B'\n"
    )
    reply = answer(judge)
    assert (reply.answer, reply.cost_p) == (Verdict(1.0), 0)
    assert judge.quote(CALL) == Quote(0, 0)
    assert judge.identity.name == "python:own_judge:judge"


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_function_that_rates_gets_one_output_and_gives_its_score(plugin, kind):
    judge = plugin(
        f"{kind} judge(*, prompt, output, reference):\n"
        "    assert (prompt, output, reference) == ('2+2?', 'four', '4')\n"
        "    return 0.75\n"
    )
    assert answer(judge, RATING).answer == Verdict(0.75)


@pytest.mark.parametrize(("call", "argument"), [("CALL", "first"), ("RATING", "output")])
def test_a_function_for_the_other_question_is_told_which_argument_it_does_not_take(plugin, call, argument):
    takes = {"CALL": "output", "RATING": "first, second"}[call]
    judge = plugin(f"def judge(*, prompt, reference, {takes}):\n    return 1.0\n")
    with ends(ErrorKind.REJECTED, match=f"unexpected keyword argument '{argument}'"):
        answer(judge, globals()[call])


def test_a_sync_function_does_not_hold_up_the_others(plugin):
    judge = plugin(
        "import threading\ndef judge(**_):\n    return float(threading.current_thread() is threading.main_thread())\n"
    )
    assert threading.current_thread() is threading.main_thread()
    assert answer(judge).answer == Verdict(0.0)


ODD = ["a", "C", "", "Tie", "1", "5", 5, True, 1.01, -0.1, float("nan"), float("inf"), [1.0], {"winner": "A"}, object, b"A"]  # fmt: skip


@pytest.mark.parametrize(
    ("rating", "expected", "scores", "odd"),
    [
        (False, "A, B, tie, a score", {"A": 1.0, "B": 0.0, "tie": 0.5, 0: 0.0, 1: 1.0, 0.25: 0.25}, ODD),
        (True, "a score", {0: 0.0, 1: 1.0, 0.25: 0.25, 0.5: 0.5}, ["A", "B", "tie", *ODD]),
    ],
)  # fmt: skip
def test_a_score_or_a_label_is_a_verdict_and_anything_else_is_shown(rating, expected, scores, odd):
    for returned, score in scores.items():
        assert answer_from(returned, rating=rating) == Verdict(score)
    for returned in odd:
        said = f"the function returned {repr(returned)[:60]}; expected {expected} from 0 to 1 or None"
        assert answer_from(returned, rating=rating) == Abstention(said)
    assert answer_from(None, rating=rating) == Abstention("the function gave no verdict")


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_function_that_raises_stops_the_run_with_what_it_said(plugin, kind):
    judge = plugin(f"{kind} judge(**_):\n    raise KeyError('weights')\n")
    with ends(
        ErrorKind.REJECTED, match=r"^python:own_judge:judge raised KeyError: 'weights' \(own_judge\.py, line 2\)$"
    ) as caught:
        answer(judge)
    assert not caught.value.billed


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize("left", ["sys.exit(0)", "raise StopIteration"])
def test_a_function_that_leaves_in_another_way_stops_the_run_too(plugin, kind, left):
    judge = plugin(f"import sys\n{kind} judge(**_):\n    {left}\n")
    with ends(ErrorKind.REJECTED, match=r"^python:own_judge:judge raised "):
        answer(judge)


def test_a_module_that_ends_as_a_script_does_is_refused(plugin):
    with pytest.raises(InputError, match=r"SystemExit: 0$"):
        plugin("import sys\nsys.exit(0)\n")


def test_nobody_waits_for_a_function_that_hangs(plugin):
    judge = plugin("import threading\nheld = threading.Event()\ndef judge(**_):\n    held.wait()\n")

    async def given_up():
        asking = asyncio.create_task(judge.judge(CALL))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    before = threading.active_count()
    asyncio.run(given_up())  # its end waits for the threads of the loop's pool
    assert threading.active_count() == before + 1
    sys.modules["own_judge"].held.set()


@pytest.mark.parametrize(
    ("parameters", "questions"),
    [("a, b", (("x", "y"),)), ("first, second, more", (("x", "y"),)), ("first, second", (("x",),))],
)
def test_a_function_that_takes_other_arguments_is_refused_before_the_run(plugin, parameters, questions):
    judge = plugin(f"def judge({parameters}):\n    return 'A'\n")
    with pytest.raises(InputError, match=rf"found the parameters \({parameters}\)$"):
        judge.check(questions, (), 0.1)


@pytest.mark.parametrize(
    "parameters", ["first, second", "prompt, first, second, reference", "**_", "second, first, x=1"]
)
def test_a_function_that_takes_the_outputs_is_accepted(plugin, parameters):
    plugin(f"def judge({parameters}):\n    return 'A'\n").check((("x", "y"),), (), 0.1)


def test_code_runs_only_where_it_is_allowed(tmp_path):
    (tmp_path / "own_bomb.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"runs your own code; allow it with `allow_plugins`$"):
        load_plugin("own_bomb:judge", allowed=False)
    assert "own_bomb" not in sys.modules


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("own_nowhere:judge", "No module named 'own_nowhere'"),
        ("own_judge:missing", "has no attribute 'missing'"),
        ("own_judge:TABLE", "TABLE cannot be called"),
    ],
)
def test_what_is_not_there_or_no_function_is_refused(plugin, spec, problem):
    plugin("TABLE = {}\ndef judge(**_):\n    return 'A'\n")
    with pytest.raises(InputError, match="^`judge=python:" + re.escape(spec) + "`: .*" + re.escape(problem)):
        load_plugin(spec, allowed=True)


def test_another_source_is_another_judge_and_the_same_source_the_same(plugin):
    def key(judge):
        return KeyIngredients.of(judge.identity, CALL, blind=True).key

    source = "LIMIT = 1\ndef judge(**_):\n    return 'A'\n"
    first, same = key(plugin(source, "own_one")), key(plugin(source, "own_one"))
    assert first == same
    changed = source.replace("LIMIT = 1", "LIMIT = 2")
    other = plugin(changed, "own_two").identity
    assert other.parameters["source"] != plugin(source, "own_three").identity.parameters["source"]


def test_a_module_that_cannot_be_read_is_refused_with_its_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_plugin.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        load_plugin("broken_plugin:judge", allowed=True)


def test_what_a_partial_function_has_bound_is_part_of_its_identity():
    def judge(*, winner, **material):
        return winner

    judges = [PluginJudge("m:f", functools.partial(judge, winner=winner)) for winner in ("A", "B")]
    assert judges[0].identity != judges[1].identity


def test_an_object_with_an_async_call_is_awaited():
    class Judge:
        async def __call__(self, **material):
            return "B"

    reply = asyncio.run(PluginJudge("m:f", Judge()).judge(CALL))
    assert reply.answer == Verdict(0.0)

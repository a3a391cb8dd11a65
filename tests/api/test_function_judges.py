"""A function's verdicts are remembered if it is known by its source or by a version."""

from __future__ import annotations

import functools

import pytest

import judgeloop
from judgeloop.core.errors import InputError
from judgeloop.core.records import JudgeIdentity, Quote, Reply, Verdict
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.function import make_judge

SOURCE = """
def judge(*, first, second):
    return "A" if len(first) < len(second) else "B" if len(first) > len(second) else "tie"

async def waits(*, first, second):
    return judge(first=first, second=second)

def make():
    def inner(*, first, second):
        return judge(first=first, second=second)
    return inner

class Judges:
    def method(self, *, first, second):
        return judge(first=first, second=second)

    def __call__(self, *, first, second):
        return judge(first=first, second=second)

    @staticmethod
    def at_rest(*, first, second):
        return judge(first=first, second=second)
"""


def compare(rows, judge, **options):
    return judgeloop.compare(rows["terse"], rows["chatty"], judge=judge, ahead="0", **options)


@pytest.mark.parametrize("name", ["judge", "waits", "Judges.at_rest"])
def test_a_function_at_the_top_of_a_module_is_known_by_its_source(name, rows, own_module):
    module = own_module(SOURCE)
    function = functools.reduce(getattr, name.split("."), module)
    first, again = compare(rows, function), compare(rows, function)
    assert first.winner == again.winner == "terse"
    assert (again.spend.attempts, again.spend.remembered) == (0, first.spend.attempts)
    assert first.setup.asked_anew == ""


def test_it_is_the_judge_that_the_command_line_names(rows, own_module):
    function = own_module(SOURCE).judge
    named = make_judge("own_functions:judge", JudgeOptions(template=None, allow_plugins=True))
    assert judgeloop.function_judge(function).identity == named.identity
    first = compare(rows, "python:own_functions:judge", allow_plugins=True)
    assert compare(rows, function).spend.remembered == first.spend.attempts


def test_new_source_is_a_new_judge(rows, own_module):
    before = compare(rows, own_module(SOURCE).judge)
    after = compare(rows, own_module(f"{SOURCE}\n# edited\n").judge)
    assert after.spend.remembered == 0
    assert after.setup.run != before.setup.run


def unknown_functions(module):
    return {
        "a lambda": lambda *, first, second: module.judge(first=first, second=second),
        "inside another function": module.make(),
        "at the top of a module": module.Judges().method,
        "an object that can be called": module.Judges(),
        "an object": functools.partial(module.judge),
    }


@pytest.mark.parametrize("why", [
    "a lambda",
    "inside another function",
    "at the top of a module",
    "an object that can be called",
    "an object",
])  # fmt: skip
def test_any_other_function_is_asked_anew_and_the_result_says_so(why, rows, own_module):
    function = unknown_functions(own_module(SOURCE))[why]
    first, again = compare(rows, function), compare(rows, function)
    assert again.spend.remembered == 0
    assert again.spend.attempts == first.spend.attempts > 0
    assert again.labels == first.labels
    assert why in again.setup.asked_anew
    assert "`version`" in str(again)
    assert again.to_dict()["asked_anew"] == again.setup.asked_anew


def test_a_version_makes_any_function_known(rows, own_module):
    functions = unknown_functions(own_module(SOURCE))
    for function in functions.values():
        compare(rows, function, version="of today")
        again = compare(rows, function, version="of today")
        assert again.spend.attempts == 0
        assert again.setup.asked_anew == ""
        assert compare(rows, function, version="of tomorrow").spend.remembered == 0


def test_a_function_of_a_notebook_is_asked_anew(rows):
    names = {"__name__": "__main__"}
    exec("def judge(*, first, second):\n    return 'A'", names)
    assert "not a function at the top" in compare(rows, names["judge"]).setup.asked_anew


def test_a_module_edited_after_it_was_loaded_is_not_the_new_source(rows, own_module, tmp_path):
    function = own_module(SOURCE).judge
    edited = SOURCE.replace('"A" if', '"B" if')
    (tmp_path / "modules" / "own_functions.py").write_text(edited, encoding="utf-8")
    assert "has changed since it was imported" in compare(rows, function).setup.asked_anew


def test_a_function_may_leave_out_the_prompt_and_the_reference_or_take_them(rows):
    def whole(*, prompt, reference, first, second):
        assert prompt.startswith("Question")
        assert reference is None or reference.startswith("answer")
        return 0.5

    assert compare(rows, whole, version="1").counts.abstentions == 0
    assert compare(rows, lambda first, second: 0.5, version="1").counts.abstentions == 0
    assert compare(rows, lambda **given: 0.5 * len(given) / 4, version="1").ties > 0


def test_a_lambda_that_returns_a_coroutine_is_awaited(rows, own_module):
    waits = own_module(SOURCE).waits
    assert compare(rows, lambda first, second: waits(first=first, second=second)).judged > 0


def test_functions_sit_on_a_panel_under_names_of_their_own(rows, own_module):
    module = own_module(SOURCE)
    result = compare(rows, [module.judge, module.waits], vote="unanimous")
    assert result.setup.judges == ("python:own_functions:judge", "python:own_functions:waits")
    panel = [lambda first, second: "A", lambda first, second: "B"]
    with pytest.raises(InputError, match=r"two are called python:.*named apart"):
        compare(rows, panel)
    apart = [judgeloop.function_judge(each, name=f"own:{n}") for n, each in enumerate(panel)]
    assert compare(rows, apart).setup.judges == ("python:own:0", "python:own:1")


def test_a_function_without_identity_sits_with_no_judge_that_costs_money(rows):
    panel = [lambda first, second: "A", "openai/gpt-4.1"]
    with pytest.raises(InputError, match=r"openai/gpt-4.1 may cost money: give `version`"):
        compare(rows, panel, environment={"OPENAI_API_KEY": "k"})
    with pytest.raises(InputError, match=r"openai/gpt-4.1 may cost money: give `version`"):
        judgeloop.estimate(rows["terse"], judge="openai/gpt-4.1", proxy=lambda output: 1, environment={})


def test_a_function_may_be_the_proxy_of_an_estimate(rows):
    def brief(*, output):
        return 1 / len(output)

    result = judgeloop.estimate(
        rows["chatty"], judge=brief, proxy=judgeloop.function_judge(lambda output: 0.25, name="p")
    )
    assert result.proxy_mean == 0.25
    assert result.options.proxy == "python:p"


def test_a_version_without_a_function_is_refused(rows):
    with pytest.raises(InputError, match="`version`: it belongs to a function"):
        compare(rows, "metric:exact", version="1")
    with pytest.raises(InputError, match="`judge`: expected the name of a judge, a function"):
        compare(rows, 7)


class Own:
    """A judge of one's own, which keeps to the protocol."""

    order_matters = False
    blind = True
    by_hand = False
    booked = True
    priced = True
    identity = JudgeIdentity("own", "first", mark=":")

    def check(self, questions, items, max_missing):
        """Accept every question."""

    def quote(self, call):
        return Quote(5, 5)

    async def judge(self, call):
        return Reply(Verdict(1.0), cost_p=5)

    async def aclose(self):
        """No connections."""


def test_an_object_that_keeps_to_the_protocol_is_a_judge(rows):
    result = compare(rows, Own())
    assert result.setup.judge == "own:first"
    assert result.spend.run_p == 5 * result.judged
    assert compare(rows, Own()).spend.remembered == result.judged

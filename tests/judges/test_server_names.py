"""The name of a judge's server: how it is given, and that it stands for the address."""

from __future__ import annotations

import pytest

from judgeloop.core.errors import InputError
from judgeloop.core.keys import KeyIngredients
from judgeloop.core.records import Call, Item
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.catalogue import LONGEST_NAME, judge_from_spec, server_names
from judgeloop.judges.prompt import shipped_template

ONE, OTHER = "openai/a", "openai/b"
PANEL = [ONE, OTHER]
CALL = Call(Item("i", "Say something."), ("a", "b"), ("one", "two"))


def judge(spec="vllm/m", port=8000, **options):
    environment = {"JUDGELOOP_JUDGE_API_KEY": "none"}
    given = {"base_url": f"http://127.0.0.1:{port}/v1"} | options
    return judge_from_spec(
        spec, JudgeOptions(template=shipped_template("pairwise.v1"), environment=environment, **given)
    )


def key(one):
    return KeyIngredients.of(one.identity, CALL, blind=True).key


@pytest.mark.parametrize("spec", ["vllm/m", "openai/m", "anthropic/m"])
def test_a_named_server_has_the_same_keys_at_every_address(spec):
    names = {spec: "lab"}
    assert key(judge(spec, 8000, names=names)) == key(judge(spec, 8001, names=names))
    assert key(judge(spec, 8000)) != key(judge(spec, 8001))
    assert key(judge(spec, 8000, names=names)) != key(judge(spec, 8000))


def test_a_name_leaves_all_else_in_the_identity():
    names = {"vllm/m": "lab", "vllm/n": "lab"}
    plain = judge(names=names)
    assert key(plain) != key(judge("vllm/n", names=names))
    assert key(plain) != key(judge(names=names, max_output_tokens=99))
    assert key(plain) != key(judge(names=names, lenient=True))
    assert key(plain) != key(judge(names={"vllm/m": "other"}))


def test_the_identity_of_a_named_server_holds_the_name_and_no_address():
    parameters = judge(names={"vllm/m": "lab"}).identity.parameters
    assert parameters["server"] == "lab"
    assert "endpoint" not in parameters
    assert "lab" not in judge(names={"vllm/n": "lab"}).identity.parameters.values()


def test_a_strict_judge_at_an_address_has_the_keys_that_it_always_had():
    assert set(judge().identity.parameters) == {
        "endpoint", "prompt", "schema", "parser", "max_output_tokens", "by",
    }  # fmt: skip
    assert judge(lenient=True).identity.parameters["lenient"] == "1"


@pytest.mark.parametrize(
    ("given", "judges", "found"),
    [
        ([], PANEL, {}),
        (["lab"], [ONE], {ONE: "lab"}),
        (["lab"], ["replay:mine.csv", ONE], {ONE: "lab"}),
        (["openai/a=lab"], [ONE], {ONE: "lab"}),
        (["openai/b=lab"], PANEL, {OTHER: "lab"}),
        (["openai/a=lab-1", "openai/b=lab-2"], PANEL, {ONE: "lab-1", OTHER: "lab-2"}),
        (["a" * LONGEST_NAME], [ONE], {ONE: "a" * LONGEST_NAME}),
    ],
)
def test_a_name_is_given_to_the_only_model_or_to_one_of_several(given, judges, found):
    assert server_names(given, judges, judges) == found


def test_a_bare_name_is_the_judges_and_a_proxy_is_named_by_its_own():
    assert server_names(["lab"], [ONE], PANEL) == {ONE: "lab"}
    assert server_names(["openai/b=lab"], [ONE], PANEL) == {OTHER: "lab"}


@pytest.mark.parametrize(
    ("given", "judges", "message"),
    [
        (["lab"], PANEL, "a name for each of 2 judges (openai/a=NAME, openai/b=NAME)"),
        (["openai/a=lab", "openai/b=lab"], PANEL, "openai/a and openai/b need different names"),
        (["openai/a=lab", "openai/a=lab-2"], PANEL, "openai/a has two names, lab and lab-2"),
        (["one", "two"], [ONE], "openai/a has two names"),
        (["openai/c=lab"], PANEL, "'openai/c' is no judge of this run (did you mean openai/"),
        (["metric:rouge2=lab"], ["metric:rouge2"], "metric:rouge2 has no server"),
        (["human=lab"], ["human"], "human has no server"),
    ],
)
def test_a_name_that_belongs_to_no_single_server_is_refused(given, judges, message):
    with pytest.raises(InputError) as refused:
        server_names(given, judges, judges)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "name",
    ["", " lab", "-lab", "la b", "lab\n", "lab\x1b[31m", "https://api.openai.com/v1", "läb", "a" * (LONGEST_NAME + 1)],
)  # fmt: skip
def test_a_name_is_short_and_plain(name):
    with pytest.raises(InputError, match=r"^`judge_name`: expected up to 64 letters, digits"):
        server_names([name], [ONE], [ONE])


def test_probabilities_cannot_be_read_leniently():
    with pytest.raises(InputError, match=r"^`lenient_replies`: with `verdict=logprob`"):
        judge("openai/m", verdict="logprob", lenient=True)

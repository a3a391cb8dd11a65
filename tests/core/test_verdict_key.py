from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.keys import KEY_VERSION, KeyIngredients, digest
from judgeloop.core.records import Call, Item, JudgeIdentity

pytestmark = pytest.mark.smoke

IDENTITY = JudgeIdentity("openai", "gpt-4.1", {"prompt": "hash", "endpoint": "https://api.openai.com/v1"})
CALL = Call(Item("q1", "2+2?", "4", "sums"), ("small", "large"), ("4", "four"))


def key(identity=IDENTITY, call=CALL, *, blind=True):
    return KeyIngredients.of(identity, call, blind=blind).key


def note(call=CALL, *, blind=True):
    """What a key is made of, as it is kept beside the verdict."""
    return KeyIngredients.of(IDENTITY, call, blind=blind).to_note()


def item(**changes):
    return replace(CALL, item=replace(CALL.item, **changes))


CHANGED = [
    pytest.param(replace(IDENTITY, provider="vllm"), CALL, id="the provider"),
    pytest.param(replace(IDENTITY, model="gpt-4.1-mini"), CALL, id="the model"),
    pytest.param(replace(IDENTITY, parameters=dict(IDENTITY.parameters) | {"prompt": "other"}), CALL, id="a parameter"),
    pytest.param(replace(IDENTITY, parameters={"prompt": "hash"}), CALL, id="fewer parameters"),
    pytest.param(IDENTITY, item(prompt="2+2"), id="the prompt"),
    pytest.param(IDENTITY, item(reference="four"), id="the reference"),
    pytest.param(IDENTITY, item(reference=None), id="no reference"),
    pytest.param(IDENTITY, replace(CALL, outputs=("4", "Four")), id="an output"),
    pytest.param(IDENTITY, replace(CALL, outputs=("four", "4")), id="the order of the outputs"),
    pytest.param(IDENTITY, replace(CALL, outputs=("4f", "our")), id="where one output ends"),
]


@pytest.mark.parametrize(("identity", "call"), CHANGED)
@pytest.mark.parametrize("blind", [True, False])
def test_whatever_can_change_a_verdict_changes_its_key(identity, call, blind):
    assert key(identity, call, blind=blind) != key(blind=blind)


NAMES = [
    pytest.param(replace(CALL, systems=("small", "huge")), id="a system's name"),
    pytest.param(replace(CALL, systems=("large", "small")), id="which name is first"),
    pytest.param(item(id="q2"), id="the item's id"),
]


@pytest.mark.parametrize("call", NAMES)
def test_names_change_the_key_of_a_judge_that_answers_by_name_alone(call):
    assert key(call=call) == key()
    assert key(call=call, blind=False) != key(blind=False)


@pytest.mark.parametrize("blind", [True, False])
def test_the_group_and_the_order_of_parameters_do_not_change_the_key(blind):
    turned = replace(IDENTITY, parameters=dict(reversed(IDENTITY.parameters.items())))
    assert key(turned, item(group="algebra"), blind=blind) == key(blind=blind)


@pytest.mark.parametrize("call", [CALL, replace(CALL, systems=("small",), outputs=("4",))])
@pytest.mark.parametrize("blind", [True, False])
def test_a_note_has_the_order_in_which_it_is_hashed(call, blind):
    made_of = replace(KeyIngredients.of(IDENTITY, call, blind=blind), again_of="gpt-4.1-mini").to_note()
    assert list(made_of) == sorted(made_of)


def test_a_key_is_made_of_named_ingredients_with_texts_by_their_hash():
    parts = note()
    assert parts == {
        "key version": str(KEY_VERSION),
        "provider": "openai",
        "model": "gpt-4.1",
        "judge's prompt": "hash",
        "judge's endpoint": "https://api.openai.com/v1",
        "prompt text": digest("2+2?"),
        "reference": digest("4"),
        "output shown first": digest("4"),
        "output shown second": digest("four"),
    }
    named = {"item": "q1", "systems": '["small", "large"]'}
    assert note(blind=False) == parts | named
    assert key() == digest(parts)


RATING = replace(CALL, systems=("small",), outputs=("4",))


@pytest.mark.parametrize("call", [CALL, RATING])
@pytest.mark.parametrize("blind", [True, False])
def test_a_note_read_back_has_the_key_it_was_written_with(call, blind):
    assert KeyIngredients.from_note(note(call, blind=blind)).key == key(call=call, blind=blind)


@pytest.mark.parametrize("other", [{}, {"provider": "openai"}, {"output rated": digest("4")}])
def test_a_note_about_something_else_holds_no_ingredients(other):
    assert KeyIngredients.from_note(other) is None


@pytest.mark.parametrize("blind", [True, False])
def test_a_rating_shares_no_key_with_a_comparison_of_two_outputs_that_read_the_same(blind):
    for systems in (("small", "large"), ("small", "small")):
        compared = replace(CALL, systems=systems, outputs=("4", "4"))
        assert key(call=RATING, blind=blind) != key(call=compared, blind=blind)


@given(first=st.text(st.characters()), second=st.text(st.characters()))
def test_any_two_texts_have_different_keys(first, second):
    calls = [
        replace(CALL, outputs=(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), ""))
        for text in (first, second)
    ]
    assert (key(call=calls[0]) == key(call=calls[1])) == (calls[0] == calls[1])


def test_a_digest_does_not_depend_on_the_order_of_keys():
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1}) != digest({"b": [2, 1], "a": 1})


def test_a_digest_refuses_what_json_cannot_say():
    with pytest.raises(ValueError, match="Out of range float"):
        digest({"a": float("nan")})


@pytest.mark.parametrize(
    ("call", "blind", "golden"),
    [
        (CALL, True, "146f26be7b84bf48c02744ff81146e979e747f54e406b7e1325c4c3d0ae1a9c2"),
        (CALL, False, "2d9fb62059a544cd254f0267b4aa6b696e43fd897e533166c9fd14de95e40bca"),
        (RATING, True, "ad4a80b7d6b6e410c8f872c0b70611e934efa278ffa93ae34288e21da06a3430"),
        (RATING, False, "05d1f10d8173b9ccdb190afc62335bbb5abe8e64de31ca605951ffc6cfff1d33"),
    ],
)
def test_a_key_is_the_same_in_every_version(call, blind, golden):
    assert key(call=call, blind=blind) == golden

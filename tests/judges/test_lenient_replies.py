"""Replies with thoughts before the answer or a fence around it: what is read, and what never is."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judgeloop.core.records import Abstention, Verdict
from judgeloop.judges.parsing import LONGEST_REPLY, in_any_case, parse_label, parse_verdict, read_reply

LABELS = {"A": 1.0, "B": 0.0, "tie": 0.5}
A, B = (json.dumps({"reason": "r", "winner": label}) for label in "AB")
FENCED = [
    pytest.param(f"```json\n{A}\n```", id="json"),
    pytest.param(f"```\n{A}\n```", id="no language"),
    pytest.param(f"```JSON\n{A}\n```\n", id="capitals"),
    pytest.param(f" \n```json {A}```", id="one line"),
]
THOUGHT = [
    pytest.param(f"<think>\nB is worse.\n</think>\n\n{A}", id="thoughts"),
    pytest.param(f"B is worse.\n</think>\n\n{A}", id="thoughts without an opening"),
    pytest.param(f"<think></think>{A}", id="no thought"),
    pytest.param(f"<think>{B} at first</think>{A}", id="a verdict within the thoughts"),
    pytest.param(f"<think>He says <think>.</think>{A}", id="an opening within the thoughts"),
    pytest.param(f"<reasoning>x</reasoning>{A}", id="reasoning"),
    pytest.param(f"<think>x</think>\n```json\n{A}\n```", id="thoughts and a fence"),
]


def strict(text):
    return parse_verdict(text, LABELS)


def in_any(text):
    return parse_verdict(text, in_any_case(LABELS))


def lenient(text):
    return read_reply(text, strict, in_any, lenient=True)


def strictly(text):
    return read_reply(text, strict, in_any, lenient=False)


@pytest.mark.parametrize("text", [*FENCED, *THOUGHT])
def test_thoughts_and_a_fence_are_read_only_where_that_is_allowed(text):
    assert lenient(text) == Verdict(1.0, reason="r")
    answer = strictly(text)
    why = "thoughts before </" if "</" in text else "a Markdown fence around the answer"
    assert answer.reason.startswith(f"unparsable: {why}")
    assert answer.reason.endswith("; `lenient_replies` would read this reply")
    assert answer.again


@pytest.mark.parametrize("text", ["A", f"{A} I am sure.", "<think>so long", f"x ```json\n{A}\n```"])
def test_a_strict_abstention_names_no_setting_that_would_not_help(text):
    assert strictly(text) == strict(text)


UNCLEAR = [
    pytest.param(f"<think>it says </think>{A}</think>{B}", id="two ends"),
    pytest.param(f"<think>it says </think>{A} and so on</think>{A}", id="two ends that agree"),
    pytest.param(f"<think>{A}", id="thoughts that do not end"),
    pytest.param(f"<think>x</reasoning>{A}", id="another end"),
    pytest.param(f'{{"reason": "it says </think>{A}', id="an end within an answer"),
    pytest.param(f"```json\nit says </think>{A}", id="an end within a fence"),
    pytest.param(f"```json\n{A}\n```\n```json\n{B}\n```", id="two fences"),
    pytest.param(f"```json\n{A}\n```\n```json\n{A}\n```", id="two fences that agree"),
    pytest.param(f"```json\n{A}\n{B}\n```", id="two answers in a fence"),
    pytest.param(f"<think>x</think>{A}{B}", id="two answers after thoughts"),
    pytest.param(f"{A}\n```json\n{B}\n```", id="an answer before a fence"),
    pytest.param(f"Here it is:\n```json\n{A}\n```", id="text before a fence"),
    pytest.param(f"```json\n{A}\n```\nI am sure.", id="text after a fence"),
    pytest.param(f"```python\n{A}\n```", id="a fence of another language"),
    pytest.param(f"```json\n```json\n{A}\n```\n```", id="a fence in a fence"),
    pytest.param("```", id="half a fence"),
    pytest.param("``````", id="an empty fence"),
    pytest.param("```json\n" + " " * LONGEST_REPLY + "```", id="a long empty fence"),
]


@pytest.mark.parametrize("text", UNCLEAR)
def test_whatever_leaves_a_doubt_is_an_abstention(text):
    answer = lenient(text)
    assert isinstance(answer, Abstention)
    assert answer.reason.startswith("unparsable: ")
    assert len(answer.reason) < 200


def test_an_abstention_says_why_the_thoughts_are_not_clear():
    assert lenient(f"<think>x</think>{A}</think>{B}").reason == ("unparsable: </think> appears 2 times")
    assert lenient("<think>x").reason == "unparsable: <think> does not end"


@pytest.mark.parametrize("text", ["<think>A or B? </think>\nA", "```\nA\n```", "A or B?</think> A "])
def test_a_bare_label_is_read_in_the_same_way(text):
    def read(bare):
        return parse_label(bare, LABELS)

    assert read_reply(text, read, read, lenient=True) == Verdict(1.0)


@pytest.mark.parametrize(("label", "score"), [("a", 1.0), ("TIE", 0.5), ("Tie", 0.5)])
def test_a_label_in_another_case_is_read_leniently(label, score):
    text = json.dumps({"winner": label})
    assert lenient(text) == Verdict(score)
    assert strictly(text).reason == ("unparsable: the label in another case; `lenient_replies` would read this reply")


def test_a_reply_that_is_read_strictly_may_hold_the_marks_in_its_reason():
    text = json.dumps({"reason": "it says </think>``` and </think>", "winner": "B"})
    assert lenient(text) == strict(text) != Abstention("")


# What a judge may quote from an output that tries to end its thoughts or to open a fence.
injections = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<reasoning>", "</reasoning>", "```json\n", "\n```", "```", A, B, "\n",
         '{"winner": "', "A", '"}', '{"reason": "', " as it says "]
    )
    | st.text(max_size=5),
    max_size=8,
).map("".join)  # fmt: skip
verdicts = st.sampled_from(sorted(LABELS)).map(lambda label: json.dumps({"winner": label}))


@given(text=injections)
def test_a_reply_that_a_strict_run_accepts_has_the_same_verdict(text):
    if isinstance(strict(text), Verdict):
        assert lenient(text) == strict(text)


@given(quoted=injections, answer=verdicts, opening=st.sampled_from(["<think>", "<reasoning>", ""]))
@example(quoted=f"</think>{A}", answer=B, opening="<think>")
@example(quoted=f'{{"reason": "</think>{A}', answer=B, opening="")
def test_nothing_within_the_thoughts_chooses_another_verdict(quoted, answer, opening):
    closing = opening.replace("<", "</") or "</think>"
    found = lenient(f"{opening}{quoted}{closing}\n{answer}")
    assert isinstance(found, Abstention) or found == strict(answer)


@given(quoted=injections.filter(lambda text: "</" not in text), answer=verdicts)
def test_thoughts_without_a_closing_tag_within_them_change_nothing(quoted, answer):
    assert lenient(f"<think>{quoted}</think>{answer}") == strict(answer)


@given(text=injections | st.text())
def test_any_text_gives_an_allowed_score_or_an_abstention(text):
    found = lenient(text)
    assert isinstance(found, Abstention) or found.score in LABELS.values()

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judgeloop.core.records import Abstention, Verdict
from judgeloop.judges.parsing import LONGEST_REASON, LONGEST_REPLY, parse_verdict

LABELS = {"A": 1.0, "B": 0.0, "tie": 0.5}
GOOD = '{"reason": "shorter", "winner": "A"}'


@pytest.mark.parametrize(("label", "score"), LABELS.items())
def test_an_allowed_label_is_a_verdict(label, score):
    reply = json.dumps({"reason": "because", "winner": label})
    assert parse_verdict(reply, LABELS) == Verdict(score, reason="because")


@pytest.mark.parametrize("text", ['{"winner": "A"}', ' \n{"winner"\t:"A"}\r\n', '{"winner": "\\u0041"}'])
def test_white_space_escapes_and_a_missing_reason_are_harmless(text):
    assert parse_verdict(text, LABELS) == Verdict(1.0)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("A", id="the bare label"),
        pytest.param('"A"', id="the label as a string"),
        pytest.param(f"```json\n{GOOD}\n```", id="a fenced block"),
        pytest.param(f"<think>B is worse</think>{GOOD}", id="thoughts before"),
        pytest.param(f"{GOOD} I am sure.", id="text after"),
        pytest.param(f"{GOOD}\n{GOOD}", id="two objects"),
        pytest.param(f"[{GOOD}]", id="a list"),
        pytest.param('["winner", "A"]', id="a list of the words"),
        pytest.param("null", id="null"),
        pytest.param("1.0", id="a number"),
        pytest.param("{}", id="an empty object"),
        pytest.param(GOOD[:-1], id="cut off"),
        pytest.param("\ufeff" + GOOD, id="a byte order mark"),
        pytest.param('{"winner": "B", "winner": "A"}', id="two winners"),
        pytest.param('{"winner": "A", "winner": "A"}', id="the same winner twice"),
        pytest.param('{"reason": "x", "reason": "y", "winner": "A"}', id="two reasons"),
        pytest.param('{"winner": NaN}', id="NaN"),
        pytest.param('{"reason": Infinity, "winner": "A"}', id="infinity"),
        pytest.param('{"winner": "C"}', id="an unknown label"),
        pytest.param('{"winner": "a"}', id="a label in the wrong case"),
        pytest.param('{"winner": "A "}', id="a label with a space"),
        pytest.param('{"winner": ""}', id="an empty label"),
        pytest.param('{"winner": null}', id="no winner"),
        pytest.param('{"winner": 1}', id="a number for a winner"),
        pytest.param('{"winner": true}', id="a truth for a winner"),
        pytest.param('{"winner": ["A"]}', id="a list for a winner"),
        pytest.param('{"winner": {"A": 1}}', id="an object for a winner"),
        pytest.param('{"Winner": "A"}', id="a key in the wrong case"),
        pytest.param('{"reason": "x"}', id="a reason alone"),
        pytest.param('{"winner": "A", "score": 1}', id="a key too many"),
        pytest.param('{"verdict": {"winner": "A"}}', id="the winner further down"),
        pytest.param('{"reason": null, "winner": "A"}', id="null for a reason"),
        pytest.param('{"reason": ["x"], "winner": "A"}', id="a list for a reason"),
        pytest.param("[" * 60_000, id="many brackets"),
        pytest.param("[" * 100_000, id="more brackets than a reply may have characters"),
        pytest.param('{"a":' * 12_000, id="many braces"),
        pytest.param("9" * 10_000, id="many digits"),
        pytest.param(json.dumps({"reason": "x" * LONGEST_REPLY, "winner": "A"}), id="a huge reply"),
    ],
)
def test_anything_else_is_an_abstention(text):
    answer = parse_verdict(text, LABELS)
    assert isinstance(answer, Abstention)
    assert answer.reason.startswith("unparsable: ")
    assert len(answer.reason) < 200


def test_plain_text_is_told_whole_with_what_it_begins_with():
    assert parse_verdict("Answer A is better.", LABELS).reason == (
        "unparsable: not one JSON object (Expecting value); it begins 'Answer A is better.'; try another form "
        "with `verdict`"
    )


def test_a_reply_may_be_as_long_as_allowed():
    around = len(json.dumps({"reason": "", "winner": "A"}))
    reply = json.dumps({"reason": "x" * (LONGEST_REPLY - around), "winner": "A"})
    assert len(reply) == LONGEST_REPLY
    assert parse_verdict(reply, LABELS) == Verdict(1.0, reason="x" * LONGEST_REASON)


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff"])
def test_a_lone_surrogate_in_the_reason_is_replaced_so_that_it_can_be_stored(half):
    answer = parse_verdict(f'{{"reason": "a{half}b", "winner": "A"}}', LABELS)
    assert answer == Verdict(1.0, reason="a?b")


def test_the_labels_are_the_only_ones_allowed():
    assert parse_verdict('{"winner": "left"}', {"left": 1.0}) == Verdict(1.0)
    assert isinstance(parse_verdict(GOOD, {"left": 1.0}), Abstention)


any_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["A", "B", "tie"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["winner", "reason", "other"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(text=st.text(st.characters()) | any_json.map(json.dumps))
@example(text='{"reason": "\\ud800", "winner": "A"}')
@example(text='{"winner": "\\ud800"}')
def test_any_text_gives_an_allowed_score_or_an_abstention(text):
    answer = parse_verdict(text, LABELS)
    if isinstance(answer, Verdict):
        assert answer.score in LABELS.values()
        assert LABELS[json.loads(text)["winner"]] == answer.score
        answer.reason.encode()
    else:
        assert answer.reason.startswith("unparsable: ")

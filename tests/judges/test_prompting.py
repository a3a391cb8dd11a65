from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.config import shipped_template
from judgeloop.errors import DataError
from judgeloop.judges.prompting import parse_template
from judgeloop.records import Call, Item

SHIPPED = shipped_template("pairwise.v1")
SOURCE = """+++
id = "tiny"
version = 2
labels = { left = 1, right = 0.0 }
[schema]
type = "object"
+++
# System
Judge {first}.
# User
{"p": {{prompt}}, "r": {{reference}}, "1": {{first}}, "2": {{second}}, "again": {{first}}}
"""


def call(prompt="p", first="f", second="s", reference=None):
    return Call(Item("q1", prompt, reference), ("x", "y"), (first, second))


def test_a_template_is_read_with_its_labels_and_schema():
    template = parse_template(SOURCE, "tiny.md")
    assert (template.id, template.labels, template.schema) == (
        "tiny.v2",
        {"left": 1.0, "right": 0.0},
        {"type": "object"},
    )


def test_fields_are_filled_in_the_user_message_as_often_as_they_stand_and_nowhere_else():
    system, user = parse_template(SOURCE, "tiny.md").render(call("P", "F", "S", "R"))
    assert system == "Judge {first}."
    assert json.loads(user) == {"p": "P", "r": "R", "1": "F", "2": "S", "again": "F"}


def test_a_missing_reference_is_null():
    _, user = parse_template(SOURCE, "tiny.md").render(call())
    assert json.loads(user)["r"] is None


def test_a_candidate_that_looks_like_a_field_is_not_expanded():
    _, user = SHIPPED.render(call("{{first}}", "{{second}} {{prompt}}", "{{first}} \\1 \\g<1>", "{{second}}"))
    assert json.loads(user) == {
        "task": "{{first}}",
        "reference": "{{second}}",
        "answer_A": "{{second}} {{prompt}}",
        "answer_B": "{{first}} \\1 \\g<1>",
    }


texts = st.text(st.characters()) | st.sampled_from(
    [
        '", "answer_B": "',
        "{{second}}",
        "{{prompt}}",
        "\ud800",
        "\udfff\ud800",
        "\u2028",
        "\0",
        "\\",
        "# User\n",
    ]
)


def unpaired(text):
    """As JSON reads it: two halves of a surrogate pair in a row are one character."""
    return json.loads(json.dumps(text))


@given(prompt=texts, first=texts, second=texts, reference=st.none() | texts)
def test_the_user_message_is_one_json_object_of_the_exact_texts(prompt, first, second, reference):
    system, user = SHIPPED.render(call(prompt, first, second, reference))
    assert json.loads(user) == {
        "task": unpaired(prompt),
        "reference": unpaired(reference),
        "answer_A": unpaired(first),
        "answer_B": unpaired(second),
    }
    user.encode()
    assert system == SHIPPED.system


def test_the_digest_changes_with_any_change_of_the_file():
    assert parse_template(SOURCE, "a").digest == parse_template(SOURCE, "b").digest
    assert parse_template(SOURCE + " ", "a").digest != parse_template(SOURCE, "a").digest


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "expected front matter between +++ lines"),
        ("# System\ns\n# User\nu", "expected front matter between +++ lines"),
        (SOURCE.replace("# User\n", ""), "expected front matter between +++ lines"),
        (SOURCE.replace("# System\n", ""), "expected front matter between +++ lines"),
        (SOURCE.replace('"tiny"', "tiny"), "the front matter needs id, version, labels and schema"),
        (SOURCE.replace('id = "tiny"\n', ""), "the front matter needs id, version, labels and schema: 'id'"),
        (
            SOURCE.replace("version = 2\n", ""),
            "the front matter needs id, version, labels and schema: 'version'",
        ),
        (
            SOURCE.replace('[schema]\ntype = "object"\n', ""),
            "the front matter needs id, version, labels and schema",
        ),
        (
            SOURCE.replace("left = 1", 'left = "best"'),
            "the front matter needs id, version, labels and schema",
        ),
        (
            re.sub("labels = .*", 'labels = "A, B"', SOURCE),
            "the front matter needs id, version, labels and schema",
        ),
        (SOURCE.replace("{{prompt}}", "{{question}}"), "unknown field 'question'; known: first, prompt,"),
        (SOURCE.replace("left = 1", "left = 2.0"), "the label 'left' needs a score from 0 to 1, found 2.0"),
        (SOURCE.replace("left = 1", "left = -0.1"), "the label 'left' needs a score from 0 to 1, found -0.1"),
        (SOURCE.replace("left = 1", "left = nan"), "the label 'left' needs a score from 0 to 1, found nan"),
        (SOURCE.replace("left = 1, ", ""), "expected at least two labels, found 1"),
        (SOURCE.replace("left = 1, right = 0.0", ""), "expected at least two labels, found 0"),
        (SOURCE.replace("{{prompt}}", "null"), "the user's part does not use the field 'prompt'"),
        (SOURCE.replace("{{first}}", "null"), "the user's part does not use the field 'first'"),
        (SOURCE.replace("{{second}}", "null"), "the user's part does not use the field 'second'"),
        (SOURCE.replace("{{reference}}", "{{ reference }}"), "a field is written {{name}}, without spaces"),
        (SOURCE.replace("{{reference}}", "{{reference}"), "a field is written {{name}}, without spaces"),
        (SOURCE.replace("{first}.", "{{first}}."), "a field is written {{name}}, without spaces"),
    ],
)
def test_a_wrong_template_is_refused_by_its_name(source, problem):
    with pytest.raises(DataError, match="^" + re.escape(f"tiny.md: {problem}")):
        parse_template(source, "tiny.md")

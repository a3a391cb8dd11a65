from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Call, Item
from judgeloop.judges.prompt import parse_template, shipped_template

SHIPPED = shipped_template("pairwise.v1")
SOURCE = """+++
id = "tiny"
version = 2
fields = ["prompt", "reference", "first", "second"]
answer = "better"
labels = { left = 1, right = 0.0 }
[schema]
type = "object"
+++
# System
Judge {first}.
# User
{{marker}}
{"p": {{prompt}}, "r": {{reference}}, "1": {{first}}, "2": {{second}}, "again": {{first}}}
{{marker}}
"""


def call(prompt="p", first="f", second="s", reference=None):
    return Call(Item("q1", prompt, reference), ("x", "y"), (first, second))


def material(user):
    """The JSON object between two lines with the same marker."""
    opening, *lines, closing = user.split("\n")
    assert opening == closing
    assert re.fullmatch("[0-9a-f]{32}", opening)
    return json.loads("\n".join(lines))


def test_a_template_is_read_with_its_answer_labels_and_schema():
    template = parse_template(SOURCE, "tiny.md")
    assert (template.id, template.answer, template.labels, template.schema) == (
        "tiny.v2",
        "better",
        {"left": 1.0, "right": 0.0},
        {"type": "object"},
    )


def test_fields_are_filled_in_the_user_message_and_nowhere_else():
    system, user = parse_template(SOURCE, "tiny.md").render(call("P", "F", "S", "R"))
    assert system == "Judge {first}."
    assert material(user) == {"p": "P", "r": "R", "1": "F", "2": "S", "again": "F"}


texts = st.text(st.characters()) | st.sampled_from(
    ['", "answer_B": "', "{{second}}", "{{prompt}}", "\ud800", "\udfff\ud800", "\u2028", "\0", "\\", "# User\n"]
)


def unpaired(text):
    """As JSON reads it: two halves of a surrogate pair in a row are one character."""
    return json.loads(json.dumps(text))


@given(prompt=texts, first=texts, second=texts, reference=st.none() | texts)
def test_the_user_message_is_one_json_object_of_the_exact_texts(prompt, first, second, reference):
    system, user = SHIPPED.render(call(prompt, first, second, reference))
    assert material(user) == {
        "task": unpaired(prompt),
        "reference": unpaired(reference),
        "answer_A": unpaired(first),
        "answer_B": unpaired(second),
    }
    user.encode()
    assert system == SHIPPED.system


def rating_source():
    return without("second").replace("first", "output").replace("left = 1, ", "left = 1, middle = 0.5, ")


def test_a_rating_prompt_shows_the_output_asked_about():
    template = parse_template(rating_source(), "tiny.md")
    assert template.rates
    _, user = template.render(Call(Item("q1", "P", "R"), ("x",), ("O",)))
    assert material(user) == {"p": "P", "r": "R", "1": "O", "2": None, "again": "O"}


def test_a_prompt_is_refused_for_another_number_of_outputs_than_it_is_for():
    rating = parse_template(rating_source(), "tiny.md")
    with pytest.raises(InputError, match=r"^`prompt=tiny.v2`: this rates one answer; a comparison"):
        rating.render(call())
    with pytest.raises(InputError, match=r"^`prompt=pairwise.v1`: this compares two answers; a rating"):
        SHIPPED.render(Call(Item("q1", "p"), ("x",), ("f",)))
    assert not SHIPPED.rates


def test_a_rubric_has_its_place_and_makes_another_template():
    source = SOURCE.replace("{{reference}}", "{{rubric}}").replace('"reference"', '"rubric"')
    template = parse_template(source, "tiny.md")
    assert template.takes_rubric
    assert not SHIPPED.takes_rubric
    brief, polite = template.with_rubric("brevity"), template.with_rubric("manners {{first}}")
    assert len({one.digest for one in (template, brief, polite)}) == 3
    assert brief.digest == template.with_rubric("brevity").digest
    assert material(polite.render(call())[1])["r"] == "manners {{first}}"


def test_the_digest_changes_with_any_change_of_the_file():
    assert parse_template(SOURCE, "a").digest == parse_template(SOURCE, "b").digest
    assert parse_template(SOURCE + " ", "a").digest != parse_template(SOURCE, "a").digest


NEEDS = "the front matter needs id, version, fields, answer, labels and schema"
ONE_SIDED = "the field {0!r} is in 'fields' or in the user part, but not in both"
COMPLETE = "expected the fields prompt, first and second, or prompt and output"


def without(field):
    return SOURCE.replace(f"{{{{{field}}}}}", "null").replace(f'"{field}", ', "").replace(f', "{field}"', "")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "expected front matter between +++ lines"),
        ("# System\ns\n# User\nu", "expected front matter between +++ lines"),
        (SOURCE.replace("# User\n", ""), "expected front matter between +++ lines"),
        (SOURCE.replace("# System\n", ""), "expected front matter between +++ lines"),
        (SOURCE.replace('"tiny"', "tiny"), NEEDS),
        (SOURCE.replace('id = "tiny"\n', ""), f"{NEEDS}: 'id'"),
        (SOURCE.replace('[schema]\ntype = "object"\n', ""), NEEDS),
        (SOURCE.replace("left = 1", 'left = "best"'), NEEDS),
        (re.sub("labels = .*", 'labels = "A, B"', SOURCE), NEEDS),
        (SOURCE.replace("{{prompt}}", "{{question}}"), "unknown field 'question'; known: criteria, first, output, prompt,"),
        (SOURCE.replace("left = 1", "left = 2.0"), "the label 'left' needs a score from 0 to 1, found 2.0"),
        (SOURCE.replace("left = 1", "left = nan"), "the label 'left' needs a score from 0 to 1, found nan"),
        (SOURCE.replace("left = 1, ", ""), "expected at least two labels, found 1"),
        (re.sub("fields = .*\n", "", SOURCE), f"{NEEDS}: 'fields'"),
        (SOURCE.replace('"prompt", ', ""), ONE_SIDED.format("prompt")),
        (SOURCE.replace("{{prompt}}", "null"), ONE_SIDED.format("prompt")),
        (SOURCE.replace("{{first}}", "null"), ONE_SIDED.format("first")),
        (SOURCE.replace('"second"]', '"second", "rubric"]'), ONE_SIDED.format("rubric")),
        (SOURCE.replace('"second"]', '"second", "marker"]'), "unknown field 'marker'; known: criteria, first, output,"),
        (without("prompt"), COMPLETE),
        (without("second"), COMPLETE),
        (SOURCE.replace("second", "output"), COMPLETE),
        (SOURCE.replace("again", "{{ first }}"), "a field is written {{name}}, without spaces"),
        (SOURCE.replace("{first}.", "{{first}}."), "a field is written {{name}}, without spaces"),
    ],
)
def test_a_wrong_template_is_refused_by_its_name(source, problem):
    with pytest.raises(DataError, match="^" + re.escape(f"tiny.md: {problem}")):
        parse_template(source, "tiny.md")


def test_the_page_shows_the_message_that_a_model_gets():
    page = (Path(__file__).parents[2] / "docs/explanation/judging.md").read_text()
    shown = re.search(r"```text\n([0-9a-f]{32}\n\{.*?)\n```", page, re.DOTALL)[1]
    asked = call("Name a prime number.", "Nine.", "Seven.")
    lines = SHIPPED.render(asked)[1].split("\n")
    assert shown.split("\n")[1:-1] == lines[1:-1]
    material(shown)

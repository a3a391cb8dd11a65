from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from judgeloop.core.errors import InputError
from judgeloop.core.records import Call, Item
from judgeloop.judges.criteria import OVERALL, Criteria, Criterion
from judgeloop.judges.prompt import shipped_template, template_for

SHIPPED = sorted(path.stem for path in (Path(__file__).parents[2] / "prompts").glob("*.md"))
CALL = Call(Item("i", "the task", "the right answer"), ("a", "b"), ("one answer", "another"))
OWN = """+++
id = "mine"
version = 3
fields = ["prompt", "first", "second"]
answer = "winner"
labels = { A = 1.0, B = 0.0 }
[schema]
type = "object"
+++
# System
Judge.
# User
{{prompt}} {{first}} {{second}}
"""


RATING = {"rating": True}


def chosen(*, verdict="schema", prompt=None, rubric=None, rating=False):
    return template_for(verdict, prompt, rubric, rating=rating)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_prompt_parses_and_renders_all_that_it_names(name):
    template = shipped_template(name)
    assert template.id == name
    assert template.rates == name.startswith("rating")
    filled = template.with_rubric("brevity") if template.takes_rubric else template
    if template.takes_criteria:
        filled = template.with_criteria(Criteria((Criterion("tone", "Is it polite?"),), OVERALL))
    system, user = filled.render(replace(CALL, outputs=CALL.outputs[: 1 if template.rates else 2]))
    # A marker at random would move the probabilities of a decision model.
    shown = json.loads(user if template.decides else "\n".join(user.split("\n")[1:-1]))
    assert shown["task"] == "the task"
    assert "one answer" in shown.values()
    assert ("another" in shown.values()) == name.startswith("pairwise")
    for field in shown:
        assert f'"{field}"' in system, "every field is explained"
    assert "{{" not in system + user


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_schema_allows_the_labels_and_no_other(name):
    template = shipped_template(name)
    schema = template.schema
    if schema["type"] == "object":
        assert set(schema["properties"]) == set(schema["required"]) == {"reason", template.answer}
        assert schema["additionalProperties"] is False
    if template.decides:
        assert list(schema["options"]) == list(template.labels)
    else:
        label = schema if schema["type"] == "string" else schema["properties"][template.answer]
        assert label["enum"] == list(template.labels)
    assert {min(template.labels.values()), max(template.labels.values())} == {0.0, 1.0}


@pytest.mark.parametrize(
    ("values", "id_"),
    [
        ({}, "pairwise.v1"),
        ({"rubric": "brevity"}, "pairwise-rubric.v1"),
        ({"verdict": "tool"}, "pairwise.v1"),
        ({"verdict": "logprob"}, "pairwise-label.v1"),
        ({"prompt": "pairwise-reference.v1"}, "pairwise-reference.v1"),
        ({"prompt": "pairwise-rubric.v1", "rubric": "brevity"}, "pairwise-rubric.v1"),
        (RATING, "rating.v1"),
        (RATING | {"rubric": "brevity"}, "rating-rubric.v1"),
        (RATING | {"verdict": "tool"}, "rating.v1"),
        (RATING | {"verdict": "logprob"}, "rating-label.v1"),
        (RATING | {"verdict": "choice"}, "rating-choice.v1"),
        (RATING | {"prompt": "rating-reference.v1"}, "rating-reference.v1"),
        ({"verdict": "decision"}, "pairwise-decision.v1"),
        ({"verdict": "decision", "rubric": "brevity"}, "pairwise-decision-rubric.v1"),
        (RATING | {"verdict": "decision"}, "rating-decision.v1"),
        (RATING | {"verdict": "decision", "rubric": "brevity"}, "rating-decision-rubric.v1"),
    ],
)
def test_a_question_gets_the_prompt_that_is_named_or_that_suits_it(values, id_):
    found = chosen(**values)
    assert found.id == id_
    assert found.rubric == values.get("rubric")


@pytest.mark.parametrize("name", ["rating.v1", "rating-reference.v1", "rating-rubric.v1", "rating-choice.v1"])
def test_a_rating_is_the_place_of_its_label_on_an_even_scale(name):
    scores = list(shipped_template(name).labels.values())
    assert list(shipped_template(name).labels) == [str(n) for n in range(1, len(scores) + 1)]
    assert scores == pytest.approx([n / (len(scores) - 1) for n in range(len(scores))], abs=1e-6)


def test_a_prompt_of_ones_own_is_read_from_its_file(tmp_path):
    path = tmp_path / "mine.md"
    path.write_text(OWN, encoding="utf-8")
    assert chosen(prompt=str(path)).id == "mine.v3"


def test_a_rubric_may_be_a_file_and_counts_by_its_text(tmp_path):
    path = tmp_path / "rubric.txt"
    path.write_text("\nbrevity, then manners\n", encoding="utf-8")
    typed, read = (chosen(rubric=rubric) for rubric in ("brevity, then manners", str(path)))
    assert read == typed
    assert typed.digest != chosen(rubric="manners").digest


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"prompt": "no-such.v1"}, "`prompt=no-such.v1`: expected a file ending in .md, or one of pairwise"),
        ({"prompt": "nowhere.md"}, "nowhere.md: there is no such file"),
        ({"prompt": "rating.v1"}, "`prompt=rating.v1`: this rates one answer"),
        (
            {"prompt": "pairwise-rubric.v1"},
            "`prompt=pairwise-rubric.v1` has a place for a rubric; give `rubric`, text or a file",
        ),
        ({"prompt": "pairwise.v1", "rubric": "x"}, "`rubric`: the prompt pairwise.v1 has no place for a rubric"),
        ({"verdict": "logprob", "rubric": "x"}, "`rubric`: the prompt pairwise-label.v1 has no place for a rubric"),
        ({"verdict": "logprob", "prompt": "pairwise.v1"}, "`verdict=logprob` needs a prompt with two labels"),
        ({"rubric": " \n"}, "`rubric`: the rubric is empty"),
        ({"rubric": ""}, "`rubric`: the rubric is empty"),
        (
            RATING | {"prompt": "pairwise.v1"},
            "`prompt=pairwise.v1`: this compares two answers; a rating needs the field output",
        ),
        (
            RATING | {"verdict": "choice", "prompt": "rating.v1"},
            "`prompt=rating.v1` needs `verdict=schema` or `verdict=tool`, found `verdict=choice`",
        ),
        (
            RATING | {"prompt": "rating-label.v1"},
            "`prompt=rating-label.v1` needs `verdict=choice` or `verdict=logprob`, found `verdict=schema`",
        ),
    ],
)
def test_a_prompt_that_does_not_suit_what_is_asked_of_it_is_refused(values, problem):
    with pytest.raises(InputError, match="^" + re.escape(problem)):
        chosen(**values)

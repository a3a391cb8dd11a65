"""What is made from the code is what the code makes now."""

from __future__ import annotations

import importlib.util
import json
import re

import jsonschema
import pytest
from support.pages import DOCS, ROOT
from support.questions import given, needed

import judgeloop
from judgeloop.cli.files import render_json
from judgeloop.core import errors as exits
from judgeloop.questions.catalogue import QUESTIONS

INCIDENTS = ROOT / "examples" / "incidents"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make", DOCS / "make.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(str(DOCS))  # it imports a script beside it
        spec.loader.exec_module(module)
    return module.made()


def test_pages_made_from_the_code_are_up_to_date(made):
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in made.items()
        if path.suffix != ".svg" and path.read_text(encoding="utf-8") != text
    ]
    assert not stale, "run `python docs/make.py`"


def words(svg):
    """The text of a picture, without its drawing."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>|&#160;", " ", svg.partition("</defs>")[2]))


def test_the_picture_of_the_demo_shows_what_it_prints(made):
    for path, text in made.items():
        if path.suffix == ".svg":
            assert words(path.read_text(encoding="utf-8")) == words(text), "run `python docs/make.py`"


RESULT_SCHEMA = json.loads((DOCS / "reference" / "result.schema.json").read_text(encoding="utf-8"))
FORM = jsonschema.Draft202012Validator(RESULT_SCHEMA)
FILES = [str(INCIDENTS / name) for name in ("lead.jsonl", "central.jsonl", "systems/figures.jsonl")]
GIVEN = {"items": str(INCIDENTS / "items.jsonl"), "max_judgments": 30}


def test_the_published_schema_is_one():
    FORM.check_schema(RESULT_SCHEMA)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_result_has_the_form_of_the_published_schema(question):
    files = given(question.settings(), *FILES).values()
    result = getattr(judgeloop, question.name)(*files, judge="metric:rouge2", **needed(question.settings()), **GIVEN)
    FORM.validate(result.to_dict())
    printed = json.loads(render_json(result))
    FORM.validate(printed)
    own = RESULT_SCHEMA["$defs"][question.name]
    assert set(printed) | {"labels"} == set(own["properties"])
    with pytest.raises(jsonschema.ValidationError):
        FORM.evolve(schema=own).validate(printed | {"another": 1})


def test_every_field_of_a_result_says_what_it_holds():
    silent = [
        name
        for definition in RESULT_SCHEMA["$defs"].values()
        for name, schema in definition["properties"].items()
        if not schema.get("description") and name != "job"
    ]
    assert not silent


def test_the_page_of_exit_codes_has_those_of_the_code():
    page = (DOCS / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    codes = {value for name, value in vars(exits).items() if name.startswith("EXIT_")}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == {0, *codes}

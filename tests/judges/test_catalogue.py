"""Judges by name: every row of the catalogue, and what it makes of a name as typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.judges import LOCAL, judge

from judgeloop.core.errors import InputError
from judgeloop.judges.catalogue import JUDGES, parse_spec
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.settings.setting import declared

each_row = pytest.mark.parametrize("row", JUDGES, ids=lambda row: row.kind)


@each_row
def test_a_row_is_in_the_help_as_it_is_typed(row):
    assert row.form == row.kind + row.mark + row.rest
    assert bool(row.mark) == bool(row.rest)
    assert row.form in declared(CompareSettings)["judge"].setting.help


@each_row
def test_a_row_has_a_name_of_its_own_that_leads_back_to_it(row):
    assert parse_spec(f"{row.kind}{row.mark}{row.rest}") == (row, row.rest)


@pytest.mark.parametrize("row", [row for row in JUDGES if not row.alone], ids=lambda row: row.kind)
def test_a_row_makes_the_judge_that_its_name_says(row, tmp_path):
    table = tmp_path / "verdicts.csv"
    table.write_text("item_id,model,score\nq1,a,1\n", encoding="utf-8")
    typed = {"metric": "exact", "replay": str(table), "python": "operator:eq"}
    rest = typed.get(row.kind, "a-model" if row.mark else "")
    made = judge(f"{row.kind}{row.mark}{rest}", {}, base_url=LOCAL, allow_plugins=True, offline=True)
    assert made.identity.name == f"{row.kind}{row.mark}{Path(rest).name}"
    assert made.by_hand == (row.kind == "human")


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("", ""),
        ("gpt-4.1", " (did you mean openai/gpt-4.1?)"),
        ("openai", " (did you mean openai/MODEL?)"),
        ("vllm", " (did you mean vllm/NAME?)"),
        ("Human", " (did you mean human?)"),
        ("Metric:exact", " (did you mean metric:exact?)"),
        ("GPT-4.1", " (did you mean openai/gpt-4.1?)"),
        ("claude-sonnet-4-5", " (did you mean anthropic/claude-sonnet-4-5?)"),
        ("opnai/gpt-4.1", " (did you mean openai/gpt-4.1?)"),
        ("Human:me", " (did you mean human?)"),
        ("judges/mine.py:judge", " (did you mean python:judges.mine:judge?)"),
        ("./mine.py", " (did you mean python:mine:FUNCTION?)"),
        ("gemini-2.5-flash", " (did you mean openai/gemini-2.5-flash with `judge_base_url=URL`, its server?)"),
        ("ollama/qwen3:4b", " (did you mean openai/qwen3:4b with `judge_base_url=URL`, its server?)"),
        ("openrouter/meta/llama", " (did you mean openai/meta/llama with `judge_base_url=URL`, its server?)"),
        ("http://localhost:8000/v1", " (an address is given by `judge_base_url`, the model by openai/MODEL)"),
        ("https://x.example/v1", " (an address is given by `judge_base_url`, the model by openai/MODEL)"),
        ("file.csv", ""),
    ],
)  # fmt: skip
def test_an_unknown_judge_is_refused_with_those_known_and_what_was_meant(spec, meant):
    said = f"`judge={spec}`: there is no such judge{meant}; expected one of openai/MODEL"
    with pytest.raises(InputError, match="^" + re.escape(said)):
        judge(spec)


@pytest.mark.parametrize("spec", ["openai/", "openai:", "anthropic/", "vllm/", "metric:", "replay:", "python:"])
def test_a_judge_without_what_belongs_behind_its_name_is_refused(spec):
    message = f"`judge={spec}`: the name ends after {spec[-1]!r}; expected one of openai/MODEL"
    with pytest.raises(InputError, match="^" + re.escape(message)):
        judge(spec)


def test_a_model_name_may_contain_slashes():
    assert judge("openai/org/model", base_url=LOCAL).identity.model == "org/model"


@pytest.mark.parametrize("name", ["openai:org/model", "anthropic:claude-x", "vllm:org/model"])
def test_a_judge_may_be_typed_with_a_colon(name):
    given = {"environment": {}, "base_url": LOCAL}
    assert judge(name, **given).identity == judge(name.replace(":", "/"), **given).identity


@pytest.mark.parametrize("spec", ["python:m", "python:m:", "python::f"])
def test_a_plugin_is_named_by_module_and_function(spec):
    with pytest.raises(InputError, match="^`judge=" + re.escape(spec) + "`: expected python:MODULE:FUNCTION$"):
        judge(spec, {}, allow_plugins=True)


@pytest.mark.parametrize(
    ("spec", "verdict", "form", "known"),
    [
        ("anthropic/claude-m", "logprob", "anthropic/MODEL", "schema or tool"),
        ("openai/m", "tool", "openai/MODEL", "schema or logprob"),
        ("vllm/m", "tool", "vllm/NAME", "schema or choice or logprob"),
    ],
)
def test_a_form_of_verdict_that_a_provider_does_not_know_is_refused(spec, verdict, form, known):
    message = f"`verdict={verdict}`: {form} does not support this form of reply; expected {known}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        judge(spec, {}, base_url=LOCAL, verdict=verdict)

"""`.env.example` names every variable that judgeloop reads, and says who may set it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from make_environment import NOT_READ, OF_THE_CALLER, OF_THE_FILE, example, providers, variables
from support.commandline import judgeloop

from judgeloop.core.errors import InputError
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.catalogue import JUDGES, judge_from_spec
from judgeloop.judges.prompt import shipped_template
from judgeloop.ledger.records import KEY_VARIABLE
from judgeloop.providers.endpoint import JUDGE_KEY
from judgeloop.settings.run_settings import CEILING, JudgeSettings, within_ceiling

ROOT = Path(__file__).parents[2]
KNOWN = {one.name: one for one in variables()}
# Texts in the code that look like a variable of the environment: names in capitals.
VARIABLE = re.compile(r"\b([A-Z][A-Z0-9]*_(?:API_KEY|BASE_URL|PROXY|CERT_FILE|CERT_DIR)|JUDGELOOP_[A-Z_]*[A-Z])\b")


class Recording(dict):
    """An environment that notes what is asked of it."""

    def __init__(self, **values):
        super().__init__(values)
        self.asked = set()

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)


def test_the_example_has_each_variable_once_and_no_other():
    text = example()
    named = re.findall(r"^# ([A-Z][A-Z0-9_]*)=", text, re.MULTILINE)
    assert sorted(named) == sorted(KNOWN)
    assert not re.findall(r"^[^#\n]", text, re.MULTILINE), "nothing is set by copying the file"


def test_each_has_a_sentence_of_its_own():
    for one in KNOWN.values():
        assert re.search(r"\w{3}.*[.\])]$", one.help), one
    text = example()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    for number, line in enumerate(lines):
        if re.match(r"# [A-Z][A-Z0-9_]*=", line):
            assert lines[number - 1].startswith("# "), line


def test_variables_of_the_judges_the_ceiling_and_the_ledger_are_listed():
    environment = Recording()
    for row in JUDGES:
        if row.remote:
            for url in (None, "http://127.0.0.1:1/v1"):
                options = JudgeOptions(
                    template=shipped_template("pairwise.v1"), environment=environment, base_url=url, price="1,1"
                )
                with suppress(InputError):  # without a key, or without an address
                    judge_from_spec(f"{row.kind}/m", options)
    within_ceiling(JudgeSettings.of(judge="human"), environment)
    asked = {name.upper() for name in environment.asked if name}
    assert {"OPENAI_API_KEY", JUDGE_KEY, CEILING, "ALL_PROXY"} <= asked
    assert asked <= set(KNOWN)


def test_no_name_in_the_code_is_missing():
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "judgeloop").rglob("*.py"))
    found = set(VARIABLE.findall(code)) - {"JUDGELOOP_MAX_JUDGMENTS_TEST", KEY_VARIABLE}  # the latter is refused
    assert {"OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "SSL_CERT_FILE", "JUDGELOOP_MAX_USD"} <= found
    assert found <= set(KNOWN)


def test_the_providers_are_those_of_the_catalogue():
    assert [one.name for one in providers()] == [row.kind for row in JUDGES if row.remote]


@pytest.mark.parametrize("one", [one for one in KNOWN.values() if one.part == OF_THE_CALLER], ids=lambda one: one.name)
def test_a_found_file_with_what_only_the_caller_may_set_is_refused(one):
    Path(".env").write_text(f"{one.name}=1\n")
    for command in (
        "compare a b",
        "doctor",
        "replay a",
        "budget set 1",
        "ledger create",
        "ledger merge a",
        "ledger prune",
        "ledger settle 1 1",
        "ledger show",
        "runs list",
    ):
        result = judgeloop(*command.split())
        if "only the caller may set it" in result.output:
            return
    pytest.fail(result.output)


@pytest.mark.parametrize("one", [one for one in KNOWN.values() if one.part == NOT_READ], ids=lambda one: one.name)
def test_a_found_file_with_what_is_not_read_there_changes_nothing(one):
    Path(".env").write_text(f"{one.name}=/nowhere\n")
    result = judgeloop("doctor", "--judge", "metric:exact")
    assert result.exit_code == 0
    assert "sets" not in result.stderr


def test_a_found_file_may_set_the_rest():
    parts = {one.part for one in KNOWN.values()}
    assert parts == {OF_THE_FILE, OF_THE_CALLER, NOT_READ}
    Path(".env").write_text("OPENAI_API_KEY=k\nJUDGELOOP_BUDGET=1\nJUDGELOOP_RATING=true\n")
    result = judgeloop("doctor", "--judge", "metric:exact")
    assert ".env sets OPENAI_API_KEY, budget, rating" in result.stderr


def test_a_variable_that_is_named_after_a_flag_sets_the_flag():
    result = judgeloop("runs", "list", JUDGELOOP_JSON="1")
    assert "sets nothing" not in result.output

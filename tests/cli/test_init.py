"""`judgeloop init`: the commented settings file, and the JSON schema of settings files."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import MISSING
from itertools import product
from pathlib import Path

import jsonschema
import pytest
from make_schema import file_value, form_of, words
from make_starter import OWN_FILE, address
from support.commandline import judgeloop
from support.questions import needed

from judgeloop.catalogue import REPLACED
from judgeloop.cli.commands import FIELDS
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.settings.setting import caller, declared
from judgeloop.settings.sources import read_settings

SETTING = re.compile(r"^#(?=[a-z])", re.MULTILINE)  # a "#" with no space before a setting


@pytest.fixture
def written():
    """The file that `init` writes into the working folder."""
    assert judgeloop("init").exit_code == 0
    return Path("judgeloop.toml")


@pytest.fixture
def uncommented(written):
    """The same with every setting set."""
    text, count = SETTING.subn("", written.read_text(encoding="utf-8"))
    assert count > 10
    written.write_text(text, encoding="utf-8")
    return written


def read(table):
    return read_settings(FIELDS, table, None)


def test_the_file_begins_with_its_schema_and_has_a_section_a_command(written):
    text = written.read_text(encoding="utf-8")
    assert text.startswith("#:schema ")
    sections = re.findall(r"^\[(.*)\]$", text, re.MULTILINE)
    assert sections == ["shared", *(one.name for one in QUESTIONS), "generate", "doctor", "replay"]
    assert max(map(len, text.splitlines())) <= 100


def test_the_file_as_it_is_changes_nothing(written):
    for table in FIELDS:
        found = read(table)
        assert found.values == {}
        assert found.files == {"judgeloop.toml": []}


@pytest.mark.usefixtures("written")
def test_a_run_with_the_file_as_it_is_is_the_run_without(pair):
    with_file = json.loads(judgeloop(*pair).stdout)
    without = json.loads(judgeloop(*pair, "--config", "none").stdout)
    assert (with_file["run"], with_file["winner"]) == (without["run"], without["winner"])


def test_with_every_setting_set_the_file_loads_for_every_command(uncommented):
    for table in FIELDS:
        assert "not taken" not in str(read(table).files)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_the_examples_are_values_that_a_question_takes(question, uncommented):
    known = declared(question.settings())
    found = {name: one for name, one in read((question.name,)).values.items() if name in known}
    places = {
        name: ["a.jsonl", "b.jsonl"] if field.repeated else "a.jsonl"
        for name, field in known.items()
        if field.setting.argument
    }
    config = question.settings().of(**needed(question.settings()) | places | found)
    assert config.judge == ("openai/gpt-4.1-mini",)
    assert {"risk", "budget", "items", "rubric"} <= found.keys()


def test_every_common_setting_that_a_found_file_may_set_is_in_the_file(uncommented):
    tables = tomllib.loads(uncommented.read_text(encoding="utf-8"))
    for table, fields in FIELDS.items():
        if table == OWN_FILE:
            continue
        section = tables["shared"] | tables.get(table[0], {})
        for key, field in fields.items():
            if field.setting.common and len(table) == 1 and field.type is not bool:
                assert (key in section) == (field.setting.may_set is not caller), key


def test_a_value_shown_is_the_default_where_there_is_one(uncommented):
    tables = tomllib.loads(uncommented.read_text(encoding="utf-8"))
    for question in QUESTIONS:
        fields = declared(question.settings())
        for flag, value in (tables["shared"] | tables[question.name]).items():
            field = fields.get(flag.replace("-", "_"))
            if field and field.default not in {MISSING, None, ()}:
                assert value == file_value(field.default), flag


def test_a_folder_can_be_named():
    Path("evals").mkdir()
    result = judgeloop("init", "evals")
    assert result.exit_code == 0
    assert "evals/judgeloop.toml" in result.stdout
    assert Path("evals/judgeloop.toml").is_file()
    assert not Path("judgeloop.toml").exists()


def test_a_file_is_not_overwritten_nor_is_the_target_of_a_link(tmp_path):
    Path("judgeloop.toml").write_text("[compare]\nrisk = 0.2\n")
    result = judgeloop("init")
    assert result.exit_code == 2
    assert "judgeloop.toml: this file exists, and is not overwritten" in result.stderr
    assert Path("judgeloop.toml").read_text() == "[compare]\nrisk = 0.2\n"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "judgeloop.toml").symlink_to(tmp_path / "nothing.toml")
    assert judgeloop("init", "new").exit_code == 2
    assert not (tmp_path / "nothing.toml").exists()


def test_init_reads_no_settings():
    Path("judgeloop.toml").write_text("this is no TOML")
    Path("evals").mkdir()
    assert judgeloop("init", "evals").exit_code == 0


def test_the_schema_is_the_published_one_once_the_repository_has_an_address():
    host, raw = "https://github.com", "https://raw.githubusercontent.com/people/judgeloop/v1.2.3"
    found = address("1.2.3", {"Repository": f"{host}/people/judgeloop"})
    assert found == f"{raw}/docs/reference/judgeloop.schema.json"
    assert address("1.2.3", {"Repository": f"{host}/OWNER/judgeloop"}) == "judgeloop.schema.json"


@pytest.fixture(scope="module")
def valid():
    """A function that says whether a settings file is valid by the schema."""
    schema = json.loads(judgeloop("init", "--schema").stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    return lambda text: validator.is_valid(tomllib.loads(text))


def test_the_schema_accepts_the_file_with_and_without_its_comments(valid, uncommented):
    assert valid(uncommented.read_text(encoding="utf-8"))
    assert valid("")


ACCEPTED = [
    "[compare]\nrisk = '5%'\nbudget = '$2'\ndeadline = '30m'\njson = true\n",
    "[compare]\njudge = 'human'\noutput = 'r.json'\nbudget = 'none'\n",
    "[shared]\nrisk = [0.1, 0.2]\nhalf-width = 0.05\njudge-price = '1,2'\n",
    "[replay]\nrisk = [0.1]\n[estimate]\nclusters = 'auto'\nrequire-score = 1\n",
    "[replay]\njob = 'select'\nselectors = ['race']\nsizes = '5:20:5'\nrisk = 0.2\n",
    "[ledger.show]\nledger = 'l.sqlite'\n[runs.list]\njson = true\n",
    "[select]\nepsilon = 'auto'\nmap = 'prompt=question'\n[compare]\nrepresent = 'minilm:model'\n",
]
REFUSED = [
    "[compare]\nbugdet = 1\n",
    "[compare]\nhalf-width = 0.1\n",
    "[shared]\nbugdet = 1\n",
    "[compar]\n",
    "[ledger.explane]\n",
    "[ledger]\nseed = 3\n",
    "compare = 1\n",
    "[compare]\nrisk = 2\n",
    "[compare]\nrisk = 'five'\n",
    "[compare]\nseed = 'one'\n",
    "[compare]\nseed = 1.5\n",
    "[compare]\nmax-judgments = 0\n",
    "[compare]\norder = 'sorted'\n",
    "[compare]\nselector = 'difuse'\n",
    "[compare]\njudge = 3\n",
    "[compare]\njudge = []\n",
    "[compare]\njson = 'yes'\n",
    "[compare]\ndeadline = 'soon'\n",
    "[compare]\nbudget = 'much'\n",
    "[estimate]\nhalf-width = 0.5\n",
    "[select]\nrule = 'sequential'\n",
    "[compare]\nrule = 'sequential'\n",
    "[replay]\nrules = ['within-gap']\n",
    "[pairs.one]\nrule = 'not-worse'\nsystems = ['a', 'b']\n",
]


def test_the_schema_accepts_what_the_commands_accept_and_refuses_what_is_wrong(valid):
    assert [text for text in ACCEPTED if not valid(text)] == []
    assert [text for text in REFUSED if valid(text)] == []


def test_the_schema_says_what_stands_in_the_place_of_names_that_are_gone():
    defined = json.loads(judgeloop("init", "--schema").stdout)["definitions"]
    for setting, (gone, instead) in product(("rule", "rules"), REPLACED.items()):
        assert f"{gone} is now {instead}" in defined[setting]["description"]


def test_every_default_and_example_has_the_form_of_its_setting():
    for fields in FIELDS.values():
        for key, field in fields.items():
            for value in (field.default, field.setting.example):
                if value not in {MISSING, None, ()}:
                    found = file_value(value)
                    assert jsonschema.Draft7Validator(form_of(field)).is_valid(found), key


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("risk", 'a number above 0, up to 1, or a share such as "5%"'),
        ("max-judgments", "a whole number from 1"),
        ("order", '"both", "random" or "fixed"'),
        ("items", "a path"),
        ("judge", "text, or a list of such values"),
        ("allow-partial", "true or false"),
        ("budget", "a number of dollars"),
        ("deadline", 'seconds, or text such as "90s", "30m" or "2h"'),
    ],
)
def test_the_form_of_a_setting_is_said_in_words(key, said):
    assert words(form_of(FIELDS["compare",][key])) == said


def test_the_schema_says_what_only_a_named_file_may_set(valid):
    defined = json.loads(judgeloop("init", "--schema").stdout)["definitions"]
    assert defined["judge-price"]["description"].endswith("Only in a file named by --config.")
    assert "--config" not in defined["risk"]["description"]

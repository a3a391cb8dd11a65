"""A key of the environment that stands in a flag is in no file, in no output and in no message."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.commandline import judged_by, judgeloop
from support.outputs import write_good_and_poor

from judgeloop.cli.files import FIGURE, FORMS
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.settings.setting import declared, key

KEY = "sk-Planted_0123456789-abcdefgh"
SHOWN = 11  # characters: fewer may stand where a line was cut
SYSTEMS = ("a.jsonl", "b.jsonl")
FLAGS = sorted(
    {
        key(name)
        for one in QUESTIONS
        for name, field in declared(one.settings()).items()
        if not field.setting.argument and not field.setting.file_only
    }
)
FILES = [f"result{ending}" for ending in FORMS]
OF_LABELS = {"truth", "scale", "zone", "require-agreement", "require-kappa", "not-worse-than-a-person"}
ASKED = ("--judge", "metric:rouge1")


@pytest.fixture(autouse=True)
def two_systems(monkeypatch):
    write_good_and_poor(Path(), 12, reference="good")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def everything(*arguments):
    """What a command prints and writes."""
    files = [part for file in FILES for part in ("-o", file) if arguments[0] != "suite" or not file.endswith(FIGURE)]
    done = judgeloop(*arguments, *files)
    texts = {"stdout": done.stdout, "stderr": done.stderr}
    for path in (*map(Path, FILES), *Path("result").glob("*")):
        if path.is_file():
            texts[str(path)] = path.read_text()
    return done.exit_code, texts


def showing(texts):
    """Which texts show a part of the key, wherever it was wrapped or escaped."""
    parts = [KEY[at : at + SHOWN] for at in range(len(KEY) - SHOWN + 1)]
    bare = {name: "".join(text.replace("\\", "").split()) for name, text in texts.items()}
    return [name for name, text in bare.items() if any(part in text for part in parts)]


@pytest.mark.parametrize("flag", FLAGS)
def test_a_key_in_a_flag_is_in_no_output_and_in_no_message(flag):
    for value in (KEY, f"x,{KEY}"):
        question = "estimate" if flag == "require-score" else "agree" if flag in OF_LABELS else "compare"
        systems = SYSTEMS[:1] if question == "estimate" else SYSTEMS
        _, texts = everything(question, *systems, *ASKED, f"--{flag}", value)
        assert showing(texts) == []


@pytest.mark.parametrize("flag", ["--rubric", "--names"])
def test_every_file_is_whole_with_the_mask_in_place_of_the_key(flag, chat_server):
    value = {"--rubric": f"be {KEY} brief", "--names": f"x,{KEY}"}[flag]
    judge = judged_by(chat_server) if flag == "--rubric" else ASKED
    code, texts = everything("compare", *SYSTEMS, *judge, flag, value, "--json")
    assert code in {0, 3}, texts["stderr"]
    assert showing(texts) == []
    assert {*FILES} < set(texts)
    assert json.loads(texts["result.json"]) == json.loads(texts["stdout"])
    ET.fromstring(texts["result.xml"])
    masked = {name for name, text in texts.items() if "[masked key]" in text.replace("\\", "")}
    assert masked >= ({"result.html"} if flag == "--rubric" else {*FILES})


def test_the_summary_of_a_suite_shows_no_key():
    Path("night.toml").write_text('[pairs.x]\nsystems = ["a.jsonl", "b.jsonl"]\n')
    code, texts = everything(
        "suite", "night.toml", *ASKED, "--budget", "1", "--names", f"x,{KEY}", "--not-worse", "0.1"
    )
    assert code in {0, 5}, texts["stderr"]
    assert showing(texts) == []


@pytest.mark.parametrize("typed", [(KEY,), ("compare", "a", "b", KEY), ("compare", f"--{KEY}"), ("runs", KEY)])
def test_a_key_that_is_no_word_of_a_command_is_not_repeated(typed):
    done = judgeloop(*typed)
    assert done.exit_code == 2
    assert showing({"all": done.output}) == []
    assert "[masked key]" in done.output


def test_a_key_of_a_word_masks_no_word_of_judgeloops_own(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "testsuite")
    everything("compare", *SYSTEMS, *ASKED)
    assert Path("result.xml").read_text().count("<testsuite ") == 1


@pytest.mark.parametrize("flag", ["--rubric", "--risk"])
def test_a_key_that_only_a_found_file_of_variables_holds_is_masked_too(monkeypatch, flag):
    monkeypatch.delenv("OPENAI_API_KEY")
    Path(".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    _, texts = everything("compare", *SYSTEMS, *ASKED, flag, f"x{KEY}")
    assert showing(texts) == []
    assert "[masked key]" in str(texts).replace("\\", "")

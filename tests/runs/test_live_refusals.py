"""What is refused of systems that answer live, before anything is asked: when a run is prepared."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.code import command, function
from support.live import ITEMS, write_items, write_outputs

from judgeloop.core.errors import InputError
from judgeloop.questions.compare.question import CompareQuestion
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.questions.estimate.question import EstimateQuestion
from judgeloop.questions.estimate.settings import EstimateSettings
from judgeloop.questions.select.question import SelectQuestion
from judgeloop.questions.select.settings import SelectSettings
from judgeloop.runs.inputs import live_systems

LIVE, FILE = "openai/better", "candidate.toml"
URL = "http://127.0.0.1:9/v1"
ENVIRONMENT = {
    "OPENAI_API_KEY": "sk-own",
    "JUDGELOOP_JUDGE_API_KEY": "of-the-judge",
    "ANTHROPIC_API_KEY": "sk-another",
    "JUDGELOOP_LEDGER_KEY": "of-the-ledger",
    "MINE": "of-mine",
    "PATH": os.environ["PATH"],
}
SERVER = "postgresql://me@127.0.0.1/ledger"
GIVEN = {"items": "items.jsonl", "judge": ("openai/judge",), "judge_price": "1,10"}


@pytest.fixture(autouse=True)
def _files(own_modules):
    write_items(Path("items.jsonl"))
    write_outputs(Path("old.jsonl"))


def prepared(second=LIVE, *system, first="old.jsonl", **more):
    """A comparison that is ready; `system` are options of the second system, without its name."""
    entries = [f"{second}.{one}" for one in system]
    given = GIVEN | {"system": entries, "judge_base_url": URL, "allow_plugins": True} | more
    return CompareQuestion().prepare(CompareSettings.of(first=first, second=second, **given), ENVIRONMENT)


def refused(said, *given, **more):
    with pytest.raises(InputError) as caught:
        prepared(*given, **more)
    assert said in str(caught.value)


MODELS = [
    ("openai/", [], {}, "the name ends after '/'"),
    ("openai/a=b", [], {}, "expected the name of a model without ="),
    (LIVE, ["pric=1,1"], {}, "did you mean price?"),
    (LIVE, [], {"system": ["openai/other.price=1,1"]}, "belongs to no system of this run"),
    (LIVE, ["samples=4"], {}, "another item tells more than another output"),
    (LIVE, ["tier=flex"], {}, "a slower one at a lower price may refuse"),
    (LIVE, ["batch=true"], {}, "come after hours"),
    (LIVE, ["api=responses"], {}, "asked through Chat Completions"),
    ("command:cat", ["keep=true"], {}, "a server may stay"),
    (LIVE, ["max-tokens=0"], {}, "expected a whole number, 1 or more"),
    (LIVE, ["timeout=0"], {}, "expected a duration"),
    (LIVE, ["outputs-since=yesterday"], {}, "expected a date such as 2026-11-23, or today"),
    (LIVE, [f"base-url={URL}", "key-variable=NOWHERE"], {}, "this variable is not set"),
    (LIVE, ["key-variable=MINE"], {}, f"expected the address that this key is for: `system={LIVE}.base-url"),
    ("mine.toml", ["key-variable=OPENAI_API_KEY"], {}, "belongs to its provider"),
    ("mine.toml", ["key-variable=MINE"], {}, "`system=mine.toml.base-url=URL`"),
    (LIVE, ["key-variable=ANTHROPIC_API_KEY"], {}, "belongs to its provider"),
    (LIVE, ["base-url=https://api.openai.com/v1", "key-variable=ANTHROPIC_API_KEY"], {}, "its provider"),
    (LIVE, [f"base-url={URL}", "key-variable=JUDGELOOP_LEDGER_KEY"], {}, "belongs to judgeloop"),
    (LIVE, [f"base-url={URL}", "key-variable=OPENAI_API_KEY"], {}, "belongs to its provider"),
    (LIVE, ["key-variable=JUDGELOOP_JUDGE_API_KEY"], {}, "belongs to the judge"),
    ("mine.toml", [], {"system": ["openai/named.price=1,1"]}, "belongs to no system of this run"),
    (LIVE, [f"base-url={URL}"], {}, f"`system={LIVE}.price=IN,OUT`"),
    (LIVE, [], {"items": None}, "give the file of items with `items=FILE`"),
    (LIVE, ["price=1,1"], {"first": LIVE}, "are the same system"),
    ("gpt-5-mini", [], {}, "there is no such file; expected a file or openai/MODEL, anthropic/MODEL"),
    ("gpt-4.1", [], {}, "there is no such file; expected a file or openai/MODEL"),
    ("mistral/large", [], {}, "there is no such file; expected a file or openai/MODEL"),
    ("openai/mine.jsonl", [], {}, "for the file of this name, give ./openai/mine.jsonl"),
    ("openai/mine.jsonl", [], {"items": None}, "for the file of this name, give ./openai/mine.jsonl"),
    (LIVE, ["price=1,1"], {"selector": "diffuse"}, f"looks at the outputs of all items, and {LIVE}"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "more", "said"), MODELS)
def test_what_is_wrong_with_a_model_is_refused(name, options, more, said):
    Path("openai").mkdir()
    write_outputs(Path("openai/mine.jsonl"), "good")
    Path("mine.toml").write_text('model = "anthropic/claude-sonnet-5"\nname = "openai/named"')
    refused(said, name, *options, **more)


def test_selectors_that_know_no_outputs_take_systems_that_answer_live():
    assert prepared(LIVE, "price=1,1", selector="input-cluster").pool.live == (1,)


def test_with_a_dot_a_path_that_looks_like_a_model_is_a_file():
    Path("openai").mkdir()
    write_outputs(Path("openai/mine.jsonl"), "good")
    assert prepared("./openai/mine.jsonl").pool.live == ()


CODE = [
    ("command:", [], {}, "the name ends after ':'"),
    ("command:no-such-program --x", [], {}, "there is no command 'no-such-program'"),
    ("command:./plain.txt", [], {}, "./plain.txt is not executable; allow it with chmod +x"),
    ("command:sh -c 'echo", [], {}, "this is no command: No closing quotation"),
    ("python:m", [], {}, "expected python:MODULE:FUNCTION"),
    ("python:judges/m.py:f", [], {}, "a module is named without .py: python:judges.m:f"),
    ("python:own_nowhere:answer", [], {}, "No module named 'own_nowhere'"),
    ("exec:./run", [], {}, "did you mean command:./run?"),
    ("file://my/agent.py:answer", [], {}, "did you mean python:my.agent:answer?"),
    ("./agent.py:answer", [], {}, "did you mean python:agent:answer?"),
    ("file:///data/old.jsonl", [], {}, "did you mean /data/old.jsonl?"),
    ("command:cat", ["max-cost=free"], {}, "dollars for a call, such as 0.02"),
    ("command:cat", ["pass-env=A B"], {}, "names of environment variables"),
    ("command:cat", ["pass-env=NOWHERE"], {}, "NOWHERE is not set"),
    ("command:cat", ["pass-env=JUDGELOOP_JUDGE_API_KEY"], {}, "no settings or keys of judgeloop"),
    ("command:cat", ["concurrency=0"], {}, "a whole number, 1 or more"),
    ("command:cat", ["base-url=http://x"], {}, "has no effect: command:… takes"),
    ("command:cat", ["max-tokens=7"], {}, "has no effect"),
    ("command:cat", [], {"first": "command:cat"}, "are the same system"),
    ("command:cat", [], {"ledger_must_exist": True}, "`system=command:cat.version=TEXT`"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "more", "said"), CODE)
def test_what_is_wrong_with_code_is_refused(name, options, more, said):
    from judgeloop.ledger.opening import open_ledger

    Path("plain.txt").write_text("x")
    open_ledger(Path(".judgeloop/ledger.sqlite")).close()
    cost = ["max-cost=0"] if name.startswith("command:") else []
    refused(said, name, *cost, *options, **more)


def test_a_ledger_on_a_server_needs_a_version_of_what_says_nothing_itself():
    entries = ("command:cat.max-cost=0",)
    given = GIVEN | {"ledger": SERVER, "allow_plugins": True, "budget": None}

    def live(*more):
        config = CompareSettings.of(first="old.jsonl", second="command:cat", system=(*entries, *more), **given)
        return live_systems(config, ENVIRONMENT, offline=False)

    with pytest.raises(InputError, match=r"a ledger on a server needs `system=command:cat\.version"):
        live()
    assert live("command:cat.version=7")[1].lasts


@pytest.mark.parametrize("kind", ["command", "function"])
def test_code_needs_the_callers_leave_and_a_cost(kind):
    source = "def answer(prompt):\n    return 'good'\n"
    name = command(source) if kind == "command" else function(source, "leave")
    refused("runs your own code; allow it with `allow_plugins`", name, allow_plugins=False)
    refused(f"`system={name}.max-cost=0` if it is free", name)


ROW = {"context": {"n": 1}, "gold": "4", "reference": "r", "group": "g", "target": "t", "answer": "a"}


def with_columns():
    rows = ({"id": f"item-{n}", "prompt": f"What is {n} and {n}?"} | ROW for n in range(ITEMS))
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("prompt, reference", "no system is told it"),
        ("group", "no system is told it"),
        ("prompt, contxt", "has no such column (did you mean context?)"),
        ("prompt, target", "needs 'target', and the item 'item-0' has no such column"),
        ("prompt, answer", "needs 'answer'"),
        ("prompt, /", "takes 'prompt' by its place"),
    ],
)
def test_a_function_that_needs_what_no_system_is_told_is_refused(parameters, said):
    with_columns()
    name = function(f"def answer({parameters}):\n    return 'x'\n", f"p{abs(hash(parameters))}")
    refused(said, name, "max-cost=0")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("{{promptt}}", "no such column (did you mean prompt?)"),
        ("{{prompt}} {{reference}}", "the field 'reference', and the item"),
    ],
)
def test_a_description_that_reads_what_no_system_is_told_is_refused(prompt, said):
    with_columns()
    Path(FILE).write_text(f'model = "{LIVE}"\nprompt = "{prompt}"\n')
    refused(said, FILE, "price=1,1")


def conversation(roles):
    turns = [{"role": role, "content": "x"} for role in roles.split()]
    write_outputs(Path("old.jsonl"), items=1)
    Path("items.jsonl").write_text(json.dumps({"id": "item-0", "messages": turns}))


@pytest.mark.parametrize("roles", ["user user", "user assistant", "system system user", "tool user"])
def test_a_conversation_that_waits_for_own_answers_is_refused(roles):
    conversation(roles)
    refused("expected a conversation that a live system can answer", LIVE, "price=1,1")


@pytest.mark.parametrize("name", [LIVE, FILE])
def test_a_conversation_reaches_a_system_as_messages(name):
    Path(FILE).write_text(f'model = "{LIVE}"\nsystem-prompt = "Be brief."\n')
    turns = "user assistant user" if name == FILE else "system user assistant user"
    conversation(turns)
    ready = prepared(name, "price=1,1")
    sent = ready.inputs.systems[1].sent(ready.pool.items[0])
    assert [role for role, _ in sent] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("roles", "more", "said"),
    [
        ("user assistant user", 'prompt = "Q: {{prompt}}"', "is a conversation with turns"),
        ("system user", "", "is a conversation with a system prompt of its own"),
    ],
)
def test_a_conversation_takes_no_template_and_no_second_system_prompt(roles, more, said):
    conversation(roles)
    Path(FILE).write_text(f'model = "{LIVE}"\nsystem-prompt = "Be brief."\n{more}\n')
    refused(said, FILE, "price=1,1")


def test_two_descriptions_of_the_same_are_refused():
    for name in (FILE, "b.toml"):
        Path(name).write_text(f'model = "{LIVE}"\nname = "of {name}"\n')
    entries = [f"{name}.price=1,1" for name in (FILE, "b.toml")]
    refused("are the same system", "b.toml", first=FILE, system=entries)


def test_selecting_by_all_outputs_is_refused_and_names_generate():
    given = {"selector": "llm-selector", "baseline": "old", "rule": "fixed-budget"}
    config = SelectSettings.of(
        outputs=("old.jsonl", LIVE, "openai/plain"), judge_base_url=URL, **GIVEN, **given,
        system=[f"{name}.price=1,1" for name in (LIVE, "openai/plain")],
    )  # fmt: skip
    with pytest.raises(InputError, match=f"`selector=llm-selector` .* and {LIVE} answers live.*gener"):
        SelectQuestion().prepare(config, ENVIRONMENT)


@pytest.mark.parametrize("more", [{"proxy": "metric:rouge2"}, {"selector": "stratified"}])
def test_an_estimate_by_all_outputs_is_refused(more):
    config = EstimateSettings.of(outputs=LIVE, judge_base_url=URL, system=[f"{LIVE}.price=1,1"], **GIVEN, **more)
    with pytest.raises(InputError, match="looks at the outputs of all items"):
        EstimateQuestion().prepare(config, ENVIRONMENT)

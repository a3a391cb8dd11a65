"""What every system that answers live promises (`protocols.System`)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from support.chat_server import Response, completion, error
from support.live import write_items, write_outputs
from support.messages_server import message, text

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.keys import KeyIngredients, digest, output_note
from judgeloop.core.records import Call, Item, Output
from judgeloop.questions.compare.question import CompareQuestion
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.systems.catalogue import OF_CODE as OPTIONS_OF_CODE
from judgeloop.systems.catalogue import OF_MODELS, make_system
from judgeloop.systems.chat import KEYS_OF_FILE
from judgeloop.systems.options import KEYS, options_of

pytestmark = pytest.mark.usefixtures("own_modules")
SECRETS = {"reference": "the reference", "group": "the group"}
CALL = Call(Item("the id", "the prompt", *SECRETS.values()), ("s",), ())
MODELS = ("openai", "anthropic", "vllm", "toml")
CODE = ("command", "python")
TAKES = dict.fromkeys(MODELS, OF_MODELS) | {"python": OPTIONS_OF_CODE}
TAKES["command"] = OPTIONS_OF_CODE | {"pass-env"}
SOURCE = """
def answer(prompt):
    return " Ünïcode\\n" if prompt == "the prompt" else TOLD
"""
PROGRAM = """
import sys
text = sys.stdin.read()
sys.stdout.reconfigure(encoding="utf-8", newline="")
sys.stdout.write(" Ünïcode\\n\\n" if text == "the prompt" else TOLD)
"""


def name_of(kind):
    """The name of a system of a kind, whose files are written."""
    if kind == "command":
        Path("system.py").write_text(PROGRAM, encoding="utf-8")
        return f"command:{sys.executable} system.py"
    if kind == "python":
        Path("own_contract.py").write_text(SOURCE, encoding="utf-8")
        return "python:own_contract:answer"
    if kind == "toml":
        Path("system.toml").write_text('model = "openai/m"\n')
        return "system.toml"
    return f"{kind}/m"


def system(server, kind, **given):
    """A system of a kind at the server, with options by their keys."""
    name = name_of(kind)
    if kind in CODE:
        values = {"max-cost": "0.01"} | given
    else:
        url = server.root if kind == "anthropic" else server.url
        values = {"base-url": url, "price": "1,10", "key-variable": "MINE"} | given
        server.pages = {"/v1/models": Response(body=b'{"data": [{"id": "m"}]}')}
    entries = [f"{name}.{key}={value}" for key, value in values.items()]
    environment = {"MINE": "key-of-mine-1234", "PATH": os.environ["PATH"]}
    options = options_of(entries, [name], environment, allow_plugins=True)
    return make_system(name, options[name])


def reply(kind, words, *, ended="stop"):
    """A reply of this kind of server, which ended so: stop, length or blocked."""
    if kind == "anthropic":
        stops = {"stop": "end_turn", "length": "max_tokens", "blocked": "refusal"}
        return message(*([text(words)] if words else []), stop=stops[ended])
    return completion(words, finish="content_filter" if ended == "blocked" else ended)


def answered(server, kind, response, **given):
    server.respond = lambda request, number: response

    async def story():
        one = system(server, kind, **given)
        try:
            return one.quote(CALL), await one.answer(CALL)
        finally:
            await one.aclose()

    return asyncio.run(story())


@pytest.mark.parametrize("kind", [*MODELS, *CODE])
def test_the_output_is_the_text_as_it_is_within_its_quote(chat_server, kind):
    quote, found = answered(chat_server, kind, reply(kind, " Ünïcode\n"))
    assert isinstance(found.answer, Output)
    assert (found.answer.text, found.answer.failed, found.answer.ended) == (" Ünïcode\n", "", OutputEnd.WHOLE)
    assert 0 < found.cost_p <= quote.cost_p
    assert found.answer.seconds > 0
    assert found.answer.model == found.model
    assert bool(found.model) == (kind in MODELS)


@pytest.mark.parametrize("kind", MODELS)
def test_it_is_told_of_an_item_only_what_its_key_covers(chat_server, kind):
    answered(chat_server, kind, reply(kind, "x"))
    asked = chat_server.requests[-1]
    assert asked.keys() - {"service_tier"} == {"model", "messages", "max_tokens"}
    sent = json.dumps(asked)
    assert "the prompt" in sent
    assert not [word for word in (*SECRETS.values(), "the id") if word in sent]
    assert system(chat_server, kind).sent(CALL.item) == [("user", "the prompt")]


@pytest.mark.parametrize(
    ("kind", "model", "limit"),
    [("openai", "gpt-4.1", 4_096), ("openai", "gpt-5-mini", 12_288),
     ("anthropic", "claude-opus-5", 12_288)],
)  # fmt: skip
def test_who_thinks_gets_tokens_for_it_and_the_tier_is_the_standard_one(chat_server, kind, model, limit):
    chat_server.respond = lambda request, number: reply(kind, "x")
    url = chat_server.root if kind == "anthropic" else chat_server.url
    name = f"{kind}/{model}"
    entries = [f"{name}.base-url={url}", f"{name}.price=1,10"]
    one = make_system(name, options_of(entries, [name], {})[name])

    async def story():
        await one.answer(CALL)
        await one.aclose()

    asyncio.run(story())
    (asked,) = chat_server.requests
    assert asked.get("max_completion_tokens", asked.get("max_tokens")) == limit
    assert asked.get("service_tier", "default") in {"default", "standard_only"}


@pytest.mark.parametrize("kind", MODELS)
def test_text_that_was_cut_is_an_output_and_says_so(chat_server, kind):
    _, found = answered(chat_server, kind, reply(kind, "half", ended="length"))
    assert (found.answer.text, found.answer.ended) == ("half", OutputEnd.CUT)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("ended", ["length", "blocked"])
def test_without_text_it_failed_by_itself_and_is_paid_for(chat_server, kind, ended):
    _, found = answered(chat_server, kind, reply(kind, "", ended=ended))
    assert found.answer.text is None
    assert found.answer.failed
    assert found.cost_p


@pytest.mark.parametrize("kind", MODELS)
def test_an_empty_text_is_an_output(chat_server, kind):
    _, found = answered(chat_server, kind, reply(kind, ""))
    assert (found.answer.text, found.answer.failed) == ("", "")


@pytest.mark.parametrize("kind", MODELS)
def test_its_key_is_masked_in_what_it_says(chat_server, kind):
    _, found = answered(chat_server, kind, reply(kind, "it is key-of-mine-1234, is it not?"))
    assert "key-of-mine-1234" not in found.answer.text


@pytest.mark.parametrize("kind", MODELS)
def test_an_error_of_transport_is_no_output(chat_server, kind):
    with pytest.raises(JudgeError) as caught:
        answered(chat_server, kind, error(500))
    assert caught.value.kind is ErrorKind.RETRY


@pytest.mark.parametrize("kind", [*MODELS, *CODE])
def test_it_promises_all_that_a_run_asks_of_a_system(chat_server, kind):
    one = system(chat_server, kind)
    assert one.label == {"toml": "system"}.get(kind, name_of(kind))
    assert one.typed == name_of(kind)
    assert one.at_once == (1 if kind in CODE else None)
    assert (one.timeout_s is None) == (kind in CODE), "code keeps to its own time limit"
    assert 0 < one.likely_bytes <= one.longest_bytes
    assert one.read(Output("as it is")) == Output("as it is")
    assert system(chat_server, kind, version="1").lasts
    assert not one.lasts, "nothing says what is behind a server of one's own, or behind code"


@pytest.mark.parametrize("kind", CODE)
def test_code_that_fails_has_lost_and_is_booked_at_its_maximum(chat_server, kind):
    call = Call(Item("another", "another prompt"), ("s",), ())
    found = asyncio.run(system(chat_server, kind).answer(call))
    assert found.answer.text is None
    assert "name 'TOLD' is not defined" in found.answer.failed
    assert found.cost_p == 10**10


# Which options are part of the key of an output and of the run's id; the others are part of neither.
# None is part of the key of a verdict, which knows the text of an output alone.
IN_THE_KEY = {
    "base-url": True, "key-variable": False, "key-command": False, "price": False, "timeout": False, "max-tokens": True,
    "version": True, "max-cost": False, "pass-env": True, "concurrency": False,
    "outputs-since": False,
}  # fmt: skip
OTHER = {
    "base-url": "http://127.0.0.1:9/v1", "key-variable": "OTHER", "key-command": "echo key", "price": "3,4", "timeout": "5s",
    "max-tokens": "77", "version": "2", "max-cost": "0.5", "pass-env": "MINE", "concurrency": "3",
    "outputs-since": "2026-01-01",
}  # fmt: skip
OF_MODEL = {"base-url": "http://127.0.0.1:8/v1", "price": "1,1", "version": "1"}
OF_CODE = {"max-cost": "0.01", "version": "1"}
ENVIRONMENT = {"MINE": "k", "OTHER": "k2", "OPENAI_API_KEY": "k3", "PATH": os.environ["PATH"]}


def keys_of(name, values):
    """The run's id, the key of an output, and the key of a verdict on it."""
    config = CompareSettings.of(
        first="old.jsonl", second=name, items="items.jsonl", judge=("openai/gpt-4.1",),
        system=tuple(f"{name}.{key}={value}" for key, value in values.items()), allow_plugins=True,
    )  # fmt: skip
    ready = CompareQuestion().prepare(config, ENVIRONMENT)
    one, item = ready.inputs.systems[1], ready.pool.items[0]
    output = digest(output_note(one.identity, one.sent(item), ""))
    shown = Call(item, ready.pool.systems, ("one", "another"))
    return ready.run_id, output, KeyIngredients.of(ready.judges[0].identity, shown, blind=True).key


@pytest.fixture
def _files():
    write_items(Path("items.jsonl"))
    write_outputs(Path("old.jsonl"))


TAKEN = [(kind, key) for kind in ("openai", "toml", *CODE) for key in sorted(TAKES[kind])]


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(("kind", "key"), TAKEN)
def test_the_key_of_an_output_and_the_runs_id_follow_the_declaration(kind, key):
    usual = OF_CODE if kind in CODE else OF_MODEL
    name = name_of(kind)
    run, output, verdict = keys_of(name, usual)
    other_run, other_output, other_verdict = keys_of(name, usual | {key: OTHER[key]})
    # What code gives after its time limit is thrown away, so the limit is a part of it.
    expected = IN_THE_KEY[key] or (key == "timeout" and kind in CODE)
    # How old an output may be changes which count in a run, and none of them.
    assert (run != other_run) == (expected or key == "outputs-since")
    assert (output != other_output) == expected
    assert verdict == other_verdict


def test_every_setting_of_systems_is_in_the_table():
    assert set(IN_THE_KEY) == set(OTHER) == set(KEYS) == {key for _, key in TAKEN}


# The keys of a description: another value, and whether it is part of the keys.
DESCRIBED = {
    "model": ('"openai/n"', True),
    "name": ('"another"', False),
    "system-prompt": ('"Be brief."', True),
    "prompt": ('"Q: {{prompt}}"', True),
    "max-tokens": ("77", True),
    "strip-thoughts": ("true", True),
    "output-field": ('"answer"', True),
    "effort": ('"low"', True),
    "temperature": ("0.5", True),
    "top-p": ("0.5", True),
    "frequency-penalty": ("0.5", True),
    "presence-penalty": ("0.5", True),
    "seed": ("5", True),
    "stop": ('["x"]', True),
    "verbosity": ('"low"', True),
    "top-k": ("5", True),
    "min-p": ("0.5", True),
    "repetition-penalty": ("0.5", True),
    "thinking": ("false", True),
}


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("key", DESCRIBED)
def test_what_a_description_says_is_part_of_the_key_but_for_its_name(key):
    value, part = DESCRIBED[key]
    # vLLM takes the parameters that OpenAI does not.
    model = '"openai/m"' if key in {"model", "effort", "verbosity"} else '"vllm/m"'
    Path("system.toml").write_text(f"model = {model}\n")
    run, output, verdict = keys_of("system.toml", OF_MODEL)
    both = {"model": model} | {key: value}
    Path("system.toml").write_text("".join(f"{name} = {text}\n" for name, text in both.items()))
    other_run, other_output, other_verdict = keys_of("system.toml", OF_MODEL)
    assert output != other_output if part else output == other_output
    assert run != other_run, "a name is part of the run's id, as names of files are"
    assert verdict == other_verdict


def test_every_key_of_a_description_is_in_the_table():
    assert set(DESCRIBED) == set(KEYS_OF_FILE)


@pytest.mark.usefixtures("_files")
def test_a_description_of_a_model_alone_shares_outputs_with_the_model():
    Path("system.toml").write_text('model = "openai/m"\n')
    assert keys_of("system.toml", OF_MODEL)[1] == keys_of("openai/m", OF_MODEL)[1]

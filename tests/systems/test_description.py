"""Systems that a `.toml` file describes: what is sent, what is judged, and what such a file may not say."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.chat_server import completion, respond_with
from support.live import system_flags

from judgeloop.core.errors import InputError
from judgeloop.core.records import Call, Item, Output
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.systems.catalogue import make_system
from judgeloop.systems.chat import KEYS_OF_FILE, Description, Reading, read_description
from judgeloop.systems.options import KEYS, options_of

FILE, AT = "candidate.toml", "base-url=http://127.0.0.1:9/v1"


def described(text, name=FILE):
    Path(name).write_text(text, encoding="utf-8")
    return name


def made(text, *options) -> Any:
    """The system that a text describes; it is not asked."""
    name = described(text)
    entries = [f"{name}.{one}" for one in options]
    return make_system(name, options_of(entries, [name], {}, offline=True)[name])


WHOLE = """
model = "openai/better"
system-prompt = "Be brief.\\nSay «{{x}}» never."
prompt = { file = "prompts/user.md" }
max-tokens = 64
temperature = 0.2
top-p = 0.9
seed = 7
stop = "END"
effort = "low"
verbosity = "low"
frequency-penalty = 0.5
"""
REQUEST = (
    '{"frequency_penalty": 0.5, "max_tokens": 64, "messages": [{"content": "Be brief.\\nSay «{{x}}» never.", '
    '"role": "system"}, {"content": "Context: {{prompt}} and \\"quotes\\"\\n{\\"n\\": 3} | What is 3 and 3? |  | '
    '4.5\\n", "role": "user"}], "model": "better", "reasoning_effort": "low", "seed": 7, "stop": ["END"], '
    '"temperature": 0.2, "top_p": 0.9, "verbosity": "low"}'
)


def test_the_prompt_and_the_request_are_these_bytes(chat_server):
    """A change here changes what systems are asked, and so what was judged."""
    Path("prompts").mkdir()
    template = "Context: {{ctx}}\n{{more data}} | {{prompt}} | {{none}} | {{number}}\n"
    Path("prompts/user.md").write_text(template)
    columns = {"ctx": '{{prompt}} and "quotes"', "more data": {"n": 3}, "none": None, "number": 4.5}
    respond_with(chat_server, completion("good"))
    system = made(WHOLE, f"base-url={chat_server.url}", "price=1,1")

    async def story():
        await system.answer(Call(Item("3", "What is 3 and 3?", columns=columns), ("s",), ()))
        await system.aclose()

    asyncio.run(story())
    (sent,) = chat_server.requests
    assert json.dumps(sent, sort_keys=True, ensure_ascii=False) == REQUEST


OF_PROVIDERS = [
    ("anthropic/m", 'thinking = false\nstop = ["x"]\ntop-k = 5', {
        "thinking": {"type": "disabled"}, "stop_sequences": ["x"], "top_k": 5,
    }),
    ("anthropic/m", "thinking = true", {"thinking": {"type": "adaptive"}}),
    ("anthropic/m", 'effort = "high"', {
        "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"},
    }),
    ("vllm/m", "min-p = 0.1\nrepetition-penalty = 1.1\nthinking = false\npresence-penalty = -1", {
        "min_p": 0.1, "repetition_penalty": 1.1, "chat_template_kwargs": {"enable_thinking": False},
        "presence_penalty": -1.0,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text", "fields"), OF_PROVIDERS)
def test_parameters_have_the_names_of_their_provider(model, text, fields):
    sent = made(f'model = "{model}"\n{text}\n', AT).chat.request("call", [("user", "x")])
    assert {key: sent[key] for key in fields} == fields
    plain = {"model", "messages", "max_tokens", "service_tier"}
    assert sent.keys() - plain == fields.keys(), "nothing else is sent"


WRONG = [
    ("", "expected the key 'model', found none"),
    ('model = "openai/m"\nmodle = 1', "there is no key 'modle' (did you mean model?)"),
    ('model = "openai/m"\ntop-k = 3', "openai/… does not take `top-k`; it takes temperature"),
    ('model = "gpt-4"', "'model': expected one of openai/MODEL, anthropic/MODEL, vllm/NAME"),
    ('model = "command:./run"', "'model': expected one of openai/MODEL"),
    ('model = "python:m:f"', "'model': expected one of openai/MODEL"),
    ('model = "openai/a=b"', "'model': expected one of openai/MODEL"),
    ('model = "openai/m"\nname = "a=b"', "'name': expected a name without ="),
    ('model = "openai/m"\ntemperature = 3', "'temperature': expected less than or equal to 2"),
    ('model = "openai/m"\nseed = "1"', "'seed': expected a valid integer"),
    ('model = "openai/m"\nstop = []', "'stop': expected"),
    ('model = "openai/m"\neffort = "hihg"', "'effort': expected 'none', 'minimal', 'low'"),
    ('model = "openai/m"\nprompt = "no field"', "'prompt': expected a text with {{prompt}}"),
    ('model = "openai/m"\nprompt = "{{ prompt }}"', "without spaces"),
    ('model = "openai/m"\nprompt = { file = "nowhere.md" }', "there is no such file"),
    ('model = "openai/m"\nprompt = { file = "../up.md" }', "lies outside the folder of this file"),
    ('model = "openai/m"\nprompt = { file = "/etc/hostname" }', "lies outside the folder"),
    ('model = "openai/m"\nprompt = { file = ".env" }', "is hidden"),
    ('model = "openai/m"\nprompt = { file = "link.md" }', "lies outside the folder"),
    ('model = "openai/m"\nprompt = { file = "large.md" }', "has more than 64 KiB"),
    ('model = "openai/m"\nprompt = { file = "latin.md" }', "is not UTF-8"),
    ('model = "openai/m"\nprompt = { path = "x" }', "'prompt': expected"),
    ('model = "openai/m"\nbase-url = "http://x"', "only the caller may say this of a system"),
    ('model = "openai/m"\ntools = ["search"]', "no tools are run; `command:` or `python:` may run them"),
    ("model = [", "this is no TOML"),
    ("a" * 70_000, "this file has more than 64 KiB"),
    (None, "candidate.toml: there is no such file"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_refused(number):
    Path("../up.md").write_text("secret")
    Path(".env").write_text("OPENAI_API_KEY=sk\n")
    Path("link.md").symlink_to("/etc/hostname")
    Path("large.md").write_text("x" * 70_000)
    Path("latin.md").write_bytes(b"\xff")
    text, said = WRONG[number]
    with pytest.raises(InputError) as caught:
        made(text) if text is not None else make_system(FILE, options_of([], [FILE], {})[FILE])
    assert said in str(caught.value)


THOUGHTFUL, FIELD = Reading("</think>"), Reading(field="answer")
READ = [
    (THOUGHTFUL, "<think>hm</think>\n\ngood", "good", ""),
    (THOUGHTFUL, "<think>and no end", None, "its text has no </think> after which the answer would stand"),
    (Reading("</r>"), "<think></think>x", None, "its text has no </r> after which the answer would stand"),
    (FIELD, '{"why": "hm", "answer": "good"}', "good", ""),
    (FIELD, "no JSON", None, "its text is no JSON object with the field 'answer'"),
    (FIELD, "[1]", None, "its text is no JSON object with the field 'answer'"),
    (FIELD, '{"b": 1}', None, "its text is no JSON object with the field 'answer'"),
    (Reading(), "<think>hm</think>good", "<think>hm</think>good", ""),
]  # fmt: skip


@pytest.mark.parametrize(("reading", "text", "judged", "failed"), READ)
def test_what_is_judged_of_a_text_and_what_cannot_be_read(reading, text, judged, failed):
    assert reading.of(Output(text)) == (judged, failed)


def test_the_callers_limit_goes_before_that_of_the_description():
    text = 'model = "openai/better"\nmax-tokens = 64\n'
    assert made(text).chat.spec.max_output_tokens == 64
    assert made(text, "max-tokens=32").chat.spec.max_output_tokens == 32
    assert not made(text).limit_is_default
    assert made('model = "openai/better"\n').limit_is_default


def test_a_file_with_the_name_of_a_model_is_given_with_a_dot(chat_server):
    Path("openai").mkdir()
    place = str(Path("openai/mine.toml").absolute())
    for path, typed in ((Path(FILE), FILE), (Path("openai/mine.toml"), place)):
        described('model = "openai/better"\n', path)
        options = [one for one in system_flags(chat_server, typed) if one != "--system"]
        config = CompareSettings.of(
            first="old.jsonl", second=path, items="items.jsonl", judge=("openai/judge",), system=options
        )  # fmt: skip
        assert config.second == typed, "a path is a file, and a description is one"
    assert make_system("./openai/mine.toml", options_of([], [""], {}, offline=True)[""]).label == "mine"


# What only the caller may say, and what is priced or has effects that no file may have.
TRUSTED = [
    *KEYS, "key", "api-key", "cost", "code", "allow-plugins", "command", "python", "environment",
]  # fmt: skip
UNKNOWN = [
    "n", "tools", "tool-choice", "stream", "store", "service-tier", "service_tier", "chat-template",
    "chat_template", "extra-body", "extra_body", "headers", "route", "provider", "models", "web-search",
    "logit-bias", "response-format", "metadata", "user", "mcp-servers", "system", "messages",
]  # fmt: skip
NOT_TAKEN = sorted({*TRUSTED, *UNKNOWN} - set(KEYS_OF_FILE))
VALUES = st.one_of(st.booleans(), st.integers(-5, 5), st.text("abc/:.", max_size=8), st.just("http://evil.example/v1"))


def refused_or_known(key, value):
    described(f'model = "openai/m"\n{key} = {json.dumps(value)}\n')
    if key in KEYS_OF_FILE:
        return
    with pytest.raises(InputError, match=r"there is no key|only the caller may say this|this is no TOML"):
        read_description(Path(FILE))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(NOT_TAKEN) | st.from_regex(r"[a-z][a-z_-]{0,12}", fullmatch=True), value=VALUES)
def test_no_key_but_those_of_the_list_takes_effect_in_a_description(key, value):
    refused_or_known(key, value)


@pytest.mark.parametrize("key", NOT_TAKEN)
def test_a_key_of_the_callers_is_refused_in_a_description(key):
    refused_or_known(key, "1")


@settings(deadline=None, max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("key", [*KEYS, *UNKNOWN])
@given(value=VALUES, place=st.sampled_from(["systems", "compare", "shared", ".env"]))
def test_nothing_that_is_found_in_a_checkout_says_anything_of_a_system(key, value, place):
    from judgeloop.cli.commands import FIELDS
    from judgeloop.settings.sources import read_settings

    described('model = "openai/m"\n')
    for name in ("judgeloop.toml", ".env"):
        Path(name).unlink(missing_ok=True)
    entry = f"{FILE}.{key}={value}".replace("\n", "")
    if place == ".env":
        Path(".env").write_text(f"JUDGELOOP_SYSTEM={json.dumps(entry)}\n")
    elif place == "systems":
        Path("judgeloop.toml").write_text(f'[systems."{FILE}"]\n{key} = {json.dumps(value)}\n')
    else:
        Path("judgeloop.toml").write_text(f"[{place}]\nsystem = [{json.dumps(entry)}]\n")
    with pytest.raises(InputError, match="only the caller may set it"):
        read_settings(FIELDS, ("compare",), None)


def test_the_keys_of_a_description_are_none_of_the_callers():
    """But for the limit of tokens: a smaller or larger output changes no price and no address."""
    assert set(KEYS_OF_FILE) & set(KEYS) == {"max-tokens"}
    assert set(KEYS_OF_FILE) == {name.replace("_", "-") for name in Description.model_fields}

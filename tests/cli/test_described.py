"""Systems that a `.toml` file describes: what is sent, what is judged, and what such a file may not say."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.chat_server import completion, used
from support.commandline import judged_by, judgeloop, result_of
from support.live import ITEMS, generated, system_flags, systems_say, write_outputs

from judgeloop.core.errors import InputError
from judgeloop.core.records import Item
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.systems.description import KEYS_OF_FILE, Description, read_description
from judgeloop.systems.options import KEYS

FILE = "candidate.toml"
pytestmark = pytest.mark.usefixtures("files")


def described(text, name=FILE):
    Path(name).write_text(text, encoding="utf-8")
    return name


def comparison(server, *more, system=FILE):
    flags = system_flags(server, system)
    base = ["compare", "old.jsonl", system, "--items", "items.jsonl", *judged_by(server)]
    return [*base, *flags, *more]


def refused(server, text, *more):
    """What is said of a description that is refused, before anything is sent."""
    described(text)
    done = judgeloop(*comparison(server, *more))
    assert (done.exit_code, server.requests) == (2, []), done.output
    return re.sub(r"\s+", " ", done.stderr)


def test_a_described_system_is_asked_and_named_by_its_file(server):
    described('model = "openai/better"\n')
    result = result_of(*comparison(server))
    assert (result["winner"], result["exit_code"]) == ("candidate", 0)
    described('model = "openai/better"\nname = "the new one"\n', "b.toml")
    assert result_of(*comparison(server, system="b.toml"))["winner"] == "the new one"


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
RENDERED = 'Context: {{prompt}} and "quotes"\n{"n": 3} | What is 3 and 3? |  | 4.5\n'
REQUEST = (
    '{"frequency_penalty": 0.5, "max_tokens": 64, "messages": [{"content": "Be brief.\\nSay «{{x}}» never.", '
    '"role": "system"}, {"content": "Context: {{prompt}} and \\"quotes\\"\\n{\\"n\\": 3} | What is 3 and 3? |  | '
    '4.5\\n", "role": "user"}], "model": "better", "reasoning_effort": "low", "seed": 7, "stop": ["END"], '
    '"temperature": 0.2, "top_p": 0.9, "verbosity": "low"}'
)


def test_the_prompt_and_the_request_are_these_bytes(server):
    """A change here changes what systems are asked, and so what was judged."""
    Path("prompts").mkdir()
    template = "Context: {{ctx}}\n{{more data}} | {{prompt}} | {{none}} | {{number}}\n"
    Path("prompts/user.md").write_text(template)
    columns = {"ctx": '{{prompt}} and "quotes"', "more data": {"n": 3}, "none": None, "number": 4.5}
    rows = [
        {"id": f"item-{n}", "prompt": f"What is {n} and {n}?", **columns, "more data": {"n": n}}
        for n in range(ITEMS)
    ]
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    described(WHOLE)
    item = Item("item-3", "What is 3 and 3?", columns=columns)
    assert read_description(Path(FILE)).messages(item)[1][1].encode() == RENDERED.encode()
    systems_say(server, lambda request, n: completion(f"good {n}", usage=used(request)))
    flags = ["JUDGELOOP_MIN_JUDGMENTS=30", "--max-judgments", "30"]
    result_of(*comparison(server, *flags))
    sent = [json.dumps(one, sort_keys=True, ensure_ascii=False) for one in generated(server)]
    assert REQUEST in sent


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
    from judgeloop.systems.catalogue import make_system
    from judgeloop.systems.options import options_of

    described(f'model = "{model}"\n{text}\n')
    entries = [f"{FILE}.base-url=http://127.0.0.1:9/v1"]
    system: Any = make_system(FILE, options_of(entries, [FILE], {}, offline=True)[FILE])
    sent = system.chat.request("call", [("user", "x")])
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
    ('model = "openai/m"\nprompt = "{{promptt}}"', "no such column (did you mean prompt?)"),
    ('model = "openai/m"\nprompt = "{{prompt}} {{reference}}"', "the field 'reference', and the item"),
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
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_refused_before_anything_is_sent(server, number):
    Path("../up.md").write_text("secret")
    Path(".env").write_text("OPENAI_API_KEY=sk\n")
    Path("link.md").symlink_to("/etc/hostname")
    Path("large.md").write_text("x" * 70_000)
    Path("latin.md").write_bytes(b"\xff")
    text, said = WRONG[number]
    assert said in refused(server, text)


def test_there_has_to_be_the_file(server):
    done = judgeloop(*comparison(server))
    assert (done.exit_code, server.requests) == (2, [])
    assert "candidate.toml: there is no such file" in done.stderr


def test_a_conversation_takes_a_system_prompt_but_no_template_and_no_second_one(server):
    last = {"role": "user", "content": "What is 1 and 1?"}
    turns = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hi."}, last]
    write_outputs(Path("old.jsonl"), items=1)
    rows = [{"id": "item-0", "messages": turns}]
    text = 'model = "openai/better"\nsystem-prompt = "Be brief."\n'
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = refused(server, text + 'prompt = "Q: {{prompt}}"')
    assert "is a conversation with turns" in said
    described(text)
    judgeloop(*comparison(server))
    assert [one["role"] for one in generated(server)[0]["messages"]] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip
    server.requests.clear()
    rows = [{"id": "item-0", "messages": [{"role": "system", "content": "s"}, *turns]}]
    Path("items.jsonl").write_text(json.dumps(rows[0]))
    assert "is a conversation with a system prompt of its own" in refused(server, text)


def answering(server, words):
    systems_say(server, lambda request, n: completion(words, usage=used(request)))


def shown_to_judges(server):
    return json.dumps([one["messages"] for one in server.requests if "response_format" in one])


def test_thoughts_are_not_judged_and_the_ledger_keeps_them(server):
    answering(server, "<think>SECRET good</think>\n\ngood answer")
    described('model = "openai/better"\nstrip-thoughts = true\n')
    (one,) = result_of(*comparison(server))["generated"]
    assert one["thoughts"] == 0
    assert "good answer" in shown_to_judges(server)
    assert "SECRET" not in shown_to_judges(server)
    assert b"SECRET" in Path(".judgeloop/ledger.sqlite").read_bytes()
    sent = len(server.requests)
    again = result_of(*comparison(server))
    assert (len(server.requests), again["winner"]) == (sent, "candidate")


def test_thoughts_that_are_judged_are_counted_and_the_model_is_named(server):
    answering(server, "<think>hm</think>good answer")
    described('model = "openai/better"\n')
    said = re.sub(r"\s+", " ", judgeloop(*comparison(server)).stdout)
    assert "5 with thoughts in tags, which were judged, too" in said
    assert "its server names the model judge-2026-01-01" in said


def test_a_field_of_a_json_answer_is_judged(server):
    answering(server, json.dumps({"why": "SECRET", "answer": "good answer"}))
    described('model = "openai/better"\noutput-field = "answer"\n')
    result_of(*comparison(server))
    assert "good answer" in shown_to_judges(server)
    assert "SECRET" not in shown_to_judges(server)


@pytest.mark.parametrize(
    ("key", "words", "said"),
    [
        ("strip-thoughts = true", "<think>and no end", "its text has no </think>"),
        ('strip-thoughts = "</r>"', "<think></think>x", "its text has no </r>"),
        ('output-field = "answer"', "no JSON", "no JSON object with the field 'answer'"),
        ('output-field = "answer"', "[1]", "no JSON object with the field 'answer'"),
        ('output-field = "answer"', '{"b": 1}', "no JSON object with the field 'answer'"),
    ],
)
def test_what_cannot_be_read_is_no_output(server, key, words, said):
    answering(server, words)
    described(f'model = "openai/better"\n{key}\n')
    done = judgeloop(*comparison(server))
    assert done.exit_code == 4
    assert said in re.sub(r"\s+", " ", done.stderr)
    assert shown_to_judges(server) == "[]", "no judge is asked"


def test_the_callers_limit_goes_before_that_of_the_description(server):
    described('model = "openai/better"\nmax-tokens = 64\n')
    result_of(*comparison(server))
    assert generated(server)[0]["max_tokens"] == 64
    server.requests.clear()
    result_of(*comparison(server, "--system", f"{FILE}.max-tokens=32"))
    assert generated(server)[0]["max_tokens"] == 32


def test_two_descriptions_of_the_same_are_refused_and_two_prompts_compared(server):
    described('model = "openai/better"\n')
    described('model = "openai/better"\nname = "another"\n', "b.toml")
    flags = [*system_flags(server, FILE), *system_flags(server, "b.toml")]
    base = ["compare", FILE, "b.toml", "--items", "items.jsonl", *judged_by(server), *flags]
    done = judgeloop(*base)
    assert (done.exit_code, server.requests) == (2, [])
    assert "are the same system" in re.sub(r"\s+", " ", done.stderr)
    described('model = "openai/better"\nsystem-prompt = "Be brief."\n', "b.toml")
    result = result_of(*base, "--max-judgments", "3")
    assert result["judged"] == 3


def test_a_file_with_the_name_of_a_model_is_given_with_a_dot(server):
    Path("openai").mkdir()
    described('model = "openai/better"\n', "openai/mine.toml")
    name = "./openai/mine.toml"
    flags = system_flags(server, name)
    base = ["compare", "old.jsonl", name, "--items", "items.jsonl", *judged_by(server), *flags]
    assert result_of(*base)["winner"] == "mine"
    options = [one for one in flags if one != "--system"]
    place = str(Path("openai/mine.toml").absolute())
    for path, typed in ((Path("candidate.toml"), FILE), (Path("openai/mine.toml"), place)):
        described('model = "openai/better"\n', path)
        config = CompareConfig.of(
            first="old.jsonl", second=path, items="items.jsonl", judge=("openai/judge",),
            system=[one.replace(name, typed) for one in options],
        )  # fmt: skip
        assert config.second == typed, "a path is a file, and a description is one"


def test_a_result_never_replaces_the_description(server):
    described('model = "openai/better"\n', "candidate.md.toml")
    done = judgeloop(*comparison(server, "-o", "candidate.md.toml", system="candidate.md.toml"))
    assert (done.exit_code, server.requests) == (2, [])


# What only the caller may say, and what is priced or has effects that no file may have.
TRUSTED = [
    *KEYS,
    "key",
    "api-key",
    "cost",
    "code",
    "allow-plugins",
    "command",
    "python",
    "environment",
]
UNKNOWN = [
    "n", "tools", "tool-choice", "stream", "store", "service-tier", "service_tier", "chat-template",
    "chat_template", "extra-body", "extra_body", "headers", "route", "provider", "models", "web-search",
    "logit-bias", "response-format", "metadata", "user", "mcp-servers", "system", "messages",
]  # fmt: skip
NOT_TAKEN = sorted({*TRUSTED, *UNKNOWN} - set(KEYS_OF_FILE))
VALUES = st.one_of(
    st.booleans(),
    st.integers(-5, 5),
    st.text("abc/:.", max_size=8),
    st.just("http://evil.example/v1"),
)


def toml(value):
    return json.dumps(value)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    key=st.sampled_from(NOT_TAKEN) | st.from_regex(r"[a-z][a-z_-]{0,12}", fullmatch=True),
    value=VALUES,
)
def test_no_key_but_those_of_the_list_takes_effect_in_a_description(key, value):
    described(f'model = "openai/m"\n{key} = {toml(value)}\n')
    if key in KEYS_OF_FILE:
        return
    with pytest.raises(
        InputError, match=r"there is no key|only the caller may say this|this is no TOML"
    ):
        read_description(Path(FILE))


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    key=st.sampled_from([*KEYS, *UNKNOWN]),
    value=VALUES,
    place=st.sampled_from(["systems", "compare", "shared", ".env"]),
)
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
        Path("judgeloop.toml").write_text(f'[systems."{FILE}"]\n{key} = {toml(value)}\n')
    else:
        Path("judgeloop.toml").write_text(f"[{place}]\nsystem = [{toml(entry)}]\n")
    with pytest.raises(InputError, match="only the caller may set it"):
        read_settings(FIELDS, ("compare",), None)


def test_the_keys_of_a_description_are_none_of_the_callers():
    """But for the limit of tokens: a smaller or larger output changes no price and no address."""
    assert set(KEYS_OF_FILE) & set(KEYS) == {"max-tokens"}
    assert set(KEYS_OF_FILE) == {name.replace("_", "-") for name in Description.model_fields}


def test_a_description_from_a_stranger_reaches_no_address_and_no_key_of_the_caller(server):
    """Its model is asked at its provider's own host, or where the caller says; the judge's key stays."""
    described('model = "vllm/anything"\n')
    base = ["compare", "old.jsonl", FILE, "--items", "items.jsonl", *judged_by(server)]
    keys = {"OPENAI_API_KEY": "sk-own", "JUDGELOOP_JUDGE_API_KEY": "of-judge"}
    done = judgeloop(*base, **keys)
    assert (done.exit_code, server.requests) == (2, [])
    assert f"--system {FILE}.base-url=" in re.sub(r"\s+", " ", done.stderr)
    described('model = "openai/better"\n')
    result_of(*comparison(server), **keys)
    asked = [
        headers
        for request, headers in zip(server.requests, server.headers, strict=True)
        if "response_format" not in request
    ]
    assert asked
    assert not [one for one in asked if "of-judge" in str(one) or "sk-own" in str(one)]
    assert os.environ.get("OPENAI_API_KEY") is None

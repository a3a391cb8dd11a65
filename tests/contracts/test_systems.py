"""What every system that answers live promises (`protocols.System`)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from support.chat_server import Response, completion, error
from support.live import write_items, write_outputs
from support.messages_server import message, text

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.records import Call, Item, Output
from judgeloop.core.verdict_key import digest, output_note
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.questions.compare.prepare import prepare
from judgeloop.systems.catalogue import make_system
from judgeloop.systems.options import KEYS, options_of

SECRETS = {"reference": "the reference", "group": "the group"}
CALL = Call(Item("the id", "the prompt", *SECRETS.values()), ("s",), ())
KINDS = ("openai", "anthropic", "vllm")


def system(server, kind, **given):
    """A system of a kind at the server, with options by their keys."""
    name = f"{kind}/m"
    url = server.root if kind == "anthropic" else server.url
    values = {"base-url": url, "price": "1,10", "key-variable": "MINE"} | given
    entries = [f"{name}.{key}={value}" for key, value in values.items()]
    options = options_of(entries, [name], {"MINE": "key-of-mine-1234"})
    server.pages = {
        "/health": Response(),
        "/version": Response(body=b'{"version": "0.12.1"}'),
        "/v1/models": Response(body=b'{"data": [{"id": "m"}]}'),
    }
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


@pytest.mark.parametrize("kind", KINDS)
def test_the_output_is_the_text_as_it_is_within_its_quote(chat_server, kind):
    quote, found = answered(chat_server, kind, reply(kind, " Ünïcode\n"))
    assert isinstance(found.answer, Output)
    assert (found.answer.text, found.answer.failed, found.answer.cut) == (" Ünïcode\n", "", False)
    assert 0 < found.cost_p <= quote.cost_p
    assert found.answer.seconds > 0
    assert found.answer.model == found.model != ""


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_told_of_an_item_only_what_its_key_covers(chat_server, kind):
    answered(chat_server, kind, reply(kind, "x"))
    sent = json.dumps(chat_server.requests[-1])
    assert "the prompt" in sent
    assert not [word for word in (*SECRETS.values(), "the id") if word in sent]
    assert system(chat_server, kind).sent(CALL.item) == [("user", "the prompt")]


@pytest.mark.parametrize("kind", KINDS)
def test_text_that_was_cut_is_an_output_and_says_so(chat_server, kind):
    _, found = answered(chat_server, kind, reply(kind, "half", ended="length"))
    assert (found.answer.text, found.answer.cut) == ("half", True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ended", ["length", "blocked"])
def test_without_text_it_failed_by_itself_and_is_paid_for(chat_server, kind, ended):
    _, found = answered(chat_server, kind, reply(kind, "", ended=ended))
    assert found.answer.text is None
    assert found.answer.failed
    assert found.cost_p


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_is_an_output(chat_server, kind):
    _, found = answered(chat_server, kind, reply(kind, ""))
    assert (found.answer.text, found.answer.failed) == ("", "")


@pytest.mark.parametrize("kind", KINDS)
def test_its_key_is_masked_in_what_it_says(chat_server, kind):
    _, found = answered(chat_server, kind, reply(kind, "it is key-of-mine-1234, is it not?"))
    assert "key-of-mine-1234" not in found.answer.text


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_transport_is_no_output(chat_server, kind):
    with pytest.raises(JudgeError) as caught:
        answered(chat_server, kind, error(500))
    assert caught.value.kind is ErrorKind.RETRY


# Which options are part of the key of an output, and of the run's id.
IN_THE_KEY = {"base-url", "max-tokens", "version"}
OTHER = {
    "base-url": "http://127.0.0.1:9/v1", "key-variable": "OTHER", "price": "3,4", "timeout": "5s",
    "max-tokens": "77", "version": "2",
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_the_key_of_an_output_and_the_runs_id_follow_the_declaration(key):
    write_items(Path("items.jsonl"))
    write_outputs(Path("old.jsonl"))
    environment = {"MINE": "k", "OTHER": "k2", "OPENAI_API_KEY": "k3"}
    usual = {"base-url": "http://127.0.0.1:8/v1", "price": "1,1", "version": "1"}

    def made(values):
        entries = tuple(f"openai/m.{name}={value}" for name, value in values.items())
        config = CompareConfig.of(
            first="old.jsonl", second="openai/m", items="items.jsonl", system=entries,
            judge=("openai/gpt-4.1",),
        )  # fmt: skip
        ready = prepare(config, environment)
        one = ready.inputs.systems[1]
        note = output_note(one.identity, one.sent(ready.pool.items[0]), "")
        return ready.run_id, digest(note)

    (run, output), (other_run, other_output) = made(usual), made(usual | {key: OTHER[key]})
    assert (run != other_run, output != other_output) == ((key in IN_THE_KEY,) * 2)


def test_outputs_of_another_seed_budget_or_judge_have_the_same_key(chat_server):
    one = system(chat_server, "openai", version="1")
    assert one.lasts
    assert not system(chat_server, "openai").lasts, "a server of one's own says nothing"

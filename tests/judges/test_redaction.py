"""A key is removed from what a server says before anything is cut, in every form that gives it
away."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chat_server import Response, completion
from support.messages_server import message, text, tool

from judgeloop.core.errors import JudgeError
from judgeloop.core.records import Call, Item
from judgeloop.judges.anthropic import AnthropicJudge
from judgeloop.judges.openai import OpenAIJudge
from judgeloop.judges.prompt_files import shipped_template
from judgeloop.providers.prices import price_from_text
from judgeloop.providers.redaction import redact, redacted
from judgeloop.providers.wire import LONGEST_MESSAGE, Endpoint

KEY = "sk-proj+canary/openai==7d1e5b9a42"
SHOWN = 8  # characters of a key that would already say too much
CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))


def in_base64(text):
    return base64.b64encode(text.encode()).decode()


def for_urls(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


FORMS = {
    "plain": KEY,
    "url": urllib.parse.quote(KEY, safe=""),
    "url in lower case": urllib.parse.quote(KEY, safe="").lower().replace(KEY[:6].lower(), KEY[:6]),
    "url twice": urllib.parse.quote(urllib.parse.quote(KEY, safe=""), safe=""),
    "url, every character": "".join(f"%{byte:02X}" for byte in KEY.encode()),
    "json": json.dumps(KEY)[1:-1].replace("/", "\\/"),
    "json, every character": "".join(f"\\u{ord(character):04x}" for character in KEY),
    "base64": in_base64(KEY),
    "base64 for urls": for_urls(KEY),
    "base64 of a header": in_base64(f"Bearer {KEY}"),
    "base64 of a user and the key": in_base64(f"me:{KEY}"),
    "base64 of a longer text": in_base64(f"the key {KEY} is wrong"),
    "base64 for urls of a longer text": for_urls(f"a{KEY}bc"),
}


def parts(secret):
    """What would give a secret away: its parts, plain or in base64 at any offset."""
    plain = [secret[at : at + SHOWN] for at in range(len(secret) - SHOWN + 1)]
    coded = [in_base64("x" * offset + secret)[4:-4] for offset in range(3)]
    return plain + [form[at : at + SHOWN] for form in coded for at in range(len(form) - SHOWN + 1)]


def shows(said, secret=KEY):
    plain = urllib.parse.unquote(urllib.parse.unquote(said)).replace("\\/", "/")
    plain = plain.replace("-_", "+/")
    return [part for part in parts(secret) if part in said or part in plain]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_form_of_the_key_is_left(form):
    said = redact(f"the server said {form}, and more", KEY)
    assert "[key]" in said
    assert not shows(said)


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60),
    st.binary(max_size=9),
    st.binary(max_size=9),
)
def test_base64_shows_nothing_whatever_stands_around_the_key(key, before, after):
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        said = redact(encode(before + key.encode() + after).decode(), key)
        assert "[key]" in said
        # What is left encodes the bytes around the key, and a few bits of the key's ends.
        assert len(said) <= len(encode(before)) + len(encode(after)) + len("[key]") + 6


@given(st.text(max_size=200))
def test_other_text_stays_as_it_is(text):
    assert redact(text, KEY) == text


def test_a_placeholder_is_no_secret():
    assert redact("none of them", "none") == "none of them"
    assert redacted({"none": ["none"]}, "none") == {"none": ["none"]}


def test_every_text_of_a_json_value_is_redacted():
    value = {KEY: [KEY, {"a": f"x{KEY}"}], "n": 1.5, "none": None, "yes": True}
    assert redacted(value, KEY) == {"[key]": ["[key]", {"a": "x[key]"}], "n": 1.5, "none": None, "yes": True}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("before", [0, 470, 490, 495, 499, 1000, 1014, 1020])
def test_a_cut_never_runs_through_a_key(form, before):
    said = Endpoint("http://localhost:1/v1", KEY, 1.0).clean("." * before + form)
    assert len(said) <= LONGEST_MESSAGE
    assert not shows(said)


def ask(server, response, wire=OpenAIJudge, **more):
    server.respond = lambda request, number: response

    async def story():
        url = server.root if wire is AnthropicJudge else server.url
        judge = wire(
            "m", endpoint=Endpoint(url, KEY, 5.0), template=shipped_template("pairwise.v1"),
            price=price_from_text("1,10"), **more,
        )  # fmt: skip
        try:
            return await judge.judge(CALL)
        finally:
            await judge.aclose()

    return asyncio.run(story())


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("before", [0, 30, 40, 55, 480, 495])
def test_no_reason_or_quotation_shows_a_key_that_a_reply_repeats(chat_server, form, before):
    words = "." * before + form
    for said in (json.dumps({"reason": words, "winner": "A"}), words, f"{words} winner"):
        assert not shows(ask(chat_server, completion(said)).answer.reason)
    refusal = completion(None, refusal=words)
    assert not shows(repr(ask(chat_server, refusal)))
    for block in (text(words), tool(reason=words, winner="A")):
        assert not shows(repr(ask(chat_server, message(block), AnthropicJudge)))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("before", [0, 470, 495, 985, 1000, 1015])
def test_no_error_shows_a_key_that_an_error_repeats(chat_server, form, before):
    words = "." * before + form
    for body in (json.dumps({"error": {"message": words, "code": words}}), words):
        with pytest.raises(JudgeError) as caught:
            ask(chat_server, Response(422, body.encode()))
        assert not shows(str(caught.value))


def test_a_long_hostile_text_is_redacted_in_no_time(chat_server):
    noise = "".join(random.Random(1).choices(KEY + "%/", k=1_000_000))
    with pytest.raises(JudgeError):
        ask(chat_server, Response(422, noise.encode()))

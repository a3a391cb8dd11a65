"""A key is removed from what a server says before anything is cut, however it is written."""

from __future__ import annotations

import base64
import json
import random
import urllib.parse
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chat_judges import chat_judge
from support.chat_server import Response, completion
from support.endings import replied
from support.messages_server import message, text, tool

from judgeloop.core.errors import JudgeError
from judgeloop.core.records import Call, Item
from judgeloop.providers.endpoint import LONGEST_MESSAGE, Endpoint
from judgeloop.providers.redaction import redact, redacted

KEY = "sk-proj+canary/openai==7d1e5b9a42"
WORDS = "my-own-server"  # too short to look random
CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))


def in_base64(text):
    return base64.b64encode(text.encode()).decode()


FORMS = {
    "plain": KEY,
    "in upper case": KEY.upper(),
    "without its last characters": KEY[:-4],
    "without its first characters": KEY[6:],
    "with a newline inside": f"{KEY[:20]}\n{KEY[20:]}",
    "with zero-width characters": "\u200b".join(KEY),
    "in hexadecimal": KEY.encode().hex(),
    "in a URL": urllib.parse.quote(KEY, safe=""),
    "in base64": in_base64(KEY),
    "in base64, within a header": in_base64(f"Bearer {KEY}"),
    "in base64 for URLs": base64.urlsafe_b64encode(f"a{KEY}bc".encode()).decode().rstrip("="),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def shows(said, secret=KEY):
    """The runs of eight characters of the key that a text shows, plain or encoded."""
    bare = "".join(said.split()).replace("\u200b", "").lower()
    coded = [in_base64("x" * offset + secret)[4:-4] for offset in range(3)]
    forms = [secret, secret.encode().hex(), *coded]
    runs = [form[at : at + 8].lower() for form in forms for at in range(len(form) - 7)]
    return [run for run in runs if run in bare]


@each_form
def test_no_form_of_a_key_is_left(form):
    said = redact(f"the server said {form}, and more", KEY)
    assert "[masked key]" in said
    assert not shows(said)


def test_a_key_of_words_is_masked_whole_and_its_words_are_not():
    assert redact(f"for {WORDS.upper()}: no", WORDS) == "for [masked key]: no"
    assert redact("my-own-serve, own-server", WORDS) == "my-own-serve, own-server"


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60),
    st.binary(max_size=9),
    st.binary(max_size=9),
)
def test_base64_shows_nothing_whatever_stands_around_the_key(key, before, after):
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        said = redact(encode(before + key.encode() + after).decode(), key)
        assert "[masked key]" in said
        # What is left encodes the bytes around the key, and a few bits of the key's ends.
        assert len(said) <= len(encode(before)) + len(encode(after)) + len("[masked key]") + 6


@given(st.text(max_size=200))
def test_other_text_stays_as_it_is(text):
    assert redact(text, KEY) == text


def test_a_placeholder_is_no_secret():
    assert redact("none of them", "none") == "none of them"
    assert redacted({"none": ["none"]}, "none") == {"none": ["none"]}


def test_every_text_of_a_json_value_is_redacted():
    value = {KEY: [KEY, {"a": f"x{KEY}"}], "n": 1.5, "none": None, "yes": True}
    assert redacted(value, KEY) == {"[masked key]": ["[masked key]", {"a": "x[masked key]"}], "n": 1.5, "none": None, "yes": True}  # fmt: skip


@pytest.mark.parametrize("before", range(LONGEST_MESSAGE - 40, LONGEST_MESSAGE + 1, 8))
def test_a_cut_never_runs_through_a_key(before):
    for form in FORMS.values():
        said = Endpoint("http://localhost:1/v1", KEY, 1.0).clean("." * before + form)
        assert len(said) <= LONGEST_MESSAGE
        assert not shows(said)


def ask(server, response, wire="openai"):
    server.respond = lambda request, number: response
    url = server.root if wire == "anthropic" else server.url
    return replied(chat_judge(wire, url, key=KEY), CALL)


@pytest.mark.parametrize("before", [0, 40, 495])
def test_no_reason_or_quotation_shows_a_key_that_a_reply_repeats(chat_server, before):
    words = "." * before + FORMS["with a newline inside"]
    for said in (json.dumps({"reason": words, "winner": "A"}), words, f"{words} winner"):
        assert not shows(ask(chat_server, completion(said)).answer.reason)
    assert not shows(repr(ask(chat_server, completion(None, refusal=words))))
    for block in (text(words), tool(reason=words, winner="A")):
        assert not shows(repr(ask(chat_server, message(block), "anthropic")))


def test_a_text_to_be_judged_is_never_masked(chat_server):
    """A mask would change what is judged. Only what a server sends is masked."""
    chat_server.respond = lambda request, number: completion('{"reason": "", "winner": "A"}')
    call = replace(CALL, outputs=(f"my key is {KEY}", CALL.outputs[1]))
    replied(chat_judge("openai", chat_server.url, key=KEY), call)
    (request,) = chat_server.requests
    assert f"my key is {KEY}" in str(request["messages"])


@pytest.mark.parametrize("part", [f"{KEY[:8]}***{KEY[-4:]}.", f"sk-...{KEY[-4:]}", KEY[-4:], "88dc28d0f030c55ed4ab77ed8faf0981"])  # fmt: skip
def test_a_refused_key_is_told_in_the_servers_words_without_a_part_of_it(chat_server, part):
    body = json.dumps({"error": {"message": f"bad key {part} (see https://a.org/keys)"}})
    with pytest.raises(JudgeError) as caught:
        ask(chat_server, Response(401, body.encode()))
    assert 'the server says: "bad key [masked key] (see https://a.org/keys)"' in str(caught.value)


@pytest.mark.parametrize("before", [0, 290, 495])
def test_no_error_shows_a_key_that_an_error_repeats(chat_server, before):
    words = "." * before + KEY
    for body in (json.dumps({"error": {"message": words, "code": words}}), words):
        with pytest.raises(JudgeError) as caught:
            ask(chat_server, Response(422, body.encode()))
        assert not shows(str(caught.value))


def test_a_long_hostile_text_is_redacted_in_no_time(chat_server):
    noise = "".join(random.Random(1).choices(KEY + "%/", k=1_000_000))
    with pytest.raises(JudgeError):
        ask(chat_server, Response(400, noise.encode()))

"""The OpenAI judge over the real wire: the official SDK against a server on loopback."""

from __future__ import annotations

import asyncio
import json
import math

import pytest
from support.chat_judges import chat_judge
from support.chat_server import Response, completion, respond_with, verdict
from support.endings import replied

from judgeloop.core.errors import JudgeError
from judgeloop.core.records import Abstention, Call, Item
from judgeloop.judges.prompt import shipped_template

KEY = "sk-canary-0123456789abcdef"
CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
RATING = Call(CALL.item, ("b",), ("an answer",))


def ask(url, call=CALL, *, prompt="pairwise.v1", **more):
    template = shipped_template(prompt)
    return replied(chat_judge("openai", url, key=KEY, template=template, **more), call)


@pytest.mark.smoke
def test_the_request_is_strict_bounded_and_without_sampling_parameters(chat_server):
    ask(chat_server.url, max_output_tokens=77)
    (request,) = chat_server.requests
    assert set(request) == {"model", "messages", "response_format", "max_tokens"}
    assert request["max_tokens"] == 77
    schema = request["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["winner"]["enum"] == ["A", "B", "tie"]


@pytest.mark.smoke
def test_openai_itself_is_sent_its_own_names_and_a_pinned_tier():
    judge = chat_judge("openai", "https://api.openai.com/v1")
    request = judge.chat.request(CALL, [("system", "system"), ("user", "user")])
    assert "max_tokens" not in request
    assert (request["max_completion_tokens"], request["service_tier"]) == (512, "default")


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (completion("A"), "unparsable"),
        (completion(""), "the reply is empty"),
        (completion(None), "the reply is empty"),
        (completion('{"reason": "r", "winner": "C"}'), "unparsable"),
        (completion('{"winner": "A", "winner": "B"}'), "unparsable"),
        (completion('```json\n{"winner": "A"}\n```'), "unparsable"),
        (completion('{"reason": "r", "winner": "A"}', finish="length"), "truncated"),
        (completion('{"reason": "r", "winner": "A"}', finish="content_filter"), "refused"),
        (completion(None, refusal="I cannot judge that."), "refused"),
    ],
)
def test_a_reply_without_a_verdict_is_an_abstention_that_is_charged(chat_server, response, reason):
    respond_with(chat_server, response)
    reply = ask(chat_server.url)
    assert isinstance(reply.answer, Abstention)
    assert reply.answer.reason.startswith(reason)
    assert reply.cost_p == 400 * 1_000_000 + 20 * 10_000_000


def ask_by_probability(url, call=CALL, prompt="pairwise-label.v1"):
    return ask(url, call, prompt=prompt, by="logprob")


def first_token(**shares):
    """A reply of one token, with the probabilities that tokens had; `_` in a token's name is a
    space."""
    tokens = [
        {"token": token.replace("_", " "), "logprob": math.log(share), "bytes": None} for token, share in shares.items()
    ]
    content = [tokens[0] | {"top_logprobs": tokens}] if tokens else []
    return with_logprobs({"content": content, "refusal": None})


def with_logprobs(logprobs):
    reply = completion("A", finish="length")
    body = json.loads(reply.body)
    body["choices"][0]["logprobs"] = logprobs
    return Response(body=json.dumps(body).encode())


@pytest.mark.parametrize(
    ("shares", "score", "mass"),
    [
        ({"A": 0.9, "B": 0.1}, 0.9, 1.0),
        ({"A": 0.6, "B": 0.2, "I": 0.2}, 0.75, 0.8),
        ({"B": 0.3, "A": 0.3}, 0.5, 0.6),
        ({"A": 0.4, "_A": 0.2, "A_": 0.1, "_B": 0.1, "B": 0.1}, 7 / 9, 0.9),  # with space around it, it is the same
        ({"B": 1.0}, 0.0, 1.0),
        ({"A": 0.5, "a": 0.3, "AB": 0.2}, 1.0, 0.5),  # what only looks like a label is none
        ({"No": 0.6, "Yes": 0.2, "Maybe": 0.2}, 0.25, 0.8),
        ({"_Yes": 0.3, "Yes": 0.3, "No": 0.2, "yes": 0.2}, 0.75, 0.8),
    ],
)
def test_a_verdict_by_probability_is_the_share_of_the_first_label(chat_server, shares, score, mass):
    respond_with(chat_server, first_token(**shares))
    asked = (RATING, "rating-label.v1") if "Yes" in shares else (CALL, "pairwise-label.v1")
    reply = ask_by_probability(chat_server.url, *asked)
    assert reply.answer.score == pytest.approx(score)
    assert f"{mass:.3f}" in reply.answer.reason
    assert reply.cost_p == 400 * 1_000_000 + 20 * 10_000_000


def test_a_verdict_by_probability_asks_for_one_token_with_its_rivals(chat_server):
    respond_with(chat_server, first_token(A=1.0))
    ask_by_probability(chat_server.url)
    (request,) = chat_server.requests
    assert set(request) == {"model", "messages", "max_tokens", "logprobs", "top_logprobs"}
    assert (request["max_tokens"], request["logprobs"], request["top_logprobs"]) == (1, True, 20)


@pytest.mark.parametrize("shares", [{"A": 0.3, "B": 0.19, "The": 0.51}, {"The": 1.0}])
def test_labels_that_are_unlikely_first_tokens_are_no_verdict(chat_server, shares):
    respond_with(chat_server, first_token(**shares))
    answer = ask_by_probability(chat_server.url).answer
    assert isinstance(answer, Abstention)
    assert answer.reason.startswith("the labels are unlikely first tokens")


@pytest.mark.parametrize("logprobs", [None, {"content": None}, {"content": []}, {}])
def test_a_server_without_log_probabilities_gives_no_verdict_and_is_said_to(chat_server, logprobs):
    respond_with(chat_server, with_logprobs(logprobs))
    assert ask_by_probability(chat_server.url).answer == Abstention(
        "the server gives no log-probabilities; use `verdict=schema`"
    )


def test_a_refusal_or_a_filter_goes_before_any_probability(chat_server):
    for changes in ({"finish": "content_filter"}, {"refusal": "no"}):
        respond_with(chat_server, completion("A", **changes))
        assert ask_by_probability(chat_server.url).answer.reason.startswith("refused")


@pytest.mark.parametrize(
    "response",
    [
        Response(400, b'{"error": {"message": "\\ud800", "code": "\\ud800"}}'),
        Response(400, b"oops", {"Content-Type": "text/plain; charset=rot13"}),
        Response(422, b'{"detail": "' + b"x" * 10_000 + b'"}'),
    ],
)
def test_whatever_an_error_says_can_be_kept_and_is_short(chat_server, response):
    respond_with(chat_server, response)
    with pytest.raises(JudgeError) as caught:
        ask(chat_server.url)
    assert len(str(caught.value).encode()) < 1500


def test_several_replies_in_one_are_no_verdict(chat_server):
    body = json.loads(verdict("A").body)
    body["choices"] *= 2
    respond_with(chat_server, Response(200, json.dumps(body).encode()))
    reply = ask(chat_server.url)
    assert isinstance(reply.answer, Abstention)


def test_the_providers_variables_do_not_reach_another_server(chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway-Key: gateway-secret\nAuthorization: secret")

    async def story(own):
        judge = chat_judge("openai", chat_server.url, key=KEY, own=own)
        await judge.judge(CALL)
        await judge.aclose()

    asyncio.run(story(own=True))
    asyncio.run(story(own=False))
    theirs, others = (" ".join(headers.values()) for headers in chat_server.headers)
    assert "gateway-secret" in theirs, "the address in the provider's own variable is a gateway of the user's"
    assert not {"org-secret", "project-secret"} & {*theirs.split()}, "which only OpenAI is told"
    assert "secret" not in others
    assert KEY in others

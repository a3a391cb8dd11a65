"""The vLLM judge against a server on loopback that has vLLM's paths."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from support.chat_server import Response, completion, error, goodness, verdict
from support.endings import ends, replied
from support.judges import judge as make

from judgeloop.core.errors import ErrorKind
from judgeloop.core.records import Abstention, Call, Item, Verdict
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.catalogue import judge_from_spec
from judgeloop.judges.prompt import shipped_template

CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
RATING = Call(CALL.item, ("b",), ("an answer",))
TURNED = Call(CALL.item, CALL.systems[::-1], CALL.outputs[::-1])
LOOKS = ["/v1/models"]


def page(value):
    return Response(body=json.dumps(value).encode())


def is_probe(request):
    return "choice" in request.get("structured_outputs", {})


def obedient(request, number):
    if is_probe(request):
        return completion(request["structured_outputs"]["choice"][0])
    return verdict(goodness(request))


@pytest.fixture
def vllm(chat_server):
    chat_server.pages = {"/v1/models": page({"data": [{"id": "org/other"}, {"id": "org/judge"}]})}
    chat_server.respond = obedient
    return chat_server


def ask(server, *calls, model="org/judge", prompt="pairwise.v1", **options):
    async def story():
        settings = JudgeOptions(
            template=shipped_template(prompt), environment={}, base_url=server.url, timeout_s=5.0, **options
        )
        judge = judge_from_spec(f"vllm/{model}", settings)
        try:
            return await asyncio.gather(*map(judge.judge, calls))
        finally:
            await judge.aclose()

    return asyncio.run(story())


def test_the_server_is_looked_at_once_before_the_first_question(vllm):
    replies = ask(vllm, CALL, TURNED, CALL)
    assert [reply.answer for reply in replies] == [Verdict(s, "because") for s in (1.0, 0.0, 1.0)]
    assert sorted(vllm.visits) == LOOKS
    assert [is_probe(request) for request in vllm.requests] == [True, False, False, False]


def test_a_server_that_is_asked_nothing_is_not_looked_at(vllm):
    assert ask(vllm) == []
    assert (vllm.visits, vllm.requests) == ([], [])


def test_a_verdict_is_held_to_its_schema_at_temperature_0(vllm):
    ask(vllm, CALL, max_output_tokens=77)
    request = vllm.requests[-1]
    assert set(request) == {"model", "messages", "max_tokens", "temperature", "structured_outputs"}
    assert (request["model"], request["max_tokens"], request["temperature"]) == ("org/judge", 77, 0.0)
    schema = request["structured_outputs"]["json"]
    assert schema["properties"]["winner"]["enum"] == ["A", "B", "tie"]
    assert schema["required"] == ["reason", "winner"]


@pytest.mark.parametrize(
    ("said", "score"), [("1", 0.0), ("2", 0.25), ("5", 1.0), ("6", None), ("5.", None), ("", None)]
)
def test_a_rating_by_choice_is_the_score_of_its_bare_label_alone(vllm, said, score):
    vllm.respond = lambda request, number: completion(said) if number else obedient(request, 0)
    (reply,) = ask(vllm, RATING, prompt="rating-choice.v1", verdict="choice")
    assert isinstance(reply.answer, Abstention) if score is None else reply.answer == Verdict(score)
    assert vllm.requests[-1]["structured_outputs"] == {"choice": ["1", "2", "3", "4", "5"]}


def test_a_rating_by_probability_is_held_to_yes_or_no(vllm):
    ask(vllm, RATING, prompt="rating-label.v1", verdict="logprob")
    request = vllm.requests[-1]
    assert (request["structured_outputs"], request["max_tokens"]) == ({"choice": ["Yes", "No"]}, 1)


@pytest.mark.parametrize("said", ["A", "Quokkas, or else", "", None])
def test_a_server_that_ignores_structured_outputs_is_refused_with_what_it_said(vllm, said):
    vllm.respond = lambda request, number: completion(said)
    with ends(ErrorKind.REJECTED, match="ignores structured_outputs") as caught:
        ask(vllm, CALL)
    assert repr(str(said)) in str(caught.value)
    assert "is it vLLM 0.12 or newer?" in str(caught.value)
    assert not caught.value.billed
    assert len(vllm.requests) == 1, "the question itself was not asked"


@pytest.mark.parametrize(
    ("listing", "served"),
    [
        ({"data": [{"id": "one"}, {"id": "two"}]}, "one, two"),
        ({"data": []}, "nothing"),
        ({"data": "org/judge"}, "nothing"),
        ({}, "nothing"),
    ],
)
def test_a_model_that_is_not_served_is_refused_with_those_that_are(vllm, listing, served):
    vllm.pages["/v1/models"] = page(listing)
    with ends(ErrorKind.REJECTED, match=f"does not serve 'org/judge'; it serves {served}$"):
        ask(vllm, CALL)
    assert not vllm.requests


@pytest.mark.parametrize(
    ("path", "response", "words"),
    [
        ("/v1/models", Response(404), "/v1/models answers HTTP 404"),
        ("/v1/models", Response(401), "/v1/models answers HTTP 401: check JUDGELOOP_JUDGE_API_KEY"),
        (
            "/v1/models",
            Response(body=b"<html>hello</html>"),
            "/v1/models does not answer with a JSON object; is this a vLLM server?",
        ),
        ("/v1/models", page([]), "/v1/models does not answer with a JSON object; is this a vLLM server?"),
    ],
)
def test_what_is_no_vllm_server_is_refused(vllm, path, response, words):
    vllm.pages[path] = response
    with ends(ErrorKind.REJECTED, match=re.escape(words) + "$") as caught:
        ask(vllm, CALL)
    assert not caught.value.billed


def test_a_server_that_refuses_the_probe_is_refused(vllm):
    vllm.respond = lambda request, number: error(400, "unknown_field")
    with ends(ErrorKind.REJECTED, match=r"/chat/completions answers HTTP 400$"):
        ask(vllm, CALL)


def test_a_server_that_is_not_healthy_yet_may_be_asked_again(vllm):
    vllm.pages["/v1/models"] = Response(503)
    with ends(ErrorKind.RETRY, match=r"/v1/models answers HTTP 503$") as caught:
        ask(vllm, CALL)
    assert not caught.value.billed
    assert not vllm.requests


def test_a_server_that_is_not_there_may_be_asked_again(vllm):
    vllm.close()
    with ends(ErrorKind.UNREACHABLE, match=r"is the server running\?$") as caught:
        ask(vllm, CALL)
    assert not caught.value.billed


def test_a_look_that_failed_is_taken_again(vllm):
    async def story():
        judge = make("vllm/org/judge", {}, base_url=vllm.url)
        healthy, vllm.pages["/v1/models"] = vllm.pages["/v1/models"], Response(503)
        with ends(ErrorKind.RETRY):
            await judge.judge(CALL)
        vllm.pages["/v1/models"] = healthy
        reply = await judge.judge(CALL)
        await judge.aclose()
        return reply.answer

    assert asyncio.run(story()) == Verdict(1.0, "because")


def test_the_key_travels_to_every_path(vllm):
    environment = {"JUDGELOOP_JUDGE_API_KEY": "mine", "OPENAI_API_KEY": "theirs"}
    replied(make("vllm/org/judge", environment, base_url=vllm.url), CALL)
    assert {headers["authorization"] for headers in vllm.headers} == {"Bearer mine"}

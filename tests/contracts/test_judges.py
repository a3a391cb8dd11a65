"""What every judge promises (`protocols.Judge`)."""

from __future__ import annotations

import asyncio
import io
import json
import re
from dataclasses import replace

import pytest
from support.chat_server import Response, completion, goodness, verdict
from support.messages_server import message, text

from judgeloop.config import shipped_template
from judgeloop.judge_specs import JudgeOptions, judge_from_spec
from judgeloop.judges.human import HumanJudge
from judgeloop.judges.metric import MetricJudge
from judgeloop.judges.openai import Endpoint, OpenAIJudge
from judgeloop.judges.plugin import PluginJudge
from judgeloop.judges.prices import price_from_text
from judgeloop.judges.replay import ReplayJudge
from judgeloop.judges.scripted import ScriptedJudge
from judgeloop.keys import verdict_key
from judgeloop.recorded import Recorded, VerdictTable
from judgeloop.records import Call, Item, Verdict

CALL = Call(Item("i", "Which word is good?", reference="good"), ("a", "b"), ("good", "poor"))
TURNED = replace(CALL, systems=CALL.systems[::-1], outputs=CALL.outputs[::-1])


def openai_judge(server):
    endpoint = Endpoint(server.url, "key", 5)
    template, price = shipped_template("pairwise.v1"), price_from_text("1,10")
    return OpenAIJudge("m", endpoint=endpoint, template=template, price=price)


def respond(request, number):
    """Every wire's honest verdict, and vLLM's probe."""
    if "choice" in request.get("structured_outputs", {}):
        return completion(request["structured_outputs"]["choice"][0])
    if "system" in request:
        return message(text(json.dumps({"reason": "because", "winner": goodness(request)})))
    return verdict(goodness(request))


def model_judge(spec):
    def make(server):
        server.respond = respond
        server.pages = {
            "/health": Response(),
            "/version": Response(body=b'{"version": "0.12.1"}'),
            "/v1/models": Response(body=b'{"data": [{"id": "m"}]}'),
        }
        url = server.root if spec.startswith("anthropic") else server.url
        options = JudgeOptions(shipped_template("pairwise.v1"), {}, base_url=url, price="1,10", timeout_s=5.0)
        return judge_from_spec(spec, options)

    return make


def person(server):
    """A person who prefers what is good, wherever it stands on the screen."""
    screen = io.StringIO()

    def read_key():
        shown = screen.getvalue()
        if shown.rfind("Any key") > shown.rfind("── A"):
            return "g"
        return "a" if "good" in shown[shown.rindex("── A") : shown.rindex("── B")] else "b"

    return HumanJudge(read_key=read_key, screen=screen)


def plugin(*, prompt, first, second, reference):
    return "A" if first == reference else "B"


JUDGES = {
    "anthropic": model_judge("anthropic/m"),
    "vllm": model_judge("vllm/m"),
    "human": person,
    "python": lambda server: PluginJudge("m:f", plugin),
    "scripted": lambda server: ScriptedJudge(
        lambda call: Verdict(float(call.outputs[0] == "good")), cost_p=5
    ),
    "metric": lambda server: MetricJudge("exact"),
    "replay": lambda server: ReplayJudge(
        VerdictTable("t", "d", False, {("i", "a"): Recorded(0.9, 7), ("i", "b"): Recorded(0.2, 7)})
    ),
    "replay of pairs": lambda server: ReplayJudge(
        VerdictTable("t", "d", True, {("i", "a", "b"): Recorded(1.0, 7)})
    ),
    "openai": openai_judge,
}


@pytest.fixture(params=JUDGES)
def judge(request, chat_server):
    return JUDGES[request.param](chat_server)


def ask(judge, *calls):
    async def story():
        try:
            return [await judge.judge(call) for call in calls]
        finally:
            await judge.aclose()

    return asyncio.run(story())


def test_its_answer_is_about_what_it_was_shown_first(judge):
    straight, turned = ask(judge, CALL, TURNED)
    assert (straight.answer.score, turned.answer.score) == (1.0, 0.0)


def test_it_costs_no_more_than_its_quote(judge):
    (reply,) = ask(judge, CALL)
    quote = judge.quote(CALL)
    assert reply.cost_p is not None
    assert 0 <= reply.cost_p <= quote.cost_p
    assert 0 <= quote.likely_cost_p <= quote.cost_p


def test_its_quote_is_the_same_every_time(judge):
    assert judge.quote(CALL) == judge.quote(CALL)


def test_a_judge_that_order_cannot_sway_says_the_same_both_ways(judge):
    if not judge.order_matters:
        straight, turned = ask(judge, CALL, TURNED)
        assert straight.answer.score == 1 - turned.answer.score


def test_a_blind_judge_pays_no_heed_to_names(judge):
    if judge.blind:
        renamed = replace(CALL, systems=("x", "y"))
        one, other = ask(judge, CALL, renamed)
        assert one.answer == other.answer
        assert verdict_key(judge.identity, CALL, blind=True) == verdict_key(
            judge.identity, renamed, blind=True
        )


def test_its_identity_is_stable_and_can_be_stored(judge):
    identity = judge.identity
    assert judge.identity == identity
    assert json.loads(json.dumps(dict(identity.parameters))) == dict(identity.parameters)
    assert re.fullmatch(r"human|[a-z]+[/:].+", identity.name)


def test_closing_twice_does_no_harm(judge):
    ask(judge, CALL)
    asyncio.run(judge.aclose())

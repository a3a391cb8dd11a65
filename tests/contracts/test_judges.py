"""What every judge promises (`protocols.Judge`)."""

from __future__ import annotations

import asyncio
import io
import json
import re
import tempfile
import time
from dataclasses import replace
from decimal import Decimal

import pytest
from support.chat_judges import chat_judge
from support.chat_server import Response, candidates, completion, goodness
from support.decision_server import decided, honest
from support.messages_server import message, text

from judgeloop.core.keys import KeyIngredients
from judgeloop.core.records import Call, Item, Verdict
from judgeloop.formats.verdicts import RecordedScore, VerdictTable
from judgeloop.judges.base import JudgeOptions, PageOptions
from judgeloop.judges.catalogue import judge_from_spec
from judgeloop.judges.function import PluginJudge
from judgeloop.judges.human import HumanJudge
from judgeloop.judges.metric import MetricJudge
from judgeloop.judges.page import PageJudge
from judgeloop.judges.prompt import shipped_template
from judgeloop.judges.recorded import ReplayJudge, ScriptedJudge
from judgeloop.judges.wage import Wage
from judgeloop.page import desk
from judgeloop.page.desk import Given
from judgeloop.providers.catalogue import DECIDERS

CALL = Call(Item("i", "Which word is good?", reference="good"), ("a", "b"), ("good", "poor"))
TURNED = replace(CALL, systems=CALL.systems[::-1], outputs=CALL.outputs[::-1])
GOOD, POOR = (Call(CALL.item, (name,), (output,)) for name, output in zip("ab", CALL.outputs, strict=True))


def openai_judge(server, prompt):
    server.respond = respond
    return chat_judge("openai", server.url, template=shipped_template(prompt))


def respond(request, number):
    """Every wire's honest verdict, and vLLM's probe."""
    if "questions" in request:
        return decided(request, surely)
    if "choice" in request.get("structured_outputs", {}):
        return completion(request["structured_outputs"]["choice"][0])
    shown = candidates(request)
    if "answer" in shown:
        label = {"rating": "10" if "good" in shown["answer"] else "1"}
    else:
        label = {"winner": goodness(request)}
    said = json.dumps({"reason": "because"} | label)
    return message(text(said)) if "system" in request else completion(said)


def surely(shown, question, names):
    """The honest answer with the probability 1."""
    found = honest(shown, question, names)
    return {name: float(share == max(found.values())) for name, share in found.items()}


def model_judge(spec):
    def make(server, prompt):
        server.respond = respond
        server.pages = {"/v1/models": Response(body=b'{"data": [{"id": "m"}]}')}
        url = server.root if spec.startswith("anthropic") else server.url
        options = JudgeOptions(
            template=shipped_template(prompt), environment={}, base_url=url, price="1,10", timeout_s=5.0
        )
        return judge_from_spec(spec, options)

    return make


def person(server, prompt):
    """A person who prefers what is good, wherever it stands on the screen, and rates it well."""
    screen = io.StringIO()

    def read_key():
        shown = screen.getvalue()
        if "── Answer" in shown:
            return "5" if "good" in shown[shown.rindex("── Answer") :].split("\n")[1] else "1"
        return "a" if "good" in shown[shown.rindex("── A") : shown.rindex("── B")] else "b"

    return HumanJudge(read_key=read_key, screen=screen)


@pytest.fixture(autouse=True)
def _the_last_answer_stands(monkeypatch):
    monkeypatch.setattr(desk, "LAST_S", 0.0)


def people(server, prompt):
    """A person at the desk of a page, who prefers what is good, and rates it well."""
    judge = PageJudge(rubric=None, wage=Wage(Decimal(40)), options=PageOptions(port=0))
    judge.begin("run", tempfile.mkdtemp())
    begin, tasks = judge._open, []

    async def opened(**how):
        await begin(**how)
        judge.pages.told.add("")  # nobody waits for a window at the end
        tasks.append(asyncio.create_task(judges(judge.desk)))

    judge._open = opened
    return judge


async def judges(at):
    while not at.over:
        if sheet := at.take("", time.monotonic()):
            good = [output == "good" for output in sheet.call.outputs]
            key = ("5" if good[0] else "1") if len(good) == 1 else ("a" if good[0] else "b")
            at.answer("", Given(key, 1.0), sheet.id, time.monotonic())
        await asyncio.sleep(0.005)


def plugin(*, prompt, reference, first=None, second=None, output=None):
    if output is not None:
        return float(output == reference)
    return "A" if first == reference else "B"


JUDGES = {
    "anthropic": model_judge("anthropic/m"),
    "vllm": model_judge("vllm/m"),
    "human": person,
    "page": people,
    "python": lambda server, prompt: PluginJudge("m:f", plugin),
    "scripted": lambda server, prompt: ScriptedJudge(lambda call: Verdict(float(call.outputs[0] == "good")), cost_p=5),
    "metric": lambda server, prompt: MetricJudge("exact", tie_margin=0.5),
    "replay": lambda server, prompt: ReplayJudge(
        VerdictTable("t", "d", False, {("i", "a"): RecordedScore(1.0, 7), ("i", "b"): RecordedScore(0.0, 7)})
    ),
    "replay of pairs": lambda server, prompt: ReplayJudge(
        VerdictTable("t", "d", True, {("i", "a", "b"): RecordedScore(1.0, 7)})
    ),
    "openai": openai_judge,
    **{row.name: model_judge(f"{row.name}/m") for row in DECIDERS},
}
RATERS = [name for name in JUDGES if name != "replay of pairs"]


COMPARED = [(name, "pairwise.v1", CALL) for name in JUDGES]
RATED = [(name, "rating.v1", GOOD) for name in RATERS]


@pytest.fixture(params=JUDGES)
def judge(request, chat_server):
    return JUDGES[request.param](chat_server, "pairwise.v1")


@pytest.fixture(params=RATERS)
def rater(request, chat_server):
    return JUDGES[request.param](chat_server, "rating.v1")


@pytest.fixture(params=[*COMPARED, *RATED], ids=lambda given: f"{given[0]}-{given[1]}")
def asked(request, chat_server):
    """A judge and a call, of a comparison or of a rating."""
    name, prompt, call = request.param
    return JUDGES[name](chat_server, prompt), call


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


def test_it_costs_no_more_than_its_quote_which_is_the_same_every_time(asked):
    judge, call = asked
    (reply,) = ask(judge, call)
    quote = judge.quote(call)
    assert judge.quote(call) == quote
    assert reply.cost_p is not None
    assert 0 <= reply.cost_p <= quote.cost_p
    assert 0 <= quote.likely_cost_p <= quote.cost_p


def test_a_judge_that_order_cannot_sway_says_the_same_both_ways(judge):
    if not judge.order_matters:
        straight, turned = ask(judge, CALL, TURNED)
        assert straight.answer.score == 1 - turned.answer.score


def test_a_blind_judge_pays_no_heed_to_names(asked):
    judge, call = asked
    if judge.blind:
        renamed = replace(call, systems=("x", "y")[: len(call.systems)])
        one, other = ask(judge, call, renamed)
        assert one.answer == other.answer
        keys = {KeyIngredients.of(judge.identity, each, blind=True).key for each in (call, renamed)}
        assert len(keys) == 1


def test_it_rates_one_output_from_0_to_1(rater):
    good, poor = ask(rater, GOOD, POOR)
    assert (good.answer.score, poor.answer.score) == (1.0, 0.0)


def test_a_rating_never_answers_a_comparison_of_an_output_with_itself(rater):
    compared = Call(GOOD.item, ("a", "a"), GOOD.outputs * 2)
    keys = [KeyIngredients.of(rater.identity, call, blind=rater.blind).key for call in (GOOD, compared)]
    assert keys[0] != keys[1]


def test_its_identity_is_stable_and_can_be_stored(judge):
    identity = judge.identity
    assert judge.identity == identity
    assert json.loads(json.dumps(dict(identity.parameters))) == dict(identity.parameters)
    assert re.fullmatch(r"human|[a-z-]+[/:].+", identity.name)


def test_closing_twice_does_no_harm(judge):
    ask(judge, CALL)
    asyncio.run(judge.aclose())

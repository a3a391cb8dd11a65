"""Gateways and other servers over the real wire: the official SDK, and answers in their forms."""

from __future__ import annotations

import asyncio

import pytest
from support.chat_judges import chat_judge
from support.chat_server import respond_with
from support.endings import ends, passes, reply_from
from support.gateways import (
    KEY_OF_OTHERS,
    USAGE,
    Azure,
    Bedrock,
    Google,
    LiteLLM,
    Ollama,
    OpenRouter,
    answered,
    completed,
)

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.money import PICO_PER_DOLLAR
from judgeloop.core.records import Abstention, Call, Item, Verdict
from judgeloop.providers.pricing import price_from_text

KEY = "sk-canary-0123456789abcdef"
CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
LONG = Call(Item("i", "Say much."), ("a", "b"), ("a good answer " * 2000, "an answer"))
PAID_P = 400 * 1_000_000 + 20 * 10_000_000  # what 400 and 20 tokens cost at 1 and 10 dollars
VERDICT = Verdict(1.0, "because")


def make(url, *, price="1,10", **more):
    return chat_judge("openai", url, key=KEY, price=price_from_text(price), **more)


def ask(server, response, *, call=CALL, times=1, **more):
    """The answer to the last of several calls of one judge."""
    if response is not None:
        respond_with(server, response)

    async def story():
        judge = make(server.url, **more)
        try:
            for _ in range(times - 1):
                with passes():
                    await judge.judge(call)
            return await reply_from(judge, call)
        finally:
            await judge.aclose()

    return asyncio.run(story())


@pytest.mark.parametrize(
    ("response", "cost_p"),
    [(Azure.reply, PAID_P), (Google.reply, PAID_P), (Google.no_usage, None), (Ollama.reply, PAID_P)],
)
def test_a_reply_with_fields_of_its_own_is_a_verdict(chat_server, response, cost_p):
    reply = ask(chat_server, response)
    assert (reply.answer, reply.cost_p, reply.breach) == (VERDICT, cost_p, "")


@pytest.mark.parametrize("response", [Bedrock.reply, Google.fenced, Ollama.thinking])
def test_thoughts_and_fences_of_open_models_are_read_if_that_is_allowed(chat_server, response):
    strict = ask(chat_server, response).answer
    assert isinstance(strict, Abstention)
    assert strict.reason.endswith("`lenient_replies` would read this reply")
    assert ask(chat_server, response, lenient=True).answer == VERDICT


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (Azure.filtered, "refused by the provider's filter"),
        (LiteLLM.filtered, "refused by the provider's filter"),
        (OpenRouter.moderated, "refused by the provider's filter"),
        (OpenRouter.failed(403, "flagged", reasons=["violence"], flagged_input="x"),
         "refused by the provider's filter"),
        (Google.blocked, "refused by the provider's filter"),
        (Google.unsafe, "refused by the provider's filter"),
        (Google.thought_only, "truncated at 512 tokens (`judge_max_tokens`)"),
        (Bedrock.too_long, "too long for the model"),
        (LiteLLM.too_long, "too long for the model"),
        (Google.too_long, "too long for the model"),
        (Ollama.too_long, "too long for the model"),
    ],
)  # fmt: skip
def test_what_concerns_one_item_is_its_abstention_and_never_free(chat_server, response, reason):
    reply = ask(chat_server, response)
    assert reply.answer == Abstention(reason, truncated=reason.startswith("truncated"))
    assert reply.cost_p is None or reply.cost_p > 0


@pytest.mark.parametrize(
    ("response", "billed", "wait_s", "crowded", "says"),
    [
        (Azure.crowded, False, 2.6, True, "HTTP 429, RateLimitReached"),
        (Bedrock.crowded, False, None, True, "HTTP 429"),
        (LiteLLM.crowded, False, 5.0, True, "HTTP 429, throttling_error"),
        (Google.crowded, False, 3.5, True, "HTTP 429, RESOURCE_EXHAUSTED"),
        (Google.overloaded, True, None, False, "HTTP 503, UNAVAILABLE"),
        (Ollama.loading, True, None, False, "HTTP 503"),
        (OpenRouter.in_flight, False, 2.0, True, "HTTP 402"),
        (OpenRouter.failed(429, raw="slow down", provider_name="Azure"), True, None, True, "slow down"),
        (OpenRouter.failed(502, raw="bad gateway"), True, None, False, "bad gateway"),
        (OpenRouter.failed(None), True, None, False, "Provider returned error"),
        (OpenRouter.failed("the reply, server_error"), True, None, False, "the reply, server_error"),
        (OpenRouter.cut_off, True, None, False, "Upstream idle timeout exceeded"),
    ],
)  # fmt: skip
def test_a_passing_failure_says_what_it_is_and_how_long_to_wait(chat_server, response, billed, wait_s, crowded, says):
    with passes() as caught:
        ask(chat_server, response)
    error = caught.value
    assert (error.billed, error.wait_s, error.kind is ErrorKind.CROWDED) == (billed, wait_s, crowded)
    assert says in str(error)
    assert KEY_OF_OTHERS not in str(error)
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (Azure.bad_key, "the key is not accepted"),
        (Azure.no_deployment, "HTTP 404, DeploymentNotFound: The API deployment"),
        (Bedrock.no_access, "You don't have access to the model"),
        (OpenRouter.no_credit, "no credit left"),
        (OpenRouter.failed(402, "Insufficient credits"), "no credit left"),
        (LiteLLM.over_budget, "no credit left"),
        (LiteLLM.over_budget_before, "no credit left"),
        (LiteLLM.bad_key, "the key is not accepted"),
        (LiteLLM.no_schema, "bedrock does not support parameters: ['response_format']"),
        (Google.bad_key, "the key is not accepted"),
        (Google.expired, "the key is not accepted"),
        (Ollama.no_model, 'model "qwen3:4b" not found'),
    ],
)
def test_what_no_attempt_can_mend_stops_the_run_and_says_why(chat_server, response, says):
    with ends(ErrorKind.REJECTED) as caught:
        ask(chat_server, response)
    assert caught.value.kind is ErrorKind.REJECTED
    assert says in str(caught.value)


@pytest.mark.parametrize("refusal", [Azure.other_limit, LiteLLM.other_limit])
def test_a_server_that_wants_the_newer_name_of_the_limit_is_asked_again_with_it(chat_server, refusal):
    chat_server.respond = lambda request, _: refusal if "max_tokens" in request else Azure.reply
    reply = ask(chat_server, None, times=2, max_output_tokens=77)
    assert reply.answer == VERDICT
    first, second = chat_server.requests
    assert first["max_tokens"] == second["max_completion_tokens"] == 77
    assert "max_tokens" not in second


@pytest.mark.parametrize("code", ["content_filter", "unknown_code", None])
def test_a_refusal_that_quotes_the_texts_does_not_change_the_form_of_requests(chat_server, code):
    quoted = "'Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead. prompt is too long'"
    body = {"error": {"message": f"Refused: {quoted}", "param": "messages", "code": code}}
    judge, endings = make(chat_server.url), []

    async def story():
        chat_server.respond = lambda request, _: answered(body, 400)
        for _ in range(2):
            with pytest.raises(JudgeError) as caught:
                await judge.judge(CALL)
            endings.append(caught.value)
        await judge.aclose()

    asyncio.run(story())
    assert all("max_tokens" in request for request in chat_server.requests)
    assert ErrorKind.CHANGED not in [one.kind for one in endings]
    assert all(one.billed for one in endings if one.kind is ErrorKind.ITEM)
    if code == "content_filter":
        assert str(endings[0]) == "refused by the provider's filter"


def test_the_refusal_of_a_name_costs_nothing_and_is_made_once(chat_server):
    respond_with(chat_server, Azure.other_limit)
    with passes() as caught:
        ask(chat_server, None)
    assert (caught.value.billed, caught.value.kind) == (False, ErrorKind.CHANGED)
    with ends(ErrorKind.REJECTED, match="unsupported_parameter"):
        ask(chat_server, None, times=2)


@pytest.mark.parametrize(
    ("cost", "booked_p"),
    [
        (0.0005, PAID_P),  # less than the tokens cost at the price that was given
        (0.0007, 7 * PICO_PER_DOLLAR // 10_000),
        (0, PAID_P),
        (None, PAID_P),
        ("0.5", PAID_P),
        (-1, PAID_P),
        ({"total": 1}, PAID_P),
        (float("nan"), PAID_P),
    ],
)
def test_the_cost_that_a_gateway_reports_is_booked_if_it_is_larger(chat_server, cost, booked_p):
    reply = ask(chat_server, OpenRouter.costing(cost))
    assert (reply.answer, reply.cost_p) == (VERDICT, booked_p)


@pytest.mark.parametrize("price", ["0,0", "0.001,0.001"])
def test_a_reported_cost_above_the_quote_contradicts_it(chat_server, price):
    reply = ask(chat_server, OpenRouter.costing(0.25), price=price)
    assert reply.cost_p == PICO_PER_DOLLAR // 4 > make(chat_server.url, price=price).quote(CALL).cost_p


def test_a_reported_cost_counts_where_the_tokens_are_not_believed(chat_server):
    usage = USAGE | {"prompt_tokens": 1, "cost": 3.0}
    reply = ask(chat_server, completed(usage=usage))
    assert reply.cost_p == 3 * PICO_PER_DOLLAR


def test_a_prompt_that_a_free_server_cut_is_no_verdict(chat_server):
    reply = ask(chat_server, Ollama.cut(2050), call=LONG, price="0,0")
    assert isinstance(reply.answer, Abstention)
    assert reply.answer.reason.startswith("cut by the server: it read 2,050 tokens of at least ")
    assert "context" in reply.answer.reason


@pytest.mark.parametrize("tokens", [0, 12_000])
def test_a_prompt_that_was_read_whole_or_not_counted_is_judged(chat_server, tokens):
    assert ask(chat_server, Ollama.cut(tokens), call=LONG, price="0,0").answer == VERDICT

"""Judges that think before they answer: what is asked of them, their tokens, the booking."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from support.chat_server import candidates, completion, error, goodness, used
from support.endings import ends, replied
from support.judges import WITH_KEY, judge
from support.messages_server import message, text
from support.pools import driven, make_pool

from judgeloop.core.errors import ErrorKind, InputError
from judgeloop.core.money import cost
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Call, Item, Usage
from judgeloop.providers.pricing import price_from_text
from judgeloop.providers.token_limit import thinks, truncated

CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
KEYS = WITH_KEY | {"ANTHROPIC_API_KEY": "k"}
SAID = json.dumps({"reason": "because", "winner": "A"})
PRICE = "1.00,10.00"


def ask(server, spec="openai/o4-mini", **options):
    wire = server.root if spec.startswith("anthropic") else server.url

    return replied(judge(spec, {}, base_url=wire, **({"price": PRICE} | options)), CALL)


def thought(request, most, *, answer=60):
    """A reply after up to `most` tokens of thoughts, the same for the same answers."""
    seed = zlib.crc32(json.dumps(candidates(request)).encode())
    thoughts = int(np.random.default_rng(seed).integers(0, most, endpoint=True))
    limit = request.get("max_completion_tokens") or request["max_tokens"]
    counts = used(request) | {
        "completion_tokens": min(thoughts + answer, limit),
        "completion_tokens_details": {"reasoning_tokens": min(thoughts, limit)},
    }
    if thoughts + answer > limit:
        return completion(None, finish="length", usage=counts), counts
    said = json.dumps({"reason": "because", "winner": goodness(request)})
    return completion(said, usage=counts), counts


@pytest.mark.parametrize(
    ("model", "does"),
    [
        ("o1", True), ("o4-mini", True), ("openai/o3", True), ("gpt-5", True), ("gpt-5-nano-2025-08-07", True),
        ("gpt-5.5", True), ("gpt-6-sol", True), ("gpt-oss-120b", True), ("claude-opus-5", True),
        ("gemini-2.5-flash", True), ("gemini-3-pro-preview", True), ("deepseek-r1", True), ("qwen3-30b-thinking", True),
        ("gpt-4.1-mini", False), ("gpt-4o", False), ("gpt-5.1", False), ("gpt-5.4-mini", False), ("gpt-5-chat-latest", False),
        ("claude-sonnet-4-5", False), ("claude-opus-4-20250514", False), ("claude-3-5-haiku", False), ("gemini-2.0-flash", False),
        ("judge", False), ("m", False), ("qwen3:4b", False), ("llama-3.3-70b", False),
    ],
)  # fmt: skip
def test_models_that_think_are_known_by_their_names(model, does):
    assert thinks(model) is does


@pytest.mark.parametrize(
    ("spec", "options", "limit"),
    [
        ("openai/gpt-4.1", {}, 512),
        ("openai/o4-mini", {}, 512 + 8192),
        ("openai/o4-mini", {"effort": "none"}, 512),
        ("openai/o4-mini", {"effort": "minimal"}, 512 + 2048),
        ("openai/gpt-4.1", {"effort": "low"}, 512 + 4096),
        ("openai/o4-mini", {"effort": "high"}, 512 + 16384),
        ("openai/o4-mini", {"effort": "turbo"}, 512 + 8192),
        ("openai/o4-mini", {"effort": "high", "max_output_tokens": 700}, 700),
        ("openai/o4-mini", {"max_output_tokens": 512}, 512),
        ("openai/o4-mini", {"verdict": "logprob"}, 1),
        ("vllm/m", {"effort": "low"}, 512 + 4096),
        ("vllm/m", {}, 512),
        ("anthropic/claude-opus-4-6", {}, 512),
        ("anthropic/claude-opus-4-6", {"effort": "medium"}, 512 + 8192),
        ("anthropic/claude-opus-4-6", {"effort": "2000"}, 512 + 2000),
        ("anthropic/claude-opus-4-6", {"effort": "2000", "max_output_tokens": 2500}, 2500),
    ],
)
def test_the_limit_includes_thinking_tokens_unless_the_user_sets_it(chat_server, spec, options, limit):
    given = {"base_url": chat_server.url, "price": PRICE} | options
    one, plain = (
        judge(spec, {}, **given),
        judge("openai/gpt-4.1", {}, **given | {"effort": None, "max_output_tokens": 16}),
    )
    rate_p = price_from_text(PRICE).output.base_p
    answer = 1 if options.get("verdict") == "logprob" else 16
    assert one.quote(CALL).cost_p - plain.quote(CALL).cost_p == (limit - answer) * rate_p


@pytest.mark.parametrize("spec", ["openai/o4-mini", "vllm/m"])
def test_the_effort_is_sent_as_a_word(chat_server, spec):
    one = judge(spec, {}, base_url=chat_server.url, effort="low")
    sent = one.chat.request(CALL, [("system", "system"), ("user", "user")])
    assert sent["reasoning_effort"] == "low"
    plain = judge(spec, {}, base_url=chat_server.url)
    assert "reasoning_effort" not in plain.chat.request(CALL, [("system", "system"), ("user", "user")])


@pytest.mark.parametrize(
    ("effort", "thinking", "named"),
    [
        (None, None, None),
        ("none", {"type": "disabled"}, None),
        ("high", {"type": "adaptive"}, "high"),
        ("4096", {"type": "enabled", "budget_tokens": 4096}, None),
    ],
)
def test_anthropic_is_told_whether_to_think_and_how_hard(chat_server, effort, thinking, named):
    usage = {"input_tokens": 400, "output_tokens": 320, "output_tokens_details": {"thinking_tokens": 300}}
    chat_server.respond = lambda request, number: message(
        {"type": "thinking", "thinking": "hm", "signature": "x"}, text(SAID), usage=usage
    )
    reply = ask(chat_server, "anthropic/claude-opus-4-6", effort=effort)
    (sent,) = chat_server.requests
    assert sent.get("thinking") == thinking
    assert sent["output_config"].get("effort") == named
    assert sent["output_config"]["format"]["type"] == "json_schema"
    if thinking and "budget_tokens" in thinking:
        assert thinking["budget_tokens"] < sent["max_tokens"]
    assert reply.answer.preference == 1
    assert reply.usage == Usage(400, 320, 0, 0, 300)
    assert reply.cost_p == cost(Usage(400, 320), price_from_text(PRICE)), "thoughts are output"


def test_only_an_effort_that_is_given_is_in_the_key():
    """A verdict that came within 512 tokens is found again under the larger limit."""
    plain, narrow = judge("openai/o4-mini"), judge("openai/o4-mini", max_output_tokens=512)
    assert plain.quote(CALL).cost_p > narrow.quote(CALL).cost_p
    assert plain.identity == narrow.identity != judge("openai/o4-mini", effort="high").identity


@pytest.mark.parametrize(
    ("spec", "options", "says"),
    [
        ("openai/o3", {"effort": "low", "verdict": "logprob"}, "with `verdict=logprob` a judge cannot think first"),
        ("vllm/m", {"effort": "low", "verdict": "choice"}, "with `verdict=choice`"),
        ("anthropic/c", {"effort": "low", "verdict": "tool"}, "with `verdict=tool`"),
        ("openai/o3", {"effort": "4096"}, "this judge takes a word"),
        ("anthropic/c", {"effort": "1000"}, "a number of tokens from 1,024"),
        ("anthropic/c", {"effort": "4096", "max_output_tokens": 4096}, "to less than `judge_max_tokens`"),
    ],
)  # fmt: skip
def test_an_effort_that_cannot_be_followed_is_refused(spec, options, says):
    with pytest.raises(InputError) as caught:
        judge(spec, KEYS, base_url="http://localhost:1", **options)
    assert says in str(caught.value)


def test_an_effort_that_the_server_does_not_know_stops_the_run_and_blames_no_item(chat_server):
    response = error(400, "invalid_value")
    body = json.loads(response.body)
    body["error"]["param"] = "reasoning_effort"
    chat_server.respond = lambda request, n: replace(response, body=json.dumps(body).encode())
    with ends(ErrorKind.REJECTED):
        ask(chat_server, effort="turbo")


def test_a_reply_that_thoughts_used_up_says_so_and_what_helps(chat_server):
    usage = {
        "prompt_tokens": 400, "completion_tokens": 8704, "completion_tokens_details": {"reasoning_tokens": 8704},
    }  # fmt: skip
    chat_server.respond = lambda request, n: completion(None, finish="length", usage=usage)
    reply = ask(chat_server)
    assert reply.answer == Abstention(
        "truncated at 8704 tokens, 8704 of them thoughts; give `judge_max_tokens=17408`, or a lower `judge_effort`",
        truncated=True,
    )
    assert reply.cost_p == cost(Usage(400, 8704), price_from_text(PRICE))
    assert truncated(512, 0) == "truncated at 512 tokens (`judge_max_tokens`)"


def run(server, items, **terms):
    return driven(judge("openai/o4-mini", {}, base_url=server.url, price=PRICE), items, **terms)


@pytest.mark.parametrize("budget_p", [None, 5 * 10**11])
def test_a_judge_that_thinks_long_seldom_abstains_and_never_overspends(chat_server, budget_p):
    """The whole table is that of `benchmarks/thinking.py`."""
    bill, thoughts = [], []

    def respond(request, number):
        response, counts = thought(request, 8000)
        bill.append(Usage(counts["prompt_tokens"], counts["completion_tokens"]))
        thoughts.append(counts["completion_tokens_details"]["reasoning_tokens"])
        return response

    chat_server.respond = respond
    finished = run(chat_server, 40, budget_p=budget_p)
    true_p = sum(cost(usage, price_from_text(PRICE)) for usage in bill)
    assert finished.ending.estimate.tally.abstentions <= 0.01 * finished.ending.asked
    assert finished.spend.run_p == true_p
    if budget_p is None:
        assert finished.ending.asked == 40
        assert max(thoughts) > 7000
        assert finished.spend.tokens.reasoning_tokens == sum(thoughts)
    else:
        assert finished.ending.stop.kind is StopKind.BUDGET
        assert 0 < true_p <= budget_p


@pytest.mark.parametrize("part", [1, 2])
def test_where_funds_are_short_queries_wait_and_all_that_is_paid_for_is_judged(chat_server, part):
    """One worst case at a time: the outcome is the same at every concurrency."""
    chat_server.respond = lambda request, number: thought(request, 1000)[0]
    one, pool = judge("openai/o4-mini", {}, base_url=chat_server.url, price=PRICE), make_pool(12)
    calls = [Call(item, ("a", "b"), tuple(two)) for item, *two in zip(pool.items, *pool.outputs, strict=True)]
    worst_p = 2 * max(one.quote(call).cost_p for call in calls)
    total_p = run(chat_server, 12).spend.run_p
    assert total_p < 2 * worst_p, "so that a budget of all worst cases would be much larger"
    budget_p = worst_p + total_p // part
    alone, aside = (run(chat_server, 12, budget_p=budget_p, concurrency=n) for n in (1, 8))
    assert (alone.ending.asked, alone.spend.run_p) == (aside.ending.asked, aside.spend.run_p)
    assert (alone.ending.asked == 12) == (part == 1)
    assert alone.ending.asked >= 6

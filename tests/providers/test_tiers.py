"""The tier flex, from a server that serves it, refuses it for lack of capacity, or serves another
tier: what is sent, reserved and booked."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from support.chat_server import candidates, completion, error, used, verdict
from support.endings import replied
from support.judges import WITH_KEY, judge
from support.pools import driven

from judgeloop.core.errors import DataError, ErrorKind, InputError, JudgeError
from judgeloop.core.money import Rate, cost, halved, worst_cost
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Call, Item, Order, Usage
from judgeloop.engine.pace import RetryPolicy
from judgeloop.providers.pricing import price_from_text, published_price, read_price

CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
TRUE = Usage(400, 20)
SAID = json.dumps({"reason": "because", "winner": "A"})
STANDARD_P, FLEX_P = 400 * 1_000_000 + 20 * 10_000_000, 400 * 250_000 + 20 * 3_000_000
SCARCE = error(429, "resource_unavailable")
AT_ONCE = RetryPolicy(first_wait_s=0.0, patience_s=0.2)
NO_PATIENCE = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.05, patience_s=0.0)
DEADLINE_S = 600.0  # of a run that does not come near it, however busy the machine
OWN = """
["openai/m"]
input_per_mtok = 1
output_per_mtok = 10
["openai/m".flex]
input_per_mtok = 0.25
output_per_mtok = 3
"""


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


def said(tier):
    response = completion(SAID)
    body = json.loads(response.body)
    return replace(response, body=json.dumps(body | {"service_tier": tier}).encode())


def ask(server, prices, tier="flex"):
    """One attempt, as the judge of these prices makes it, and its quote."""
    one = judge("openai/m", {}, base_url=server.url, price=str(prices), tier=tier)
    return replied(one, CALL), one.quote(CALL)


def run(server, prices, path, tier="flex", *, items=12, concurrency=4, **terms):
    one = judge("openai/m", {}, base_url=server.url, price=str(prices), tier=tier)
    agreed = {"order": Order.FIXED, "concurrency": concurrency, "policy": AT_ONCE} | terms
    return driven(one, items, path, **agreed)


def after(refusals):
    """Capacity for a question once it has been refused so often."""
    seen = Counter()

    def capacity(request, number):
        question = json.dumps(candidates(request))
        seen[question] += 1
        return seen[question] > refusals

    return capacity


def honest(capacity):
    """A server that serves flex as long as `capacity` says so, and always the standard tier."""

    def respond(request, number):
        flex = request.get("service_tier") == "flex"
        if flex and not capacity(request, number):
            return SCARCE
        response = verdict("A", usage=used(request))
        tier = {"service_tier": "flex" if flex else "default"}
        return replace(response, body=json.dumps(json.loads(response.body) | tier).encode())

    return respond


@pytest.mark.parametrize(
    ("tier", "named", "booked_p"),
    [("flex", "flex", FLEX_P), ("standard", "flex", STANDARD_P)]
    + [("flex", named, STANDARD_P) for named in ("default", "auto", None)]
    + [("flex", "priority", 4 * STANDARD_P)],
)
def test_the_price_of_the_tier_that_the_reply_names_is_booked(chat_server, prices, tier, named, booked_p):
    chat_server.respond = lambda request, number: said(named)
    reply, quote = ask(chat_server, prices, tier)
    assert chat_server.requests[0].get("service_tier") == (tier if tier == "flex" else None)
    assert (reply.cost_p, "tier 'priority'" in reply.breach) == (booked_p, named == "priority")
    assert quote.cost_p >= booked_p


def test_the_standard_price_is_reserved_and_the_price_at_flex_expected():
    for tier in ("standard", "flex", "flex-or-standard"):
        quote = judge(tier=tier, price="1.00,10.00").quote(CALL)
        plain = judge(price="1.00,10.00").quote(CALL)
        assert quote.cost_p == plain.cost_p
        assert quote.likely_cost_p == plain.likely_cost_p / (1 if tier == "standard" else 2)


def test_a_price_at_flex_that_is_higher_is_reserved():
    dearer = price_from_text("2.00,20.00")
    price = replace(price_from_text("1.00,10.00"), flex=dearer)
    assert worst_cost(TRUE, price) == worst_cost(TRUE, dearer)


def test_the_tier_changes_no_key():
    assert judge(tier="flex").identity == judge().identity


def test_the_price_at_flex_is_the_published_one():
    one = judge("openai/gpt-5-mini", tier="flex")
    flex = published_price("gpt-5-mini", provider="openai", tier="flex")
    standard = published_price("gpt-5-mini", provider="openai")
    assert (flex.input.base_p, flex.output.base_p) == (125_000, 1_000_000)
    assert cost(TRUE, flex) < cost(TRUE, standard)
    assert one.tier_note.startswith("flex, by genai-prices")
    assert "at flex" in one.tier_note


def test_a_model_without_a_published_price_at_flex_has_half_of_its_price():
    assert published_price("gpt-4.1", provider="openai", tier="flex") is None
    assert judge(tier="flex").tier_note.startswith("flex, by half of genai-prices")


def test_another_server_may_charge_the_full_price_for_flex(chat_server):
    one = judge("openai/m", {}, base_url=chat_server.url, price="1,10", tier="flex")
    assert "no lower price is known" in one.tier_note
    assert one.quote(CALL) == judge("openai/m", {}, base_url=chat_server.url, price="1,10").quote(CALL)


def test_half_of_a_price_is_half_of_every_rate_rounded_up():
    price = replace(price_from_text("1.00,10.00"), input=Rate(3, ((10, 5),)))
    half = halved(price, "so")
    assert half.input == Rate(2, ((10, 3),))
    assert (half.output.base_p, half.source) == (5_000_000, "so")


def test_a_table_of_flex_is_read_and_checked(tmp_path, prices):
    price = read_price("openai/m", prices)
    assert (cost(TRUE, price), cost(TRUE, price.flex)) == (STANDARD_P, FLEX_P)
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(OWN.replace("output_per_mtok = 3", "out = 3"), encoding="utf-8")
    with pytest.raises(DataError, match=r"openai/m\.flex.*unknown field 'out'"):
        read_price("openai/m", wrong)


@pytest.mark.parametrize("spec", ["anthropic/claude-sonnet-4", "vllm/m"])
def test_a_provider_without_the_tier_refuses_it(spec):
    with pytest.raises(InputError, match=r"`tier=flex`: .* has no cheaper tier; only openai/MODEL"):
        judge(spec, WITH_KEY | {"ANTHROPIC_API_KEY": "k"}, base_url="http://localhost:1", tier="flex")


def test_a_judge_that_is_not_asked_over_a_network_takes_no_notice_of_the_tier():
    assert judge("metric:rouge2", {}, tier="flex").quote(CALL).cost_p == 0


@pytest.mark.parametrize("response", [SCARCE, error(498, "capacity_exceeded")])
def test_lack_of_capacity_is_not_billed_and_told_apart(chat_server, prices, response):
    chat_server.respond = lambda request, number: response
    with pytest.raises(JudgeError) as caught:
        ask(chat_server, prices)
    assert (caught.value.kind, caught.value.billed) == (ErrorKind.SCARCE, False)


def test_a_rate_limit_is_no_lack_of_capacity(chat_server, prices):
    chat_server.respond = lambda request, number: error(429, "rate_limit_exceeded")
    with pytest.raises(JudgeError) as caught:
        ask(chat_server, prices, "flex-or-standard")
    assert caught.value.kind is ErrorKind.CROWDED


def test_a_storm_of_refusals_loses_no_verdict_and_costs_nothing_more(chat_server, prices, tmp_path):
    chat_server.respond = honest(after(2))
    finished = run(chat_server, prices, tmp_path / "l", policy=RetryPolicy(first_wait_s=0.001))
    assert finished.ending.asked == 12
    assert finished.ending.estimate.tally.abstentions == 0
    sent = [request for request in chat_server.requests if request["service_tier"] == "flex"]
    assert len(sent) == len(chat_server.requests) > 12
    paid = [used(request) for request in chat_server.requests[:1]]
    assert finished.spend.run_p == 12 * (paid[0]["prompt_tokens"] * 250_000 + 20 * 3_000_000)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_without_capacity_and_fallback_the_run_halts_and_the_same_command_goes_on(
    chat_server, prices, tmp_path, concurrency
):
    chat_server.respond = honest(lambda request, number: number < 5)
    halted = run(chat_server, prices, tmp_path / "l", concurrency=concurrency)
    assert halted.ending.stop.kind is StopKind.JUDGE_FAILED
    assert "no capacity; rerun the command later, or now with `tier=flex-or-standard`" in halted.ending.stop.sentence
    assert halted.ending.estimate.tally.abstentions == 0
    chat_server.respond = honest(lambda request, number: True)
    finished = run(chat_server, prices, tmp_path / "l", concurrency=concurrency)
    assert (finished.ending.asked, finished.spend.remembered) == (12, 5)
    assert finished.ending.estimate.tally.abstentions == 0


def test_with_a_deadline_the_run_waits_for_capacity_past_its_patience(chat_server, prices, tmp_path):
    chat_server.respond = honest(after(3))
    finished = run(chat_server, prices, tmp_path / "l", policy=NO_PATIENCE, deadline_s=DEADLINE_S)
    assert finished.ending.asked == 12
    assert finished.ending.estimate.tally.abstentions == 0


def test_without_capacity_until_the_deadline_the_run_halts_at_no_cost(chat_server, prices, tmp_path):
    chat_server.respond = honest(lambda request, number: False)
    finished = run(chat_server, prices, tmp_path / "l", policy=NO_PATIENCE, deadline_s=0.3)
    assert finished.ending.stop.kind is StopKind.DEADLINE
    assert finished.spend.run_p == 0


def test_a_fallback_asks_for_the_standard_tier_at_once(chat_server, prices, tmp_path):
    chat_server.respond = honest(lambda request, number: number == 0)
    finished = run(chat_server, prices, tmp_path / "l", "flex-or-standard", items=3, concurrency=1)
    asked = [request.get("service_tier") for request in chat_server.requests]
    assert sorted(asked, key=str) == [None, None, "flex", "flex", "flex"]
    assert finished.ending.estimate.tally.abstentions == 0
    sent = used(chat_server.requests[0])["prompt_tokens"]
    flex_p, standard_p = sent * 250_000 + 20 * 3_000_000, sent * 1_000_000 + 20 * 10_000_000
    assert finished.spend.run_p == flex_p + 2 * standard_p


@pytest.mark.parametrize("tier", ["flex", "flex-or-standard"])
def test_the_budget_is_kept_at_every_tier(chat_server, prices, tmp_path, tier):
    chat_server.respond = honest(after(1))
    one = judge("openai/m", {}, base_url=chat_server.url, price=str(prices), tier=tier)
    worst_p = one.quote(CALL).cost_p
    budget_p = worst_p + worst_p // 10
    finished = run(chat_server, prices, tmp_path / "l", tier, items=60, budget_p=budget_p)
    assert finished.ending.stop.kind is StopKind.BUDGET
    assert 0 < finished.spend.run_p <= budget_p

"""Bills that are not as expected, from a server that keeps the true bill: what is booked covers it,
and a reply that contradicts the quote stops the run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.chat_judges import chat_judge
from support.chat_server import Response, completion, error, verdict
from support.endings import replied
from support.messages_server import message, text
from support.pools import driven

from judgeloop.core.errors import ErrorKind
from judgeloop.core.money import Rate, cost
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Call, Item, Order, Usage, Verdict
from judgeloop.engine.attempts import FIRST_ITEMS
from judgeloop.engine.pace import RetryPolicy
from judgeloop.providers.catalogue import chat_class
from judgeloop.providers.endpoint import ChatOptions, endpoint_for
from judgeloop.providers.errors import ending
from judgeloop.providers.pricing import price_from_text, published_price

PRICE = price_from_text("1.00,10.00")
CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
SAID = json.dumps({"reason": "because", "winner": "A"})
TRUE = Usage(400, 20)
PAID_P = cost(TRUE, PRICE)


def make(server, wire="openai", *, price=PRICE, model="m", **more):
    url = server.root if wire == "anthropic" else server.url
    return chat_judge(wire, url, model=model, price=price, **more)


def ask(server, response, wire="openai", **more):
    server.respond = lambda request, number: response
    judge = make(server, wire, **more)
    return replied(judge, CALL), judge.quote(CALL)


def run(judge, path, *, budget_p, items=40, concurrency=1):
    """One command: the same run, with whatever is left of its budget."""
    policy = RetryPolicy(attempts=1)
    terms = {"order": Order.FIXED, "policy": policy, "concurrency": concurrency}
    return driven(judge, items, path, budget_p=budget_p, **terms)


def used(**counts):
    """A verdict with this usage, in the form of Chat Completions."""
    return completion(SAID, usage={"prompt_tokens": 400, "completion_tokens": 20} | counts)


def with_fields(response, **fields):
    return Response(body=json.dumps(json.loads(response.body) | fields).encode())


def say(**usage):
    """A verdict with this usage, in the form of Messages."""
    return message(text(SAID), usage={"input_tokens": 400, "output_tokens": 20} | usage)


AZURE = Response(
    400,
    json.dumps(
        {"error": {"code": "400", "message": "The response was filtered",
                   "innererror": {"code": "ResponsibleAIPolicyViolation"}}}
    ).encode(),
)  # fmt: skip


AZURE_URL, OPENAI_URL = "https://x.azure.com/openai/v1", "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"


@pytest.mark.parametrize(
    ("url", "status", "code", "free"),
    [
        (AZURE_URL, 400, "content_filter", False),
        (AZURE_URL, 400, "context_length_exceeded", False),
        (AZURE_URL, 413, None, True),  # turned away before anything is read
        (OPENAI_URL, 400, "invalid_prompt", False),
        (OPENAI_URL, 400, "context_length_exceeded", True),
        (ANTHROPIC_URL, 400, "content_filter", True),
        (ANTHROPIC_URL, 400, "request_too_large", True),
    ],
)
def test_a_refusal_is_free_only_where_the_host_is_known_not_to_bill_it(url, status, code, free):
    said = SimpleNamespace(headers={}, content=b"")
    refusal = SimpleNamespace(status_code=status, body={"error": {"code": code}}, response=said)
    provider = chat_class("anthropic" if url == ANTHROPIC_URL else "openai").provider
    endpoint = endpoint_for(provider, ChatOptions(base_url=url, offline=True))
    how = ending(refusal, endpoint)
    assert (how.kind, how.billed) == (ErrorKind.ITEM, not free)


@pytest.mark.parametrize(
    ("wire", "response"),
    [
        ("openai", used(prompt_tokens=0, completion_tokens=0)),
        ("openai", used(completion_tokens=0)),
        ("openai", used(prompt_tokens=1)),
        ("anthropic", say(input_tokens=0, output_tokens=0)),
        ("anthropic", say(output_tokens=0)),
    ],
)
def test_a_usage_below_what_was_sent_and_said_is_not_believed(chat_server, wire, response):
    reply, _ = ask(chat_server, response, wire)
    assert (reply.answer, reply.cost_p) == (Verdict(1.0, "because"), None)
    assert not reply.breach


@pytest.mark.parametrize(
    ("response", "true"),
    [
        (used(total_tokens=920), Usage(400, 520)),  # reasoning counted in the total alone
        (used(completion_tokens_details={"reasoning_tokens": 300}), Usage(400, 320, 0, 0, 300)),
        (used(total_tokens=0), TRUE),
        (used(total_tokens=420, completion_tokens_details={"reasoning_tokens": 5}), Usage(400, 20, 0, 0, 5)),
        (used(total_tokens=None), TRUE),
    ],
)
def test_counts_that_do_not_add_up_are_booked_at_the_larger(chat_server, response, true):
    reply, _ = ask(chat_server, response, max_output_tokens=600)
    assert (reply.usage, reply.cost_p, reply.breach) == (true, cost(true, PRICE), "")


@pytest.mark.parametrize(
    ("wire", "response", "says", "least_p"),
    [
        ("openai", used(completion_tokens=513), "513 output tokens, more than the 512", cost(Usage(400, 513), PRICE)),
        ("openai", used(prompt_tokens=0, completion_tokens=10**6), "1,000,000 output tokens", cost(Usage(0, 10**6), PRICE)),
        ("openai", used(prompt_tokens=50_000), "50,000 input tokens", cost(Usage(50_000, 20), PRICE)),
        ("openai", with_fields(verdict("A"), service_tier="priority"), "tier 'priority'", 2 * PAID_P),
        ("openai", with_fields(verdict("A"), service_tier="ultra"), "tier 'ultra'", 2 * PAID_P),
        ("anthropic", say(service_tier="priority"), "tier 'priority'", 2 * PAID_P),
        ("anthropic", say(speed="fast"), "tier 'fast'", 2 * PAID_P),
        ("anthropic", say(output_tokens=513), "513 output tokens", cost(Usage(400, 513), PRICE)),
    ],
)  # fmt: skip
def test_a_reply_that_contradicts_the_quote_is_booked_in_full_and_stops_the_run(
    chat_server, tmp_path, wire, response, says, least_p
):
    chat_server.respond = lambda request, number: response
    finished = run(make(chat_server, wire), tmp_path / "ledger.sqlite", budget_p=10**13)
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED
    assert says in finished.ending.stop.sentence
    assert finished.spend.charged_p >= least_p
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize("tier", ["default", "flex", "auto", "on_demand", None])
def test_a_tier_that_is_no_dearer_is_as_expected(chat_server, tier):
    reply, _ = ask(chat_server, with_fields(verdict("A"), service_tier=tier))
    assert (reply.cost_p, reply.breach) == (PAID_P, "")


def test_a_reply_by_a_dearer_model_is_booked_at_its_price_and_stops_the_run(chat_server):
    def prices(model):
        return published_price(model, provider="openai")

    cheap, dear = prices("gpt-4.1-mini"), prices("gpt-4.1")
    response = with_fields(verdict("A"), model="gpt-4.1-2025-04-14")
    reply, _ = ask(chat_server, response, price=cheap, model="gpt-4.1-mini", published=prices)
    assert reply.cost_p == cost(TRUE, dear)
    assert "gpt-4.1-2025-04-14" in reply.breach
    for same in ("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", "gpt-4.1-nano", "house-model", ""):
        response = with_fields(verdict("A"), model=same)
        reply, _ = ask(chat_server, response, price=cheap, model="gpt-4.1-mini", published=prices)
        assert (reply.cost_p, reply.breach) == (cost(TRUE, cheap), "")


@pytest.mark.parametrize(
    ("wire", "count"),
    [("openai", "1e30"), ("anthropic", "1" + "0" * 30), ("openai", "1e15"), ("anthropic", "100000001")],
)
def test_a_count_that_no_call_can_use_is_a_typed_error(chat_server, tmp_path, wire, count):
    body = (used() if wire == "openai" else say()).body.replace(b"400", count.encode())
    chat_server.respond = lambda request, number: Response(body=body)
    judge = make(chat_server, wire)
    finished = run(judge, tmp_path / "l.sqlite", budget_p=None, concurrency=16)
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED
    assert "no call can use" in finished.ending.stop.sentence
    worst_p = judge.quote(CALL).cost_p
    assert 0 < finished.spend.charged_p < 20 * worst_p


def test_a_count_of_thousands_of_digits_is_one_that_no_call_can_use(chat_server, tmp_path):
    """Python does not write a number of more than 4,300 digits."""
    body = used(completion_tokens_details={"reasoning_tokens": 7}).body
    body = body.replace(b'"completion_tokens": 20', b'"completion_tokens": ' + b"8" * 4300)
    body = body.replace(b'"reasoning_tokens": 7', b'"reasoning_tokens": ' + b"9" * 4300)
    chat_server.respond = lambda request, number: Response(body=body)
    judge = make(chat_server, "openai")
    finished = run(judge, tmp_path / "l.sqlite", budget_p=None, concurrency=1)
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED
    assert "no call can use" in finished.ending.stop.sentence
    assert finished.spend.attempts == len(chat_server.requests) == 1
    assert finished.spend.charged_p > PAID_P


def test_without_a_price_there_is_no_quote_to_contradict(chat_server):
    for price in (None, price_from_text("0,0")):
        reply, _ = ask(chat_server, used(completion_tokens=900), price=price)
        assert (reply.cost_p, reply.breach) == (0, "")


@pytest.mark.parametrize(
    ("status", "code", "words", "reason"),
    [
        (400, "invalid_prompt", "no", "refused by the provider's filter"),
        (400, "content_policy_violation", "no", "refused by the provider's filter"),
        (413, None, "Request Entity Too Large", "too long for the model"),
        (429, "rate_limit_exceeded", "Request too large for gpt-4.1 on tokens per min (TPM)", "too long for the model"),
        (400, None, "prompt is too long: 300000 tokens", "too long for the model"),
        (400, None, "This model's maximum context length is 8192", "too long for the model"),
    ],
)  # fmt: skip
def test_an_item_that_is_always_refused_is_an_abstention_and_the_run_goes_on(
    chat_server, tmp_path, status, code, words, reason
):
    poison = Response(status, json.dumps({"error": {"message": words, "code": code}}).encode())

    def respond(request, number):
        return poison if "prompt 3" in request["messages"][-1]["content"] else verdict("A")

    chat_server.respond = respond
    finished = run(make(chat_server), tmp_path / "ledger.sqlite", budget_p=10**12, items=8)
    assert finished.ending.stop.kind is StopKind.ALL_JUDGED
    assert finished.ending.estimate.tally.abstentions == 1
    (odd,) = [la.answer for la in finished.ending.labels if isinstance(la.answer, Abstention)]
    assert odd.reason == reason
    assert len(chat_server.requests) == 8


UNKNOWN = [(400, "no_such_code"), (422, None), (400, "invalid_request_error")]


@pytest.mark.parametrize(
    ("status", "code", "concurrency"),
    [(*unknown, at_once) for unknown, at_once in zip(UNKNOWN, (1, 8, 8), strict=True)],
)
def test_an_item_that_is_refused_first_of_all_does_not_end_the_run(chat_server, tmp_path, status, code, concurrency):
    asked = []

    def respond(request, number):
        asked.append(re.search(r"prompt \d", request["messages"][-1]["content"]).group())
        return error(status, code) if asked[-1] == asked[0] else verdict("A")

    chat_server.respond = respond
    place = tmp_path / "ledger.sqlite"
    finished = run(make(chat_server), place, budget_p=10**12, items=8, concurrency=concurrency)
    assert finished.ending.stop.kind is StopKind.ALL_JUDGED
    assert finished.ending.estimate.tally.abstentions == 1
    assert finished.ending.estimate.tally.judged == 7
    (odd,) = [la.answer for la in finished.ending.labels if isinstance(la.answer, Abstention)]
    assert odd.reason.startswith(f"refused: HTTP {status}")
    assert len(chat_server.requests) == 9, "the refused one is asked twice"
    assert finished.spend.run_p - finished.spend.unconfirmed_p == 7 * PAID_P
    assert finished.spend.run_p >= 9 * PAID_P, "it may be a filter's refusal, which may be billed"


@pytest.mark.parametrize(("status", "code"), UNKNOWN)
def test_when_the_first_items_are_all_refused_the_provider_is_quoted(chat_server, tmp_path, status, code):
    chat_server.respond = lambda request, number: error(status, code)
    finished = run(make(chat_server), tmp_path / "ledger.sqlite", budget_p=10**12, items=8)
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED
    assert f"HTTP {status}" in finished.ending.stop.sentence
    assert len(chat_server.requests) == 2 * (FIRST_ITEMS - 1) + 1
    assert finished.spend.run_p >= len(chat_server.requests) * PAID_P


COUNTS = {"prompt_tokens": 400, "completion_tokens": 20}
PAID = {"input_tokens": 400, "output_tokens": 20}


@pytest.mark.parametrize(
    ("wire", "odd"),
    [
        ("openai", {"usage": None}),
        ("openai", {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}}),
        ("openai", {"usage": "x"}),
        ("openai", {"usage": [1]}),
        ("openai", {"usage": {"prompt_tokens": -1, "completion_tokens": 20}}),
        ("openai", {"usage": {"prompt_tokens": 400.5, "completion_tokens": 20}}),
        ("openai", {"usage": COUNTS | {"prompt_tokens_details": "x"}}),
        ("openai", {"usage": COUNTS | {"prompt_tokens_details": {"cached_tokens": 1.5}}}),
        ("openai", {"service_tier": {}}),
        ("anthropic", {"usage": None}),
        ("anthropic", {"usage": {"input_tokens": 400}}),
        ("anthropic", {"usage": PAID | {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 9}}}),
        ("anthropic", {"usage": {"input_tokens": 400, "output_tokens": 20, "service_tier": {}}}),
        ("anthropic", {"usage": {"input_tokens": "x", "output_tokens": 20}}),
    ],
)  # fmt: skip
def test_a_verdict_counts_whose_usage_cannot_be_read(chat_server, wire, odd):
    answer = say() if wire == "anthropic" else verdict("A")
    reply, _ = ask(chat_server, with_fields(answer, **odd), wire)
    assert isinstance(reply.answer, Verdict)
    assert (reply.cost_p, reply.usage, reply.breach) == (None, None, "")


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_that_is_no_name_is_as_one_that_is_not_named(chat_server, wire):
    for odd in (None, {}, 5):
        answer = say() if wire == "anthropic" else verdict("A")
        reply, _ = ask(chat_server, with_fields(answer, model=odd), wire)
        assert (reply.model, reply.cost_p) == ("", PAID_P)


def test_a_reported_cost_is_booked_though_the_counts_cannot_be_read(chat_server):
    reply, _ = ask(chat_server, used(prompt_tokens="x", cost=2.5))
    assert reply.cost_p == 25 * 10**11


PAGE = b"<html><title>Attention Required!</title></html>"


@pytest.mark.parametrize("status", [403, 406, 418, 451])
def test_an_item_that_a_firewall_refuses_is_an_abstention(chat_server, tmp_path, status):
    """An output with the words of an attack is refused before the provider reads it."""

    def respond(request, number):
        refused = "prompt 3" in request["messages"][-1]["content"] and number
        return Response(status, PAGE, {"Content-Type": "text/html"}) if refused else verdict("A")

    chat_server.respond = respond
    finished = run(make(chat_server), tmp_path / "ledger.sqlite", budget_p=10**12, items=8)
    tally = finished.ending.estimate.tally
    assert (finished.ending.stop.kind, tally.abstentions) == (StopKind.ALL_JUDGED, 1)
    # It may have looked at the reply, which is then paid for: both attempts at their worst case.
    assert finished.spend.unconfirmed_p > 2 * PAID_P
    assert finished.spend.run_p == 7 * PAID_P + finished.spend.unconfirmed_p


@pytest.mark.parametrize(("url", "free"), [(OPENAI_URL, True), (AZURE_URL, False)])
def test_the_page_of_a_firewall_is_free_only_at_a_providers_own_host(url, free):
    said = SimpleNamespace(headers={}, content=PAGE)
    endpoint = endpoint_for(chat_class("openai").provider, ChatOptions(base_url=url, offline=True))
    how = ending(SimpleNamespace(status_code=403, body=None, response=said), endpoint)
    assert (how.kind, how.billed) == (ErrorKind.BLOCKED, not free)


@pytest.mark.parametrize("body", [PAGE, b'{"error": {"message": "no access"}}'])
def test_a_403_before_the_first_answer_ends_the_run_at_once(chat_server, tmp_path, body):
    chat_server.respond = lambda request, number: Response(403, body)
    finished = run(make(chat_server), tmp_path / "ledger.sqlite", budget_p=10**12, items=8)
    assert finished.ending.stop.kind is StopKind.JUDGE_FAILED
    assert len(chat_server.requests) == 1


CACHED = {"prompt_tokens_details": {"cached_tokens": 300}}
READ = {"input_tokens": 100, "cache_read_input_tokens": 300}
WRITTEN = {"input_tokens": 100, "cache_creation_input_tokens": 300}
BOTH = {"prompt_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 50}}
PER_CACHED = replace(PRICE, cache_read=Rate(100_000), cache_write=Rate(1_250_000))


@pytest.mark.parametrize(
    ("wire", "response", "price", "saved_p"),
    [
        ("openai", used(**CACHED), replace(PRICE, cache_read=Rate(100_000)), 300 * 900_000),
        ("anthropic", say(**READ), replace(PRICE, cache_read=Rate(100_000)), 300 * 900_000),
        ("anthropic", say(**WRITTEN), replace(PRICE, cache_write=Rate(1_250_000)), -300 * 250_000),
        ("openai", used(**BOTH), PER_CACHED, 300 * 900_000 - 50 * 250_000),
        ("openai", used(**CACHED), PRICE, 0),  # no price of its own: the full price
        ("openai", used(), replace(PRICE, cache_read=Rate(1)), 0),
        ("openai", used(**CACHED, cost=1.0), replace(PRICE, cache_read=Rate(1)), 0),  # its own bill
    ],
)
def test_cached_tokens_are_booked_at_their_price_and_the_saving_is_known(chat_server, wire, response, price, saved_p):
    reply, quote = ask(chat_server, response, wire, price=price)
    if '"cost"' not in response.body.decode():
        assert reply.cost_p == PAID_P - saved_p <= quote.cost_p
    assert reply.saved_p == saved_p


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (error(400, "content_filter"), ""),
        (error(400, "invalid_prompt"), ""),
        (AZURE, ""),
        (used(prompt_tokens=0, completion_tokens=0), ""),
        (error(400, "json_validate_failed"), "prompt 3"),  # some refuse what the model has written
        *((error(*unknown), "") for unknown in UNKNOWN),  # a filter with a code of its own
    ],
)
@pytest.mark.parametrize("concurrency", [2, 256])
def test_what_may_be_billed_unseen_never_takes_more_than_the_budget(
    chat_server, tmp_path, response, words, concurrency
):
    def respond(request, number):
        return response if words in request["messages"][-1]["content"] else verdict("A")

    chat_server.respond = respond
    budget_p = 10**11 if words else 10**10
    for _ in range(12 if words else 3):  # commands
        place = tmp_path / "ledger.sqlite"
        judge = make(chat_server)
        finished = run(judge, place, budget_p=budget_p, items=8, concurrency=concurrency)
    true_p = len(chat_server.requests) * PAID_P
    assert 0 < true_p <= finished.spend.charged_p <= budget_p
    assert finished.ending.stop.kind is StopKind.BUDGET


def answering_as(server, *models):
    """Let each reply name the next of these models, and the last all that follow."""
    server.respond = lambda request, number: with_fields(used(), model=models[min(number, len(models) - 1)])


LISTED = {"gpt-4o-2024-08-06": price_from_text("2.5,10"), "gpt-4": price_from_text("30,60")}


@pytest.mark.parametrize("model", ["our-judge", "gpt-4o-2024-08-06"])
def test_ones_own_price_holds_for_the_model_that_the_first_reply_names(chat_server, model):
    judge = make(chat_server, model=model, price=price_from_text("2,8"), published=LISTED.get)
    answering_as(chat_server, "gpt-4o-2024-08-06", "gpt-4o-2024-08-06", "gpt-4")
    replies = [replied(judge, replace(CALL, item=Item(name, "Say something."))) for name in "abc"]
    assert [bool(reply.breach) for reply in replies] == [False, False, True]
    assert [reply.cost_p for reply in replies[:2]] == [cost(TRUE, price_from_text("2,8"))] * 2
    assert replies[2].cost_p == cost(TRUE, LISTED["gpt-4"])


@pytest.mark.parametrize(
    ("price", "named", "says"),
    [
        ("2,8", "gpt-4o-2024-08-06", "which is listed at $2.50 in and $10.00 out"),
        ("3,12", "gpt-4o-2024-08-06", "the server calls our-judge gpt-4o-2024-08-06"),
        ("2,8", "our-judge", ""),
    ],
)
def test_a_note_says_what_the_server_calls_the_model_of_ones_own_price(chat_server, price, named, says):
    judge = make(chat_server, model="our-judge", price=price_from_text(price), published=LISTED.get)
    assert judge.price_note == ""
    answering_as(chat_server, named)
    replied(judge, CALL)
    assert says in judge.price_note
    assert ("listed" in judge.price_note) is ("listed" in says)


def test_a_published_price_is_that_of_the_model_asked_for(chat_server):
    judge = make(chat_server, model="gpt-4o-2024-08-06", price=replace(PRICE, own=False), published=LISTED.get)
    answering_as(chat_server, "gpt-4")
    assert "gpt-4, which costs more than gpt-4o-2024-08-06" in replied(judge, CALL).breach
    assert judge.price_note == ""

"""The Anthropic judge over the real wire: the official SDK against a server on loopback."""

from __future__ import annotations

import pytest
from support.chat_judges import chat_judge
from support.chat_server import respond_with
from support.endings import ends, replied
from support.messages_server import failure, message, text, tool

from judgeloop.core.errors import ErrorKind
from judgeloop.core.records import Abstention, Call, Item, Verdict
from judgeloop.judges.prompt import shipped_template

KEY = "sk-ant-canary-0123456789abcdef"
CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
RATING = Call(CALL.item, ("b",), ("an answer",))
PAID_P = 400 * 1_000_000 + 20 * 10_000_000
FOR_A = '{"reason": "because", "winner": "A"}'
SCHEMA = shipped_template("pairwise.v1").schema


def ask(url, call=CALL, **more):
    judge = chat_judge("anthropic", url, **({"model": "claude-m", "key": KEY} | more))
    return replied(judge, call)


@pytest.fixture
def messages(chat_server):
    chat_server.respond = lambda request, number: message(text(FOR_A))
    return chat_server


COMMON = {"model", "max_tokens", "system", "messages", "service_tier"}


def test_a_verdict_by_schema_is_asked_without_sampling_parameters(messages):
    reply = ask(messages.root, max_output_tokens=77)
    assert (reply.request_id, messages.paths) == ("req_1", ["/v1/messages"])
    (request,) = messages.requests
    assert set(request) == COMMON | {"output_config"}
    assert (request["max_tokens"], request["service_tier"]) == (77, "standard_only")
    assert request["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert request["system"] == shipped_template("pairwise.v1").system


def test_a_verdict_by_tool_is_asked_for_by_a_forced_strict_tool(messages):
    respond_with(messages, message(tool(reason="because", winner="B"), stop="tool_use"))
    assert ask(messages.root, by="tool").answer == Verdict(0.0, "because")
    (request,) = messages.requests
    assert set(request) == COMMON | {"tools", "tool_choice"}
    (only,) = request["tools"]
    assert request["tool_choice"] == {"type": "tool", "name": only["name"]}
    assert (only["strict"], only["input_schema"]) == (True, SCHEMA)


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ([text('{"reason": "r", '), text('"winner": "tie"}')], Verdict(0.5, "r")),
        ([{"type": "thinking", "thinking": "A?", "signature": "s"}, text(FOR_A)], Verdict(1.0, "because")),
        ([text("Here you are."), tool(reason="r", winner="B")], Verdict(0.0, "r")),
        ([tool(winner="A"), tool(winner="A")], None),
        ([tool(winner="C")], None),
        ([tool(winner="A", sure=True)], None),
        ([{"type": "tool_use", "id": "t", "name": "verdict", "input": "A"}], None),
        ([text("A")], None),
        ([text(f"```json\n{FOR_A}\n```")], None),
        ([text(FOR_A), text(FOR_A)], None),
        ([], None),
    ],
)
@pytest.mark.parametrize("stop", ["end_turn", "tool_use", "stop_sequence", None])
def test_the_reply_is_read_from_its_blocks_and_an_odd_one_is_retried(messages, content, answer, stop):
    respond_with(messages, message(*content, stop=stop))
    reply = ask(messages.root)
    assert reply.cost_p == PAID_P
    if answer is None:
        assert isinstance(reply.answer, Abstention)
        assert reply.answer.reason.startswith("unparsable" if content else "the reply is empty")
        assert reply.answer.again
    else:
        assert reply.answer == answer


@pytest.mark.parametrize(
    ("stop", "reason", "again"),
    [
        ("refusal", "refused by the judge", False),
        ("max_tokens", "truncated at 512 tokens (`judge_max_tokens`)", False),
        ("model_context_window_exceeded", "too long for the model", False),
    ],
)
@pytest.mark.parametrize("content", [[], [text(FOR_A)], [tool(winner="A")]])
def test_a_message_that_did_not_end_by_itself_is_an_abstention_that_is_charged(messages, stop, reason, again, content):
    respond_with(messages, message(*content, stop=stop))
    reply = ask(messages.root)
    long = stop == "model_context_window_exceeded"
    truncated = stop == "max_tokens"
    assert reply.answer == Abstention(reason, again=again, truncated=truncated, too_long=long)
    assert reply.cost_p == PAID_P


def test_a_turn_that_paused_before_a_verdict_may_be_asked_again(messages):
    respond_with(messages, message(text('{"reason": "let me'), stop="pause_turn"))
    reply = ask(messages.root)
    assert isinstance(reply.answer, Abstention)
    assert reply.answer.again


NO_CREDIT = "the account has no credit left"


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (failure(402, None), NO_CREDIT),
        (failure(400, "billing_error"), NO_CREDIT),
        (failure(429, "rate_limit_error", error_code="enforced_spend_limit_reached"), NO_CREDIT),
        (failure(400, "invalid_request_error", "Your credit balance is too low"), "credit balance is too low"),
        (failure(404, "not_found_error", "model: claude-m"), "model: claude-m"),
    ],
)
def test_a_failure_that_no_attempt_can_mend_says_so(messages, response, words):
    respond_with(messages, response)
    with ends(ErrorKind.REJECTED, ErrorKind.REFUSED, match=words) as caught:
        ask(messages.root)
    unknown = caught.value.kind is ErrorKind.REFUSED  # a filter's, which may bill it
    assert caught.value.billed == unknown
    assert len(messages.requests) == 1


@pytest.mark.parametrize(("label", "score"), [("1", 0.0), ("4", 0.333333), ("10", 1.0)])
def test_a_rating_by_tool_is_the_score_of_its_label(messages, label, score):
    template = shipped_template("rating.v1")
    respond_with(messages, message(tool(reason="because", rating=label), stop="tool_use"))
    reply = ask(messages.root, RATING, by="tool", template=template)
    assert (reply.answer, reply.cost_p) == (Verdict(score, "because"), PAID_P)
    (request,) = messages.requests
    assert request["tools"][0]["input_schema"] == template.schema

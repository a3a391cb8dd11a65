"""Long replies are streamed: they are what one body would be, and one that ends early is none."""

from __future__ import annotations

import json

import pytest
from support.chat_server import Response

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.records import Call, Item, Output
from judgeloop.systems.catalogue import make_system
from judgeloop.systems.options import options_of

CALL = Call(Item("i", "Say something."), ("s",), ())
KEY = "key-of-mine-1234567890"
WORDS = ["a long ", "answer ", KEY[:9], KEY[9:], " ends"]


def chunk(finish=None, **delta):
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c", "model": "m-2026", "choices": choices, "usage": None}


OPENAI = [
    chunk(role="assistant", content=""),
    *(chunk(content=word) for word in WORDS),
    chunk("stop"),
    {"id": "c", "model": "m-2026", "choices": [],
     "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}},
]  # fmt: skip
ANTHROPIC = [
    {"type": "message_start", "message": {"model": "m-2026", "content": [], "stop_reason": None,
                                          "usage": {"input_tokens": 400, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
      for word in WORDS),
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}},
    {"type": "message_stop"},
]  # fmt: skip
EVENTS = {"openai": OPENAI, "vllm": OPENAI, "anthropic": ANTHROPIC}


def stream(events, *, done=True, **more):
    lines = (f"event: {event.get('type', 'x')}\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events)
    body = "".join(lines) + ("data: [DONE]\n\n" if done and "choices" in events[0] else "")
    return Response(body=body.encode(), headers={"Content-Type": "text/event-stream"}, **more)


@pytest.fixture(params=list(EVENTS))
def kind(request, chat_server):
    chat_server.pages = {"/v1/models": Response(body=b'{"data": [{"id": "m"}]}')}
    return request.param


async def answered(server, kind, response, tokens=16_001):
    server.respond = lambda request, number: response
    url = server.root if kind == "anthropic" else server.url
    values = {"base-url": url, "price": "1,10", "key-variable": "MINE", "max-tokens": tokens}
    entries = [f"{kind}/m.{key}={value}" for key, value in values.items()]
    options = options_of(entries, [f"{kind}/m"], {"MINE": KEY})
    system = make_system(f"{kind}/m", options[f"{kind}/m"])
    try:
        return await system.answer(CALL)
    finally:
        await system.aclose()


@pytest.mark.anyio
async def test_a_stream_is_put_together_and_billed_as_one_reply(chat_server, kind):
    reply = await answered(chat_server, kind, stream(EVENTS[kind]))
    assert isinstance(reply.answer, Output)
    assert (reply.answer.ended, reply.model) == (OutputEnd.WHOLE, "m-2026")
    assert KEY not in reply.answer.text
    assert reply.answer.text.startswith("a long answer ")
    assert reply.answer.text.endswith(" ends")
    assert reply.cost_p == 400 * 1_000_000 + 20 * 10_000_000
    assert chat_server.requests[-1]["stream"] is True


@pytest.mark.anyio
@pytest.mark.parametrize("left", [1, 4])
async def test_a_stream_that_ends_early_is_no_output(chat_server, kind, left):
    last = {"anthropic": 1}.get(kind, 2)  # the events that say how it ended
    with pytest.raises(JudgeError, match="the stream ended early") as caught:
        await answered(chat_server, kind, stream(EVENTS[kind][: -last - left + 1], done=False))
    assert (caught.value.kind, caught.value.billed) == (ErrorKind.RETRY, True)


@pytest.mark.anyio
@pytest.mark.parametrize("reason", [None, ""])
@pytest.mark.parametrize("end", ["usage", "done"])
async def test_a_stream_whose_server_gives_no_reason_ends_in_its_usage_or_a_mark(chat_server, reason, end):
    events = [event for event in OPENAI if event["choices"]]
    events[-1] = chunk(reason)
    given = stream([*events, OPENAI[-1]], done=False) if end == "usage" else stream(events)
    reply = await answered(chat_server, "openai", given)
    assert isinstance(reply.answer, Output)
    assert reply.answer.ended is OutputEnd.WHOLE
    assert (reply.cost_p is None) is (end == "done"), "a reply without its usage is charged at its worst case"


@pytest.mark.anyio
async def test_blocks_that_a_gateway_numbers_from_one_are_read(chat_server):
    events = [event | {"index": event["index"] + 1} if "index" in event else event for event in ANTHROPIC]
    reply = await answered(chat_server, "anthropic", stream(events))
    assert reply.answer.text.endswith(" ends")


@pytest.mark.anyio
async def test_a_connection_that_breaks_within_a_stream_is_no_output(chat_server, kind):
    with pytest.raises(JudgeError) as caught:
        await answered(chat_server, kind, stream(EVENTS[kind], close_early=True))
    assert (caught.value.kind, caught.value.billed) == (ErrorKind.RETRY, True)


@pytest.mark.anyio
async def test_an_error_within_a_stream_is_that_error(chat_server, kind):
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "too busy"}}
    with pytest.raises(JudgeError, match="too busy"):
        await answered(chat_server, kind, stream([*EVENTS[kind][:3], failed]))


@pytest.mark.anyio
@pytest.mark.parametrize("body", [b"data: {not json\n\n", b"data: 1\n\n", b"data: {}\n\n", b"\xff"])
async def test_what_is_no_stream_is_no_output(chat_server, kind, body):
    with pytest.raises(JudgeError) as caught:
        await answered(chat_server, kind, Response(body=body))
    assert caught.value.kind is ErrorKind.RETRY


@pytest.mark.anyio
async def test_a_stream_may_be_longer_than_a_reply_in_one_body(chat_server, kind):
    deltas = next(n for n, event in enumerate(EVENTS[kind]) if "a long" in json.dumps(event))
    events = EVENTS[kind][: deltas + 1] + [EVENTS[kind][deltas]] * 20_000
    reply = await answered(chat_server, kind, stream([*events, *EVENTS[kind][deltas + 5 :]]))
    assert len(reply.answer.text) > 20_000 * len("a long ")


@pytest.mark.anyio
async def test_a_short_limit_is_not_streamed(chat_server, kind):
    with pytest.raises(JudgeError, match="the reply is not a"):
        await answered(chat_server, kind, stream(EVENTS[kind]), tokens=16_000)
    assert "stream" not in chat_server.requests[-1]

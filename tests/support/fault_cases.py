"""Everything that can go wrong between a judge and its provider: what is sent, how a run must end,
who may have billed."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from judgeloop.core.records import Usage
from support.fault_server import BEFORE_READING, GOOD, RESET, USED, Pause, Piece, Reply, Say, head, whole

VERDICT, ABSTAINED, STOPPED = "verdict", "abstention", "judge_failed"

FOR_EVER = Pause(60.0)
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Case:
    """A reply to every request; `says` begins an abstention's reason or stands in a stop's
    sentence.

    `tries` says whether the call is sent again: a fault that passes is mended by a second, good
    reply. `used` is what a
    provider may have billed for one such reply, None where it surely bills nothing. `wires` are
    those that the case is for.
    """

    name: str
    reply: Reply
    ends: str
    says: str = ""
    tries: bool = False
    used: Usage | None = None
    wires: tuple[str, ...] = ("openai", "anthropic")
    raced: bool = False  # whether the request had left by then is a matter of timing, and so is whether it is charged


def passing(name: str, reply: Reply, says: str, *, billed: bool = True, **more) -> Case:
    """Worth another attempt; after the last one, an abstention."""
    return Case(name, reply, ABSTAINED, f"failed: {says}", tries=True, used=USED if billed else None, **more)


def final(name: str, reply: Reply, says: str = "", **more) -> Case:
    """Worth no further attempt, and never billed: the run stops."""
    return Case(name, reply, STOPPED, says, **more)


def unread(name: str, content: object, says: str = "unparsable", **more) -> Case:
    """A completion, billed, that is no verdict; asked for once more."""
    return Case(name, lambda say: ok(say.completion(content)), ABSTAINED, says, tries=True, used=USED, **more)


def verdict(name: str, reply: Reply, **more) -> Case:
    """A good verdict in an odd wrapping."""
    return Case(name, reply, VERDICT, used=more.pop("used", USED), **more)


def ok(body: bytes, *headers: str) -> list[Piece]:
    return whole(200, body, *headers)


def fails(status: int, code: str | None = None, *headers: str, **details) -> Reply:
    """An error in the provider's form."""
    return lambda say: whole(status, say.error(code, **details), *headers)


def body(raw: bytes, *headers: str) -> Reply:
    """These bytes with a status of 200."""
    return lambda say: ok(raw, *headers)


def limited(name: str, *headers: str) -> Case:
    return passing(
        f"429 {name}", fails(429, "rate_limit_exceeded", *headers), "HTTP 429, rate_limit_exceeded", billed=False
    )


def dripped(data: bytes, every_s: float) -> list[Piece]:
    """One byte at a time."""
    return [piece for byte in data for piece in (bytes([byte]), Pause(every_s))]


def torn(say: Say, share: float) -> list[Piece]:
    """A verdict whose connection is reset after this share of the body."""
    data = say.completion()
    return [head(200, len(data)) + data[: int(len(data) * share)], Pause(0.02), RESET]


def chunked(data: bytes, *, last: bool) -> bytes:
    """A body in chunks of ten bytes; without the last, empty one it is broken off."""
    parts = [data[at : at + 10] for at in range(0, len(data), 10)]
    coded = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return head(200, None, ["Transfer-Encoding: chunked"]) + coded + (b"0\r\n\r\n" if last else b"")


def flood(megabytes: int) -> Iterator[Piece]:
    """Spaces without end, as far as anyone reads."""
    yield head(200, megabytes * MEGABYTE)
    for _ in range(megabytes):
        yield b" " * MEGABYTE


@cache
def bomb(megabytes: int) -> bytes:
    """Zeros that take a thousandth of their size on the wire."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(MEGABYTE)
    return b"".join([*(packer.compress(zeros) for _ in range(megabytes)), packer.flush()])


def shape(name: str, raw: bytes, **more) -> Case:
    """JSON, or something like it, that is no completion at all."""
    return passing(f"200 {name}", body(raw), "the reply is no", **more)


def filled(say: Say, field: str, value: object) -> list[Piece]:
    """A verdict with one field of its body replaced."""
    return ok(json.dumps(json.loads(say.completion()) | {field: value}).encode())


def broken_field(name: str, field: str, value: object, wires: tuple[str, ...]) -> Case:
    """A completion, billed, with a field of another shape; asked for once more."""
    says = "the reply is not a"
    return Case(
        f"200 {name}", lambda say: filled(say, field, value), ABSTAINED, says, tries=True, used=USED, wires=wires
    )


def counted(name: str, usage: object, **more) -> Case:
    """A good verdict with an odd usage."""
    return verdict(f"usage {name}", lambda say: ok(say.completion(usage=usage)), **more)


def dear(name: str, says: str, used: Usage, body: dict, **more) -> Case:
    """A completion that is billed for more than was reserved: the run stops."""
    return Case(name, lambda say: ok(say.completion(**body)), STOPPED, says, used=used, **more)


def about_the_item(name: str, reply: Reply, says: str, **more) -> Case:
    """Billed, and of no use to ask again: an abstention."""
    return Case(name, reply, ABSTAINED, says, used=USED, **more)


def redirect(status: int, location: str) -> Reply:
    return lambda say: whole(status, b"", f"Location: {location.format(elsewhere=say.elsewhere)}")


def openai_message(**message) -> Reply:
    return lambda say: ok(say.completion(message={"role": "assistant"} | message))


def anthropic_blocks(*blocks: dict, **more) -> Reply:
    return lambda say: ok(say.completion(message=list(blocks), **more))


def ended(finish: str, said: str = GOOD) -> Reply:
    """A completion with this reason to stop."""
    return lambda say: ok(say.completion(said, finish=finish))


def _split_verdict() -> Reply:
    return anthropic_blocks({"type": "text", "text": GOOD[:9]}, {"type": "text", "text": GOOD[9:]})


OPENAI, ANTHROPIC = ("openai",), ("anthropic",)
QUOTAS = ["insufficient_quota", "organization_spend_limit_exceeded"]

RATE_LIMITS = [
    limited("without Retry-After"),
    limited("Retry-After small", "Retry-After: 0.05"),
    limited("Retry-After in ms", "Retry-After-Ms: 40"),
    limited("Retry-After garbage", "Retry-After: soon"),
    limited("Retry-After of 400 digits", f"Retry-After: {'9' * 400}"),
]
LONG_WAITS = [
    Case(f"429 Retry-After {name}", fails(429, "rate_limit_exceeded", header), ABSTAINED, "failed: HTTP 429")
    for name, header in {
        "a date in 2099": "Retry-After: Wed, 21 Oct 2099 07:28:00 GMT",
        "1e12 ms": "Retry-After-Ms: 1e12",
    }.items()
]
NO_CREDIT = [
    *(final(f"429 {code}", fails(429, code), "no credit left") for code in QUOTAS),
    final("402 billing_error", fails(402, "billing_error"), "no credit left"),
    final("400 billing_error", fails(400, "billing_error"), "no credit left"),
    final(
        "429 spend limit in the details",
        fails(429, "rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
        "no credit left",
    ),
]
TURNED_AWAY = [
    final("401", fails(401, "invalid_api_key"), "the key is not accepted"),
    final("403", fails(403, "permission_error"), "the key is not accepted"),
    final("404", fails(404, "model_not_found", message="no such model"), "no such model"),
    final("400", fails(400, "unsupported_parameter", message="temperature?"), "temperature?"),
]
# What may concern one item: it is asked about once more, and then it has no verdict.
UNKNOWN = [
    Case(name, reply, ABSTAINED, says, tries=True, used=USED)
    for name, reply, says in [
        ("400 with a list for a body", lambda say: whole(400, b"[1]"), "refused: HTTP 400"),
        ("400 with invalid UTF-8", lambda say: whole(400, b"\xff\xfe\x80"), "refused: HTTP 400"),
        ("400 with numbers for texts", fails(400, message=[1, {"a": 2}]), "refused: HTTP 400"),
        ("400 with a very long message", fails(400, message="m" * 100_000), "refused: HTTP 400"),
        ("422", fails(422, message="unprocessable"), "refused: HTTP 422"),
    ]
]
ABOUT_THE_ITEM = [
    Case(f"{status} {code}", fails(status, code), ABSTAINED, says, used=used)
    for status, code, says, used in [
        (400, "context_length_exceeded", "too long", USED),
        (400, "string_above_max_length", "too long", USED),
        (413, "request_too_large", "too long", None),
        (413, None, "too long", None),
        (400, "content_filter", "refused", USED),
        (400, "invalid_prompt", "refused", USED),
    ]
]
TROUBLE = [
    *(passing(f"{status}", fails(status), f"HTTP {status}") for status in (408, 409, 500, 529)),
    passing("503 overloaded with Retry-After", fails(503, "overloaded", "Retry-After: 0.01"), "HTTP 503"),
    Case("503 Retry-After 1e9", fails(503, None, "Retry-After: 1e9"), ABSTAINED, "failed: HTTP 503", used=USED),
]
REDIRECTS = [
    *(final(f"{status} to another port", redirect(status, "{elsewhere}/v1/x"), "redirects")
      for status in (301, 307)),
    final("307 to itself", redirect(307, "/v1/chat/completions"), "redirects"),
    final("304", lambda say: [head(304, None)], "redirects"),
]  # fmt: skip
NO_COMPLETION = [
    passing("200 with an error for a body", lambda say: ok(say.error("overloaded")), "an error in the reply, overloaded"),
    shape("empty", b""),
    shape("HTML", b"<!doctype html><title>Log in</title>"),
    passing("200 half a JSON", lambda say: ok(say.completion()[:80]), "the reply is no"),
    shape("deep nesting", b"[" * 100_000),
    shape("a number of 100,000 digits", b'{"choices": ' + b"9" * 100_000 + b"}"),
    passing("204", lambda say: [head(204, None)], "the reply is no"),
    broken_field("choices empty", "choices", [], OPENAI),
    broken_field("message null", "choices", [{"message": None}], OPENAI),
    broken_field("blocks that are none", "content", {}, ANTHROPIC),
    broken_field("blocks without a type", "content", [{"text": "no type"}], ANTHROPIC),
]  # fmt: skip
BROKEN_WIRE = [
    passing(
        "Content-Length too short",
        lambda say: [head(200, 40) + say.completion()],
        "no reply from",
    ),
    passing("Content-Length too long", lambda say: [head(200, 9999) + say.completion()], "no reply from"),
    passing("two replies for one", lambda say: [ok(say.completion())[0] * 2], "no reply from"),
    passing("reset in the body", lambda say: torn(say, 0.5), "no reply from"),
    passing("reset in the status line", lambda say: [b"HTT", Pause(0.02), RESET], "no reply from"),
    passing("reset before reading", lambda say: [BEFORE_READING], "no reply from", raced=True),
    passing("closed without a word", lambda say: [], "no reply from"),
    passing("no HTTP at all", lambda say: [b"SSH-2.0-OpenSSH_9.6\r\n"], "no reply from"),
    passing("a header of 1 MB", lambda say: ok(say.completion(), f"X-Long: {'h' * MEGABYTE}"), "no reply"),
    passing("chunks broken off", lambda say: [chunked(say.completion(), last=False)], "no reply from"),
    passing(
        "gzip cut off",
        lambda say: ok(gzip.compress(say.completion())[:60], "Content-Encoding: gzip"),
        "the reply is no",
    ),
    passing("an error torn in its body", lambda say: [head(500, 999) + b"{", Pause(0.02), RESET], "no reply"),
]  # fmt: skip
SLOW = [
    passing("accepted and never answered", lambda say: [FOR_EVER], "no reply within"),
    passing("one byte a second", lambda say: dripped(ok(say.completion())[0], 1.0), "no reply within"),
    passing("one byte every 50 ms", lambda say: dripped(ok(say.completion())[0], 0.05), "no reply within"),
]  # fmt: skip
LARGE = [
    passing("a body of 20 MB", lambda say: flood(20), ""),
    passing("a gzip bomb of 40 MB", lambda say: ok(bomb(40), "Content-Encoding: gzip"), ""),
    passing(
        "a gzip bomb in a gzip bomb",
        lambda say: ok(gzip.compress(bomb(40)), "Content-Encoding: gzip, gzip"),
        "no reply from",
    ),
]
ODD_BUT_GOOD = [
    verdict("plain", lambda say: ok(say.completion())),
    verdict("200 model a number", lambda say: filled(say, "model", 7)),
    verdict("200 usage negative", lambda say: filled(say, "usage", {"prompt_tokens": -5, "input_tokens": -5})),
    verdict("gzip", lambda say: ok(gzip.compress(say.completion()), "Content-Encoding: gzip")),
    verdict("chunked", lambda say: [chunked(say.completion(), last=True)]),
    verdict("no length, ended by closing", lambda say: [head(200, None) + say.completion()]),
    verdict("100 Continue first", lambda say: [b"HTTP/1.1 100 Continue\r\n\r\n", *ok(say.completion())]),
    verdict("wrong content type", lambda say: [ok(say.completion())[0].replace(b"application/json", b"text/html")]),
    verdict("unknown fields", lambda say: ok(say.completion(surprise={"a": [1, None]}, metadata=GOOD))),
    verdict("no model named", lambda say: ok(say.completion(model=""))),
    verdict("a key that stands twice, the same", lambda say: ok(b'{"id": "x", ' + say.completion()[1:])),
]  # fmt: skip
NO_VERDICT = [
    unread("conflicting verdicts in one object", '{"winner": "A", "winner": "B"}'),
    unread("a fenced block", f"```json\n{GOOD}\n```"),
    unread("a label that is none", '{"reason": "r", "winner": "C"}'),
    unread("a reply of 100,000 brackets", "[" * 60_000),
    unread("NUL and escape characters", "\x00\x1b[31m" + GOOD),
]
CUT = [
    about_the_item(f"truncated, {what}", ended("length", said), "truncated at")
    for what, said in {"half a verdict": '{"reason": "r", "wi', "whole verdict": GOOD, "nothing": ""}.items()
]
NO = openai_message(content=None, refusal="No.")
EMPTY = anthropic_blocks(finish="refusal")
FULL = ended("model_context_window_exceeded")
REFUSALS = [
    about_the_item("refusal in its own field", NO, "refused by the judge", wires=OPENAI),
    about_the_item("refusal as the reason to stop", ended("content_filter"), "refused"),
    about_the_item("refusal without content", EMPTY, "refused", wires=ANTHROPIC),
    about_the_item("context window exceeded", FULL, "too long", wires=ANTHROPIC),
]
BLOCKS = [
    verdict("a verdict in two blocks", _split_verdict(), wires=ANTHROPIC),
    verdict(
        "a verdict after a block of thinking",
        anthropic_blocks({"type": "thinking", "thinking": "B?"}, {"type": "text", "text": GOOD}),
        wires=ANTHROPIC,
    ),
    Case(
        "two tools called", anthropic_blocks(*[{"type": "tool_use", "input": json.loads(GOOD)}] * 2), ABSTAINED,
        "unparsable", tries=True, used=USED, wires=ANTHROPIC,
    ),
    Case(
        "no blocks", anthropic_blocks(), ABSTAINED, "the reply is empty", tries=True, used=USED, wires=ANTHROPIC,
    ),
    Case(
        "a message without content", openai_message(content=None), ABSTAINED, "the reply is empty", tries=True, used=USED,
        wires=OPENAI,
    ),
]  # fmt: skip
USAGES = [
    counted("missing", None),
    counted("of zero tokens", (0, 0)),
    counted(
        "with its reasoning in the total alone",
        {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 700},
        used=Usage(400, 300),
        wires=OPENAI,
    ),
    dear("usage of 1e30 tokens", "no call can use", USED, {"usage": (1e30, 20)}),
    dear("usage above the limit of output", "more than the 512 asked for", Usage(400, 513), {"usage": (400, 513)}),
    dear("usage above the worst case", "more than the worst case", Usage(400, 10**6), {"usage": (400, 10**6)}),
    # three times the price
    dear("a dearer tier", "'priority'", Usage(1200, 60), {"service_tier": "priority"}, wires=OPENAI),
    counted(
        "with more cached than sent",
        {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}},
        wires=OPENAI,
    ),
    counted(
        "at an hour's cache price",
        {"input_tokens": 1, "output_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 9}},
        wires=ANTHROPIC,
    ),
]  # fmt: skip


def in_turn(cases: list[Case]) -> Iterator[Case]:
    """Each for one of the providers: what they share does not have to be shown twice."""
    for number, case in enumerate(cases):
        yield replace(case, wires=case.wires[number % 2 :][:1]) if len(case.wires) > 1 else case


def cases() -> Iterable[Case]:
    """All of them."""
    alike = [
        *RATE_LIMITS, *LONG_WAITS, *NO_CREDIT, *TROUBLE, *REDIRECTS, *NO_COMPLETION, *BROKEN_WIRE, *SLOW, *LARGE, *NO_VERDICT,
    ]  # fmt: skip
    each = [
        *TURNED_AWAY, *ABOUT_THE_ITEM, *UNKNOWN, *ODD_BUT_GOOD, *CUT, *REFUSALS, *BLOCKS, *USAGES,
    ]  # fmt: skip
    return [*in_turn(alike), *each]

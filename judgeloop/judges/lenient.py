"""Finds the answer in a reply that has thoughts before it or a Markdown fence around it.

Open models often reply so: `<think>…</think>` and then the answer, or the answer between ```json
and ```. Takes the text of a reply and a function that reads an answer strictly (`parsing.py`).
What is left when thoughts and fence are gone is read as strictly as a whole reply: text around a
fence, two fences or two answers are abstentions.

The judged text may be quoted in the thoughts. So nothing within them is read, and where they end
must not be in doubt: a reply with more than one closing tag is an abstention, and so is one in
which an answer had begun before the closing tag. An opening tag may be missing, because the chat
templates of some models hold it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from judgeloop.core.records import Abstention, Answer, Verdict

# Part of the key of a verdict that was read leniently. Raise it when the same text could give
# another verdict.
LENIENT_VERSION = 1
SETTING = "`lenient_replies`"
# DeepSeek, Qwen and most open models; gpt-oss at Amazon Bedrock.
TAGS = "think|reasoning"
_OPENING = re.compile(rf"\s*<(?P<tag>{TAGS})>")
_CLOSING = re.compile(rf"</(?P<tag>{TAGS})>")
FENCE = "```"
LANGUAGE = "json"
_BEGINS_AN_ANSWER = ("{", FENCE)

Read = Callable[[str], Answer]


def read_reply(text: str, read: Read, *, lenient: bool) -> Answer:
    """Return the answer that `read` finds in `text`.

    If `lenient`, also in what is left without thoughts and fence. If not, an abstention says where
    that would have helped. A reply that `read` accepts as it is has the same answer either way.
    """
    answer = read(text)
    if isinstance(answer, Verdict):
        return answer
    bared = read_bare(text, read)
    if lenient:
        return bared
    if isinstance(bared, Verdict):
        return replace(
            answer, reason=f"unparsable: {wrapping_of(text)}; {SETTING} would read this reply"
        )
    return answer


def read_bare(text: str, read: Read) -> Answer:
    """Return the answer in `text` without thoughts and fence, or an abstention."""
    closings = list(_CLOSING.finditer(text))
    if len(closings) > 1:
        return _unclear(f"{closings[0][0]} appears {len(closings)} times")
    if closings:
        closing = closings[0]
        opening = _OPENING.match(text)
        if opening is not None and opening["tag"] != closing["tag"]:
            return _unclear(f"<{opening['tag']}> ends with {closing[0]}")
        if opening is None and text.lstrip().startswith(_BEGINS_AN_ANSWER):
            return _unclear(f"{closing[0]} stands within an answer")
        text = text[closing.end() :]
    elif opening := _OPENING.match(text):
        return _unclear(f"<{opening['tag']}> does not end")
    return read(_without_fence(text))


def wrapping_of(text: str) -> str:
    """Say what stands around the answer in `text`."""
    found = _CLOSING.search(text)
    return f"thoughts before {found[0]}" if found else "a Markdown fence around the answer"


def _without_fence(text: str) -> str:
    bare = text.strip()
    if len(bare) < 2 * len(FENCE) or not (bare.startswith(FENCE) and bare.endswith(FENCE)):
        return text
    body = bare[len(FENCE) : -len(FENCE)]
    return body[len(LANGUAGE) :] if body[: len(LANGUAGE)].lower() == LANGUAGE else body


def _unclear(what: str) -> Abstention:
    return Abstention(f"unparsable: {what}", again=True)

"""A list of messages as the plain text that a judge sees.

A message is an object with `role` and `content`, as in the APIs of OpenAI and Anthropic, or with `from` and `value`, as
in ShareGPT's files. One user's message alone is its own text, so that such a prompt equals the same prompt without a
list. Several turns are shown one after another, each after its role. Images and other content that is no text are
refused, as a judge would not see them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

USER, ASSISTANT = "user", "assistant"
ROLES = {"human": USER, "gpt": ASSISTANT, "model": ASSISTANT, "ai": ASSISTANT, "bot": ASSISTANT}
THOUGHTS = {"thinking", "redacted_thinking", "reasoning"}  # parts that are no answer
Messages = Sequence[Mapping[str, Any]]


def is_messages(value: object) -> TypeGuard[Messages]:
    """Whether a value is a list of messages."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and bool(value)
        and all(isinstance(part, Mapping) and {"role", "from"} & set(part) for part in value)
    )


def conversation(messages: Messages) -> str:
    r"""Messages as text: one user's message as it is, others each after its role.

    Raises:
        ValueError: a message has content that is no text.

    >>> conversation([{"role": "user", "content": "Hi"}])
    'Hi'
    >>> conversation([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}])
    'User: Hi\n\nAssistant: Yes?'
    """
    if len(messages) == 1 and role_of(messages[0]) == USER:
        return text_of(messages[0].get("content", messages[0].get("value")))
    return "\n\n".join(f"{role_of(part).capitalize()}: {said(part)}" for part in messages)


def split_answer(messages: Messages) -> tuple[Messages, str | None]:
    """The messages before the last answer, and that answer; None if they end otherwise.

    Raises:
        ValueError: the answer has content that is no text.
    """
    if role_of(messages[-1]) != ASSISTANT:
        return messages, None
    return messages[:-1], said(messages[-1])


def turns(texts: Sequence[str]) -> str:
    r"""The turns of one side of a conversation: a single turn as it is, others numbered.

    >>> turns(["Hi", "Bye"])
    '[Turn 1]\nHi\n\n[Turn 2]\nBye'
    """
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"[Turn {number}]\n{text}" for number, text in enumerate(texts, start=1))


def role_of(message: Mapping[str, Any]) -> str:
    """Who a message is from: user, assistant, system, tool."""
    role = str(message.get("role", message.get("from"))).strip().casefold()
    return ROLES.get(role, role)


def text_of(content: object) -> str:
    """The text of a message's content: a text, or a list of parts.

    Raises:
        ValueError: a part is no text.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join(_part(part) for part in content)
    raise ValueError(f"expected the text of a message, found {type(content).__name__}")


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    kind = part.get("type", "text") if isinstance(part, Mapping) else type(part).__name__
    if kind in THOUGHTS:
        return ""
    if isinstance(part, Mapping) and kind == "tool_use":
        return call_text(part.get("name"), part.get("input"))
    if isinstance(part, Mapping) and isinstance(part.get("refusal"), str):
        return str(part["refusal"])
    if not isinstance(part, Mapping) or not isinstance(part.get("text"), str):
        raise ValueError(  # noqa: TRY004 - it is the content that is wrong
            f"expected text, found a part of type {kind!r}, which no judge would see"
        )
    return str(part["text"])


def said(message: Mapping[str, Any]) -> str:
    """What a message says: its text, and the tools that it calls.

    Raises:
        ValueError: it has content that is no text.
    """
    parts = [text_of(message.get("content", message.get("value"))) or str(message.get("refusal") or "")]
    for call in message.get("tool_calls") or ():  # in OpenAI's form, or in Inspect's
        function = call.get("function") if isinstance(call, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else function
        source = function if isinstance(function, Mapping) else call
        parts.append(call_text(name, source.get("arguments") if isinstance(source, Mapping) else None))
    return "\n".join(filter(None, parts))


def call_text(name: object, arguments: object) -> str:
    """The call of a tool as text."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"[calls {name} with {written}]"

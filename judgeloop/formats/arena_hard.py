"""Reads Arena-Hard's answers of version 2: `uid`, `model`, and `messages` that end in the answer.

The content of the last message is an object with `answer`.
"""

from judgeloop.formats.catalogue import Fields, by_row, within
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source


def recognises(source: Source) -> bool:
    """Return whether the first line has an answer as the last message."""
    messages = source.first.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return "uid" in source.first and isinstance(within(last, "content"), dict)


def _row(source: Source, row: Row) -> Row:
    messages = row.fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise source.wrong("expected messages that end in an answer, found none", row.line)
    fields: Fields = {"id": row.fields.get("uid"), "prompt": messages[:-1] or None}
    answer = within(messages[-1], "content", "answer")
    if not isinstance(answer, str):
        return Row(row.line, fields, failed="the last message has no answer")
    return Row(row.line, fields | {"model": row.fields.get("model"), "output": answer})


read = by_row(_row)

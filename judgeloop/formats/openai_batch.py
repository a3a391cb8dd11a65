"""Reads the results of OpenAI's Batch API, and the requests that were sent to it.

A line of results has `custom_id`, `response` with `status_code` and `body`, and `error`. The body
is a reply of `/v1/chat/completions`, `/v1/responses` or `/v1/completions`. The prompts are not in
the results: give the file of requests as `items`. A line of requests has `custom_id` and `body`.
"""

from typing import Any

from judgeloop.formats.catalogue import Fields, by_row, only, within
from judgeloop.formats.conversation import said
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source

OK = 200


def recognises(source: Source) -> bool:
    """Return whether the first line is a result or a request of a batch."""
    fields = source.first
    reply = fields.get("response")
    result = "response" in fields and (reply is None or within(reply, "body") is not None)
    return "custom_id" in fields and (result or isinstance(fields.get("body"), dict))


def _row(source: Source, row: Row) -> Row:
    fields: Fields = {"id": row.fields.get("custom_id")}
    if "response" not in row.fields:
        return Row(row.line, fields | _asked(row.fields.get("body")))
    reply = row.fields["response"]
    status, body = within(reply, "status_code"), within(reply, "body")
    error = within(row.fields, "error", "message") or within(body, "error", "message")
    if not isinstance(body, dict) or error or status not in {OK, None}:
        return Row(row.line, fields, failed=f"the request failed: {error or f'status {status}'}")
    fields |= {"model": body.get("model"), "output": _answer(source, row.line, body)}
    return Row(row.line, fields)


def _asked(body: Any) -> Fields:
    """Return the prompt of a request."""
    names = ("messages", "input", "prompt")
    return {"prompt": next((v for n in names if (v := within(body, n)) is not None), None)}


def _answer(source: Source, line: int, body: Fields) -> str:
    try:
        if isinstance(body.get("output"), list):
            messages = [part for part in body["output"] if within(part, "type") == "message"]
            return "\n".join(said(message) for message in messages)
        choice = only(source, body.get("choices"), "choices", line)
        message = within(choice, "message")
        return said(message) if message else str(choice["text"])
    except (ValueError, TypeError, KeyError) as error:
        raise source.wrong(f"the reply has no text: {error}", line) from None


read = by_row(_row)

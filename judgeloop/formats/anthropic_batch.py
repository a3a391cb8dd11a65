"""Reads the results of Anthropic's Message Batches API, and the requests that were sent to it.

A line of results has `custom_id` and `result`, whose `type` is succeeded, errored, canceled or
expired. The prompts are not in the results: give the requests, with `custom_id` and `params`, as
`items`.
"""

from judgeloop.formats.catalogue import Fields, by_row, within
from judgeloop.formats.conversation import said
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source


def recognises(source: Source) -> bool:
    """Return whether the first line is a result or a request of a batch."""
    fields = source.first
    typed = within(fields, "result", "type") is not None
    return "custom_id" in fields and (typed or isinstance(fields.get("params"), dict))


def _row(source: Source, row: Row) -> Row:
    fields: Fields = {"id": row.fields.get("custom_id")}
    if "result" not in row.fields:
        return Row(row.line, fields | _asked(row.fields.get("params")))
    kind, message = within(row.fields, "result", "type"), within(row.fields, "result", "message")
    if kind != "succeeded" or not isinstance(message, dict):
        error = within(row.fields, "result", "error")
        text = within(error, "error", "message") or within(error, "message")
        return Row(row.line, fields, failed=f"the request {kind}{f': {text}' if text else ''}")
    try:
        answer = said(message)
    except ValueError as error:
        raise source.wrong(f"the reply has no text: {error}", row.line) from None
    return Row(row.line, fields | {"model": message.get("model"), "output": answer})


def _asked(params: object) -> Fields:
    """Return the prompt of a request, with its system prompt."""
    system, messages = within(params, "system"), within(params, "messages")
    if system and isinstance(messages, list):
        messages = [{"role": "system", "content": system}, *messages]
    return {"prompt": messages}


read = by_row(_row)

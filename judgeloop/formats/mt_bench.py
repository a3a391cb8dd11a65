"""Reads MT-Bench's questions and answers (FastChat), and Arena-Hard's of before its version 2.

An answer has `question_id`, `model_id` and `choices` with `turns`. The questions, with `turns` and
sometimes `reference`, are a file of their own: give it as `items`. The turns of one side are put
together, each under its number.
"""

from typing import Any

from judgeloop.formats.catalogue import Fields, by_row, only, within
from judgeloop.formats.conversation import turns
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source

FAILED = "$ERROR$"  # what FastChat writes for an answer when the API failed


def recognises(source: Source) -> bool:
    """Return whether the first line is a question or an answer with turns."""
    fields = source.first
    choices = fields.get("choices")
    answered = isinstance(choices, list) and all(isinstance(within(choice, "turns"), list) for choice in choices)
    return "question_id" in fields and (answered or isinstance(fields.get("turns"), list))


def _row(source: Source, row: Row) -> Row:
    fields: Fields = {"id": row.fields.get("question_id")}
    if "turns" in row.fields:
        reference = row.fields.get("reference")
        fields |= {"group": row.fields.get("category"), "prompt": _text(source, row, row.fields)}
        fields["reference"] = turns(reference) if isinstance(reference, list) else reference
        return Row(row.line, fields)
    choice = only(source, row.fields.get("choices"), "choices", row.line)
    output = _text(source, row, choice)
    if not output or FAILED in output:
        return Row(row.line, fields, failed=f"the answer is {output or 'empty'}")
    return Row(row.line, fields | {"model": row.fields.get("model_id"), "output": output})


def _text(source: Source, row: Row, holder: Any) -> str:
    """Return the turns as text; in old files of Arena-Hard a turn is an object with `content`."""
    listed = within(holder, "turns") or []
    texts = [within(turn, "content") if isinstance(turn, dict) else turn for turn in listed]
    if not all(isinstance(text, str) for text in texts):
        raise source.wrong(f"expected turns of text, found {listed!r:.60}", row.line)
    return turns(texts) if texts else ""


read = by_row(_row)

"""Reads logs of Inspect (UK AI Security Institute): `.json`, and `.eval`, which is a zip archive.

Each sample gives a row: the input, the target, the output, and a score for each scorer. The
members of an archive are read as `zip_members.py` says. Long texts that a log keeps apart as
attachments are put back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from judgeloop.formats.conversation import said
from judgeloop.formats.format import Fields, only, within
from judgeloop.formats.source import Source
from judgeloop.formats.tables import Row
from judgeloop.formats.zip_members import Members, members_of

UNIT = "sample"
HEADER, SAMPLES = "header.json", "samples/"
ATTACHMENT = "attachment://"
# How Inspect counts the letters of its scorers, in its `value_to_float`.
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


def recognises(source: Source) -> bool:
    """Return whether this is a log of Inspect; no other archive is read."""
    if source.is_zip:
        return True
    document = source.document
    return within(document, "eval", "task") is not None and "status" in (document or {})


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each sample."""
    members = members_of(source) if source.is_zip else None
    header = _header(source, members)
    empty = True
    for number, sample in enumerate(_samples(source, members), start=1):
        empty = False
        yield _row(source, number, sample, within(header, "eval", "model"))
    if empty:
        raise source.wrong(
            f"this log has no samples (its status is {within(header, 'status')!r}); run the task with "
            "log_samples"
        )


def _header(source: Source, members: Members | None) -> Any:
    if members is None:
        return source.document
    if HEADER not in members:
        what = "this log is not finished" if "_journal/start.json" in members else "this is no log"
        raise source.wrong(f"{what}: the archive has no {HEADER}")
    return _parsed(source, members, HEADER)


def _samples(source: Source, members: Members | None) -> Iterator[Any]:
    if members is None:
        yield from within(source.document, "samples") or ()
        return
    for name in members:
        if name.startswith(SAMPLES) and name.endswith(".json"):
            yield _parsed(source, members, name)


def _parsed(source: Source, members: Members, name: str) -> Any:
    try:
        return json.loads(members.read(name))
    except ValueError as error:
        raise source.wrong(f"its member {name} is no JSON: {error}") from None


def _row(source: Source, number: int, sample: Any, model: Any) -> Row:
    attachments = within(sample, "attachments") or {}
    output, target = within(sample, "output"), within(sample, "target")
    fields: Fields = {
        "id": within(sample, "id"),
        "prompt": _restored(within(sample, "input"), attachments),
        "reference": "\n".join(map(str, target)) if isinstance(target, list) else target,
        "model": model,
    }
    epoch, scores = within(sample, "epoch") or 1, _scores(within(sample, "scores"))
    if within(sample, "error") or not within(output, "choices"):
        reason = within(sample, "error", "message") or "the sample has no output"
        return Row(number, fields, failed=str(reason), epoch=epoch)
    choice = only(source, output["choices"], "choices", number, UNIT)
    try:
        answer = said(_restored(within(choice, "message"), attachments))
    except ValueError as error:
        raise source.wrong(f"the output is no text: {error}", number, UNIT) from None
    return Row(number, fields | {"output": answer}, epoch=epoch, scores=scores)


def _scores(scores: Any) -> dict[str, object]:
    """Return the value of each scorer, or each of its values; letters become numbers."""
    found: dict[str, object] = {}
    for name, score in (scores or {}).items():
        value = within(score, "value")
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, one in parts:
            number = LETTERS.get(one, one) if isinstance(one, str) else one
            found[f"{name}/{part}" if part else name] = number
    return found


def _restored(value: Any, attachments: Fields) -> Any:
    """Return a value with the texts that it refers to."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        return attachments.get(value.removeprefix(ATTACHMENT), value)
    if isinstance(value, list):
        return [_restored(part, attachments) for part in value]
    if isinstance(value, dict):
        return {name: _restored(part, attachments) for name, part in value.items()}
    return value

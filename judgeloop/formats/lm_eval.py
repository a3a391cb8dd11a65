"""Reads `samples_*.jsonl` of EleutherAI's lm-evaluation-harness, written with `--log_samples`.

A line is about a document and a filter: `doc_id`, `arguments` with the prompt, `resps` with what
the model wrote, and a value for each of `metrics`. Several filters of one document become one row,
with the scores of each filter. The model's name is that of the file's folder. Tasks that compare
the likelihoods of given choices have no text to judge, only scores.
"""

import json
from collections.abc import Iterator
from typing import Any

from judgeloop.formats.catalogue import Fields, within
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source

OWN = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
    "doc_hash", "prompt_hash", "target_hash",
}  # fmt: skip
NO_TEXT = "this task compares the likelihoods of given choices, so there is no text to judge"


def recognises(source: Source) -> bool:
    """Return whether the first line is a sample."""
    return {"doc_id", "arguments", "resps"} <= set(source.first)


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each document."""
    merged: dict[object, Row] = {}
    samples = list(source.rows())
    filters = {sample.fields.get("filter") for sample in samples}
    for sample in samples:
        fields = sample.fields
        key = (fields.get("doc_id"), None if len(filters) > 1 else sample.line)
        scores = _scores(fields, fields.get("filter") if len(filters) > 1 else None)
        known = merged.get(key)
        if known is None:
            merged[key] = _row(source, sample, scores)
        elif known.scores is not None and not set(scores) & set(known.scores):
            known.scores.update(scores)  # type: ignore[attr-defined]  # a dictionary of `_scores`
        else:
            raise source.wrong(
                f"the document {fields.get('doc_id')} appears twice, first on line {known.line}", sample.line
            )
    yield from merged.values()


def _row(source: Source, sample: Row, scores: Fields) -> Row:
    fields = sample.fields
    made: Fields = {
        "id": fields.get("doc_id"),
        "prompt": _prompt(fields.get("arguments")),
        "reference": fields.get("target"),
        "model": source.path.parent.name.replace("__", "/") or None,
    }
    if not isinstance(_first(fields.get("arguments"))[1], dict):  # it generates no text
        return Row(sample.line, made, failed=NO_TEXT, scores=scores)
    answers = fields["resps"][0] if isinstance(fields["resps"], list) and fields["resps"] else None
    if not isinstance(answers, list) or len(answers) != 1 or not isinstance(answers[0], str):
        raise source.wrong(
            f"expected one text in 'resps', found {fields['resps']!r:.60}; with `repeats` in the task, "
            "keep one answer of each document",
            sample.line,
        )
    return Row(sample.line, made | {"output": answers[0]}, scores=scores)


def _scores(fields: Fields, filtered_by: object) -> Fields:
    """Return the metrics of a sample; several filters have their names, as in lm-eval's results."""
    names = fields.get("metrics")
    if not isinstance(names, list):
        names = [name for name in fields if name not in OWN]
    suffix = "" if filtered_by is None else f",{filtered_by}"
    return {f"{name}{suffix}": fields.get(name) for name in names}


def _first(arguments: Any) -> list[Any]:
    """Return the arguments of the first request: of a dictionary, or of a list in old files."""
    first = within(arguments, "gen_args_0")
    if isinstance(first, dict):
        return [first.get("arg_0"), first.get("arg_1")]
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        return [*arguments[0], None, None][:2]
    return [None, None]


def _prompt(arguments: Any) -> Any:
    """Return the prompt: a text, or the messages that a chat model was sent."""
    prompt = _first(arguments)[0]
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt.startswith('[{"role"'):
        try:
            return json.loads(prompt)
        except ValueError:
            return prompt
    return prompt

"""Reads what `promptfoo eval --output results.json` writes, or `results.jsonl`, or `results.yaml`.

`results.results`, or each line, has an entry for each test, prompt and provider. The item is the test (`testIdx`),
the system is the provider, with the prompt's label if there are several prompts. Then the item's
text is the test's variables, as the prompts differ. Version 2 numbers no tests, so its items are known by
their text. A test that failed because of an error, not because of an assertion, has no output.
"""

import json
from collections.abc import Iterator
from typing import Any

from judgeloop.formats.catalogue import Fields, within
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source

ERROR = 2  # promptfoo's `failureReason` for everything but a rejected output


def recognises(source: Source) -> bool:
    """Return whether this is a promptfoo evaluation."""
    results = _results(source.document)
    first = results[0] if isinstance(results, list) and results else source.first
    return isinstance(first, dict) and {"prompt", "provider", "vars"} <= set(first)


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each result."""
    results: list[Fields] = _results(source.document) or [row.fields for row in source.rows()]
    several = len({str(result.get("promptIdx")) for result in results}) > 1
    for number, result in enumerate(results, start=1):
        if not isinstance(result, dict) or "provider" not in result:
            raise source.wrong("expected a result with 'provider'", number)
        yield _row(number, result, several=several)


def _results(document: Any) -> Any:
    inner = within(document, "results")
    return within(inner, "results") if isinstance(inner, dict) else inner


def _row(number: int, result: Fields, *, several: bool) -> Row:
    provider, prompt = result.get("provider"), result.get("prompt")
    system = within(provider, "label") or within(provider, "id") or provider
    fields: Fields = {
        "id": result.get("testIdx"),
        "model": f"{system} {within(prompt, 'label')}" if several else system,
        "prompt": _vars(result) if several else _asked(within(prompt, "raw")),
    }
    output = within(result, "response", "output")
    scores = {"score": result.get("score"), **(result.get("namedScores") or {})}
    if result.get("failureReason") == ERROR or output is None:
        reason = result.get("error") or within(result, "response", "error") or "no response"
        return Row(number, fields, failed=f"the provider failed: {reason}")
    if not isinstance(output, str):
        output = json.dumps(output, ensure_ascii=False)
    return Row(number, fields | {"output": output}, scores=scores)


def _vars(result: Fields) -> str:
    values = result.get("vars") or {}
    return "\n".join(f"{name}: {value}" for name, value in values.items())


def _asked(raw: Any) -> Any:
    """Return the prompt; promptfoo keeps messages as JSON."""
    if isinstance(raw, str) and raw.lstrip().startswith("["):
        try:
            return json.loads(raw)
        except ValueError:
            return raw
    return raw

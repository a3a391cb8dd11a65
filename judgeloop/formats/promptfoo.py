"""The files of promptfoo: results as JSON, JSON lines, YAML and CSV, and what recognises a CSV that is not read."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeVar

from judgeloop.core.ends import ended
from judgeloop.core.errors import DataError
from judgeloop.formats.harnesses import messages_in
from judgeloop.formats.source import OpenedFile, within
from judgeloop.formats.tables import Fields, Row, cells_of

PROMPTFOO_ERROR = 2  # promptfoo's `failureReason` for everything but a rejected output
PROMPTFOO_AFTER = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]  # columns after an output
PROMPTFOO_DESCRIPTION = "Description"
# Its older CSV: a column `[provider] prompt`, and cells that begin with a mark and a score.
PROVIDERS_COLUMN, MIXED_CELL = re.compile(r"\[.+\] "), re.compile(r"\[(PASS|FAIL|ERROR)\]")
LONGEST_HEADER = 1 << 16  # characters; the prompts stand in it
K = TypeVar("K")


def is_promptfoo(file: OpenedFile) -> bool:
    """Whether this is a promptfoo evaluation, whole or a line a result."""
    results = _promptfoo_results(file)
    first = results[0] if isinstance(results, list) and results else file.first
    return isinstance(first, dict) and {"prompt", "provider", "vars"} <= set(first)


def promptfoo(file: OpenedFile) -> Iterator[Row]:
    """`promptfoo eval --output results.json`, `.jsonl` or `.yaml`: a result for each test, prompt and provider.

    The item is the test, the system is the provider, with the prompt's label if there are several prompts. Then the
    item's text is the test's variables, as the prompts differ. Version 2 numbers no tests, so its items are known by
    their text. `--repeat` numbers each repetition of a test as a test of its own: tests with the same variables and
    assertions are epochs of one. A test that failed because of an error, not because of an assertion, has no output.
    """
    results: list[Fields] = _promptfoo_results(file) or [row.fields for row in file.rows()]
    for number, result in enumerate(results, start=1):
        if not isinstance(result, dict) or "provider" not in result:
            raise file.wrong("expected a result with 'provider'", number)
    systems, several = _promptfoo_systems(file, results)
    columns, tests = [_promptfoo_column(result) for result in results], [_promptfoo_test(result) for result in results]
    times = Counter(zip(columns, tests, strict=True))
    repeats = max(times.values(), default=0) > 1
    # The number of a repeated test, so that files with more and with fewer repetitions join.
    ranks = {test: rank for rank, test in enumerate(dict.fromkeys(tests))}
    seen = Counter[tuple[Any, str]]()
    for number, (result, column, test) in enumerate(zip(results, columns, tests, strict=True), start=1):
        seen[column, test] += 1
        fields = {
            "id": ranks[test] if repeats else result.get("testIdx"),
            "model": systems[column],
            "prompt": messages_in(within(result, "prompt", "raw"), r"\s*\["),
        }
        if several:
            fields["prompt"] = "\n".join(f"{name}: {value}" for name, value in (result.get("vars") or {}).items())
        epoch = seen[column, test] if repeats else 0
        # Of a test that failed by an error, too, as promptfoo counts it.
        scores = {"score": result.get("score"), **(result.get("namedScores") or {})}
        output = within(result, "response", "output")
        if result.get("failureReason") == PROMPTFOO_ERROR or output is None:
            reason = result.get("error") or within(result, "response", "error") or "no response"
            yield Row(number, fields, failed=f"the provider failed: {reason}", epoch=epoch, scores=scores)
            continue
        fields["output"] = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        how = ended(within(result, "response", "finishReason"))
        yield Row(number, fields, epoch=epoch, scores=scores, ended=how)


def _promptfoo_column(result: Fields) -> tuple[Any, ...]:
    """Which of promptfoo's columns a result stands in: `promptIdx` counts the pairs of a provider and a prompt."""
    provider = result["provider"]
    known = (within(provider, "id"), within(provider, "label")) if isinstance(provider, dict) else (str(provider), None)
    at = result.get("promptIdx")
    return (within(result, "prompt", "label") if at is None else at, *known)


def _promptfoo_test(result: Fields) -> str:
    """What makes a test another one: its variables, and what is asserted of the output."""
    return json.dumps([result.get("vars"), within(result, "testCase", "assert")], sort_keys=True, default=str)


def _promptfoo_systems(file: OpenedFile, results: list[Fields]) -> tuple[dict[tuple[Any, ...], str], bool]:
    """The name of the system of each column, and whether there are several prompts.

    One provider may stand in the file twice, with other settings, under one name: such systems are numbered.
    """
    listed = within(file.document, "results", "prompts")
    templates = [within(prompt, "raw") for prompt in listed] if isinstance(listed, list) else []
    prompts: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for result in results:
        column = _promptfoo_column(result)
        if column not in prompts:
            at = column[0]
            known = isinstance(at, int) and 0 <= at < len(templates)
            template = templates[at] if known else result.get("promptId")
            prompts[column] = (template, within(result, "prompt", "label"))
    several = len(set(prompts.values())) > 1
    ids: dict[Any, set[Any]] = {}  # of the providers with one label
    for _, provider, label in prompts:
        ids.setdefault(label or provider, set()).add(provider)
    names = {}
    for column, (_, about) in prompts.items():
        _, provider, label = column
        name = f"{label} ({provider})" if label and len(ids[label]) > 1 else str(label or provider)
        names[column] = f"{name} {about}" if several else name
    return _numbered(names), several


def _promptfoo_results(file: OpenedFile) -> Any:
    inner = within(file.document, "results")
    return within(inner, "results") if isinstance(inner, dict) else inner


def is_promptfoo_csv(file: OpenedFile) -> bool:
    """Whether the header has promptfoo's columns after an output."""
    if not file.is_text or ",".join(PROMPTFOO_AFTER) not in file.text[:LONGEST_HEADER]:
        return False
    try:
        _, header = next(cells_of(file.path, file.text))
    except DataError:
        return False
    return bool(_promptfoo_outputs(header))


def promptfoo_csv(file: OpenedFile) -> Iterator[Row]:
    """`promptfoo eval --output results.csv`: a row a test, a column `[provider] label` for each prompt and provider.

    The item's text is its variables, as the file has no prompts as asked.
    """
    (_, header), *rows = cells_of(file.path, file.text)
    systems = _promptfoo_outputs(header)
    first = min(systems)
    for line, cells in rows:
        if len(cells) != len(header):
            raise file.wrong(f"expected {len(header)} columns, found {len(cells)}", line)
    tests = [
        "\n".join(
            f"{name}: {value}"
            for name, value in zip(header[:first], cells, strict=False)
            if name != PROMPTFOO_DESCRIPTION
        )
        for _, cells in rows
    ]
    ranks, seen = {test: rank for rank, test in enumerate(dict.fromkeys(tests))}, Counter[str]()
    repeats = len(ranks) < len(tests)
    for number, ((line, cells), asked) in enumerate(zip(rows, tests, strict=True)):
        seen[asked] += 1
        epoch = seen[asked] if repeats else 0
        for at, name in systems.items():
            fields = {"id": ranks[asked] if repeats else number, "model": name, "prompt": asked}
            output, status, score, named, reason, _ = cells[at : at + 1 + len(PROMPTFOO_AFTER)]
            try:
                scores = {"score": score, **(json.loads(named) if named else {})}
            except (ValueError, TypeError):
                raise file.wrong(f"expected named scores as JSON, found {named!r:.60}", line) from None
            if status == "ERROR":
                failed = f"the provider failed: {reason or 'no reason is given'}"
                yield Row(line, fields, failed=failed, epoch=epoch, scores=scores)
                continue
            yield Row(line, fields | {"output": output}, epoch=epoch, scores=scores)


def _promptfoo_outputs(header: list[str]) -> dict[int, str]:
    """The columns that hold outputs, each with the name of its system: the provider, and of several prompts the label.

    >>> _promptfoo_outputs(["text", "[openai:gpt-4.1] Translate: {{text}}", *PROMPTFOO_AFTER])
    {1: 'openai:gpt-4.1'}
    """
    found = {}
    for at, column in enumerate(header[:-1]):
        if header[at + 1 : at + 1 + len(PROMPTFOO_AFTER)] == PROMPTFOO_AFTER:
            provider, bracket, label = column.removeprefix("[").partition("] ")
            found[at] = (provider, label) if bracket and column.startswith("[") else (column, "")
    several = len({label for _, label in found.values()}) > 1
    return _numbered({at: f"{provider} {label}" if several else provider for at, (provider, label) in found.items()})


def _numbered(names: dict[K, str]) -> dict[K, str]:
    """Names, of which those that stand there several times get a number."""
    times, nth, found = Counter(names.values()), Counter[str](), {}
    for place, name in names.items():
        nth[name] += 1
        found[place] = f"{name} ({nth[name]})" if times[name] > 1 else name
    return found


def is_mixed_csv(file: OpenedFile) -> bool:
    """Whether the second row has promptfoo's cells of mark, score, reason and output, below a column of a provider."""
    text = file.text.lstrip() if file.is_text else ""
    if not text or text.startswith(("{", "[{", "<")):
        return False
    try:
        rows = cells_of(file.path, file.text)
        header, cells = next(rows)[1], next(rows, (0, []))[1]
    except (DataError, StopIteration):
        return False
    return any(
        PROVIDERS_COLUMN.match(name) and MIXED_CELL.match(cell) for name, cell in zip(header, cells, strict=False)
    )

"""The files of other tools, one function a format: it yields the file's rows, with judgeloop's own names of columns.

Beside each stands what recognises such a file by its content. `catalogue.py` has a row for each pair. At the end are
rows that nobody has to translate (JSON lines, a JSON array, CSV), and folders of texts.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from judgeloop.core.ends import ended
from judgeloop.core.errors import DataError
from judgeloop.formats.columns import OUTPUT, PROMPT, candidates_of, is_messages, said, turns
from judgeloop.formats.source import OpenedFile, within
from judgeloop.formats.tables import MOST_BYTES, Fields, Row, cells_of, read_text

PROMPTFOO_ERROR = 2  # promptfoo's `failureReason` for everything but a rejected output
PROMPTFOO_AFTER = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]  # columns after an output
PROMPTFOO_DESCRIPTION = "Description"
# Its older CSV: a column `[provider] prompt`, and cells that begin with a mark and a score.
PROVIDERS_COLUMN, MIXED_CELL = re.compile(r"\[.+\] "), re.compile(r"\[(PASS|FAIL|ERROR)\]")
LONGEST_HEADER = 1 << 16  # characters; the prompts stand in it
HTTP_OK = 200
LM_EVAL_OWN = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
    "doc_hash", "prompt_hash", "target_hash",
}  # fmt: skip
NO_TEXT = "this task compares the likelihoods of given choices, so there is no text to judge"
FASTCHAT_ERROR = "$ERROR$"  # what FastChat writes for an answer when the API failed
# What the rows of verdicts have, of AlpacaEval, MT-Bench and Arena-Hard.
ANNOTATION = {"instruction", "generator_1", "generator_2", "preference"}
JUDGMENT = {"question_id", "turn", "judge"}
BATTLES = {"uid", "judge", "model", "baseline", "games"}
K = TypeVar("K")
DEEPEST_ROWS = 7  # objects within each other, in which rows are looked for
FOLDER_UNIT = "file"
# Endings of files of many outputs, each of which is a system by itself.
TABLE_ENDINGS = {".jsonl", ".csv", ".tsv", ".parquet", ".eval", ".gz"}


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
            "prompt": _parsed(within(result, "prompt", "raw"), r"\s*\["),
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


def is_helm(file: OpenedFile) -> bool:
    """Whether this is the state of a scenario."""
    return {"adapter_spec", "request_states"} <= set(file.document or ())


def helm(file: OpenedFile) -> Iterator[Row]:
    """`scenario_state.json` of Stanford's HELM: an entry for each request, with its instance and its result.

    The item's text is that of the instance, with the choices if it has any, as the requests of different models
    differ. Its scores are in other files (`helm_stats`).
    """
    states = (file.document or {})["request_states"]
    if not isinstance(states, list) or not states:
        raise file.wrong("expected a list of 'request_states', found none")
    trials = len({within(state, "train_trial_index") for state in states}) > 1
    for number, state in enumerate(states, start=1):
        if within(state, "reference_index") is not None:
            raise file.wrong(
                "this scenario scores each given choice by a request of its own, so there is no output to judge", number
            )
        if within(state, "instance", "input", "multimedia_content"):
            raise file.wrong("the input is no text, which no judge would see", number)
        text = within(state, "instance", "input", "messages") or within(state, "instance", "input", "text")
        choices = within(state, "output_mapping")
        if isinstance(choices, dict) and isinstance(text, str):
            text = "\n".join([text, *(f"{name}. {choice}" for name, choice in choices.items())])
        references = within(state, "instance", "references")
        listed = references if isinstance(references, list) else []
        correct = next((one for one in listed if "correct" in (within(one, "tags") or ())), None)
        fields: Fields = {
            "id": _helm_id(within(state, "instance", "id"), within(state, "instance")),
            "prompt": text,
            "reference": within(correct, "output", "text"),
            "model": within(file.document, "adapter_spec", "model"),
        }
        epoch = 1 + (within(state, "train_trial_index") or 0) if trials else 0
        if within(state, "result", "success") is not True:
            reason = within(state, "result", "error") or "the request was not made"
            yield Row(number, fields, failed=str(reason), epoch=epoch)
            continue
        completion = file.only(within(state, "result", "completions"), "completions", number)
        reason = within(completion, "finish_reason")
        how = ended(within(reason, "reason") if isinstance(reason, dict) else reason)
        yield Row(number, fields | {"output": within(completion, "text")}, epoch=epoch, ended=how)


def is_helm_stats(file: OpenedFile) -> bool:
    """Whether the first entry has an instance's statistics."""
    return "instance_id" in file.first and isinstance(file.first.get("stats"), list)


def helm_stats(file: OpenedFile) -> Iterator[Row]:
    """`per_instance_stats.json` of Stanford's HELM: the mean of each statistic of an instance, without outputs."""
    rows = list(file.rows())
    trials = len({row.fields.get("train_trial_index") for row in rows}) > 1
    for number, row in enumerate(rows, start=1):
        listed = row.fields.get("stats")
        if not isinstance(listed, list):
            raise file.wrong(f"expected a list of 'stats', found {listed!r:.60}", number)
        yield Row(
            number,
            {"id": _helm_id(row.fields.get("instance_id"), row.fields)},
            failed="scenario_state.json has it; `judge=recorded:NAME` compares the scores here",
            epoch=1 + (row.fields.get("train_trial_index") or 0) if trials else 0,
            scores={str(within(one, "name", "name")): within(one, "mean") for one in listed},
        )


def _helm_id(given: object, instance: object) -> str:
    """Name the instance, and how its text was perturbed: a perturbed instance keeps its id."""
    perturbed = within(instance, "perturbation", "name")
    return f"{given} {perturbed}" if perturbed else str(given)


def is_openai_batch(file: OpenedFile) -> bool:
    """Whether the first line is a result or a request of a batch."""
    fields = file.first
    reply = fields.get("response")
    result = "response" in fields and (reply is None or within(reply, "body") is not None)
    return "custom_id" in fields and (result or isinstance(fields.get("body"), dict))


def openai_batch(file: OpenedFile) -> Iterator[Row]:
    """Results of OpenAI's Batch API, and the requests that were sent to it.

    The body of a result is a reply of `/v1/chat/completions`, `/v1/responses` or `/v1/completions`. It has no prompt:
    the file of requests is given as `items`. Of a request that was sent again, the last answer counts.
    """
    yield from _latest(_openai_batch(file))


def _latest(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the rows of a batch; of an item that was sent again, the last answer alone, or its last failure."""
    found: dict[Any, Row] = {}
    for row in rows:
        answered = "output" in row.fields
        if not answered and not row.failed:
            yield row  # a request
            continue
        known = found.get(row.fields["id"])
        if known is None or answered or known.failed:
            found[row.fields["id"]] = row
    yield from found.values()


def _openai_batch(file: OpenedFile) -> Iterator[Row]:
    for row in file.rows():
        fields: Fields = {"id": row.fields.get("custom_id")}
        if "response" not in row.fields:
            asked = (within(row.fields, "body", name) for name in ("messages", "input", "prompt"))
            yield Row(row.line, fields | {"prompt": next((one for one in asked if one is not None), None)})
            continue
        reply = row.fields["response"]
        status, body = within(reply, "status_code"), within(reply, "body")
        error = within(row.fields, "error", "message") or within(body, "error", "message")
        if not isinstance(body, dict) or error or status not in {HTTP_OK, None}:
            yield Row(row.line, fields, failed=f"the request failed: {error or f'status {status}'}")
            continue
        try:
            if isinstance(body.get("output"), list):
                how = ended(within(body, "incomplete_details", "reason") or body.get("status"))
                answer = "\n".join(said(part) for part in body["output"] if within(part, "type") == "message")
            else:
                choice = file.only(body.get("choices"), "choices", row.line)
                message, how = within(choice, "message"), ended(within(choice, "finish_reason"))
                answer = said(message) if message else str(choice["text"])
        except (ValueError, TypeError, KeyError) as error:
            raise file.wrong(f"the reply has no text: {error}", row.line) from None
        yield Row(row.line, fields | {"model": body.get("model"), "output": answer}, ended=how)


def is_anthropic_batch(file: OpenedFile) -> bool:
    """Whether the first line is a result or a request of a batch."""
    typed = within(file.first, "result", "type") is not None
    return "custom_id" in file.first and (typed or isinstance(file.first.get("params"), dict))


def anthropic_batch(file: OpenedFile) -> Iterator[Row]:
    """Results of Anthropic's Message Batches API, and the requests that were sent to it, as in `openai_batch`."""
    yield from _latest(_anthropic_batch(file))


def _anthropic_batch(file: OpenedFile) -> Iterator[Row]:
    for row in file.rows():
        fields: Fields = {"id": row.fields.get("custom_id")}
        if "result" not in row.fields:
            system, messages = within(row.fields, "params", "system"), within(row.fields, "params", "messages")
            if system and isinstance(messages, list):
                messages = [{"role": "system", "content": system}, *messages]
            yield Row(row.line, fields | {"prompt": messages})
            continue
        kind, message = within(row.fields, "result", "type"), within(row.fields, "result", "message")
        if kind != "succeeded" or not isinstance(message, dict):
            error = within(row.fields, "result", "error")
            text = within(error, "error", "message") or within(error, "message")
            yield Row(row.line, fields, failed=f"the request {kind}{f': {text}' if text else ''}")
            continue
        try:
            answer = said(message)
        except ValueError as error:
            raise file.wrong(f"the reply has no text: {error}", row.line) from None
        how = ended(message.get("stop_reason"))
        yield Row(row.line, fields | {"model": message.get("model"), "output": answer}, ended=how)


def is_lm_eval(file: OpenedFile) -> bool:
    """Whether the first line is a sample."""
    return {"doc_id", "arguments", "resps"} <= set(file.first)


def lm_eval(file: OpenedFile) -> Iterator[Row]:
    """`samples_*.jsonl` of EleutherAI's lm-evaluation-harness, of a run with `--log_samples`.

    A line is about a document and a filter of what the model wrote. Several filters of one document become one row,
    with the scores of each filter. The model's name is that of the file's folder. Tasks that compare the likelihoods
    of given choices have no text to judge, only scores.
    """
    merged: dict[object, Row] = {}
    samples = list(file.rows())
    several = len({sample.fields.get("filter") for sample in samples}) > 1
    for sample in samples:
        fields = sample.fields
        names = fields.get("metrics")
        if not isinstance(names, list):
            names = [name for name in fields if name not in LM_EVAL_OWN]
        # Of several filters, the scores have their names, as in lm-eval's results.
        suffix = f",{fields.get('filter')}" if several and fields.get("filter") is not None else ""
        scores = {f"{name}{suffix}": fields.get(name) for name in names}
        key = (fields.get("doc_id"), None if several else sample.line)
        known = merged.get(key)
        if known is None:
            merged[key] = _lm_eval_row(file, sample, scores)
        elif known.scores is not None and not set(scores) & set(known.scores):
            known.scores.update(scores)  # type: ignore[attr-defined]  # a dictionary, made here
        else:
            raise file.wrong(f"the document {key[0]} appears twice, first on line {known.line}", sample.line)
    yield from merged.values()


def _lm_eval_row(file: OpenedFile, sample: Row, scores: Fields) -> Row:
    arguments, answers = sample.fields.get("arguments"), sample.fields["resps"]
    # The first request: a dictionary, or a list in old files.
    prompt, settings = within(arguments, "gen_args_0", "arg_0"), within(arguments, "gen_args_0", "arg_1")
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        prompt, settings = [*arguments[0], None, None][:2]
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    fields: Fields = {
        "id": sample.fields.get("doc_id"),
        "prompt": _parsed(prompt, r'\[\{"role"'),  # the messages that a chat model was sent
        "reference": sample.fields.get("target"),
        "model": file.path.parent.name.replace("__", "/") or None,
    }
    if not isinstance(settings, dict):  # it generates no text
        return Row(sample.line, fields, failed=NO_TEXT, scores=scores)
    first = answers[0] if isinstance(answers, list) and answers else None
    if not isinstance(first, list) or len(first) != 1 or not isinstance(first[0], str):
        raise file.wrong(
            f"expected one text in 'resps', found {answers!r:.60}; with `repeats` in the task, "
            "keep one answer of each document",
            sample.line,
        )
    return Row(sample.line, fields | {"output": first[0]}, scores=scores)


def is_openai_evals(file: OpenedFile) -> bool:
    """Whether the first line is the specification of a run."""
    return isinstance(within(file.first, "spec", "eval_name"), str)


def openai_evals(file: OpenedFile) -> Iterator[Row]:
    """The log of OpenAI's evals (`oaieval`): a line of `spec`, then a line for each event of a sample.

    The output to an item is its last event of the type `sampling`; the values of its events `match` and `metrics` are
    its scores.
    """
    model, rows = None, dict[object, Row]()
    scores: dict[object, Fields] = {}
    for line in file.rows():
        if spec := line.fields.get("spec"):
            model = file.only(within(spec, "completion_fns"), "completion functions", line.line)
        sample, kind, data = (line.fields.get(name) for name in ("sample_id", "type", "data"))
        if kind == "sampling":
            answer = within(data, "sampled")
            if isinstance(answer, list):
                answer = file.only(answer, "samples", line.line)
            made = {"id": sample, "prompt": within(data, "prompt"), "model": model, "output": answer}
            rows[sample] = Row(line.line, made)
        elif kind in {"match", "metrics"} and isinstance(data, dict):
            numbers = {name: value for name, value in data.items() if isinstance(value, bool | int | float)}
            scores.setdefault(sample, {}).update(numbers)
    for sample, row in rows.items():
        yield Row(row.line, row.fields, scores=scores.get(sample, {}))


def is_output_items(file: OpenedFile) -> bool:
    """Whether the first row, or the first of a page as downloaded, is an output item of OpenAI's Evals API."""
    first = next(iter(_page(file)), file.first)
    return isinstance(first, dict) and first.get("object") == "eval.run.output_item"


def output_items(file: OpenedFile) -> Iterator[Row]:
    """Output items of OpenAI's Evals API (`evals.runs.output_items.list`), a line each, or a page of the list.

    The scores are those of the graders, by name. A page that says that there are more is refused.
    """
    if within(file.document, "has_more"):
        raise file.wrong(
            f"this page has the first {len(_page(file))} output items, and says that there are more (`has_more`); expected "
            "all of them: ask for the next page with `after`, and write a line for each item"
        )
    rows = [Row(number, item) for number, item in enumerate(_page(file), start=1)] or file.rows()
    for row in rows:
        sample = row.fields.get("sample")
        fields: Fields = {
            "id": row.fields.get("datasource_item_id"),
            "prompt": within(sample, "input"),
            "model": within(sample, "model"),
        }
        graded = row.fields.get("results")
        scores = {
            str(within(one, "name")): within(one, "score") for one in (graded if isinstance(graded, list) else [])
        }
        said_last = within(sample, "output")
        error = within(sample, "error", "message") or within(sample, "error", "code")
        if error or not is_messages(said_last):
            yield Row(row.line, fields, failed=str(error or "the sample has no output"), scores=scores)
            continue
        try:
            answer = said(said_last[-1])
        except ValueError as wrong:
            raise file.wrong(f"the output is no text: {wrong}", row.line) from None
        how = ended(within(sample, "finish_reason"))
        yield Row(row.line, fields | {"output": answer}, scores=scores, ended=how)


def _page(file: OpenedFile) -> list[Any]:
    """The entries of a page of a list, as OpenAI's API sends it; empty for another file."""
    listed = within(file.document, "data") if within(file.document, "object") == "list" else None
    return listed if isinstance(listed, list) else []


def is_deepeval(file: OpenedFile) -> bool:
    """Whether this is a test run."""
    return isinstance(within(file.document, "testCases"), list) and "metricsScores" in (file.document or {})


def deepeval(file: OpenedFile) -> Iterator[Row]:
    """A test run of DeepEval (`DEEPEVAL_RESULTS_FOLDER`): a case for each item, with the score of each metric.

    The item is known by its text, as the names of cases count them. A metric that ended in an error has no score.
    """
    for number, case in enumerate((file.document or {})["testCases"], start=1):
        fields: Fields = {"prompt": within(case, "input"), "reference": within(case, "expectedOutput")}
        measured = within(case, "metricsData") or ()
        scores = {str(within(one, "name")): None if within(one, "error") else within(one, "score") for one in measured}
        output = within(case, "actualOutput")
        if output is None:
            yield Row(number, fields, failed="the case has no output", scores=scores)
        else:
            yield Row(number, fields | {"output": output}, scores=scores)


def is_arena_hard(file: OpenedFile) -> bool:
    """Whether the first line has an answer as the last message."""
    messages = file.first.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return "uid" in file.first and isinstance(within(last, "content"), dict)


def arena_hard(file: OpenedFile) -> Iterator[Row]:
    """Arena-Hard's answers of version 2: `messages` end in one whose content is an object with `answer`."""
    for row in file.rows():
        messages = row.fields.get("messages")
        if not isinstance(messages, list) or not messages:
            raise file.wrong("expected messages that end in an answer, found none", row.line)
        fields: Fields = {"id": row.fields.get("uid"), "prompt": messages[:-1] or None}
        answer = within(messages[-1], "content", "answer")
        if isinstance(answer, str):
            yield Row(row.line, fields | {"model": row.fields.get("model"), "output": answer})
        else:
            yield Row(row.line, fields, failed="the last message has no answer")


def is_mt_bench(file: OpenedFile) -> bool:
    """Whether the first line is a question or an answer with turns."""
    choices = file.first.get("choices")
    answered = isinstance(choices, list) and all(isinstance(within(choice, "turns"), list) for choice in choices)
    return "question_id" in file.first and (answered or isinstance(file.first.get("turns"), list))


def mt_bench(file: OpenedFile) -> Iterator[Row]:
    """MT-Bench's questions and answers (FastChat), and Arena-Hard's of before its version 2.

    The questions are a file of their own, given as `items`. The turns of one side are put together.
    """
    for row in file.rows():
        asked = "turns" in row.fields
        holder = row.fields if asked else file.only(row.fields.get("choices"), "choices", row.line)
        listed = within(holder, "turns") or []
        # In old files of Arena-Hard a turn is an object with `content`.
        texts = [within(turn, "content") if isinstance(turn, dict) else turn for turn in listed]
        if not all(isinstance(text, str) for text in texts):
            raise file.wrong(f"expected turns of text, found {listed!r:.60}", row.line)
        text = turns(texts) if texts else ""
        fields: Fields = {"id": row.fields.get("question_id")}
        if asked:
            reference = row.fields.get("reference")
            fields |= {"group": row.fields.get("category"), "prompt": text}
            fields["reference"] = turns(reference) if isinstance(reference, list) else reference
            yield Row(row.line, fields)
        elif not text or FASTCHAT_ERROR in text:
            yield Row(row.line, fields, failed=f"the answer is {text or 'empty'}")
        else:
            yield Row(row.line, fields | {"model": row.fields.get("model_id"), "output": text})


def is_alpaca_eval(file: OpenedFile) -> bool:
    """Whether the first row has AlpacaEval's fields, which `columns.py` knows: its rows are read as they stand."""
    return {"instruction", "output", "generator"} <= set(file.first)


def is_pandas_split(file: OpenedFile) -> bool:
    """Whether this is one object with columns and a list of lists."""
    document = file.document or {}
    data = document.get("data")
    return isinstance(document.get("columns"), list) and isinstance(data, list) and bool(data)


def pandas_split(file: OpenedFile) -> Iterator[Row]:
    """Tables of the form "split", of MLflow's `eval_results_table.json` and pandas: columns, and a list a row."""
    document = file.document or {}
    columns = [str(name) for name in document["columns"]]
    for number, values in enumerate(document["data"], start=1):
        if not isinstance(values, list) or len(values) != len(columns):
            raise file.wrong(f"expected {len(columns)} values as there are columns, found {values!r:.60}", number)
        yield Row(number, dict(zip(columns, values, strict=True)))


def _parsed(prompt: Any, begins: str) -> Any:
    """The messages that a text holds as JSON, if it begins so; else the prompt as it is."""
    if isinstance(prompt, str) and re.match(begins, prompt):
        try:
            return json.loads(prompt)
        except ValueError:
            return prompt
    return prompt


def plain_rows(file: OpenedFile) -> Iterator[Row]:
    """Rows as they stand: judgeloop's own, Hugging Face's JSON lines, a JSON array, CSV, TSV, CSV with semicolons."""
    document = file.document
    if document is not None and (mending := _rows_inside(document)):
        raise file.wrong(mending)
    if document is not None and "\n" in file.text.strip():
        found = ", ".join(map(repr, list(document)[:8]))
        raise file.wrong(
            f"this JSON document is of no known format; found {found}. Expected JSON lines, a JSON "
            "array or CSV, or one of the formats in docs/reference/file-formats.md"
        )
    return file.rows()


def _rows_inside(document: Fields) -> str:
    """How to get at the rows that a document has inside; "" if it has none, or is a row."""
    values = list(document.values())
    known = candidates_of(document, ())
    alone = len(values) == 1
    if alone or not (known[OUTPUT] or known[PROMPT]):
        *others, (size, names) = [(1, ""), *sorted(_lists(document))]
        if (size > 1 and size > others[-1][0]) or (alone and names):
            return (
                f"this is one object, whose field {names!r} holds {size} rows; "
                f"expected the list alone: jq -c '.{names}[]' FILE > ROWS"
            )
    tables = [value for value in values if isinstance(value, dict) and value]
    keys = {tuple(table) for table in tables}
    if len(values) > 1 and len(tables) == len(values) and len(keys) == 1:
        return (
            "this is a whole table in one object, as pandas writes it unless told otherwise; expected "
            'rows: to_json(FILE, orient="records", lines=True)'
        )
    return ""


def _lists(fields: Fields, above: str = "", depth: int = DEEPEST_ROWS) -> Iterator[tuple[int, str]]:
    """Yield the length and the dotted path of each list of objects in an object, but for messages."""
    for name, value in fields.items():
        if isinstance(value, dict) and depth:
            yield from _lists(value, f"{above}{name}.", depth - 1)
        elif (
            isinstance(value, list) and value and all(isinstance(one, dict) for one in value) and not is_messages(value)
        ):
            yield len(value), f"{above}{name}"


def folder_rows(folder: Path) -> Iterator[Row]:
    """A folder of files, each of which is one output: its name without the ending is the item's id.

    They come in the order of their names; hidden files are left out.

    Raises:
        DataError: there is none, or one is a folder, a link, a table, or no UTF-8.
    """
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    if not files:
        raise DataError(folder, "this folder is empty; expected a file for each output")
    size = 0
    for number, path in enumerate(files, start=1):
        if path.suffix in TABLE_ENDINGS or (len(files) == 1 and path.is_file()):
            raise DataError(folder, f"this folder holds {path.name}; give the file itself: {path}")
        if path.is_symlink() or not path.is_file():
            raise DataError(path, "expected a file with one output, found a link or a folder")
        text = read_text(path)
        if (size := size + len(text)) > MOST_BYTES:
            raise DataError(folder, f"these files have more than {MOST_BYTES >> 20:,} MiB")
        yield Row(number, {"id": path.stem, "output": text.removesuffix("\n")})


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


def has_fields(*names: str) -> Callable[[OpenedFile], bool]:
    """What says whether the document, or the first row, has these fields."""
    return lambda file: file.is_text and set(names) <= set(file.first)


def is_markup(file: OpenedFile) -> bool:
    """Whether this is HTML or XML."""
    return file.is_text and file.text.lstrip()[:9].lower().startswith(("<!doctype", "<html", "<?xml", "<svg"))

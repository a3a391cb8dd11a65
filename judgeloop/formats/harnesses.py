"""The files of other tools, one function a format: it yields the file's rows, with judgeloop's own names of columns.

Beside each stands what recognises such a file by its content. `catalogue.py` has a row for each pair. At the end are
rows that nobody has to translate (JSON lines, a JSON array, CSV), and folders of texts.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from judgeloop.core.ends import ended
from judgeloop.core.errors import DataError
from judgeloop.formats.columns import OUTPUT, PROMPT, candidates_of
from judgeloop.formats.messages import is_messages, said, turns
from judgeloop.formats.source import OpenedFile, within
from judgeloop.formats.tables import MOST_BYTES, Fields, Row, read_text

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
DEEPEST_ROWS = 7  # objects within each other, in which rows are looked for
FOLDER_UNIT = "file"
# Endings of files of many outputs, each of which is a system by itself.
TABLE_ENDINGS = {".jsonl", ".csv", ".tsv", ".parquet", ".eval", ".gz"}


def is_helm(file: OpenedFile) -> bool:
    """Whether this is the state of a scenario."""
    return {"adapter_spec", "request_states"} <= set(file.document or ())


def helm(file: OpenedFile) -> Iterator[Row]:
    """`scenario_state.json` of Stanford's HELM: an entry for each request, with its instance and its result.

    The item's text is that of the instance, with the choices if it has any, as the requests of different models
    differ. An instance and its perturbations are a family. Its scores are in other files (`helm_stats`).
    """
    states = (file.document or {})["request_states"]
    if not isinstance(states, list) or not states:
        raise file.wrong("expected a list of 'request_states', found none")
    trials = len({within(state, "train_trial_index") for state in states}) > 1
    perturbed = any(within(state, "instance", "perturbation") for state in states)
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
            "family": within(state, "instance", "id") if perturbed else None,
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
    perturbed = any(row.fields.get("perturbation") for row in rows)
    for number, row in enumerate(rows, start=1):
        listed = row.fields.get("stats")
        if not isinstance(listed, list):
            raise file.wrong(f"expected a list of 'stats', found {listed!r:.60}", number)
        yield Row(
            number,
            {
                "id": _helm_id(row.fields.get("instance_id"), row.fields),
                "family": row.fields.get("instance_id") if perturbed else None,
            },
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
    with the scores of each filter. With `repeats` in the task, each text that the model wrote is a row. The model's
    name is that of the file's folder. Tasks that compare the likelihoods of given choices have no text to judge, only
    scores.
    """
    merged: dict[object, Row] = {}
    repeats = 1
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
            repeats = max(repeats, len(merged[key].fields.get(OUTPUT) or ()))
        elif known.scores is not None and not set(scores) & set(known.scores):
            known.scores.update(scores)  # type: ignore[attr-defined]  # a dictionary, made here
        else:
            raise file.wrong(f"the document {key[0]} appears twice, first on line {known.line}", sample.line)
    for row in merged.values():
        for epoch, output in enumerate(row.fields.get(OUTPUT) or [None], start=1):
            fields = row.fields if row.failed else row.fields | {OUTPUT: output}
            yield replace(row, fields=fields, epoch=epoch if repeats > 1 else 0)


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
        "prompt": messages_in(prompt, r'\[\{"role"'),  # the messages that a chat model was sent
        "reference": sample.fields.get("target"),
        "model": file.path.parent.name.replace("__", "/") or None,
    }
    if not isinstance(settings, dict):  # it generates no text
        return Row(sample.line, fields, failed=NO_TEXT, scores=scores)
    first = answers[0] if isinstance(answers, list) and answers else None
    if not isinstance(first, list) or not first or not all(isinstance(text, str) for text in first):
        raise file.wrong(f"expected texts in 'resps', found {answers!r:.60}", sample.line)
    return Row(sample.line, fields | {OUTPUT: first}, scores=scores)


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


def messages_in(prompt: Any, begins: str) -> Any:
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


def has_fields(*names: str) -> Callable[[OpenedFile], bool]:
    """What says whether the document, or the first row, has these fields."""
    return lambda file: file.is_text and set(names) <= set(file.first)


def is_markup(file: OpenedFile) -> bool:
    """Whether this is HTML or XML."""
    return file.is_text and file.text.lstrip()[:9].lower().startswith(("<!doctype", "<html", "<?xml", "<svg"))

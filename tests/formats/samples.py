"""Hand-written files of each format, what they hold, and near misses that are refused."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from judgeloop.formats.rows import OutputRow

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Sample:
    """A file's name and content, its outputs and scores; a near miss and why it is refused."""

    content: bytes
    outputs: list[OutputRow]
    near_miss: bytes
    refusal: str
    scores: list[dict[str, object] | None] = field(default_factory=list)


def text(name: str) -> bytes:
    return (FILES / name).read_bytes()


def inspect_document() -> bytes:
    header = json.loads(text("inspect_header.json"))
    return json.dumps(header | {"samples": json.loads(text("inspect_samples.json"))}).encode()


def inspect_archive(method=zipfile.ZIP_DEFLATED, *, header=True) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("_journal/start.json", '{"version": 2}')
        for sample in json.loads(text("inspect_samples.json")):
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("summaries.json", "[]")
        if header:
            archive.writestr("header.json", text("inspect_header.json"))
    return file.getvalue()


def parquet(rows) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


def promptfoo_csv(*results) -> bytes:
    """What promptfoo writes for two tests: the variables, then the provider's five columns."""
    header = "text,to,[openai:gpt-4.1-mini] Translate: {{text}},Status,Score,Named Scores,Grader Reason,Comment"
    lines = [f"{word},French,{result}" for word, result in zip(("cat", "dog"), results, strict=True)]
    return "\n".join([header, *lines]).encode()


def output_items(*given) -> bytes:
    """Output items of OpenAI's Evals API, each of an answer, a grader's score and an error."""
    lines = [
        {
            "object": "eval.run.output_item",
            "id": f"outputitem_{n}",
            "run_id": "evalrun_1",
            "eval_id": "eval_1",
            "status": "pass",
            "datasource_item_id": n,
            "datasource_item": {"asked": f"2 + {n}?"},
            "results": [{"name": "exact", "passed": True, "score": score}],
            "sample": {
                "input": [{"role": "user", "content": f"2 + {n}?"}],
                "error": error,
                "model": "gpt-4.1-2025",
                "output": [] if answer is None else [{"role": "assistant", "content": answer}],
                "finish_reason": "stop",
            },
        }
        for n, (answer, score, error) in enumerate(given)
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def deepeval_run(*given) -> bytes:
    """A test run of DeepEval, each case of an answer, a metric's score and its error."""
    cases = [
        {
            "name": f"test_case_{n}",
            "input": f"2 + {n}?",
            "actualOutput": answer,
            "expectedOutput": str(2 + n),
            "order": n,
            "metricsData": [
                {"name": "Mentions", "threshold": 0.5, "success": not error, "score": score, "error": error}
            ],
        }
        for n, (answer, score, error) in enumerate(given)
    ]
    return json.dumps({"testCases": cases, "conversationalTestCases": [], "metricsScores": []}).encode()


def helm_stats() -> bytes:
    def stat(name, mean):
        return {"name": {"name": name, "split": "test"}, "count": 1, "sum": mean, "mean": mean}

    rows = [
        {"instance_id": f"id{n}", "train_trial_index": 0, "stats": [stat("exact_match", right), stat("num_train", 5.0)]}
        for n, right in enumerate((1.0, 0.0))
    ]  # fmt: skip
    return json.dumps(rows, indent=1).encode()


def pandas_split(data) -> bytes:
    return json.dumps({"columns": ["id", "question", "answer"], "data": data}).encode()


GPT, CLAUDE = "gpt-4.1-mini-2025-04-14", "claude-sonnet-4-5-20250929"
VICUNA, UID = "vicuna-7b-v1.3", "328c149ed45a41c0b9d6f14659e63599"

SAMPLES = {
    "inspect": Sample(
        inspect_archive(),
        [
            OutputRow("1", "Would you say: more posts, more friends?", " Yes", None, "openai/gpt-4.1-mini", "Yes\n"),
            OutputRow("two", "System: Be brief.\n\nUser: A long statement.", "No\nNever", None, "openai/gpt-4.1-mini", "Yes"),
        ],
        text("inspect_near_miss.json"),
        "sample 1: there is no output: TimeoutError()",
        [{"match": 1.0}, {"match": 0.0}],
    ),
    "parquet": Sample(
        parquet([{"Prompt": "2+2?", "Answer": "4", "score": 1.0}, {"Prompt": "Hi?", "Answer": "Hello", "score": 0.0}]),
        [OutputRow(prompt="2+2?", output="4"), OutputRow(prompt="Hi?", output="Hello")],
        parquet([{"prompt": "2+2?", "text": "4"}]),
        "row 1: the field 'output' is missing; found 'prompt', 'text'; say which column it is, as in `map=output=text`",
    ),
    "promptfoo": Sample(
        text("promptfoo.json"),
        [
            OutputRow("0", "Translate: cat", None, None, "openai:gpt-4.1-mini", "chat"),
            OutputRow("1", "Translate: dog", None, None, "openai:gpt-4.1-mini", "hund"),
        ],
        text("promptfoo_near_miss.json"),
        "result 1: there is no output: the provider failed: API error: 401 Unauthorized",
        [{"score": 1}, {"score": 0.5}],
    ),
    "openai-evals": Sample(
        text("openai_evals.jsonl"),
        [
            OutputRow("test-match.s1.0", "System: Be brief.\n\nUser: 2+2?", model="gpt-4.1-mini", output="4"),
            OutputRow("test-match.s1.1", "The capital of France?", model="gpt-4.1-mini", output="Paris."),
        ],
        text("openai_evals_near_miss.jsonl"),
        "line 3: expected one of samples, found 2; keep one of them in the file",
        [{"correct": True}, {"correct": False}],
    ),
    "helm": Sample(
        text("helm.json"),
        [OutputRow("id301", "Which planet is largest?\nA. Mars\nB. Jupiter", "Jupiter", None, "openai/gpt-4.1-mini", " B")],
        text("helm_near_miss.json"),
        "request 1: this scenario scores each given choice by a request of its own",
    ),
    "openai-batch": Sample(
        text("openai_batch.jsonl"),
        [OutputRow("q1", model=GPT, output="Four."), OutputRow("q2", model=GPT, output="I can't help with that.")],
        text("openai_batch_near_miss.jsonl"),
        "line 1: expected a list of choices, found None",
    ),
    "anthropic-batch": Sample(
        text("anthropic_batch.jsonl"),
        [OutputRow("q2", model=CLAUDE, output="Hello!"), OutputRow("q1", model=CLAUDE, output="Four.")],
        text("anthropic_batch_near_miss.jsonl"),
        "line 1: there is no output: the request errored: max_tokens: Field required",
    ),
    "lm-eval": Sample(
        text("lm_eval.jsonl"),
        [
            OutputRow("0", "Question: 2+2?\nAnswer:", "#### 4", None, "folder", "It is 4. #### 4"),
            OutputRow("1", "Question: 3+3?\nAnswer:", "#### 6", None, "folder", "It is 5."),
        ],
        text("lm_eval_near_miss.jsonl"),
        "line 1: there is no output: this task compares the likelihoods of given choices",
        [
            {"exact_match,strict-match": 1.0, "exact_match,flexible-extract": 1.0},
            {"exact_match,strict-match": 0.0, "exact_match,flexible-extract": 0.0},
        ],
    ),
    "openai-output-items": Sample(
        output_items(("4", 1.0, None), ("6", 0.5, None)),
        [OutputRow("0", "2 + 0?", model="gpt-4.1-2025", output="4"), OutputRow("1", "2 + 1?", model="gpt-4.1-2025", output="6")],
        output_items((None, 0.0, {"code": "server_error", "message": "no capacity"})),
        "item 1: there is no output: no capacity",
        [{"exact": 1.0}, {"exact": 0.5}],
    ),
    "deepeval": Sample(
        deepeval_run(("4", 1.0, None), ("6", None, "no key")),
        [OutputRow(None, "2 + 0?", "2", output="4"), OutputRow(None, "2 + 1?", "3", output="6")],
        deepeval_run((None, None, "no output")),
        "case 1: there is no output: the case has no output",
        [{"Mentions": 1.0}, {"Mentions": None}],
    ),
    "arena-hard": Sample(
        text("arena_hard.jsonl"),
        [OutputRow(UID, "Use ABC notation to write a melody.", model="gpt-4-0613", output="X:1 T:Tune")],
        text("arena_hard_near_miss.jsonl"),
        "line 1: there is no output: the last message has no answer",
    ),
    "mt-bench": Sample(
        text("mt_bench.jsonl"),
        [
            OutputRow("81", model=VICUNA, output="[Turn 1]\nAloha! Here is a post.\n\n[Turn 2]\nAloha again. All begin with A."),
            OutputRow("82", model=VICUNA, output="[Turn 1]\nDear boss, please comment.\n\n[Turn 2]\nMy mail was too long."),
        ],
        text("mt_bench_near_miss.jsonl"),
        "line 1: expected one of choices, found 2; keep one of them in the file",
    ),
    "alpaca-eval": Sample(
        text("alpaca_eval.json"),
        [
            OutputRow(None, "What are the names of some famous actors?", None, "helpful_base", "text_davinci_003", "Several did."),
            OutputRow(None, "Hi?", None, "koala", "text_davinci_003", "Hello"),
        ],
        text("alpaca_eval_near_miss.json"),
        "line 3: expected the outputs of one system, found 'gpt4' after 'text_davinci_003'",
    ),
    "promptfoo-csv": Sample(
        promptfoo_csv('chat,PASS,1.00,"{""exact"":1}",all passed,', '"a, hund",FAIL,0.50,,no,'),
        [
            OutputRow("0", "text: cat\nto: French", None, None, "openai:gpt-4.1-mini", "chat"),
            OutputRow("1", "text: dog\nto: French", None, None, "openai:gpt-4.1-mini", "a, hund"),
        ],
        promptfoo_csv("chat,PASS,1.00,,,", ",ERROR,0.00,,API error: 401 Unauthorized,"),
        "line 3: there is no output: the provider failed: API error: 401 Unauthorized",
        [{"score": "1.00", "exact": 1}, {"score": "0.50"}],
    ),
    "helm-stats": Sample(
        helm_stats(),
        [],
        helm_stats(),
        "instance 1: there is no output: scenario_state.json has it; `judge=recorded:NAME` compares the scores here",
        [{"exact_match": 1.0, "num_train": 5.0}, {"exact_match": 0.0, "num_train": 5.0}],
    ),
    "pandas-split": Sample(
        pandas_split([[1, "2+2?", "4"], [2, "Hi?", "Hello"]]),
        [OutputRow("1", "2+2?", output="4"), OutputRow("2", "Hi?", output="Hello")],
        pandas_split([[1, "2+2?", "4"], [2, "Hi?"]]),
        "row 2: expected 3 values as there are columns, found [2, 'Hi?']",
    ),
    "rows": Sample(
        text("rows.jsonl"),
        [OutputRow("7", "2+2?", "4", output="4"), OutputRow("8", "Hi?", None, output="")],
        text("rows_near_miss.jsonl"),
        "line 1: the field 'output' is missing; found 'question', 'reply'; say which column it is, as in `map=output=reply`",
    ),
}  # fmt: skip

"""The catalogue of formats, in the order in which a file is tried. Read by content, never by name.

To add a format, write its module and add its row here. The table of
`docs/reference/file-formats.md` is made of these rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from judgeloop.formats.format import Format
from judgeloop.formats.source import Source, open_source
from judgeloop.formats.tables import Row

FORMATS = (
    Format("inspect", "Inspect logs", "inspect_log", "`.eval`, `.json`", "each scorer", "sample"),
    Format("parquet", "Parquet, with the extra `parquet`", "parquet", "`.parquet`", "`score` or `scores`", "row"),
    Format("promptfoo", "promptfoo results", "promptfoo", "`results.json`", "`score` and `namedScores`", "result"),
    Format("helm", "HELM scenario states", "helm", "`scenario_state.json`", unit="request"),
    Format("openai-batch", "OpenAI batch results and requests", "openai_batch", "`batch_*_output.jsonl`"),
    Format("anthropic-batch", "Anthropic message batch results and requests", "anthropic_batch", "`*_results.jsonl`"),
    Format("lm-eval", "lm-evaluation-harness samples", "lm_eval", "`samples_*.jsonl`", "each metric"),
    Format("arena-hard", "Arena-Hard answers", "arena_hard", "`model_answer/*.jsonl`"),
    Format("mt-bench", "MT-Bench questions and answers", "mt_bench", "`question.jsonl`, `model_answer/*.jsonl`"),
    Format("alpaca-eval", "AlpacaEval outputs", "alpaca_eval", "`model_outputs.json`"),
    Format("rows", "judgeloop's own rows, Hugging Face JSON lines, CSV, TSV, CSV with `;`", "plain_rows", "`.jsonl`, `.json`, `.csv`, `.tsv`", "`score` or `scores`"),
)  # fmt: skip


def format_of(source: Source) -> Format:
    """Return the first format that recognises a source; the last recognises every text.

    Raises:
        DataError: the file is not UTF-8.
    """
    return next(row for row in FORMATS if row.recognises(source))


def open_rows(path: Path) -> tuple[Format, Iterator[Row]]:
    """Return the format of a file, with the title of this file's form, and its rows.

    Reading the rows may raise DataError.

    Raises:
        InputError: the file cannot be read, or is not UTF-8.
    """
    source = open_source(path)
    found = format_of(source)
    return replace(found, title=found.title_of(source)), found.read(source)

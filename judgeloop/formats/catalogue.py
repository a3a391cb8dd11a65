"""The catalogue of formats, in the order in which a file is tried. Read by content, never by name.

To add a format, write its module and add its row here. The table of `docs/formats.md` is made of
these rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from judgeloop.formats import (
    anthropic_batch,
    arena_hard,
    helm,
    inspect_log,
    lm_eval,
    mt_bench,
    openai_batch,
    parquet,
    plain_rows,
    promptfoo,
)
from judgeloop.formats.format import Format
from judgeloop.formats.source import Source, open_source
from judgeloop.formats.tables import Row

FORMATS = (
    Format("inspect", "Inspect logs", "`.eval`, `.json`", "each scorer", inspect_log.recognises, inspect_log.read, inspect_log.UNIT),
    Format("parquet", "Parquet, with the extra `parquet`", "`.parquet`", "`score` or `scores`", parquet.recognises, parquet.read, "row"),
    Format("promptfoo", "promptfoo results", "`results.json`", "`score` and `namedScores`", promptfoo.recognises, promptfoo.read, promptfoo.UNIT),
    Format("helm", "HELM scenario states", "`scenario_state.json`", "", helm.recognises, helm.read, helm.UNIT),
    Format("openai-batch", "OpenAI batch results and requests", "`batch_*_output.jsonl`", "", openai_batch.recognises, openai_batch.read),
    Format("anthropic-batch", "Anthropic message batch results and requests", "`*_results.jsonl`", "", anthropic_batch.recognises, anthropic_batch.read),
    Format("lm-eval", "lm-evaluation-harness samples", "`samples_*.jsonl`", "each metric", lm_eval.recognises, lm_eval.read),
    Format("arena-hard", "Arena-Hard answers", "`model_answer/*.jsonl`", "", arena_hard.recognises, arena_hard.read),
    Format("mt-bench", "MT-Bench questions and answers", "`question.jsonl`, `model_answer/*.jsonl`", "", mt_bench.recognises, mt_bench.read),
    Format("alpaca-eval", "AlpacaEval outputs", "`model_outputs.json`", "", plain_rows.is_alpacaeval, plain_rows.read),
    Format("rows", "judgeloop's own rows, Hugging Face JSON lines, CSV, TSV, CSV with `;`", "`.jsonl`, `.json`, `.csv`, `.tsv`", "`score` or `scores`", plain_rows.recognises, plain_rows.read),
)  # fmt: skip


def format_of(source: Source) -> Format:
    """Return the first format that recognises a source; the last recognises every text.

    Raises:
        DataError: the file is empty or its first row is malformed.
    """
    return next(row for row in FORMATS if row.recognises(source))


def open_rows(path: Path) -> tuple[Format, Iterator[Row]]:
    """Return the format of a file and its rows; reading the rows may raise DataError.

    Raises:
        InputError: the file cannot be read.
        DataError: the file is empty or its first row is malformed.
    """
    source = open_source(path)
    found = format_of(source)
    return found, found.read(source)

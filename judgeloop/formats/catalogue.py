"""The catalogue of formats, in the order in which a file is tried. Read by content, never by name.

To add a format, write its module and add its row here. The table of
`docs/reference/file-formats.md` is made of these rows. `by_row`, `only` and `within` help a
format's module to read its rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from judgeloop.formats import folder
from judgeloop.formats.row import Row, Table
from judgeloop.formats.source import Source, open_source

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the catalogue.

    - `name`, `title`: its short name, and its name in the documentation.
    - `module`: the module of this folder that reads it, imported when a file is read. It has
      `recognises`, which says whether a source has this format, and `read`, which yields the rows,
      with judgeloop's own names of fields where the format is foreign. A format of several forms
      has `title_of`, which names the form of a source.
    - `files`: the names that its files usually have.
    - `scores`: the recorded scores that its rows may carry; empty if none.
    - `unit`: what a row's `line` counts in messages.
    """

    name: str
    title: str
    module: str
    files: str
    scores: str = ""
    unit: str = "line"

    def recognises(self, source: Source) -> bool:
        """Return whether a source has this format."""
        return bool(self._module.recognises(source))

    def read(self, source: Source) -> Iterator[Row]:
        """Yield the rows of a source of this format; raises DataError where they are wrong."""
        source.unit = self.unit
        rows: Iterator[Row] = self._module.read(source)
        return rows

    def title_of(self, source: Source) -> str:
        """Return the title of the form that a source has, of a format with several."""
        named = getattr(self._module, "title_of", None)
        return str(named(source)) if named else self.title

    @property
    def _module(self) -> Any:
        return import_module(f"judgeloop.formats.{self.module}")


def by_row(convert: Callable[[Source, Row], Row]) -> Callable[[Source], Iterator[Row]]:
    """Return a reader that converts each row of a text alone."""

    def read(source: Source) -> Iterator[Row]:
        return (convert(source, row) for row in source.rows())

    return read


def only(source: Source, values: Any, what: str, line: int) -> Any:
    """Return the single value of a list, or None of an empty one.

    Raises:
        DataError: this is no list, or it has several values.
    """
    if not isinstance(values, list):
        raise source.wrong(f"expected a list of {what}, found {values!r:.60}", line)
    if len(values) > 1:
        raise source.wrong(f"expected one of {what}, found {len(values)}; keep one of them in the file", line)
    return values[0] if values else None


def within(value: Any, *names: str) -> Any:
    """Return a value inside nested objects; None where a part is missing or no object.

    >>> within({"error": {"message": "no"}}, "error", "message")
    'no'
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


FORMATS = (
    Format("inspect", "Inspect logs", "inspect_log", "`.eval`, `.json`", "each scorer", "sample"),
    Format("parquet", "Parquet, with the extra `parquet`", "parquet", "`.parquet`", "`score` or `scores`", "row"),
    Format("promptfoo", "promptfoo results", "promptfoo", "`results.json`, `.jsonl`, `.yaml` (with the extra `yaml`)", "`score` and `namedScores`", "result"),
    Format("promptfoo-csv", "promptfoo results as CSV", "promptfoo_csv", "`results.csv`", "`Score` and `Named Scores`"),
    Format("helm", "HELM scenario states", "helm", "`scenario_state.json`", unit="request"),
    Format("helm-stats", "HELM per-instance statistics", "helm_stats", "`per_instance_stats.json`", "each statistic", "instance"),
    Format("openai-batch", "OpenAI batch results and requests", "openai_batch", "`batch_*_output.jsonl`"),
    Format("anthropic-batch", "Anthropic message batch results and requests", "anthropic_batch", "`*_results.jsonl`"),
    Format("lm-eval", "lm-evaluation-harness samples", "lm_eval", "`samples_*.jsonl`", "each metric"),
    Format("openai-evals", "Logs of OpenAI's evals", "openai_evals", "`/tmp/evallogs/*.jsonl`", "`match`, `metrics`"),
    Format("arena-hard", "Arena-Hard answers", "arena_hard", "`model_answer/*.jsonl`"),
    Format("mt-bench", "MT-Bench questions and answers", "mt_bench", "`question.jsonl`, `model_answer/*.jsonl`"),
    Format("alpaca-eval", "AlpacaEval outputs", "alpaca_eval", "`model_outputs.json`"),
    Format("pandas-split", "Tables of MLflow and pandas of the form `split`", "pandas_split", "`eval_results_table.json`", "`score` or `scores`", "row"),
    Format("rows", "judgeloop's own rows, Hugging Face JSON lines, CSV, TSV, CSV with `;`", "plain_rows", "`.jsonl`, `.json`, `.csv`, `.tsv`", "`score` or `scores`"),
)  # fmt: skip


FOLDER = Format("folder", "a folder of files", "folder", "", unit=folder.UNIT)


def format_of(source: Source) -> Format:
    """Return the first format that recognises a source; the last recognises every text.

    Raises:
        DataError: the file is not UTF-8.
    """
    return next(row for row in FORMATS if row.recognises(source))


def open_rows(path: Path) -> tuple[Format, Iterator[Row]]:
    """Return the format of a file, with the title of this file's form, and its rows; also of a folder.

    Reading the rows may raise DataError.

    Raises:
        InputError: the file cannot be read, or is not UTF-8.
    """
    if path.is_dir():
        return FOLDER, folder.read(path)
    source = open_source(path)
    found = format_of(source)
    return replace(found, title=found.title_of(source)), found.read(source)


def table_of(source: Path | Table) -> Table:
    """Return the rows of a file of any format; rows in memory are returned as they are.

    Raises:
        InputError: the file cannot be read, or is not UTF-8.
    """
    if isinstance(source, Table):
        return source
    found, rows = open_rows(source)
    return Table(source, rows, found.unit)

"""The catalogue of formats, in the order in which a file is tried. Read by content, never by name.

To add a format, write its functions and add its row here. The table of `docs/reference/file-formats.md` is made of
these rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from judgeloop.formats import harnesses, inspect_log, parquet, promptfoo
from judgeloop.formats.source import OpenedFile, open_file
from judgeloop.formats.tables import Row, Source, Table, form_of


@dataclass(frozen=True, slots=True)
class Says:
    """What a format says beside outputs, for the documentation: empty where its files do not say it.

    - `tried`: whose file was tried, in which version.
    - `repeats`, `errors`, `ends`: how repetitions, failures and the ends of outputs are read.
    """

    tried: str
    repeats: str = ""
    errors: str = ""
    ends: str = ""


ROWS = Says("any", "an id that stands twice is refused", "an output that is `null`", "`finish_reason`, `stop_reason`")
TRIED = "made after its documentation"


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the catalogue.

    - `name`, `title`: its short name, and its name in the documentation.
    - `recognises`: says whether a file has this format.
    - `rows`: yields the rows, with judgeloop's own names of fields where the format is foreign.
    - `files`: the names that its files usually have.
    - `scores`: the recorded scores that its rows may carry; empty if none.
    - `unit`: what a row's `line` counts in messages.
    - `reading`: what else it says.
    """

    name: str
    title: str
    recognises: Callable[[OpenedFile], bool]
    rows: Callable[[OpenedFile], Iterator[Row]]
    files: str
    scores: str = ""
    unit: str = "line"
    reading: Says = ROWS

    def read(self, file: OpenedFile) -> Iterator[Row]:
        """Yield the rows of a file of this format; raises DataError where they are wrong."""
        file.unit = self.unit
        return self.rows(file)


@dataclass(frozen=True, slots=True)
class NotRead:
    """A file that is known by its content, and not read: why, and what to give in its place."""

    title: str
    recognises: Callable[[OpenedFile], bool]
    why: str
    instead: str


NOT_READ = (
    NotRead("a CSV of promptfoo whose cells begin with `[PASS]` or `[FAIL]`", promptfoo.is_mixed_csv, "mark, score, reason and output are one text there", "give results.json: promptfoo writes it with `--output results.json`, and of an earlier evaluation with `promptfoo export`"),
    NotRead("HTML or XML", harnesses.is_markup, "nothing says which of its texts is an output", "give the same results as JSON or CSV (of promptfoo: `--output results.json`)"),
    NotRead("the results of lm-evaluation-harness", harnesses.has_fields("results", "configs", "versions"), "they are means over all documents", "give the samples: a run with `--log_samples` writes samples_*.jsonl beside it"),
    NotRead("a run specification of HELM", harnesses.has_fields("adapter_spec", "scenario_spec"), "it holds no outputs", "give scenario_state.json beside it, or per_instance_stats.json for the scores"),
    NotRead("AlpacaEval's annotations", harnesses.has_fields(*harnesses.ANNOTATION), "they are verdicts", "give `judge=replay:FILE`, beside the two files of outputs"),
    NotRead("judgments of MT-Bench", harnesses.has_fields(*harnesses.JUDGMENT), "they are verdicts", "give `judge=replay:FILE`, beside the two files of answers"),
    NotRead("judgments of Arena-Hard", harnesses.has_fields(*harnesses.BATTLES), "they are verdicts", "give `judge=replay:FILE`, beside the two files of answers"),
    NotRead("a batch of OpenAI's API", lambda file: file.is_text and file.first.get("object") == "batch", "it says where the results are", "download the file that `output_file_id` names"),
)  # fmt: skip
# Any text may be rows whose columns have a meaning.
PLAIN = Format("rows", "judgeloop's own rows, Hugging Face JSON lines, CSV, TSV, CSV with `;`", lambda file: file.is_text, harnesses.plain_rows, "`.jsonl`, `.json`, `.csv`, `.tsv`", "`score` or `scores`")  # fmt: skip
FORMATS = (
    Format("inspect", "Inspect logs", inspect_log.is_log, inspect_log.samples, "`.eval`, `.json`", "each scorer", "sample", reading=Says("inspect_ai 0.3.285", "`epoch`", "`error`: no output; the score that Inspect gave counts", "`stop_reason`")),
    Format("parquet", "Parquet, with the extra `parquet`", lambda file: file.is_parquet, parquet.rows, "`.parquet`", "`score` or `scores`", "row"),
    Format("promptfoo", "promptfoo results", promptfoo.is_promptfoo, promptfoo.promptfoo, "`results.json`, `.jsonl`, `.yaml` (with the extra `yaml`)", "`score` and `namedScores`", "result", reading=Says("promptfoo 0.118.11 and 0.121.20", "tests with the same variables and assertions (`--repeat`) are epochs", "`failureReason` 2: no output; the score counts", "`finishReason`")),
    Format("promptfoo-csv", "promptfoo results as CSV", promptfoo.is_promptfoo_csv, promptfoo.promptfoo_csv, "`results.csv`", "`Score` and `Named Scores`", reading=Says(TRIED, "rows with the same variables are epochs", "`ERROR`: no output; the score counts")),
    Format("helm", "HELM scenario states", harnesses.is_helm, harnesses.helm, "`scenario_state.json`", unit="request", reading=Says(TRIED, "`train_trial_index`", "`success: false`", "`finish_reason`")),
    Format("helm-stats", "HELM per-instance statistics", harnesses.is_helm_stats, harnesses.helm_stats, "`per_instance_stats.json`", "each statistic", "instance", reading=Says(TRIED, "`train_trial_index`")),
    Format("openai-batch", "OpenAI batch results and requests", harnesses.is_openai_batch, harnesses.openai_batch, "`batch_*_output.jsonl`", reading=Says(TRIED, "of a request that was sent again, the last answer", "`error`, a status other than 200", "`finish_reason`, `incomplete_details`")),
    Format("anthropic-batch", "Anthropic message batch results and requests", harnesses.is_anthropic_batch, harnesses.anthropic_batch, "`*_results.jsonl`", reading=Says(TRIED, "of a request that was sent again, the last answer", "a `type` other than `succeeded`", "`stop_reason`")),
    Format("lm-eval", "lm-evaluation-harness samples", harnesses.is_lm_eval, harnesses.lm_eval, "`samples_*.jsonl`", "each metric", reading=Says("lm-eval 0.4.13", "several `resps` are refused")),
    Format("openai-evals", "Logs of OpenAI's evals", harnesses.is_openai_evals, harnesses.openai_evals, "`/tmp/evallogs/*.jsonl`", "`match`, `metrics`", reading=Says(TRIED, "the last `sampling` of a sample")),
    Format("openai-output-items", "Output items of OpenAI's Evals API", harnesses.is_output_items, harnesses.output_items, "output items, a line each", "each grader", "item", reading=Says(TRIED, "an id that stands twice is refused", "`error`", "`finish_reason`")),
    Format("deepeval", "Test runs of DeepEval", harnesses.is_deepeval, harnesses.deepeval, "`test_run_*.json`", "each metric", "case", reading=Says("deepeval 4.3.1", "a text that stands twice is refused", "a metric with an `error` has no score")),
    Format("arena-hard", "Arena-Hard answers", harnesses.is_arena_hard, harnesses.arena_hard, "`model_answer/*.jsonl`", reading=Says(TRIED, "an id that stands twice is refused", "no `answer`")),
    Format("mt-bench", "MT-Bench questions and answers", harnesses.is_mt_bench, harnesses.mt_bench, "`question.jsonl`, `model_answer/*.jsonl`", reading=Says(TRIED, "several `choices` are refused", "`$ERROR$`")),
    Format("alpaca-eval", "AlpacaEval outputs", harnesses.is_alpaca_eval, harnesses.plain_rows, "`model_outputs.json`", reading=Says(TRIED, "a text that stands twice is refused")),
    Format("pandas-split", "Tables of MLflow and pandas of the form `split`", harnesses.is_pandas_split, harnesses.pandas_split, "`eval_results_table.json`", "`score` or `scores`", "row", reading=Says("mlflow 3.17.2", ROWS.repeats, ROWS.errors, ROWS.ends)),
    PLAIN,
)  # fmt: skip


def format_of(file: OpenedFile) -> Format:
    """The first format that recognises a file; the last recognises every text.

    Raises:
        DataError: the file is not UTF-8, or of a kind that is known and not read.
    """
    found = next(row for row in FORMATS if row.recognises(file))
    known = next((row for row in NOT_READ if found is PLAIN and row.recognises(file)), None)
    if known is not None:
        raise file.wrong(f"this is {known.title}, which is not read: {known.why}; {known.instead}")
    return found


def open_rows(path: Path) -> tuple[str, Table]:
    """What a file is, for messages, and its rows; also of a folder of files.

    Says the rows may raise DataError.

    Raises:
        InputError: the file cannot be read, or is not UTF-8.
    """
    if path.is_dir():
        return "a folder of files", Table(path, harnesses.folder_rows(path), harnesses.FOLDER_UNIT)
    file = open_file(path)
    found = format_of(file)
    form = form_of(file.text) if found is PLAIN and file.text.strip() else found.title
    return form, Table(path, found.read(file), found.unit)


def table_of(source: Source) -> Table:
    """The rows of a file of any format; rows in memory are returned as they are.

    Raises:
        InputError: the file cannot be read, or is not UTF-8.
    """
    return source if isinstance(source, Table) else open_rows(source)[1]

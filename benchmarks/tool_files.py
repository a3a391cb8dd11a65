"""Lets other tools write their files, and reads them: what each calls an item, a repetition, an error and a score.

    python benchmarks/tool_files.py inspect-ai deepeval lm-eval mlflow ragas promptfoo [--keep FOLDER]

Each tool is installed from its package index into an environment of its own in a temporary folder (promptfoo by npm),
and asked about three items by a system that needs no network. For each file a row says the tool's version, the format
that was found, its rows, and how many of these have an output and a score and are not whole. Exit code 1: a file was
not read.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import InputError
from judgeloop.formats.catalogue import open_rows
from judgeloop.formats.columns import Map, parse_map
from judgeloop.formats.recorded import read_recorded
from judgeloop.formats.rows import read_outputs

INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

@solver
def answers():
    async def solve(state, generate):
        end = "max_tokens" if state.sample_id == 2 else "stop"
        state.output = ModelOutput.from_content("mockllm/model", f"answer {state.sample_id}", stop_reason=end)
        if state.sample_id == 3:
            raise RuntimeError("a tool broke")
        return state
    return solve

samples = [Sample(id=n, input=f"Question {n}?", target=f"answer {n}") for n in (1, 2, 3)]
task = Task(dataset=samples, solver=answers(), scorer=includes(), epochs=2, fail_on_error=False)
for form in ("eval", "json"):
    eval(task, model="mockllm/model", log_dir=sys.argv[1], log_format=form, display="none", score_on_error=True)
"""
DEEPEVAL = """
import os, sys
os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RESULTS_FOLDER": sys.argv[1]}
from deepeval import evaluate
from deepeval.dataset import EvaluationDataset
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

class Mentions(BaseMetric):
    threshold, async_mode, include_reason, strict_mode, verbose_mode, evaluation_model = 0.5, False, False, False, False, None
    def measure(self, case, *given, **named):
        self.score = float(case.expected_output in case.actual_output)
        self.success, self.reason = self.score >= 0.5, ""
        return self.score
    async def a_measure(self, case, *given, **named):
        return self.measure(case)
    def is_successful(self):
        return self.success
    @property
    def __name__(self):
        return "Mentions"

cases = [LLMTestCase(input=f"Question {n}?", actual_output=f"answer {n}", expected_output=f"{n}") for n in (1, 2, 3)]
evaluate(cases, [Mentions()], async_config=AsyncConfig(run_async=False),
         display_config=DisplayConfig(show_indicator=False, print_results=False))
dataset = EvaluationDataset()
for case in cases:
    dataset.add_test_case(case)
for form in ("json", "csv", "jsonl"):
    dataset.save_as(file_type=form, directory=sys.argv[1], file_name="dataset", include_test_cases=True)
"""
LM_EVAL = """
import json, os, sys
out = sys.argv[1]
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": out + "/hf"}
with open(f"{out}/docs.txt", "w") as file:
    file.writelines(json.dumps({"q": f"Question {n}?", "a": f"answer {n}"}) + "\\n" for n in (1, 2, 3))
import lm_eval
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker

class Answers(LM):
    def generate_until(self, requests, disable_tqdm=False):
        return [request.args[0].replace("Question", "answer").replace("?", "") for request in requests]
    def loglikelihood(self, requests):
        return [(0.0, True) for _ in requests]
    def loglikelihood_rolling(self, requests):
        return [0.0 for _ in requests]

task = {
    "task": "questions", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": f"{out}/docs.txt"}},
    "output_type": "generate_until", "test_split": "test", "doc_to_text": "{{q}}", "doc_to_target": "{{a}}",
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "generation_kwargs": {"until": ["\\n"]}, "metadata": {"version": 1},
}
results = lm_eval.simple_evaluate(model=Answers(), tasks=[task], log_samples=True, bootstrap_iters=0)
tracker = EvaluationTracker(output_path=out)
tracker.general_config_tracker.model_name_sanitized = "demo__new"
samples = results.pop("samples")
tracker.save_results_aggregated(results=results, samples=samples)
for name, rows in samples.items():
    tracker.save_results_samples(task_name=name, samples=rows)
"""
MLFLOW = """
import os, sys
os.chdir(sys.argv[1])
import mlflow, pandas
from mlflow.metrics import MetricValue
from mlflow.models import make_metric

def same(predictions, targets=None, metrics=None):
    return MetricValue(scores=[float(one == other) for one, other in zip(predictions, targets)], aggregate_results={})

mlflow.set_tracking_uri("sqlite:///m.db")
data = pandas.DataFrame({
    "inputs": [f"Question {n}?" for n in (1, 2, 3)], "outputs": [f"answer {n}" for n in (1, 2, 3)],
    "targets": [f"answer {n}" for n in (1, 2, 4)],
})
with mlflow.start_run():
    metric = make_metric(eval_fn=same, greater_is_better=True, name="same")
    mlflow.models.evaluate(data=data, predictions="outputs", targets="targets", extra_metrics=[metric])
"""
RAGAS = """
import os, sys
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
from ragas import EvaluationDataset, evaluate
from ragas.metrics import ExactMatch

rows = [{"user_input": f"Question {n}?", "response": f"answer {n}", "reference": f"answer {n % 3}"} for n in (1, 2, 3)]
table = evaluate(EvaluationDataset.from_list(rows), metrics=[ExactMatch()], show_progress=False).to_pandas()
table.to_csv(f"{sys.argv[1]}/scores.csv", index=False, na_rep="NaN")
table.to_json(f"{sys.argv[1]}/scores.jsonl", orient="records", lines=True)
"""
PROVIDER = """
module.exports = class {
  constructor(given) { this.who = given.config.who; }
  id() { return 'demo:' + this.who; }
  async callApi(prompt) {
    if (this.who === 'new' && prompt.includes('3')) return {error: 'API error: 500'};
    return {output: prompt.replace('Question', 'answer'), finishReason: prompt.includes('2') ? 'length' : 'stop'};
  }
};
"""
PROMPTFOO = """
prompts: ["Question {{n}}?"]
providers: [{id: "file://provider.js", config: {who: old}}, {id: "file://provider.js", config: {who: new}}]
tests:
  - {vars: {n: "1"}, assert: [{type: contains, value: answer}]}
  - {vars: {n: "2"}, assert: [{type: contains, value: answer}]}
  - {vars: {n: "3"}, assert: [{type: contains, value: answer}]}
"""
# Of each tool of Python: what is installed, its script, its files, the score to read, and the map that they need.
TOOLS: dict[str, tuple[tuple[str, ...], str, str, str, str]] = {
    "inspect-ai": (("inspect-ai",), INSPECT, "*.eval *.json", "includes", ""),
    "deepeval": (("deepeval",), DEEPEVAL, "test_run*.json dataset.*", "Mentions", ""),
    "lm-eval": (("lm-eval",), LM_EVAL, "demo__new/samples_*.jsonl", "exact_match", ""),
    "mlflow": (("mlflow",), MLFLOW, "**/eval_results_table.json", "same/score", ""),
    # Later versions of langchain-community lack what this ragas imports.
    "ragas": (("ragas", "langchain-community<0.4"), RAGAS, "scores.*", "exact_match", ""),
}


def main() -> None:
    """Write and read the files of the tools named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="+", choices=[*TOOLS, "promptfoo"])
    parser.add_argument("--keep", type=Path, help="folder in which the tools and their files stay")
    given = parser.parse_args()
    fine = True
    with tempfile.TemporaryDirectory() as temporary:
        for tool in given.tools:
            folder = (given.keep or Path(temporary)).resolve() / tool
            files = folder / "files"
            files.mkdir(parents=True, exist_ok=True)
            if tool == "promptfoo":
                version, paths = by_npm(folder, files), sorted(files.glob("results.*"))
                fine &= all([read(tool, version, path, "score", ()) for path in paths]) and bool(paths)  # noqa: C419 - every row is printed
                continue
            packages, script, patterns, scorer, mapped = TOOLS[tool]
            version = by_pip(folder, files, packages, script)
            paths = [path for pattern in patterns.split() for path in sorted(files.glob(pattern))]
            fine &= all([read(tool, version, path, scorer, parse_map(mapped)) for path in paths]) and bool(paths)  # noqa: C419 - the same
    sys.exit(0 if fine else 1)


def by_pip(folder: Path, files: Path, packages: tuple[str, ...], script: str) -> str:
    """Install a tool, let it write its files, and return its version."""
    python = folder / "environment" / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", folder / "environment"], folder)
        run([python, "-m", "pip", "install", "-q", *packages], folder)
    run([python, "-c", script, files], folder)
    ask = f"import importlib.metadata as m; print(m.version({packages[0]!r}))"
    return run([python, "-c", ask], folder).strip()


def by_npm(folder: Path, files: Path) -> str:
    """The same of promptfoo."""
    tool = folder / "node_modules" / ".bin" / "promptfoo"
    if not tool.exists():
        run(["npm", "install", "--no-audit", "--no-fund", "promptfoo"], folder)
    (files / "provider.js").write_text(PROVIDER, encoding="utf-8")
    (files / "promptfooconfig.yaml").write_text(PROMPTFOO, encoding="utf-8")
    outputs = [word for ending in ("json", "jsonl", "yaml") for word in ("--output", f"results.{ending}")]
    run([tool, "eval", "--no-cache", "--no-table", "--repeat", "2", *outputs], files, fine={0, 100})
    return run([tool, "--version"], folder).strip()


def run(command: list[str | Path], folder: Path, *, fine: frozenset[int] | set[int] = frozenset({0})) -> str:
    """Run a command in a folder, and return what it prints; promptfoo ends with 100 if a test fails."""
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(folder)}
    quiet |= {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=os.environ | quiet, capture_output=True, text=True, check=False)
    if done.returncode not in fine:
        sys.exit(f"{command[:3]} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def read(tool: str, version: str, path: Path, scorer: str, mapped: Map) -> bool:
    """Read a file, print what was found, and return whether it has what the tool was made to write."""
    try:
        form, table = open_rows(path)
        rows = list(table.rows)
        outputs = sum(1 for _ in outputs_of(path, mapped))
        # A file of several systems has each of its scores in a row all the same.
        scored = sum(scorer in (row.scores or row.fields) for row in rows)
        if len({row.fields.get("model") for row in rows}) == 1 and scored:
            read_recorded(path, scorer, mapped, epoch="mean")
    except InputError as error:
        print(f"{tool} {version} | {path.name} | NOT READ: {error}")
        return False
    epochs, ends = len({row.epoch for row in rows}), sum(row.ended is not OutputEnd.WHOLE for row in rows)
    print(
        f"{tool} {version} | {path.name} | {form} | {len(rows)} rows, {outputs} with an output, {scored} with a score, "
        f"epochs {epochs}, {ends} not whole"
    )
    return True


def outputs_of(path: Path, mapped: Map) -> Iterator[str]:
    """Yield the outputs of a file; of one with several systems or epochs, of the rows as they stand."""
    _, table = open_rows(path)
    rows = list(table.rows)
    if len({(row.fields.get("model"), row.epoch) for row in rows}) > 1:
        yield from (row.fields["output"] for row in rows if not row.failed)
    else:
        yield from (one.row.output for one in read_outputs(path, mapped, allow_failed=True).rows)


if __name__ == "__main__":
    main()

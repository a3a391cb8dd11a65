"""`judgeloop compare` on real outputs with real verdicts; skipped where that data is not at
hand."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter

import numpy as np
import pytest
from support.commandline import result_of

from judgeloop.judges.metric import metric_named


def compare(*arguments):
    return result_of("compare", *arguments)


def full_table_winner(table, first, second):
    """The system that is preferred on more of the items that both have."""
    scores = {}
    with gzip.open(table, "rt") as file:
        for row in csv.DictReader(file):
            if row["model"] in {first, second} and row["score"]:
                scores.setdefault(row["item_id"], {})[row["model"]] = float(row["score"])
    pairs = [both for both in scores.values() if len(both) == 2]
    votes = Counter(np.sign(both[first] - both[second]) for both in pairs)
    return first if votes[1.0] > votes[-1.0] else second


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("selector", "first", "second"),
    [
        ("random", "claude-2", "vicuna-7b"),
        ("random", "phi-2-sft", "wizardlm-13b"),
        ("diffuse", "gpt-3.5-turbo-0301", "falcon-7b-instruct"),
    ],
)
def test_alpacaeval_decides_and_agrees_with_the_full_table(recorded_data, selector, first, second):
    data = recorded_data / "alpacaeval"
    table = data / "verdicts-gpt4turbo.csv.gz"
    outputs = [data / "outputs" / f"{name}.json" for name in (first, second)]
    outcome = compare(
        *outputs, "--items", data / "items.jsonl", "--judge", f"replay:{table}", "--selector", selector,
        "--allow-partial",
    )  # fmt: skip
    if outcome["winner"] is not None:
        assert outcome["winner"] == full_table_winner(table, first, second)
    assert outcome["winner"] is not None
    assert outcome["judged"] < outcome["items"] / 4


@pytest.mark.parametrize("selector", ["random", "diffuse"])
def test_realsumm_is_judged_by_rouge_from_its_texts_and_agrees_with_the_full_table(recorded_data, selector):
    data = recorded_data / "realsumm"
    first, second = "abs-bart", "ext-refresh"
    outcome = compare(
        data / "outputs" / f"{first}.jsonl", data / "outputs" / f"{second}.jsonl",
        "--items", data / "items.jsonl", "--judge", "metric:rouge2", "--selector", selector,
    )  # fmt: skip
    assert outcome["winner"] == full_table_winner(data / "verdicts-rouge2.csv.gz", first, second)


def test_our_rouge2_and_the_tables_differ_by_little(recorded_data, capsys):
    """The table comes from another implementation; where it tokenises otherwise, scores differ.
    A tenth of the outputs show it."""
    data = recorded_data / "realsumm"
    references = {
        row["id"]: row["reference"] for row in map(json.loads, (data / "items.jsonl").read_text().splitlines())
    }
    with gzip.open(data / "verdicts-rouge2.csv.gz", "rt") as file:
        table = {(row["item_id"], row["model"]): float(row["score"]) for row in csv.DictReader(file)}
    metric, differences = metric_named("rouge2"), []
    for path in sorted((data / "outputs").glob("*.jsonl")):
        for row in map(json.loads, path.read_text().splitlines()[::10]):
            ours = metric(references[row["id"]], row["output"])
            differences.append(abs(ours - table[row["id"], row["model"]]))
    apart = np.array(differences)
    with capsys.disabled():
        print(
            f"\nrouge2 against the table, {len(apart)} outputs: equal to 0.001 on {np.mean(apart < 1e-3):.1%}, "
            f"mean difference {apart.mean():.4f}, largest {apart.max():.3f}"
        )
    assert np.mean(apart < 1e-3) > 0.8
    assert apart.mean() < 0.005


def test_a_budget_is_rehearsed_with_what_gpt4_really_cost(recorded_data):
    data = recorded_data / "alpacaeval"
    outputs = [data / "outputs" / f"{name}.json" for name in ("cohere", "claude-2")]
    arguments = [*outputs, "--items", data / "items.jsonl", "--judge", f"replay:{data / 'verdicts-gpt4.csv.gz'}",
                 "--allow-partial", "--budget", "0.20", "--risk", "1e-9"]  # fmt: skip
    outcome = compare(*arguments)
    assert outcome["stop_reason"] == "budget"
    assert 0.15 < outcome["rehearsed_usd"] <= 0.20
    assert outcome["spent_usd"] == 0


def test_a_constant_answer_that_fools_the_judge_is_pointed_at(recorded_data):
    data = recorded_data / "alpacaeval"
    outcome = compare(
        data / "outputs" / "NullModel.json", data / "outputs" / "claude-2.json",
        "--items", data / "items.jsonl", "--judge", f"replay:{data / 'verdicts-gpt4turbo.csv.gz'}",
    )  # fmt: skip
    assert outcome["winner"] == "NullModel", "GPT-4-turbo was fooled by it"
    assert outcome["repeated"] == {"NullModel": 805}

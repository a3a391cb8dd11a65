"""`judgeloop replay --job estimate` as people use it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.replaying import recorded, replay, rows_of

from judgeloop.replay.estimate import EVERY

ITEMS, LEVELS = 60, {"a": 0.4, "b": 0.7}


@pytest.fixture
def data(tmp_path):
    """Two systems, the second better and with confidences that say something about its scores."""
    rng = np.random.default_rng(1)
    scores = {name: (rng.random(ITEMS) < level).astype(float) for name, level in LEVELS.items()}
    files = recorded(tmp_path, scores, lambda rng, score: {"logprobs": [-rng.random() * (2 - score)]})
    return [*files, "--job", "estimate"]


QUICK = ["--shares", "10,30,50", "--seeds", 2, "--jobs", 1]


def test_every_selector_is_measured_by_share(data, tmp_path):
    out = tmp_path / "out"
    result = replay(*data, *QUICK, "-o", out)
    assert result.exit_code == 0, result.output
    assert "error at 30 %" in result.stdout
    accuracy, area = rows_of(out / "accuracy.csv"), rows_of(out / "area.csv")
    assert [row["selector"] for row in area] == list(EVERY)
    assert {(row["selector"], row["share"]) for row in accuracy} == {
        (name, share) for name in EVERY for share in ("10", "30", "50")
    }
    assert {row["runs"] for row in accuracy} == {"4"}, "two systems, two repetitions"
    assert {row["selector"] for row in accuracy if row["coverage"]} == {
        "random", "stratified", "stratified-confidence",
    }  # fmt: skip
    printed = replay(*data, *QUICK, "-o", out, "--resume", "--json").stdout
    assert json.loads(printed)["area"] == json.loads((out / "area.json").read_text())


def test_without_confidences_the_rest_is_run_and_said_so(data, tmp_path):
    result = replay(*data, *QUICK, "--confidence", "certainty", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "without actracer, stratified-confidence, confidence-systematic: " in result.stderr
    assert {row["selector"] for row in rows_of(tmp_path / "out" / "area.csv")} == {
        "random", "stratified", "cross-entropy", "mmd-critic", "diffuse",
    }  # fmt: skip


def test_one_system_and_one_file_belong_together_whatever_their_names(data, tmp_path):
    (data[0] / "b.jsonl").unlink()
    lone = [*QUICK, "--selectors", "actracer", "--leave-out", "b"]
    (data[0] / "a.jsonl").write_text((data[0] / "a.jsonl").read_text().replace('"model": "a", ', ""))
    (data[0] / "a.jsonl").rename(data[0] / "outputs.jsonl")
    assert replay(*data, *lone, "-o", tmp_path / "folder").exit_code == 0
    data[0] /= "outputs.jsonl"
    assert replay(*data, *lone, "-o", tmp_path / "file").exit_code == 0
    assert (tmp_path / "folder" / "area.csv").read_text() == (tmp_path / "file" / "area.csv").read_text()
    both = replay(*data, *QUICK, "--selectors", "actracer", "-o", tmp_path / "both")
    assert "no outputs of 'a'" in both.stderr


def test_items_without_a_score_are_no_part_of_the_pool(data, tmp_path):
    """Of 60 items 10 lose theirs: half of the rest is 25."""
    table = data[4].read_text().splitlines()
    for item in range(10):
        table = [f"i{item},a," if line.startswith(f"i{item},a,") else line for line in table]
    data[4].write_text("\n".join(table) + "\n")
    for selectors in ("random", "random,stratified"):
        out = tmp_path / selectors
        assert replay(*data, *QUICK, "--selectors", selectors, "--leave-out", "b", "-o", out).exit_code == 0
        assert rows_of(out / "accuracy.csv")[2]["judged"] == "25"


def test_vectors_may_be_given(data, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(1, ITEMS, 4))
    np.savez(tmp_path / "v.npz", models=np.array(["b"]), embeddings=vectors)
    flags = [*QUICK, "--selectors", "random,stratified,actracer", "--vectors", tmp_path / "v.npz"]
    result = replay(*data, *flags, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert {row["runs"] for row in rows_of(tmp_path / "out" / "accuracy.csv")} == {"2"}, "of b alone"


def test_recorded_hidden_states_are_read_by_layer_and_outputs_stay_texts(data, tmp_path):
    rng = np.random.default_rng(0)
    states = {f"layer{layer}": rng.normal(size=(ITEMS, 4)) for layer in (1, 2, 4)}
    np.savez(tmp_path / "v.npz", **states, ids=np.array([f"i{item}" for item in range(ITEMS)]))
    flags = [
        *QUICK,
        "--selectors",
        "stratified,mmd-critic,diffuse",
        "--leave-out",
        "a",
        "--vectors",
        tmp_path / "v.npz",
    ]
    for layer in ("2", "middle", "last"):
        done = replay(*data, *flags, "--layer", layer, "-o", tmp_path / layer)
        assert done.exit_code == 0, done.output
    of = {name: rows_of(tmp_path / name / "accuracy.csv") for name in ("2", "middle", "last")}
    assert of["2"] == of["middle"]
    by = {name: {row["selector"]: [] for row in rows} for name, rows in of.items()}
    for name, rows in of.items():
        for row in rows:
            by[name][row["selector"]].append(row["error"])
    assert by["2"]["stratified"] != by["last"]["stratified"]
    assert by["2"]["mmd-critic"] == by["last"]["mmd-critic"], "its paper prescribes the last layer"
    texts = replay(*data, *QUICK, "--selectors", "diffuse", "--leave-out", "a", "-o", tmp_path / "texts")
    assert texts.exit_code == 0
    lexical = [row["error"] for row in rows_of(tmp_path / "texts" / "accuracy.csv")]
    assert by["2"]["diffuse"] == lexical
    both = replay(*data, *QUICK, "--selectors", "stratified", "--vectors", tmp_path / "v.npz", "-o", tmp_path / "both")
    assert both.exit_code == 2
    assert "of one model, and the verdicts a, b" in both.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--pool", "9"], "--pool: --job estimate has no such choice"),
        (["--selectors", "race"], "--selectors"),
        (["--shares", "0:50:5"], "--shares"),
        (["--proxy", "metric:exact"], "--proxy"),
        (["--layer", "last"], "--layer last: only --represent hidden:MODEL, or a file of hidden states"),
        (["--leave-out", "a,b"], "expected scores of at least 1 of the systems, found none"),
        (["--represent", "minilm", "--vectors", "v.npz"], "--represent minilm: not used, because --vectors are given"),
        (["--selectors", "actracer", "--confidence", "certainty"], "the field 'certainty' is missing"),
    ],
)
def test_what_cannot_be_is_refused(data, tmp_path, more, message):
    result = replay(*data, *more, "-o", tmp_path / "out")
    assert result.exit_code in {1, 2}
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("item_id,model,score\ni0,a,1.5\n", "needs scores in [0, 1], found 1.5 of 'a' on 'i0'"),
        ("item_id,model,score\ni0,a,0\ni1,a,0\n", "'a' has no score above 0"),
        ("item_id,model_a,model_b,score\ni0,a,b,1\n", "found pairs"),
    ],
)
def test_scores_that_make_no_mean_are_refused(data, tmp_path, table, message):
    data[4].write_text(table)
    result = replay(*data, "--selectors", "random", "-o", tmp_path / "out")
    assert result.exit_code in {1, 2}
    assert message in result.stderr


def test_diffuse_clusters_outputs_also_beside_hidden_states(data, tmp_path):
    flags = [*QUICK, "--selectors", "random,diffuse"]
    assert replay(*data, *flags, "-o", tmp_path / "texts").exit_code == 0
    # There is no such model: diffuse needs none, because hidden states are of the prompts.
    done = replay(*data, *flags, "--represent", "hidden:nowhere", "-o", tmp_path / "hidden")
    assert done.exit_code == 0, done.output
    tables = [(tmp_path / name / "area.csv").read_text() for name in ("texts", "hidden")]
    assert tables[0] == tables[1]

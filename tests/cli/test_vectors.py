"""Vectors that are at hand serve live runs: `compare` and `estimate` with `--vectors FILE`, without a model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.commandline import judgeloop, result_of

ITEMS = 60
METRIC = ["--judge", "metric:exact"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Two systems; the first is right on the even items, the second on a third of the odd ones."""
    monkeypatch.chdir(tmp_path)
    right = {"one": lambda i: i % 2 == 0, "two": lambda i: i % 6 == 1}
    for name, is_right in right.items():
        rows = [
            {"id": f"i{i}", "prompt": f"p{i}", "reference": "yes", "model": name, "logprobs": [-0.01 * (i % 7) - 0.01],
             "output": "yes" if is_right(i) else f"no {name} {i}"}
            for i in range(ITEMS)
        ]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def written(folder, *, ids=None, seed=0, names=("one_out.txt", "two_out.txt"), **arrays):
    """A file of vectors; by default of both systems, by the names of their files."""
    rng = np.random.default_rng(seed)
    given = arrays or {"models": np.array(names), "embeddings": rng.normal(size=(len(names), ITEMS, 5))}
    if ids is not None:
        given["ids"] = np.array(ids)
    np.savez(folder / "v.npz", **given)
    return folder / "v.npz"


def compared(here, *more):
    flags = ["--selector", "max-norm", "--rule", "hypergeometric", "--max-judgments", "8", "--risk", "0.0001"]
    return result_of("compare", "one.jsonl", "two.jsonl", *METRIC, *flags, "-o", "labels.csv", *more)


def order(here):
    """The ids of the judged items, as they were asked."""
    lines = (here / "labels.csv").read_text().splitlines()
    place = lines[0].split(",").index("item_id")
    return [line.split(",")[place] for line in lines[1:]]


def test_the_longest_differences_of_the_file_are_judged_first(here):
    vectors = np.zeros((2, ITEMS, 3))
    longest = [41, 3, 17, 58, 9, 22, 30, 11]
    for rank, item in enumerate(longest):
        vectors[1, item, 0] = 100 - rank
    file = written(here, models=np.array(["one_out.txt", "two"]), embeddings=vectors)
    result = compared(here, "--vectors", file)
    assert result["represent"] == "v.npz"
    assert order(here) == [f"i{item}" for item in longest]


def test_ids_join_the_vectors_whatever_their_order(here):
    vectors = np.zeros((2, ITEMS, 3))
    vectors[1, :8, 0] = range(100, 92, -1)  # of the last items, the last one first
    ids = [f"i{item}" for item in reversed(range(ITEMS))]
    compared(here, "--vectors", written(here, models=np.array(["one", "two"]), embeddings=vectors, ids=ids))
    assert order(here) == [f"i{item}" for item in range(59, 51, -1)]


def test_other_vectors_are_another_run(here):
    runs = [compared(here, "--vectors", written(here, seed=seed))["run"] for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def estimated(here, *more):
    return result_of("estimate", "one.jsonl", *METRIC, "--max-judgments", "20", "-o", "labels.csv", *more)


def layers(here):
    """Hidden states at three layers: at the second, even and odd items lie apart."""
    rng = np.random.default_rng(0)
    apart = rng.normal(size=(ITEMS, 4)) + 50 * (np.arange(ITEMS) % 2)[:, None]
    noise = {f"layer{k}": rng.normal(size=(ITEMS, 4)) for k in (1, 4)}
    return written(here, **noise, layer2=apart, ids=[f"i{i}" for i in range(ITEMS)])


def test_a_system_is_rated_by_recorded_states_of_its_middle_layer_without_a_model(here):
    flags = ["--selector", "stratified", "--clusters", "2", "--vectors", layers(here)]
    middle, last = (estimated(here, *flags, *more) for more in ([], ["--layer", "last"]))
    assert (middle["represent"], middle["layer"], middle["strata"]) == ("v.npz", "middle", 2)
    # The strata of layer 2 are the right and the wrong items: within each there is no spread.
    widths = [one["interval"][1] - one["interval"][0] for one in (middle, last)]
    assert widths[0] < 0.6 * widths[1]
    assert middle["mean"] == pytest.approx(0.5)


def test_the_papers_configuration_takes_vectors_and_log_probabilities_of_files(here):
    result = estimated(here, "--selector", "actracer", "--vectors", layers(here))
    assert result["mean"] == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(
    ("command", "file", "said"),
    [
        ("compare --selector random", {}, "--vectors v.npz has no effect with --selector random"),
        ("compare --selector input-cluster --rule tie-aware", {}, "--vectors v.npz has no effect with"),
        ("compare --selector diffuse --rule tie-aware --represent minilm", {}, "--represent minilm: not used"),
        ("compare --selector diffuse --rule tie-aware", {"names": ("one", "three")}, "expected vectors of the outputs of 'two'"),
        ("compare --selector diffuse --rule tie-aware", {"ids": ["x"] * ITEMS}, "no vectors for 60 items, such as 'i0'"),
        ("compare --selector diffuse --rule tie-aware", {"layer1": np.zeros((ITEMS, 2))}, "found those of none"),
        ("estimate --selector diffuse", {"layer1": np.zeros((ITEMS, 2))}, "--selector diffuse clusters the outputs"),
        ("estimate --selector stratified --layer 3", {"layer1": np.zeros((ITEMS, 2))}, "expected the layer 3, found 1"),
        ("estimate --selector stratified --layer auto", {"layer1": np.zeros((ITEMS, 2))}, "needs the model"),
        ("estimate --selector stratified --layer last", {}, "--layer last: only --represent hidden:MODEL"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_refused_and_nothing_is_asked(here, command, file, said):
    arrays = {name: array for name, array in file.items() if name.startswith("layer")}
    written(here, **{name: one for name, one in file.items() if name not in arrays}, **arrays)
    question, *flags = command.split()
    systems = ["one.jsonl", "two.jsonl"][: 2 if question == "compare" else 1]
    done = judgeloop(question, *systems, *METRIC, *flags, "--vectors", "v.npz")
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.stderr.split())
    missing = judgeloop(question, *systems, *METRIC, *flags, "--vectors", "none.npz")
    assert missing.exit_code == 2

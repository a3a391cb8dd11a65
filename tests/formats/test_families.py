"""Formats that know which of their items belong together say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgeloop.formats.join import join
from judgeloop.formats.recorded import read_recorded
from judgeloop.formats.rows import read_outputs
from judgeloop.formats.tables import Row, Table

pytestmark = pytest.mark.smoke

FILES = Path(__file__).parent / "files"


def pool_of(path, **more):
    return join([read_outputs(path)], None, None, allow_partial=False, **more).pool


def test_the_epochs_of_a_log_are_a_family_also_where_the_outputs_are_equal(tmp_path):
    log = json.loads((FILES / "inspect_header.json").read_text())
    samples = json.loads((FILES / "inspect_samples.json").read_text())
    log["samples"] = samples + [sample | {"epoch": 2} for sample in samples]
    (path := tmp_path / "log.json").write_text(json.dumps(log))
    pool = pool_of(path)
    assert [len(family) for family in pool.families] == [2] * len(samples)


def test_the_repetitions_of_promptfoo_are_a_family(tmp_path):
    results = json.loads((FILES / "promptfoo.json").read_text())
    listed = results["results"]["results"]
    again = [one | {"testIdx": one["testIdx"] + 100 * repeat} for repeat in range(3) for one in listed]
    first = again[0]["provider"]
    results["results"]["results"] = [one for one in again if one["provider"] == first and one.get("failureReason") != 2]
    (path := tmp_path / "results.json").write_text(json.dumps(results))
    families = pool_of(path).families
    assert {len(family) for family in families} == {3}


def test_an_instance_of_helm_and_its_perturbations_are_a_family(tmp_path):
    state = json.loads((FILES / "helm.json").read_text())
    (one, *_) = state["request_states"]
    state["request_states"] = []
    for number in range(3):
        for name in (None, "typos", "lowercase"):
            text = {"text": f"question {number} {name}"}
            instance = {"id": f"id{number}", "input": text, "references": []}
            instance |= {"perturbation": {"name": name}} if name else {}
            state["request_states"].append(one | {"instance": instance})
    (path := tmp_path / "scenario_state.json").write_text(json.dumps(state))
    pool = pool_of(path)
    assert [len(family) for family in pool.families] == [3, 3, 3]
    stats = [
        {"instance_id": f"id{number}", "stats": [{"name": {"name": "em"}, "mean": 1.0}]}
        | ({"perturbation": {"name": name}} if name else {})
        for number in range(3)
        for name in (None, "typos")
    ]
    (path := tmp_path / "per_instance_stats.json").write_text(json.dumps(stats))
    rows = read_recorded(path, "em").rows
    assert [located.row.family for located in rows] == ["id0", "id0", "id1", "id1", "id2", "id2"]


def test_the_answers_of_lm_eval_to_a_repeated_document_are_a_family(tmp_path):
    samples = [json.loads(line) for line in (FILES / "lm_eval.jsonl").read_text().splitlines()]
    for sample in samples:
        sample["resps"] = [[*sample["resps"][0], "another answer", "a third"]]
    (path := tmp_path / "samples_x.jsonl").write_text("\n".join(map(json.dumps, samples)))
    pool = pool_of(path)
    assert [len(family) for family in pool.families] == [3] * len({sample["doc_id"] for sample in samples})
    assert pool.outputs[0].count("another answer") == len(pool.families)
    scored = read_recorded(path, read_scorer(path))
    assert len(scored.rows) == len(pool.families)


def read_scorer(path):
    names = json.loads(path.read_text().splitlines()[0])["metrics"]
    several = len({json.loads(line)["filter"] for line in path.read_text().splitlines()}) > 1
    first = json.loads(path.read_text().splitlines()[0])["filter"]
    return f"{names[0]},{first}" if several else names[0]


def test_the_turns_of_a_conversation_are_a_family():
    rows = [Row(at, {"question": f"q {at}", "answer": f"a {at}", "conversation_id": f"c{at // 3}"}) for at in range(9)]
    pool = pool_of(Table("turns", rows))
    assert pool.families == ((0, 1, 2), (3, 4, 5), (6, 7, 8))

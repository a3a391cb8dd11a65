"""`judgeloop replay --job estimate` as people use it, what it runs, and what its tables say."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.cli.app import app
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay as drive
from judgeloop.engine.session import Limits, Session
from judgeloop.estimate.config import EstimateConfig
from judgeloop.estimate.selector import sampling_for
from judgeloop.estimators.mean_score import MeanScore
from judgeloop.replay.estimate import (
    CLUSTERING,
    WALKING,
    Estimations,
    Subject,
    _Trial,
    judgments,
    stratify,
    walk,
)
from judgeloop.replay.estimate_inputs import EVERY
from judgeloop.replay.estimate_tables import areas, by_share, headlines
from judgeloop.stopping.precise import Precise

ITEMS = 60
SHARES = (10, 25, 50)


def subject(items=ITEMS, seed=0):
    rng = np.random.default_rng(seed)
    confidence = rng.random(items).round(2)
    scores = (rng.random(items) < 0.2 + 0.6 * confidence).astype(np.float64)
    vectors = rng.normal(size=(items, 5)) + 2 * scores[:, None]
    return Subject("s", scores, confidence, vectors, vectors)


def plan(*selectors, **more):
    return Estimations(selectors, **{"shares": SHARES, "seeds": 3} | more)


def live(name, budget, one, **flags):
    """A selector and its strata as `estimate` makes them."""
    config = EstimateConfig(
        judge=("replay:x.csv",), outputs="x.jsonl", selector=name, seed=5, **flags
    )
    return sampling_for(
        config, budget, confidence=one.confidence, vectors=one.vectors, items=len(one.scores)
    )


def session(sampling, budget, one, rng):
    """How a run of `estimate` to the end of its budget ends."""
    items = len(one.scores)
    ran = Session(
        items=items,
        selector=sampling.selector,
        estimator=MeanScore(sampling.strata),
        rule=Precise(0.1, items),
        limits=Limits(1, budget, 1.0),
        rng=rng,
    )
    return drive(ran, lambda choice: Verdict(float(one.scores[choice.position]))).estimate


def bounds(row):
    return None if row["low"] is None else (row["low"], row["high"])


@pytest.mark.parametrize("name", WALKING)
def test_a_walk_to_a_share_is_the_live_run_that_ends_there(name):
    one = subject()
    for row in walk(one, 7, plan(name, seed=5)):
        budget = judgments(row["share"], ITEMS)
        estimate = session(
            live(name, budget, one),
            budget,
            one,
            np.random.default_rng([5, 7, row["share"], row["repetition"]]),
        )
        assert row["judged"] == budget == estimate.tally.asked
        assert row["estimate"] == pytest.approx(estimate.tally.moments.mean, rel=1e-12)
        if bounds(row) is None or estimate.interval is None:
            assert bounds(row) == estimate.interval
        else:
            assert bounds(row) == pytest.approx(estimate.interval, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "command", "flags"),
    [
        ("stratified", "stratified", {}),
        ("actracer", "actracer", {}),
        ("actracer-8", "actracer", {}),
        ("actracer-proportional", "actracer", {"allocation": "proportional"}),
        ("actracer-random", "stratified", {}),
    ],
)
def test_on_the_same_clusters_a_share_is_the_live_run_of_that_budget(name, command, flags):
    one = subject()
    sampling = live(command, 30, one, clusters=8, **flags)
    row = _Trial(one, 7, 50, 2, plan(name, seed=5)).session(name, sampling.strata)
    estimate = session(sampling, 30, one, np.random.default_rng([5, 7, 50, 2]))
    assert row["estimate"] == estimate.tally.moments.mean
    assert bounds(row) == estimate.interval


def test_the_distance_between_confidences_is_the_one_for_the_rule():
    rule = {"confidence_by": "first-token"}
    one = replace(
        subject(), scores=np.random.default_rng(1).random(ITEMS)
    )  # another sample has another mean
    sampling = live("actracer", 30, one, clusters=8, **rule)
    row = _Trial(one, 7, 50, 2, plan("actracer", distance="ks")).session(
        "actracer", sampling.strata
    )
    other = _Trial(one, 7, 50, 2, plan("actracer")).session("actracer", sampling.strata)
    estimate = session(sampling, 30, one, np.random.default_rng([0, 7, 50, 2]))
    assert row["estimate"] == estimate.tally.moments.mean != other["estimate"]


def test_without_mc_ucb_clusters_get_their_proportional_shares():
    """Of two equal clusters the scores of one do not spread: mc-ucb asks the other more often."""
    rng = np.random.default_rng(0)
    halves = np.repeat([0.0, 1.0], 100)
    scores = np.where(halves == 1, rng.random(200), 0.5)
    one = Subject("s", scores, rng.random(200), halves[:, None] + rng.normal(0, 0.01, (200, 2)))
    strata = live("actracer", 100, one, clusters=2).strata
    for name, even in (("actracer-proportional", True), ("actracer", False)):
        sampling = live(
            "actracer", 100, one, clusters=2, allocation="proportional" if even else "mc-ucb"
        )
        estimate = session(sampling, 100, one, np.random.default_rng(0))
        drawn = np.bincount(strata.labels[estimate.tally.positions])
        assert (drawn[0] == drawn[1]) == even
        row = _Trial(one, 0, 50, 0, plan(name)).session(name, strata)
        assert row["estimate"] == estimate.tally.moments.mean


def every_row(one, number, ran):
    rows = walk(one, number, ran)
    return rows + [row for share in ran.shares for row in stratify(one, number, share, ran)]


def test_rows_do_not_depend_on_what_is_run_beside_them():
    one = subject()
    together = every_row(one, 1, plan(*WALKING, *CLUSTERING))
    for name in (*WALKING, *CLUSTERING):
        alone = every_row(one, 1, plan(name, shares=(25, 50)))
        assert alone == [
            row
            for row in together
            if row["selector"] == name and row["share"] in {row["share"] for row in alone}
        ]


def test_repetitions_systems_and_seeds_differ_and_the_same_give_the_same():
    one = replace(
        subject(), scores=np.random.default_rng(1).random(ITEMS)
    )  # another sample has another mean
    ran = plan("random", "stratified", "actracer", seed=1)
    rows = every_row(one, 0, ran)
    assert rows == every_row(one, 0, ran)

    def estimates(rows, name, repetition):
        return [
            row["estimate"]
            for row in rows
            if (row["selector"], row["repetition"]) == (name, repetition)
        ]

    for name in ("random", "stratified", "actracer"):
        first = estimates(rows, name, 0)
        assert first != estimates(rows, name, 1)
        assert first != estimates(every_row(one, 1, ran), name, 0)
        assert first != estimates(every_row(one, 0, replace(ran, seed=2)), name, 0)


def test_eight_clusters_are_as_many_as_the_budget_can_begin_with():
    rows = stratify(subject(), 0, 10, plan("actracer-8")) + stratify(
        subject(), 0, 50, plan("actracer-8")
    )
    assert [row["strata"] for row in rows] == [3] * 3 + [
        8
    ] * 3  # two of each of at most 8, of 6 and 30 judged


def test_all_items_judged_leave_nothing_to_chance():
    one = subject()
    for row in every_row(one, 0, plan(*WALKING, *CLUSTERING, shares=(100,))):
        assert row["estimate"] == pytest.approx(row["truth"]), row["selector"]
        if row["low"] is not None:
            assert row["low"] == row["high"] == pytest.approx(row["truth"])


def test_a_proxy_that_knows_every_score_leaves_draws_no_error_and_picks_theirs():
    """The mean of the proxy plus that of what it leaves, which is nothing: the truth."""
    scores = np.random.default_rng(1).random(ITEMS)
    one = replace(subject(), scores=scores, confidence=scores)
    plain = {
        row["selector"]: row["estimate"] for row in every_row(one, 0, plan(*WALKING, "stratified"))
    }
    helped = every_row(one, 0, plan(*WALKING, "stratified", by_confidence=True))
    for row in helped:
        if row["selector"] in {"random", "stratified"} and row["share"] == 50:
            assert row["estimate"] == pytest.approx(row["truth"])
    for name in ("diffuse", "mmd-critic", "cross-entropy"):
        assert plain[name] == [row["estimate"] for row in helped if row["selector"] == name][-1]


def test_a_history_helps_draws_where_systems_are_alike_and_leaves_picks_alone():
    rng = np.random.default_rng(1)
    hard = rng.random(ITEMS)
    scores = np.clip(hard + rng.normal(0, 0.05, (7, ITEMS)), 0, 1)
    one = replace(subject(), scores=scores[0], earlier=scores[1:])
    names, errors = ("random", "stratified", "cross-entropy"), {}
    for history in (0, 4):
        rows = every_row(one, 0, plan(*names, history=history, seeds=20))
        for name in names:
            errors[name, history] = np.mean([(r["estimate"] - r["truth"]) ** 2 for r in rows if r["selector"] == name])  # fmt: skip
    assert errors["random", 4] < 0.5 * errors["random", 0]
    assert errors["stratified", 4] < errors["stratified", 0]
    assert errors["cross-entropy", 4] == errors["cross-entropy", 0]


def test_a_history_is_drawn_anew_in_every_repetition():
    scores = np.random.default_rng(1).random((7, ITEMS))
    one = replace(subject(), scores=scores[0], earlier=scores[1:])
    some = [row["estimate"] for row in walk(one, 0, plan("random", shares=(25,), history=1))]
    flat = replace(one, earlier=np.tile(scores[1], (6, 1)))
    same = [row["estimate"] for row in walk(flat, 0, plan("random", shares=(25,), history=1))]
    assert some != same, "that of the first earlier system alone"


def row_of(selector, share, estimate, *, system="s", repetition=0, low=None, high=None):
    return {"system": system, "repetition": repetition, "selector": selector, "share": share, "judged": share,
            "strata": 1, "truth": 0.5, "estimate": estimate, "low": low, "high": high}  # fmt: skip


def test_errors_and_coverage_are_those_worked_out_by_hand():
    # |0.6 - 0.5| / 0.5 = 0.2, |0.45 - 0.5| / 0.5 = 0.1, |0.7 - 0.5| / 0.5 = 0.4: median 0.2, mean square (0.04 + 0.01 + 0.16) / 3 = 0.07.
    # Of the intervals [0.55, 0.65] misses 0.5, [0.4, 0.5] holds it at its end; half widths 0.05 and 0.05, the third has none.
    rows = [
        row_of("random", 10, 0.6, repetition=0, low=0.55, high=0.65),
        row_of("random", 10, 0.45, repetition=1, low=0.4, high=0.5),
        row_of("random", 10, 0.7, repetition=2),
    ]
    (row,) = by_share(rows)
    assert (row["judged"], row["runs"]) == (10, 3)
    assert row["error"] == pytest.approx(0.2)
    assert row["rms"] == pytest.approx(0.07**0.5)
    assert (row["coverage"], row["half_width"]) == (0.5, pytest.approx(0.05))
    assert row["error_se"] > 0


def test_areas_are_those_worked_out_by_hand():
    # random: errors 0.4 at 10 %, 0.2 at 20 %, 0.2 at 40 %: (0.3 · 10 + 0.2 · 20) / 30 = 7/30. other: 0.2 everywhere: 0.2, which is 6/7 of it.
    rows = [
        row_of("random", share, estimate) for share, estimate in ((10, 0.7), (20, 0.4), (40, 0.6))
    ]
    rows += [row_of("other", share, 0.6) for share in (10, 20, 40)]
    random, other = areas(rows)
    assert random["area"] == pytest.approx(7 / 30)
    assert random["against_random"] is None
    assert other["area"] == pytest.approx(0.2)
    assert other["against_random"] == pytest.approx(6 / 7 - 1)
    assert other["coverage"] is None


@settings(max_examples=20)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=8, unique=True), st.floats(0.01, 0.99))
def test_the_area_of_a_level_curve_is_its_height(shares, estimate):
    (row,) = areas([row_of("random", share, estimate) for share in sorted(shares)])
    assert row["area"] == pytest.approx(abs(estimate - 0.5) / 0.5)


def test_standard_errors_are_over_systems_or_over_the_repetitions_of_one():
    alike = [row_of("random", 10, 0.6, repetition=one) for one in range(4)]
    assert by_share(alike)[0]["error_se"] == pytest.approx(0, abs=1e-12)
    spread = [row_of("random", 10, 0.5 + one / 10, repetition=one) for one in range(4)]
    assert by_share(spread)[0]["error_se"] > 0
    # Repetitions spread in both systems, which are alike: resampling systems with all their repetitions changes nothing.
    twice = spread + [row | {"system": "t"} for row in spread]
    assert by_share(twice)[0]["error_se"] == pytest.approx(0, abs=1e-12)
    apart = alike + [row | {"system": "t", "estimate": 0.9} for row in alike]
    assert by_share(apart)[0]["error_se"] > 0


def test_the_headlines_have_the_errors_at_the_shares_that_were_run():
    rows = [row_of("random", share, 0.6, low=0.4, high=0.7) for share in (10, 20)]
    (line,) = headlines(by_share(rows), areas(rows))
    assert line["error at 10 %"] == pytest.approx(0.2)
    assert "error at 30 %" not in line
    assert line["coverage"] == 1.0


@pytest.fixture
def data(tmp_path):
    """Two systems, the second better and with confidences that say something about its scores; outputs, items and scores."""
    rng = np.random.default_rng(0)
    words = ["apple", "river", "stone", "cloud", "music", "paper", "light", "green"]
    folder = tmp_path / "outputs"
    folder.mkdir()
    table = ["item_id,model,score"]
    for name, level in (("a", 0.4), ("b", 0.7)):
        lines = []
        for item in range(ITEMS):
            text = " ".join(rng.choice(words, size=rng.integers(3, 12)))
            score = float(rng.random() < level)
            lines.append(
                json.dumps(
                    {
                        "id": f"i{item}",
                        "model": name,
                        "output": text,
                        "logprobs": [-rng.random() * (2 - score)],
                    }
                )
            )
            table.append(f"i{item},{name},{score}")
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    items = tmp_path / "items.jsonl"
    items.write_text(
        "".join(json.dumps({"id": f"i{i}", "prompt": f"p {i}"}) + "\n" for i in range(ITEMS))
    )
    verdicts = tmp_path / "verdicts.csv"
    verdicts.write_text("\n".join(table) + "\n")
    return [folder, "--items", items, "--verdicts", verdicts, "--job", "estimate"]


def replay(*arguments):
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


QUICK = ["--shares", "10,30,50", "--seeds", 2, "--jobs", 1]


def test_every_selector_is_measured_by_share_with_pictures(data, tmp_path):
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
    for name in ("error", "coverage"):
        assert ET.fromstring((out / f"{name}.svg").read_text()).tag.endswith("svg")
    printed = replay(*data, *QUICK, "-o", out, "--resume", "--json").stdout
    assert json.loads(printed)["area"] == json.loads((out / "area.json").read_text())


def test_an_interrupted_replay_goes_on_and_says_the_same(data, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    flags = [*QUICK, "--selectors", "random,diffuse,stratified,actracer-8,actracer-proportional"]
    assert replay(*data, *flags, "-o", whole).exit_code == 0
    parts.mkdir()
    kept = (whole / "runs.jsonl").read_text().splitlines(keepends=True)[:3]
    (parts / "runs.jsonl").write_text("".join(kept))
    assert replay(*data, *flags, "-o", parts, "--resume").exit_code == 0
    assert (whole / "accuracy.csv").read_text() == (parts / "accuracy.csv").read_text()
    assert (
        "other settings (shares)"
        in replay(*data, *flags, "--shares", 5, "-o", parts, "--resume").stderr
    )


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
    (data[0] / "a.jsonl").write_text(
        (data[0] / "a.jsonl").read_text().replace('"model": "a", ', "")
    )
    (data[0] / "a.jsonl").rename(data[0] / "outputs.jsonl")
    assert replay(*data, *lone, "-o", tmp_path / "folder").exit_code == 0
    data[0] /= "outputs.jsonl"
    assert replay(*data, *lone, "-o", tmp_path / "file").exit_code == 0
    assert (tmp_path / "folder" / "area.csv").read_text() == (
        tmp_path / "file" / "area.csv"
    ).read_text()
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
        assert (
            replay(*data, *QUICK, "--selectors", selectors, "--leave-out", "b", "-o", out).exit_code
            == 0
        )
        assert rows_of(out / "accuracy.csv")[2]["judged"] == "25"


def test_vectors_may_be_given(data, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(1, ITEMS, 4))
    np.savez(tmp_path / "v.npz", models=np.array(["b"]), embeddings=vectors)
    flags = [*QUICK, "--selectors", "random,stratified,actracer", "--vectors", tmp_path / "v.npz"]
    result = replay(*data, *flags, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert {row["runs"] for row in rows_of(tmp_path / "out" / "accuracy.csv")} == {"2"}, (
        "of b alone"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--pool", "9"], "--pool: --job estimate has no such choice"),
        (["--tie-margin", "0.1"], "--tie-margin: --job estimate has no such choice"),
        (["--iterative"], "--iterative: --job estimate has no such choice"),
        (["--selectors", "race"], "--selectors"),
        (["--shares", "0:50:5"], "--shares"),
        (["--proxy", "metric:exact"], "--proxy"),
        (["--layer", "last"], "--layer last: only --represent hidden:MODEL has layers"),
        (["--leave-out", "nobody"], "--leave-out nobody: the verdicts know no such system"),
        (["--leave-out", "a,b"], "a replay needs a system, found none"),
        (
            ["--represent", "minilm", "--vectors", "v.npz"],
            "--represent minilm: --vectors are given",
        ),
        (
            ["--selectors", "actracer", "--confidence", "certainty"],
            "the field 'certainty' is missing",
        ),
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


def test_other_jobs_do_not_take_its_flags(data, tmp_path):
    for job in ("compare", "select"):
        result = replay(
            *data[:-1], job, "--shares", "10", "--baseline", "a", "-o", tmp_path / "out"
        )
        assert "has no such choice" in result.stderr

"""Pairs run on recorded verdicts: the same rules as live, one walk for all budgets, and tables that
add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from judgeloop.core.errors import InputError
from judgeloop.core.records import Choice
from judgeloop.papers.diffuse.tree import COMBINED, closest_in_cosine
from judgeloop.replay.compare import Recordings, _until_met, run_pair, selector_for, suiting
from judgeloop.replay.run import Journal
from judgeloop.replay.settings import ReplayCompareSettings
from judgeloop.replay.tables import by_rule, by_size


def recordings(systems=4, items=60, seed=0, tie_margin=0.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(systems, items)).round(1) + np.linspace(0, 0.8, systems)[:, None]
    scores[0, :3] = np.nan
    vectors = rng.normal(size=(systems, items, 5))
    names = tuple(f"s{number}" for number in range(systems))
    return Recordings(names, scores, vectors, rng.normal(size=(items, 5)), tie_margin)


def protocol(**changes):
    paths = dict.fromkeys(("outputs", "items", "verdicts", "output"), "x")
    settings = {"selectors": ("random",), "seeds": 3, "subset": 0.8}
    return ReplayCompareSettings.of(**paths | settings | changes)


def test_a_contest_has_the_items_with_both_scores_from_the_view_of_the_winner():
    data = recordings()
    one = data.contest((0, 3), 1.0, np.random.default_rng(0))
    assert one.positions.tolist() == list(range(3, 60))
    raw = np.sign((data.scores[0, 3:] - data.scores[3, 3:]).round(6))
    assert one.preferences.tolist() == (np.sign(raw.sum()) * raw).tolist()
    assert one.gap == abs(raw.mean())
    assert {one.verdict(Choice(position, None)).score for position in range(57)} <= {0.0, 0.5, 1.0}


def test_a_contest_on_a_subset_takes_that_share_and_another_one_for_another_seed():
    data = recordings()
    first, second = (data.contest((1, 2), 0.5, np.random.default_rng(seed)) for seed in (0, 1))
    assert len(first.positions) == len(second.positions) == 30
    assert first.positions.tolist() != second.positions.tolist()


def test_scores_within_the_margin_tie():
    scores = np.array([[0.1, 0.5, 0.9], [0.05, 0.65, 0.1]])
    one = Recordings(("a", "b"), scores, tie_margin=0.05).contest((0, 1), 1.0, np.random.default_rng(0))
    assert sorted(one.preferences.tolist()) == [-1, 0, 1]


def test_pairs_are_drawn_without_replacement_and_without_those_that_share_no_item():
    scores = np.array([[1.0, np.nan], [np.nan, 1.0], [0.0, 0.0]])
    data = Recordings(("a", "b", "c"), scores)
    assert sorted(data.pairs(10, np.random.default_rng(0))) == [(0, 2), (1, 2)]
    assert len(data.pairs(1, np.random.default_rng(0))) == 1


@pytest.mark.parametrize("budget", [4, 9, 30])
def test_one_walk_gives_what_a_new_linkage_and_a_new_cut_would(budget):
    data = recordings()
    rows = run_pair(data, (1, 3), protocol(selectors=("diffuse",), sizes=(4, 9, 30)))
    for row in (row for row in rows if row["judgments"] == budget):
        one = data.contest((1, 3), 0.8, np.random.default_rng([1, 3, row["seed"]]))
        vectors = COMBINED["difference"](*data.output_vectors(one))
        labels = fcluster(linkage(vectors, "ward"), budget, criterion="maxclust")
        chosen = [closest_in_cosine(vectors, np.flatnonzero(labels == label)) for label in np.unique(labels)]
        assert row["estimate"] == pytest.approx(one.preferences[chosen].mean())


def test_a_budget_that_is_the_whole_pool_or_more_estimates_without_error():
    rows = run_pair(recordings(), (1, 3), protocol(selectors=("random", "max-norm"), sizes=(48, 100)))
    assert {row["judgments"] for row in rows} == {48}, "80 % of 60"
    assert all(row["estimate"] == pytest.approx(row["gap"]) for row in rows)


def test_a_rule_is_run_with_the_selectors_that_it_goes_with():
    rows = run_pair(
        recordings(), (0, 3),
        protocol(selectors=("random", "diffuse"), iterative=True, rules=("bets", "tie-aware"), risk=(0.1, 0.2),
                 max_judgments=40),
    )  # fmt: skip
    ran = {(row["selector"], row["rule"]) for row in rows}
    assert ran == {("random", "bets"), ("random", "tie-aware"), ("diffuse", "tie-aware")}
    assert {row["risk"] for row in rows} == {0.1, 0.2}
    assert all(row["named"] in {-1, 0, 1} and 5 <= row["asked"] <= 40 for row in rows)
    assert suiting(("bets", "hypergeometric"), "max-norm") == ["hypergeometric"]


def test_a_pool_judged_to_its_end_names_a_system_by_which_the_rule_is_not_met():
    preferred = np.array([1, -1, 0, 1, 0, -1, 1, 0], dtype=float)
    data = Recordings(("a", "b"), np.array([preferred, np.zeros(8)]))
    plan = protocol(subset=1.0, iterative=True, rules=("hypergeometric",), risk=(0.2,))
    rows = run_pair(data, (0, 1), plan)
    # Three wins of eight are no majority: sf(2, 8, 4, 8) is 1.
    assert {(row["asked"], row["named"], row["met"]) for row in rows} == {(8, 1, False)}
    more = Recordings(("a", "b"), np.array([np.ones(8), np.zeros(8)]))
    assert {(row["asked"], row["named"], row["met"]) for row in run_pair(more, (0, 1), plan)} == {(5, 1, True)}


@pytest.mark.parametrize(("most", "least"), [(200, 5), (20, 1), (30, 30), (200, 100)])
def test_rules_that_follow_arrays_end_where_a_session_ends(most, least):
    data = recordings(systems=6, items=50, tie_margin=0.7)
    plan = protocol(iterative=True, risk=(0.1, 0.2, 0.5), min_judgments=min(least, most), max_judgments=most, seeds=2)
    assert set(plan.rules) >= {"bets", "tie-aware", "hypergeometric"}
    pairs = [(0, 1), (0, 5), (1, 4), (2, 3)]
    by_arrays = [row for pair in pairs for row in run_pair(data, pair, plan)]
    for row in by_arrays:
        pair = row["first"], row["second"]
        contest = data.contest(pair, plan.subset, np.random.default_rng([*pair, row["seed"]]))
        of_row = replace(plan, rules=(row["rule"],), risk=(row["risk"],))
        (by_session,) = _until_met(
            selector_for("random", data, contest, plan), contest, of_row, (*pair, row["seed"], 1)
        )
        assert row == row | by_session
    assert len(by_arrays) > len(pairs) * len(plan.rules) * len(plan.risk)
    if (most, least) == (200, 5):
        assert {(row["met"], row["named"]) for row in by_arrays} >= {(True, 1), (True, -1), (False, 1)}


def test_level_systems_have_no_right_answer_and_are_left_out():
    data = Recordings(("a", "b"), np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert run_pair(data, (0, 1), protocol(subset=1.0, sizes=(1,))) == []


def row(first, second, **values):
    return {"first": first, "second": second, "selector": "random", "gap": 0.2, **values}


def test_success_by_size_is_worked_by_hand_with_pairs_as_clusters():
    rows = [
        row(0, 1, judgments=5, estimate=0.4), row(0, 1, judgments=5, estimate=0.2),
        row(0, 2, judgments=5, estimate=-0.2), row(0, 2, judgments=5, estimate=0.0),
    ]  # fmt: skip
    (line,) = by_size(rows)
    assert (line["runs"], line["success"]) == (4, 0.5)
    # Each pair's runs are off the mean by 1 in sum: sqrt(2 / 1 · (1 + 1)) / 4.
    assert line["success_se"] == pytest.approx(0.5)
    assert line["estimate"] == pytest.approx(0.1)
    assert line["bias"] == pytest.approx(-0.1)


def test_the_columns_of_the_papers_tables_are_worked_by_hand():
    rows = [
        row(0, 1, rule="r", risk=0.1, asked=10, named=1, met=True),
        row(0, 2, rule="r", risk=0.1, asked=20, named=-1, met=True) | {"gap": 0.05},
        row(0, 3, rule="r", risk=0.1, asked=30, named=1, met=True) | {"gap": 0.4},
        row(1, 2, rule="r", risk=0.1, asked=40, named=1, met=False),
    ]  # fmt: skip
    (line,) = by_rule(rows)
    assert (line["judgments"], line["error"], line["success"], line["inconclusive"]) == (25, 0.25, 0.75, 0)
    assert (line["success_met"], line["inconclusive_met"]) == (0.5, 0.25), "the last is named by its whole pool"
    assert line["gap_error"] == 0.05
    assert line["gap_success"] == pytest.approx((0.2 + 0.4 + 0.2) / 3)
    assert line["gap_inconclusive"] is None


def test_a_journal_gives_back_what_was_finished_and_forgets_a_torn_line(tmp_path):
    path = tmp_path / "deep" / "runs.jsonl"
    rows = [{"first": 0, "estimate": 0.25}]
    Journal(path, {"seeds": 3}, resume=False).add((0, 1), rows)
    with path.open("a") as file:
        file.write('{"pair": [0, 2], "ro')
    again = Journal(path, {"seeds": 3}, resume=True)
    assert again.finished == {(0, 1): rows}
    again.add((0, 2), rows)
    assert set(Journal(path, {"seeds": 3}, resume=True).finished) == {(0, 1), (0, 2)}


def test_a_journal_is_not_overwritten_nor_mixed_with_other_settings(tmp_path):
    path = tmp_path / "runs.jsonl"
    Journal(path, {"seeds": 3, "subset": 1.0}, resume=False).add((0, 1), [])
    with pytest.raises(InputError, match="exists already"):
        Journal(path, {"seeds": 3, "subset": 1.0}, resume=False)
    with pytest.raises(InputError, match=r"other settings \(seeds\)"):
        Journal(path, {"seeds": 4, "subset": 1.0}, resume=True)
    path.write_text("no journal\n")
    with pytest.raises(InputError, match="not the journal of a replay"):
        Journal(path, {}, resume=True)


@pytest.mark.parametrize("resume", [True, False])
def test_a_journal_is_written_through_no_link(tmp_path, resume):
    (tmp_path / "runs.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link, to"):
        Journal(tmp_path / "runs.jsonl", {}, resume=resume)


def test_a_replay_that_was_refused_before_its_first_pair_leaves_no_journal(tmp_path):
    path = tmp_path / "out" / "runs.jsonl"
    Journal(path, {"seeds": 3}, resume=False)
    assert not path.exists()
    Journal(path, {"seeds": 4}, resume=False).add((0, 1), [])
    assert set(Journal(path, {"seeds": 4}, resume=True).finished) == {(0, 1)}


def test_a_folder_that_cannot_be_had_is_said_before_anything_is_run(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="cannot be created"):
        Journal(tmp_path / "taken" / "runs.jsonl", {}, resume=False)

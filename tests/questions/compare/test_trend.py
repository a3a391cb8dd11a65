"""The trend of a pair: its test of drift, and the gap from one side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from support.results import make_result

from judgeloop.core.outcomes import AnsweredBy, Tally
from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.questions.compare.trend import DRIFT_RISK, Run, drift, left_out, page_of, picture, said, trend_of
from judgeloop.report.svg import draw
from judgeloop.report.terminal import render

RUNS = 120


def shows_drift(results):
    found = drift(results)
    return found.low > found.high


def run_of(scores, *, places=None, **changes):
    """A result of these scores of "small", with uniform draws."""
    places = range(len(scores)) if places is None else places
    labels = tuple(Label(Choice(int(n), 0.01), Verdict(score)) for n, score in zip(places, scores, strict=True))
    wins = (sum(score == 1 for score in scores), sum(score == 0 for score in scores))
    tally = Tally(items=1000, wins=wins, ties=len(scores) - sum(wins))
    return make_result(labels=labels, tally=tally, **changes)


def seeded(*runs):
    return [run_of(scores, seed=seed) for seed, scores in enumerate(runs)]


def test_a_gap_that_turns_is_drift_and_one_that_stays_is_not():
    assert shows_drift(seeded([0.0] * 40, [1.0] * 40))
    assert not shows_drift(seeded([0.0] * 40, [0.0] * 40))
    one_by_one = [run_of([0.0] * 15, places=range(at, at + 15), seed=at) for at in (0, 15, 30)]
    after = [run_of([1.0] * 15, places=range(at, at + 15), seed=at + 1) for at in (0, 15, 30)]
    assert shows_drift(one_by_one + after), "runs are pooled"
    repeated = [replace(one) for one in [*seeded([0.0] * 4), *seeded([1.0] * 4)] * 20]
    assert not shows_drift(repeated), "the same items again say nothing new"


def test_one_run_or_one_seed_cannot_be_asked_about_drift_and_it_says_why():
    found = trend_of([Run(day, run_of([0.0] * 40)) for day in ("monday", "tuesday")])
    assert [not one.left_out for one in found.points] == [True, False]
    assert found.drift is None
    assert "cannot be asked of these runs" in said(found)
    assert "Another --seed draws anew, and a suite does in" in said(found)
    assert "The test leaves out 1 run: 1 with the seed of an earlier run." in said(found)


@pytest.mark.parametrize("change", [{"judge": "human"}, {"rubric": "short"}, {"order": "random"}, {"items": 90}])
def test_runs_that_asked_otherwise_than_the_latest_are_not_counted(change):
    items = {"tally": Tally(90, wins=(0, 9))} if "items" in change else {}
    changes = {name: value for name, value in change.items() if name != "items"}
    other = make_result(seed=1, **items, **changes)
    assert left_out([other, make_result(seed=2)]) == ["asked otherwise than the latest", ""]
    assert left_out([make_result(seed=1), make_result(seed=2)]) == ["", ""]


def test_the_table_names_the_judges_where_there_are_several():
    runs = [make_result(seed=seed, judge=judge) for seed, judge in enumerate(("human", "m:a", "m:a"))]
    (mixed,) = page_of(trend_of([Run("", one) for one in runs])).tables
    assert [row[-2:] for row in mixed.rows] == [("no: settings", "human"), ("yes", "m:a"), ("yes", "m:a")]
    (one,) = page_of(trend_of([Run("", one) for one in runs[1:]])).tables
    assert "judge" not in one.columns


def test_runs_by_another_model_of_the_judge_are_not_counted():
    def by(model, seed):
        one, when = make_result(seed=seed), "2026-11-20T02:00:00.000+00:00"
        return replace(one, counts=replace(one.counts, answered_by=((AnsweredBy(model, 9, when, when),),)))

    old, new = by("old", 1), [by("new", seed) for seed in (2, 3)]
    assert left_out([old, *new]) == ["by another model of the judge", "", ""]
    found = trend_of([Run(str(at), one) for at, one in enumerate([old, *new])])
    assert found.drift.runs == 2
    assert "The test leaves out 1 run: 1 by another model of the judge." in said(found)


def test_the_gap_is_seen_from_the_second_system_whoever_leads():
    found = trend_of([Run("a", run_of([1.0] * 3 + [0.0], seed=1)), Run("b", run_of([0.0] * 4, seed=2))])
    assert [one.gap for one in found.points] == [-0.5, 1.0]
    low, high = found.points[0].interval
    assert low <= -0.5 <= high
    assert "fits both runs with fresh" in render(page_of(found))
    assert "the gap on items like these is the same in all these runs" in said(found)
    assert "wrong with probability at most 0.1, by itself; the test's risk is for all" in said(found)
    assert "large ahead" in draw(picture([found]))


def test_both_ends_of_the_scale_are_named_however_long_the_names():
    names = ("production-2026-06", "candidate-2026-11-26-of-the-night")
    run = run_of([0.0] * 4)
    run = replace(run, setup=replace(run.setup, systems=names))
    drawn = draw(picture([trend_of([Run("a", run)])]))
    assert drawn.count(" ahead</text>") == 2
    assert ">level</text>" in drawn


@pytest.mark.simulation
@pytest.mark.quick
def test_runs_that_stop_at_a_lead_on_shared_items_seldom_seem_to_drift():
    rng, shown = np.random.default_rng(0), 0
    for _ in range(RUNS):
        chance = rng.beta(0.5, 0.5, 120)  # that the second system wins an item, on any night

        def night(seed, chance=chance):
            order = rng.permutation(len(chance))
            won = np.where(rng.random(len(chance)) < chance[order], 1, -1)
            ends = np.flatnonzero(np.abs(np.cumsum(won)) >= 6)
            most = min(int(ends[0]) + 1 if len(ends) else 60, 60)
            return run_of([float(one < 0) for one in won[:most]], places=order[:most], seed=seed)

        found = drift(list(map(night, range(4))))
        shown += found.low > found.high
    assert shown <= binom.ppf(0.999, RUNS, DRIFT_RISK)


def test_the_table_says_whose_outputs_are_not_those_of_the_run_before():
    one, two = seeded([0.0] * 40, [0.0] * 40)
    other = trend_of([Run("a", one, ("1", "2")), Run("b", two, ("1", "3")), Run("c", one)])
    assert [point.changed for point in other.points] == ["", "outputs of large", ""]
    assert "outputs of large" in render(page_of(other))
    assert "changed" not in render(page_of(trend_of([Run("a", one, ("1", "2"))] * 2)))


def test_other_items_are_no_other_outputs():
    one, two = seeded([0.0] * 40, [0.0] * 40)
    fewer = replace(two, data=replace(two.data, items=two.items - 1))
    found = trend_of([Run("a", one, ("1", "2")), Run("b", fewer, ("3", "4"))])
    assert [point.changed for point in found.points] == ["", "items"]

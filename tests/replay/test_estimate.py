"""Runs of `replay` for estimates: each is the live run of that selector and share, and depends on
nothing beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgeloop.catalogue import selector_row, selectors_of
from judgeloop.core.records import Item, Pool, Verdict
from judgeloop.engine.recorded import replay as drive
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.selectors.stratified import strata_of
from judgeloop.methods.stopping.precise import Precise
from judgeloop.questions.estimate.question import draft_of
from judgeloop.questions.estimate.settings import EstimateSettings
from judgeloop.replay.estimate import Subject, judgments, stratify, walk
from judgeloop.replay.settings import ReplayEstimateSettings

ITEMS = 60
SHARES = (10, 25, 50)
EVERY_ROW = selectors_of("estimate", ablations=True)
WALKING = tuple(row.name for row in EVERY_ROW if row.vectors != "states")
CLUSTERING = tuple(row.name for row in EVERY_ROW if row.vectors == "states")


def subject(items=ITEMS, seed=0):
    rng = np.random.default_rng(seed)
    confidence = rng.random(items).round(2)
    scores = (rng.random(items) < 0.2 + 0.6 * confidence).astype(np.float64)
    vectors = rng.normal(size=(items, 5)) + 2 * scores[:, None]
    outputs = rng.normal(size=(items, 4)) + scores[:, None]
    return Subject("s", scores, confidence, vectors, vectors, outputs)


def plan(*selectors, **more):
    paths = dict.fromkeys(("outputs", "items", "verdicts", "output"), "x")
    settings = {"shares": SHARES, "seeds": 3} | more
    return ReplayEstimateSettings.of(**paths, selectors=selectors, **settings)


def live(name, budget, one, **flags):
    """A selector as `estimate` makes it, for a system with these vectors and confidences."""
    config = EstimateSettings.of(
        judge=("replay:x.csv",), outputs="x.jsonl", selector=name, seed=5, max_judgments=budget,
        min_judgments=min(budget, 5), **flags,
    )  # fmt: skip
    items = len(one.scores)
    pool = Pool(tuple(Item(f"i{at}", "") for at in range(items)), ("s",), (("",) * items,))
    draft = draft_of(config, pool, one.confidence)
    draft.found.update({"states": one.vectors, "last states": one.vectors, "outputs": one.outputs})
    return selector_row("estimate", name).make(draft)


def session(selector, budget, one, rng):
    """How a run of `estimate` to the end of its budget ends."""
    items = len(one.scores)
    ran = Session(
        items=items,
        selector=selector,
        estimator=MeanScore(strata_of(selector, items)),
        rule=Precise(0.1, items, even=selector.name == "random", limit=budget),
        limits=Limits(1, budget, 1.0),
        rng=rng,
    )
    return drive(ran, lambda choice: Verdict(float(one.scores[choice.position]))).estimate


@pytest.fixture
def stratify_on(monkeypatch):
    """`stratify` on given clusters, whatever it would find."""

    def run(strata, *given):
        monkeypatch.setattr("judgeloop.papers.actracer.inputs._clusters", lambda draft, count: strata)
        return stratify(*given)

    return run


def bounds(row):
    return None if row["low"] is None else (row["low"], row["high"])


@pytest.mark.parametrize("name", WALKING)
def test_a_walk_to_a_share_is_the_live_run_that_ends_there(name):
    one = subject()
    for row in walk(one, 7, plan(name, seed=5, seeds=2)):
        budget = judgments(row["share"], ITEMS)
        estimate = session(
            live(name, budget, one), budget, one, np.random.default_rng([5, 7, row["share"], row["repetition"]])
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
def test_on_the_same_clusters_a_share_is_the_live_run_of_that_budget(stratify_on, name, command, flags):
    one = subject()
    selector = live(command, 30, one, clusters=8, **flags)
    row = stratify_on(strata_of(selector, ITEMS), one, 7, 50, plan(name, seed=5))[2]
    estimate = session(selector, 30, one, np.random.default_rng([5, 7, 50, 2]))
    assert (row["selector"], row["repetition"], row["judged"]) == (name, 2, 30)
    assert row["estimate"] == estimate.tally.moments.mean
    assert bounds(row) == estimate.interval


def test_the_distance_between_confidences_is_the_one_for_the_rule(stratify_on):
    rule = {"confidence_by": "first-token"}
    one = replace(subject(), scores=np.random.default_rng(1).random(ITEMS))  # another sample has another mean
    selector = live("actracer", 30, one, clusters=8, **rule)
    strata = strata_of(selector, ITEMS)
    row = stratify_on(strata, one, 7, 50, plan("actracer", confidence_by="first-token"))[2]
    other = stratify_on(strata, one, 7, 50, plan("actracer"))[2]
    estimate = session(selector, 30, one, np.random.default_rng([0, 7, 50, 2]))
    assert row["estimate"] == estimate.tally.moments.mean != other["estimate"]


def test_without_mc_ucb_clusters_get_their_proportional_shares(stratify_on):
    """Of two equal clusters the scores of one do not spread: mc-ucb asks the other more often."""
    rng = np.random.default_rng(0)
    halves = np.repeat([0.0, 1.0], 100)
    scores = np.where(halves == 1, rng.random(200), 0.5)
    one = Subject("s", scores, rng.random(200), halves[:, None] + rng.normal(0, 0.01, (200, 2)))
    strata = strata_of(live("actracer", 100, one, clusters=2), 200)
    for name, even in (("actracer-proportional", True), ("actracer", False)):
        selector = live("actracer", 100, one, clusters=2, allocation="proportional" if even else "mc-ucb")
        estimate = session(selector, 100, one, np.random.default_rng([0, 0, 50, 0]))
        drawn = np.bincount(strata.labels[estimate.tally.positions])
        assert (drawn[0] == drawn[1]) == even
        row = stratify_on(strata, one, 0, 50, plan(name))[0]
        assert row["estimate"] == estimate.tally.moments.mean


def every_row(one, number, ran):
    rows = walk(one, number, ran)
    return rows + [row for share in ran.shares for row in stratify(one, number, share, ran)]


def test_rows_do_not_depend_on_what_is_run_beside_them():
    one = subject()
    together = every_row(one, 1, plan(*WALKING, *CLUSTERING, seeds=1))
    for name in (*WALKING, *CLUSTERING):
        alone = every_row(one, 1, plan(name, shares=(25, 50), seeds=1))
        assert alone == [
            row for row in together if row["selector"] == name and row["share"] in {row["share"] for row in alone}
        ]


def test_repetitions_systems_and_seeds_differ_and_the_same_give_the_same():
    one = replace(subject(), scores=np.random.default_rng(1).random(ITEMS))  # another sample has another mean
    ran = plan("random", "stratified", "actracer", seed=1, seeds=2)
    rows = every_row(one, 0, ran)
    assert rows == every_row(one, 0, ran)
    of_another, of_another_seed = every_row(one, 1, ran), every_row(one, 0, replace(ran, seed=2))

    def estimates(rows, name, repetition):
        return [row["estimate"] for row in rows if (row["selector"], row["repetition"]) == (name, repetition)]

    for name in ("random", "stratified", "actracer"):
        first = estimates(rows, name, 0)
        assert first != estimates(rows, name, 1)
        assert first != estimates(of_another, name, 0)
        assert first != estimates(of_another_seed, name, 0)


def test_eight_clusters_are_as_many_as_the_budget_can_begin_with():
    rows = stratify(subject(), 0, 10, plan("actracer-8")) + stratify(subject(), 0, 50, plan("actracer-8"))
    assert [row["strata"] for row in rows] == [3] * 3 + [8] * 3  # two of each of at most 8, of 6 and 30 judged


def test_all_items_judged_leave_nothing_to_chance():
    one = subject()
    for row in every_row(one, 0, plan(*WALKING, *CLUSTERING, shares=(100,), seeds=1)):
        assert row["estimate"] == pytest.approx(row["truth"]), row["selector"]
        if row["low"] is not None:
            assert row["low"] == row["high"] == pytest.approx(row["truth"])


def test_a_proxy_that_knows_every_score_leaves_draws_no_error_and_picks_theirs():
    """The mean of the proxy plus that of what it leaves, which is nothing: the truth."""
    scores = np.random.default_rng(1).random(ITEMS)
    one = replace(subject(), scores=scores, confidence=scores)
    plain = {row["selector"]: row["estimate"] for row in every_row(one, 0, plan(*WALKING, "stratified", seeds=1))}
    helped = every_row(one, 0, plan(*WALKING, "stratified", proxy="confidence", seeds=1))
    for row in helped:
        if row["selector"] in {"random", "stratified"} and row["share"] == 50:
            assert row["estimate"] == pytest.approx(row["truth"])
    for name in ("diffuse", "mmd-critic", "cross-entropy"):
        assert plain[name] == [row["estimate"] for row in helped if row["selector"] == name][-1]

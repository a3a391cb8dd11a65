"""Every selector and rule on the same past comparisons: as a session would have run them, and by
whose threshold."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support.rules import RULES, make_rule

from judgeloop.calibration import study as studying
from judgeloop.calibration.study import Study, bounds_each
from judgeloop.calibration.walks import Comparable, draw, walks
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.history.past import Past, past_of_scores, prospects_of
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.catalogue import Ingredients, rule_row

RISKS = (0.05, 0.2)
REPETITIONS = 2  # enough to see that each walk ends as its session does


@pytest.fixture(autouse=True)
def _few_repetitions(monkeypatch):
    monkeypatch.setattr(studying, "REPETITIONS", REPETITIONS)


class InOrder:
    """Draws nothing: the first is the first."""

    def permutation(self, items):
        return np.arange(items)


def random_past(seed=0, systems=6, items=60, unknown=0.03, apart=0.3):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=(systems, items)) + apart * np.arange(systems)[:, None])
    scores[rng.random(scores.shape) < unknown] = np.nan
    return past_of_scores([f"s{one}" for one in range(systems)], scores, 0.0)


def study_of(past, limits=None, shared=None, rows=None, risks=RISKS):
    found = Comparable(tuple(range(len(past))) if rows is None else tuple(rows), "", shared)
    return Study(past, found, risks, limits or Limits(), np.random.default_rng(1))


def by_sessions(drawn, rule_of, limits):
    """Judgments, wrong and undecided by walk, from the sessions that spend money; `rule_of` a walk
    and the items of its pool."""
    ends = []
    for walk, items in enumerate(drawn.known.tolist()):
        session = Session(
            items=items,
            selector=Random(),
            estimator=Preferences(),
            rule=rule_of(walk, items),
            limits=limits,
            rng=InOrder(),
        )
        preferences = drawn.preferences[walk]
        outcome = replay(session, lambda choice, seen=preferences: Verdict((1 + seen[choice.position]) / 2))
        named = {0: 1, 1: -1, None: None}[outcome.winner]
        ends.append((outcome.asked, named not in {None, drawn.winners[walk]}, named is None))
    return np.array(ends, dtype=float).reshape(-1, REPETITIONS, 3).mean(axis=1).T


@pytest.mark.parametrize("limits", [Limits(1, 25), Limits(30, 60)])
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_ends_as_its_session_does(rule, limits):
    past = random_past()
    study = study_of(past, limits)
    drawn = draw(past, study.found, limits=limits, foresee=None, rng=np.random.default_rng(5), repetitions=REPETITIONS)
    ended = study._ended_by(rule_row("compare", rule), drawn)
    for risk, ends in zip(study.risks, ended, strict=True):
        made = partial(make_rule, rule, risk=risk, limit=limits.max_judgments)
        expected = by_sessions(drawn, lambda _, items, made=made: made(items=items), limits)
        assert np.allclose(ends, expected)


def test_calibrated_ends_as_its_session_does(monkeypatch):
    past, limits = random_past(systems=14, apart=0.05), Limits(5, 40)
    rows = [row for row, pair in enumerate(past.pairs) if "s6" in pair]
    study = study_of(past, limits, shared="s6", rows=rows, risks=(0.1, 0.2))
    drawn = draw(past, study.found, limits=limits, foresee=None, rng=np.random.default_rng(5), repetitions=REPETITIONS)  # fmt: skip
    row, seen = rule_row("compare", "calibrated"), []
    monkeypatch.setattr(studying, "_strategy", lambda risk, selector, rule, ends, instead: seen.append((risk, ends)))
    like = [study._like(at) for at in range(len(rows))]
    study._calibrated(row, "random", drawn, like, [np.full((3, len(rows)), np.nan)] * 2)
    bounds = bounds_each(walks(drawn, limits.min_judgments), like)
    assert [risk for risk, _ in seen] == [0.1, 0.2]
    for risk, ends in seen:
        rules = [row.make(Ingredients(risk, items=0, limit=0, threshold=(one, ""))) for one in bounds]
        expected = by_sessions(drawn, lambda walk, _, rules=rules: rules[walk // REPETITIONS], limits)
        assert np.allclose(ends, expected)
    assert 0 < seen[0][1][2].mean() < 1, "some are undecided"


def test_the_table_has_every_selector_and_rule_at_every_risk_once():
    found = [one for some in study_of(random_past()).all_tried() for one in some]
    expected = [("random", "sequential"), ("random", "anytime")]
    expected += [(s, r) for s in ("random", "decisive") for r in ("tie-aware", "hypergeometric", "calibrated")]
    assert sorted((one.risk, one.selector, one.rule) for one in found) == sorted(
        (risk, *way) for risk in RISKS for way in expected
    )


def with_baseline(comparisons, items=40):
    """All prefer the candidate on every item."""
    ones = np.ones((comparisons, items), dtype=np.int8)
    return Past(tuple((f"c{one}", "base") for one in range(comparisons)), ones, ones.astype(bool))


def calibrated(study):
    return [one for some in study.all_tried() for one in some if one.rule == "calibrated"]


def test_without_a_baseline_only_comparisons_of_other_systems_choose_one():
    past = random_past(systems=8)
    study = study_of(past)
    for at, pair in enumerate(past.pairs):
        like = [past.pairs[other] for other in study._like(at)]
        names = [name for one in like for name in one]
        assert len(like) == 3, "six other systems make three pairs"
        assert len(set(names)) == 6
        assert not set(names) & set(pair)


def test_of_rows_that_are_replayed_alone_those_that_choose_are_among_them():
    past = random_past(systems=8)
    study = study_of(past, rows=range(1, 28, 2))
    for at in range(14):
        pairs = [past.pairs[study.found.rows[other]] for other in study._like(at)]
        assert not {name for one in pairs for name in one} & set(past.pairs[study.found.rows[at]])


@pytest.mark.parametrize(("comparisons", "enough"), [(9, False), (10, True)])
def test_one_comparison_more_than_its_own_threshold_needs(comparisons, enough):
    # At a risk of 0.1 nine others without an error are needed.
    for one in calibrated(study_of(with_baseline(comparisons), shared="base", risks=(0.1,))):
        assert (one.judgments is not None) == enough
        assert one.instead == (0.0 if enough else 1.0)


def test_comparisons_with_too_few_like_them_go_by_the_default(monkeypatch):
    monkeypatch.setattr(Study, "_like", lambda _, at: np.arange(9 if at else 8))
    study = study_of(with_baseline(12), Limits(1, 200), shared="base", risks=(0.1,))
    today, *_ = next(iter(study.all_tried()))
    assert (today.rule, today.wrong.mean) == ("sequential", 0)
    assert today.judgments.mean > 1
    for one in calibrated(study):
        assert one.instead == pytest.approx(1 / 12)
        # Of preferences that are all alike the default takes as many judgments in every run.
        assert one.judgments.mean == pytest.approx((11 * 1 + today.judgments.mean) / 12)


def test_standard_errors_are_over_comparisons():
    # Means 1, 2 and 6: their standard deviation is the root of 7, divided by that of 3.
    figure = studying._figure(np.array([1.0, 2.0, 6.0]))
    assert (figure.mean, figure.error) == (3, pytest.approx((7 / 3) ** 0.5))


def test_of_many_comparisons_a_few_share_a_past_without_all_of_them(monkeypatch):
    monkeypatch.setattr(studying, "MOST_PASTS", 3)
    past = random_past(systems=9)
    rows = [row for row, pair in enumerate(past.pairs) if "s0" in pair]
    foresee = study_of(past, shared="s0", rows=rows)._foresight
    found = [foresee(past.pairs[row]) for row in rows]
    assert len({id(one) for one in found}) == 3
    assert found[0] is found[1] is found[2] is not found[3]
    alone = prospects_of(past.without("s1", "s2", "s3"), ("s0", "s1"))
    np.testing.assert_array_equal(found[0].shares, alone.shares)


def test_without_a_shared_system_each_comparison_has_its_own_past(monkeypatch):
    monkeypatch.setattr(studying, "MOST_PASTS", 3)
    past = random_past()
    foresee = study_of(past)._foresight
    assert len({id(foresee(pair)) for pair in past.pairs}) == len(past)

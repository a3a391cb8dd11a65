"""Scores of one system, collected."""

from __future__ import annotations

import numpy as np
import pytest
from support.tallies import labels_of_scores

from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.stats.strata import Strata


def test_labels_one_after_another_or_at_once_are_the_same():
    estimator = MeanScore(Strata.single(9))
    labels = labels_of_scores([1.0, None, 0.25, 0.5])
    at_once = estimator.tally(labels, 9)
    step_by_step = estimator.tally((), 9)
    for label in labels:
        step_by_step = estimator.extended(step_by_step, [label])
    assert at_once.positions.tolist() == step_by_step.positions.tolist() == [0, 1, 2, 3]
    assert at_once.moments == step_by_step.moments
    assert (at_once.asked, at_once.judged, at_once.abstentions) == (4, 3, 1)


def test_abstentions_are_left_out_of_the_mean_and_in_the_bounds():
    tally = MeanScore(Strata.single(9)).tally(labels_of_scores([1.0, None, 0.25, None]), 9)
    assert tally.moments.mean == pytest.approx(0.625)
    assert tally.moments_with(0.0).mean == pytest.approx(1.25 / 4)
    assert tally.moments_with(1.0).mean == pytest.approx(3.25 / 4)


def test_one_picked_item_makes_the_sample_a_picked_one():
    estimator = MeanScore(Strata.single(9))
    assert estimator.tally(labels_of_scores([1.0, 0.5]), 9).drawn
    assert not estimator.tally([*labels_of_scores([1.0]), *labels_of_scores([0.5], drawn=False)], 9).drawn


def test_it_says_what_an_empty_pool_means():
    estimator = MeanScore(Strata.single(3))
    kinds = {
        StopKind.ALL_JUDGED: estimator.exhausted(estimator.tally(labels_of_scores([1.0, 0.0, 0.5]), 3)),
        StopKind.POOL_EXHAUSTED: estimator.exhausted(estimator.tally(labels_of_scores([1.0, None, 0.5]), 3)),
    }
    assert all(stop.kind is kind for kind, stop in kinds.items())
    assert "1 of 3 got no score" in kinds[StopKind.POOL_EXHAUSTED].sentence
    assert "no further items" in estimator.exhausted(estimator.tally(labels_of_scores([1.0]), 3)).sentence


def test_of_nothing_there_is_no_leader():
    estimator = MeanScore(Strata.single(3))
    assert estimator.tally((), 3).leader is None
    assert estimator.tally(labels_of_scores([None]), 3).leader is None
    assert estimator.tally(labels_of_scores([0.0]), 3).leader == 0


def test_strata_of_another_pool_are_refused():
    with pytest.raises(ValueError, match="expected strata of 4 items, found strata of 3"):
        MeanScore(Strata.single(3)).tally((), 4)


def test_a_proxy_shifts_the_mean_by_what_the_sample_lacks_of_it():
    proxy = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    tally = MeanScore(Strata.single(6), proxy).tally(labels_of_scores([0.0, 0.2, 0.8, 1.0]), 6)
    # Least squares: slope 0.8. The sample's proxy has the mean 1/2, the pool's 2/3: 0.5 + 0.8 / 6.
    assert tally.moments.mean == pytest.approx(0.5 + 0.8 / 6)

"""The belief in each system being best: worked by hand, and as plainly computed."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from support.walking import all_steps

from judgeloop.core.records import Verdict
from judgeloop.papers.llm_selector import information
from judgeloop.papers.llm_selector.information import (
    GRID,
    choose_epsilons,
    ensemble,
    expected_entropies,
    log_factors,
    log_ratios,
    lowest,
    uniform,
    updated,
)
from judgeloop.papers.llm_selector.selector import LLMSelector

EPSILONS = (0.2, 0.3)  # a loss, a draw; a win is 0.5


def outcomes(*values):
    return np.array(values, dtype=np.int8)


def some_opinions(judges, queries, systems, seed=0):
    """Opinions with the first system as the baseline, and the later ones better."""
    rng = np.random.default_rng(seed)
    lean = np.linspace(-0.6, 0.9, systems)
    opinions = np.sign(np.round(rng.normal(lean, 1, size=(judges, queries, systems)))).astype(np.int8)
    opinions[:, :, 0] = 0
    return opinions


def plain_entropies(posterior, opinions):
    """The mean entropy after each judge's opinions, as it is written down."""
    factor = {-1: EPSILONS[0], 0: EPSILONS[1], 1: 1 - sum(EPSILONS)}
    found = []
    for query in range(opinions.shape[1]):
        total = 0.0
        for judge in opinions:
            weights = [p * factor[int(o)] for p, o in zip(np.exp(posterior), judge[query], strict=True)]
            shares = [weight / sum(weights) for weight in weights]
            total -= sum(share * log(share) for share in shares if share > 0)
        found.append(total / len(opinions))
    return found


def test_the_belief_after_two_queries_as_worked_by_hand():
    # After win, loss, tie from one third each: in proportion 0.5, 0.2, 0.3.
    once = updated(uniform(3), outcomes(1, -1, 0), EPSILONS)
    assert np.exp(once) == pytest.approx([0.5, 0.2, 0.3])
    # After win, win, tie: 0.25, 0.10, 0.09, which sum to 0.44.
    twice = updated(once, outcomes(1, 1, 0), EPSILONS)
    assert np.exp(twice) == pytest.approx([25 / 44, 10 / 44, 9 / 44])


def test_an_abstention_counts_as_the_mean_of_the_others():
    judged = np.array([True, False, True])
    found = updated(uniform(3), outcomes(1, 0, 0), EPSILONS, judged)
    # 0.5 and 0.3, in the mean 0.4; they sum to 1.2.
    assert np.exp(found) == pytest.approx([5 / 12, 4 / 12, 3 / 12])


@pytest.mark.parametrize("judged", [[False, False, True], [False, False, False]])
def test_abstentions_only_change_nothing(judged):
    before = updated(uniform(3), outcomes(1, -1, 0), EPSILONS)
    assert updated(before, outcomes(0, 0, 0), EPSILONS, np.array(judged)) == pytest.approx(before)


def test_hundreds_of_queries_do_not_underflow():
    belief = uniform(3)
    for _ in range(2000):
        belief = updated(belief, outcomes(-1, 1, 0), (0.05, 0.05))
    assert np.isfinite(belief).all()
    for _ in range(2001):
        belief = updated(belief, outcomes(1, -1, 0), (0.05, 0.05))
    assert np.argmax(belief) == 0


@pytest.mark.parametrize("epsilons", [(0.0, 0.3), (0.3, 0.0), (0.5, 0.5), (0.7, 0.5), (-0.1, 0.3)])
def test_probabilities_that_rule_a_system_out_are_refused(epsilons):
    with pytest.raises(ValueError, match="expected ε₁ > 0"):
        log_factors(epsilons)


@pytest.mark.parametrize("cells", [1, 100, 2**19])
def test_expected_entropies_are_those_plainly_computed(monkeypatch, cells):
    monkeypatch.setattr(information, "CELLS_AT_A_TIME", cells)
    opinions = some_opinions(3, 17, 5)
    for belief in (uniform(5), updated(uniform(5), outcomes(0, -1, 1, 1, -1), EPSILONS)):
        found = expected_entropies(belief, opinions, EPSILONS)
        assert found == pytest.approx(plain_entropies(belief, opinions), rel=1e-12)


def test_entropies_of_an_all_but_certain_belief_are_zero_and_not_below():
    belief = np.array([0.0, -2000.0, -3000.0])
    found = expected_entropies(belief, some_opinions(2, 50, 3), EPSILONS)
    assert found == pytest.approx(np.zeros(50), abs=1e-12)
    assert (found >= 0).all()


def test_the_first_of_those_within_rounding_is_lowest():
    values = np.array([0.1, 0.3 + 1e-15, 0.3, 0.3 - 1e-15])
    assert lowest(values, np.array([True, False, False, False])) == 1


def test_log_ratios_are_smoothed_and_count_a_tie_as_half_of_either():
    # 1 win: 1.5/0.5. 1 tie: 1/1. 2 wins, 1 tie, 1 loss: 3/2.
    found = log_ratios(np.array([1, 0, 2]), np.array([0, 1, 1]), np.array([0, 0, 1]))
    assert np.exp(found) == pytest.approx([3, 1, 1.5])


def test_a_trial_runs_llm_selector_with_every_pair():
    opinions = some_opinions(3, 30, 5)
    oracle = ensemble(opinions)
    pairs = [(0.05, 0.15), (0.2, 0.3), (0.45, 0.45)]
    factors = np.stack([log_factors(pair) for pair in pairs], axis=1)
    scores = information._scores(opinions, oracle, factors, 8)
    for pair, score in zip(pairs, scores, strict=True):
        assert score.tolist() == scores_of_selector(LLMSelector(opinions, 0, pair), oracle, 8)


def scores_of_selector(selector, oracle, steps):
    def answer(choice):
        return Verdict((1 + int(oracle[choice.position, choice.systems[0]])) / 2)

    asked = all_steps(selector, len(oracle), seed=0, answer=answer)[:steps]
    return sum(oracle[step.choices[0].position].astype(int) for step in asked).tolist()


def test_a_trial_shares_the_name_among_systems_that_are_level():
    # One query of two is asked: the first, by its position, and both systems win it. The second
    # system is the best of the pool.
    opinions = np.array([[[0, 1, 1], [0, 1, 1]]], dtype=np.int8)
    oracle = np.array([[0, 1, 1], [0, 1, -1]], dtype=np.int8)
    trial = information.trial_of(opinions, oracle, log_factors(EPSILONS)[:, None], 1)
    assert trial.identified.tolist() == [0.5]
    # Win rates 1 and ½: named half the time each, the second loses ½.
    assert trial.gap.tolist() == [0.25]


def test_epsilons_are_of_the_grid_and_the_same_for_the_same_generator():
    opinions = some_opinions(4, 60, 8)
    found = choose_epsilons(opinions, 6, np.random.default_rng(1))
    assert found == choose_epsilons(opinions, 6, np.random.default_rng(1))
    assert set(found) <= set(GRID)


def test_epsilons_that_are_level_are_the_least():
    assert choose_epsilons(np.zeros((2, 9, 4), dtype=np.int8), 3, np.random.default_rng(0)) == (0.05, 0.05)


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_the_smallest_pools_have_epsilons(queries):
    assert len(choose_epsilons(some_opinions(2, queries, 3), 30, np.random.default_rng(0))) == 2

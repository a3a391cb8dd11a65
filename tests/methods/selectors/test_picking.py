"""Selectors of queries for many systems against one baseline: what all promise, and what each
picks."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from support.selectors import make_picker, order_of, steps_of
from support.walking import all_steps

from judgeloop.core.records import Abstention, Label, Verdict
from judgeloop.papers.llm_selector.selector import BradleyTerry, LLMSelector, OutcomeOrder

ADAPTIVE = ("llm-selector", "bradley-terry")
EPSILONS = (0.2, 0.3)  # a loss, a draw; a win is 0.5
BASELINE = 1

# Two weak judges, seven queries, four systems; the second system is the baseline.
OPINIONS = np.array(
    [
        [[1, 0, 1, 1], [1, 0, -1, 0], [0, 0, 0, 0], [-1, 0, 1, -1], [1, 0, 1, -1], [-1, 0, -1, 1], [0, 0, 1, 0]],
        [[1, 0, 0, 1], [1, 0, -1, -1], [0, 0, 1, 0], [-1, 0, 1, 1], [0, 0, 1, -1], [-1, 0, -1, 1], [1, 0, 1, 0]],
    ],
    dtype=np.int8,
)  # fmt: skip
TRUTH = [[1, 0, -1, 1], [0, 0, 1, -1], [1, 0, 1, 0], [-1, 0, 1, 1], [0, 0, 1, -1], [-1, 0, 0, 1], [1, 0, 1, 1]]  # fmt: skip


def answered(step, truth=TRUTH):
    return [Label(choice, Verdict((1 + truth[choice.position][choice.systems[0]]) / 2)) for choice in step.choices]


def positions_of(selector, items, *, seed=0, truth=TRUTH):
    """The queries in the order asked, until nothing is left."""

    def answer(choice):
        return Verdict((1 + truth[choice.position][choice.systems[0]]) / 2)

    return [step.choices[0].position for step in all_steps(selector, items, seed=seed, answer=answer)]


@pytest.mark.parametrize("name", ADAPTIVE)
def test_no_step_is_given_while_answers_are_out(name):
    selector = make_picker(name, OPINIONS, BASELINE, EPSILONS)
    rng = np.random.default_rng(0)
    (step,), state = steps_of(selector, selector.init(7, rng), 5, rng)
    labels = answered(step)
    for part in [], labels[:1], labels[1:2]:
        state = selector.tell(state, part)
        assert steps_of(selector, state, 5, rng)[0] == []
    assert len(steps_of(selector, selector.tell(state, labels[2:]), 5, rng)[0]) == 1


def plain_llm_selector(opinions, truth, steps):
    """Algorithm 1, as it is written down."""
    factor = {-1: EPSILONS[0], 0: EPSILONS[1], 1: 1 - sum(EPSILONS)}

    def after(belief, row):
        weights = [p * factor[int(outcome)] for p, outcome in zip(belief, row, strict=True)]
        return [weight / sum(weights) for weight in weights]

    belief = [1 / 4] * 4
    left = list(range(opinions.shape[1]))
    picked = []
    for _ in range(steps):
        expected = {}
        for query in left:
            entropies = [-sum(p * log(p) for p in after(belief, judge[query])) for judge in opinions]
            expected[query] = round(sum(entropies) / len(entropies), 12)
        best = min(left, key=lambda query: (expected[query], query))
        left.remove(best)
        picked.append(best)
        belief = after(belief, truth[best])
    return picked


def test_llm_selectors_first_five_queries():
    assert plain_llm_selector(OPINIONS, TRUTH, 5) == [5, 3, 0, 2, 6]
    assert positions_of(LLMSelector(OPINIONS, BASELINE, EPSILONS), 7)[:5] == [5, 3, 0, 2, 6]


# One weak judge, three queries, three systems; the third is the baseline.
THREE = np.array([[[1, 1, 0], [1, -1, 0], [0, 0, 0]]], dtype=np.int8)


def test_llm_selector_prefers_what_tells_systems_apart():
    # In proportion 5 5 3, 5 2 3 and 3 3 3: entropies 1.073, 1.030, 1.099.
    assert positions_of(LLMSelector(THREE, 2, EPSILONS), 3, truth=[[0, 0, 0]] * 3) == [1, 0, 2]


@pytest.mark.parametrize("name", ADAPTIVE)
def test_queries_that_are_level_are_asked_in_random_order(name):
    level = np.tile(THREE[:, 1:2], (1, 5, 1))
    selector, truth = make_picker(name, level, 2, EPSILONS), [[1, -1, 0]] * 5
    orders = [positions_of(selector, 5, seed=seed, truth=truth) for seed in range(20)]
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)
    assert len({order[0] for order in orders}) > 2
    assert orders[0] == positions_of(selector, 5, seed=0, truth=truth)


def last_state(selector, items, truth):
    """The state once all queries are answered."""
    rng = np.random.default_rng(0)
    state = selector.init(items, rng)
    for _ in range(items):
        (step,), state = steps_of(selector, state, 1, rng)
        state = selector.tell(state, answered(step, truth))
    return state


def test_llm_selector_says_since_when_its_queries_are_level():
    # Only the first two queries tell the systems apart.
    opinions = np.repeat(THREE, [1, 1, 4], axis=1)
    selector = LLMSelector(opinions, 2, EPSILONS)
    assert selector.belief(last_state(selector, 6, [[0, 0, 0]] * 6)).level_since == 2


def test_llm_selector_says_nothing_of_queries_that_are_not_level():
    selector = LLMSelector(OPINIONS, BASELINE, EPSILONS)
    assert selector.belief(last_state(selector, 7, TRUTH)).level_since is None


def test_the_published_selector_believes_in_the_baseline_after_heavy_ties():
    # Both others win three of four queries. The baseline ties with itself: 0.45 against 0.3.
    opinions = np.tile(THREE[:, :1], (1, 40, 1))
    truth = [[-1, -1, 0] if query % 4 == 0 else [1, 1, 0] for query in range(40)]
    selector = LLMSelector(opinions, 2, (0.25, 0.45))
    belief = selector.belief(last_state(selector, 40, truth))
    assert belief.probabilities[2] > 0.99
    assert belief.level_since is not None


def test_bradley_terry_as_worked_by_hand():
    # Ratios of (wins + ½ ties + ½) to (losses + ½ ties + ½) after one query each: 3 3 1, 3 1/3 1
    # and 1 1 1, with entropies 1.00,
    # 0.79, 1.10: the second query is first. Then the first would give 5 1 1 (0.80), the third 2 1/2
    # 1 (0.96).
    truth = [[1, 1, 0], [1, -1, 0], [0, 0, 0]]
    assert positions_of(BradleyTerry(THREE, 2), 3, truth=truth) == [1, 0, 2]


def test_bradley_terry_counts_outcomes_and_no_abstention():
    selector = BradleyTerry(THREE, 2)
    rng = np.random.default_rng(0)
    (step,), state = steps_of(selector, selector.init(3, rng), 1, rng)
    labels = [Label(step.choices[0], Verdict(1.0)), Label(step.choices[1], Abstention("no reply"))]
    # Rows: losses, ties, wins. The baseline ties with itself.
    assert selector.tell(state, labels).known.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]


# The first system is the baseline and does not count. Draws 0, 2, 3, 1; the frequencies of the
# second and fourth query are the same
# but for their order, so that those are level: entropies 0, 1.04, 0.56, 1.04.
COUNTED = np.array([[0, 1, 1, 1, 1], [0, 0, 0, 1, -1], [0, 0, 0, 0, 1], [0, 1, 1, -1, 0]], dtype=np.int8)


@pytest.mark.parametrize(
    ("name", "orders"),
    [
        ("most-draws", {(2, 1, 3, 0)}),
        ("confidence", {(0, 2, 1, 3), (0, 2, 3, 1)}),
        ("uncertainty", {(1, 3, 2, 0), (3, 1, 2, 0)}),
    ],
)
def test_fixed_orders_as_worked_by_hand_and_level_queries_in_random_order(name, orders):
    selector = OutcomeOrder(COUNTED[None], 0, name)
    assert {tuple(order_of(selector, 4, seed)) for seed in range(20)} == orders

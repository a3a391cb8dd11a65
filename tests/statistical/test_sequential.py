"""The guaranteed rule keeps its promise: by simulation, with fixed seeds, on populations where any winner is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from judgeloop.estimators.preferences import Preferences
from judgeloop.records import Verdict
from judgeloop.replay.driver import replay
from judgeloop.selectors.random import Random
from judgeloop.session import Limits, Session
from judgeloop.stats.crossing import boundary, p_values
from judgeloop.stopping import Sequential

RUNS = 2000
LIMIT = 200
LEAST_CHANCE = (
    1e-3  # that a rule which keeps its risk fails here; the seeds are fixed, so it never will again
)


def level_population(items: int, ties: float) -> np.ndarray:
    """+1 and -1 in equal number, and a share of ties."""
    each = round(items * (1 - ties) / 2)
    return np.repeat([1, -1, 0], [each, each, items - 2 * each])


def share_named(population: np.ndarray, risk: float, rng: np.random.Generator) -> int:
    """In how many of the runs the first system is ever named within the limit."""
    limit = min(LIMIT, len(population))
    table, edge = p_values(len(population), limit), boundary(len(population), limit, risk)
    draws = rng.permuted(np.tile(population, (RUNS, 1)), axis=1)[:, :limit]
    wins, decisive = np.cumsum(draws > 0, axis=1), np.cumsum(draws != 0, axis=1)
    return int(((table[decisive, wins] <= edge) & (2 * wins > decisive)).any(axis=1).sum())


@pytest.mark.parametrize("risk", [0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("ties", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("items", [50, 500, 5000])
def test_a_system_that_is_not_better_is_named_with_at_most_the_risk(items, ties, risk, capsys):
    rng = np.random.default_rng([items, round(100 * ties), round(100 * risk)])
    named = share_named(level_population(items, ties), risk, rng)
    chance = binomtest(named, RUNS, risk, alternative="greater").pvalue
    with capsys.disabled():
        print(
            f"\nN {items}, ties {ties:.0%}, risk {risk}: named in {named} of {RUNS}, binomial p {chance:.3f}",
            end="",
        )
    assert chance > LEAST_CHANCE


@pytest.mark.parametrize("arrange", [np.sort, lambda scores: np.sort(scores)[::-1], lambda scores: scores])
def test_the_order_of_the_pool_does_not_matter_and_the_session_keeps_the_promise_itself(arrange):
    population = arrange(level_population(120, 0.4))
    named = 0
    for seed in range(300):
        session = Session(
            items=120,
            selector=Random(),
            estimator=Preferences(),
            rule=Sequential(0.1, items=120, limit=LIMIT),
            limits=Limits(min_judgments=1, max_judgments=LIMIT),
            rng=np.random.default_rng(seed),
        )
        outcome = replay(session, lambda position: Verdict((1 + population[position]) / 2))
        named += outcome.winner == 0
    assert binomtest(named, 300, 0.1, alternative="greater").pvalue > LEAST_CHANCE


def test_a_system_that_is_better_is_named_mostly():
    """A rule that never names anybody keeps any promise; this one has power."""
    population = np.repeat([1, -1], [300, 200])
    rng = np.random.default_rng(1)
    assert share_named(population, 0.1, rng) > 0.75 * RUNS

"""The probability that each system is best, and the entropy expected after a further query.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models", sections 2.2 and 2.3, appendices C and D.
Takes opinions of weak judges (`opinions.py`) and outcomes against a baseline: 1 for a win over the baseline, 0 for a
tie, -1 for a loss. The baseline is one of the systems and always ties.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

OUTCOMES = (-1, 0, 1)  # the order of every axis over outcomes
LEVEL = 1e-12  # entropies this close differ by rounding, which depends on the machine
CELLS_AT_A_TIME = 2**19  # opinions processed at a time: about 15 MB of working memory

GRID = (0.05, 0.15, 0.25, 0.35, 0.45)
REALISATIONS = 20
LARGEST_POOL = 200
HORIZON = 50

Floats = NDArray[np.float64]
Opinions = NDArray[np.int8]
Epsilons = tuple[float, float]


def uniform(systems: int) -> Floats:
    """The uniform belief: logarithms of probabilities, shape (systems,)."""
    return np.full(systems, -np.log(systems))


def ensemble(opinions: Opinions) -> Opinions:
    """The joint opinion of all weak judges: 1 a win, 0 a tie, -1 a loss (appendix D).

    `opinions` has the shape (weak judges, queries, systems), the result (queries, systems). The
    mean of win 1, tie ½ and loss 0 is a win from 2/3 on and a tie from 1/3 on. With s the sum of
    the opinions of z weak judges, that mean is (1 + s/z)/2. So the conditions are 3s ≥ z and 3s ≥
    -z, which integers decide without rounding.
    """
    thrice = 3 * opinions.sum(axis=0, dtype=np.int64)
    judges = len(opinions)
    return np.where(thrice >= judges, 1, np.where(thrice >= -judges, 0, -1)).astype(np.int8)


def updated(
    posterior: Floats, outcomes: Opinions, epsilons: Epsilons, judged: NDArray[np.bool_] | None = None
) -> Floats:
    """The belief that each system is best after a query's `outcomes`; shape (systems,).

    All arrays have the shape (systems,). `posterior` and the result are logarithms of
    probabilities, so that no number of queries makes them underflow. The belief in a system is
    multiplied by ε₁ if it lost, ε₂ if it tied, 1 - ε₁ - ε₂ if it won: equation 2 and algorithm 1.
    Equation 4 writes ε₁ for a tie, ε₂ for a win and the rest for a loss. That contradicts both, and
    would raise the belief in systems that lose.

    Where `judged` is False there is no verdict. The belief is then multiplied by the mean factor of
    the judged systems, the baseline included: an abstention is neither a tie nor a loss.
    """
    factors = np.exp(log_factors(epsilons))[outcomes + 1]
    if judged is not None and not judged.all():
        if not judged.any():
            return posterior
        factors = np.where(judged, factors, factors[judged].mean())
    weights = posterior + np.log(factors)
    after: Floats = weights - np.logaddexp.reduce(weights)
    return after


def log_factors(epsilons: Epsilons) -> Floats:
    """The log probabilities that the best system loses, ties and wins (equation 2).

    Raises:
        ValueError: a probability is not positive, so that a single verdict could rule out a system
            for ever.
    """
    probabilities = (*epsilons, 1 - sum(epsilons))
    if min(probabilities) <= 0:
        raise ValueError(f"expected ε₁ > 0, ε₂ > 0 and ε₁ + ε₂ < 1, found {epsilons}")
    return np.log(probabilities)


def log_ratios(wins: Floats, ties: Floats, losses: Floats) -> Floats:
    """Compute Bradley-Terry coefficients of systems compared with one baseline only (appendix C).

    The baseline's coefficient is 0. These comparisons share nothing but the baseline, so that each
    coefficient is the logarithm of the system's wins over its losses. A tie is half a win and half
    a loss. A half added to both sides keeps the coefficient of a system finite that never lost or
    never won.
    """
    return np.log((wins + ties / 2 + 0.5) / (losses + ties / 2 + 0.5))


def expected_entropies(posterior: Floats, opinions: Opinions, epsilons: Epsilons) -> Floats:
    """Compute the entropy in nats expected of the belief after each query, shape (queries,).

    Section 2.3.1: the mean, over the weak judges, of the entropy if the judge's opinions were the
    outcomes. `posterior` holds logarithms of probabilities, shape (systems,). `opinions` has the
    shape (weak judges, queries, systems).
    """
    return entropies_after(opinions, log_factors(epsilons)[:, None] + posterior)


def entropies_after(opinions: Opinions, log_weights: Floats) -> Floats:
    """Compute the entropy in nats after each query, a mean over weak judges; shape (queries,).

    `opinions` has the shape (weak judges, queries, systems). `log_weights` has the shape (outcomes,
    systems): the logarithm of a system's weight, up to a common factor, after it lost, tied or won
    the query.
    """
    judges, queries, systems = opinions.shape
    some = max(1, CELLS_AT_A_TIME // (judges * systems))
    found = [
        _entropies(_indicators(opinions[:, begin : begin + some]), log_weights.reshape(-1, 1))
        for begin in range(0, queries, some)
    ]
    means = [entropies.reshape(judges, -1).mean(axis=0) for entropies in found]
    return np.concatenate(means) if means else np.zeros(0)


def lowest(entropies: Floats, asked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The query with the least entropy among those not `asked`, along the first axis.

    Of several that are equal within rounding, it is the first. The caller shuffles the queries, so
    that the first is a random one.
    """
    left = np.where(asked, np.inf, entropies)
    return np.asarray(np.argmax(left <= left.min(axis=0) + LEVEL, axis=0))


def all_level(entropies: Floats, asked: NDArray[np.bool_]) -> bool:
    """Whether all queries not `asked` are equal within rounding; both shapes (queries,).

    Then no query promises more than another: the belief is all but certain, or no weak judge tells
    the systems apart. Fewer than two queries that are left are not compared, and give False.
    """
    left = entropies[~asked]
    return len(left) > 1 and bool(np.ptp(left) <= LEVEL)


def _indicators(opinions: Opinions) -> Floats:
    """1 where a system has an outcome, else 0.

    The shape is (weak judges x queries, outcomes x systems).
    """
    flat = opinions.reshape(-1, opinions.shape[-1])
    return np.concatenate([flat == outcome for outcome in OUTCOMES], axis=1).astype(np.float64)


def _entropies(indicators: Floats, log_weights: Floats) -> Floats:
    """Compute the entropy for each row of `indicators` and each column of `log_weights`.

    `log_weights` has the shape (outcomes x systems, columns). For weights w with the sum Z the
    entropy is log Z - Σ w log w / Z, and both sums are matrix products. The common factor taken off
    keeps the largest weight near 1, so that Z is never 0.
    """
    logs = log_weights - log_weights.max(axis=0)
    weights = np.exp(logs)
    sums = indicators @ np.concatenate([weights, weights * logs], axis=1)
    total, weighted = np.split(sums, 2, axis=1)
    return np.asarray(np.maximum(np.log(total) - weighted / total, 0.0))


def choose_epsilons(opinions: Opinions, limit: int, rng: np.random.Generator) -> Epsilons:
    """Choose ε₁ and ε₂ before any verdict, so that the best system is identified most often.

    Appendix D. `opinions` has the shape (weak judges, queries, systems). `limit` is a number of
    queries. The ensemble of all weak judges stands in for the judge.

    Each pair of a grid is tried on the same 20 realisations. A realisation is a pool of half of the
    queries, 200 at most, drawn at random, whose best system is to be identified. The pool is in
    random order, so that queries of equal entropy follow each other at random. Pairs are ranked
    by how often they identify it, then by the smaller win rate lost, the smaller ε₁ and the smaller
    ε₂.

    At most 50 queries are tried, even for a larger `limit`, and at most half of a pool. Later
    queries cost the most time and tell the pairs apart the least, and once all queries are asked
    every pair identifies the best system.
    """
    queries = opinions.shape[1]
    outcomes = ensemble(opinions)
    grid = [(lost, tied) for lost, tied in product(GRID, GRID) if lost + tied < 1 - LEVEL]
    factors = np.stack([log_factors(pair) for pair in grid], axis=1)
    size = max(1, min(queries // 2, LARGEST_POOL))
    steps = min(limit, HORIZON, max(1, size // 2))
    pools = [rng.permutation(queries)[:size] for _ in range(REALISATIONS)]
    tried = [trial_of(opinions[:, pool], outcomes[pool], factors, steps) for pool in pools]
    identified = np.mean([trial.identified for trial in tried], axis=0).round(9)
    gap = np.mean([trial.gap for trial in tried], axis=0).round(9)
    best = min(range(len(grid)), key=lambda i: (-identified[i], gap[i], grid[i]))
    return grid[best]


@dataclass(frozen=True, slots=True)
class Trial:
    """How well the best system of one pool was identified, for each pair of ε; shape (pairs,).

    `identified` is the probability that it was named. `gap` is the win rate lost by the system
    named.
    """

    identified: Floats
    gap: Floats


def trial_of(opinions: Opinions, outcomes: Opinions, factors: Floats, steps: int) -> Trial:
    """Run algorithm 1 on one pool, for all columns of `factors` at once.

    Systems that share the highest score are named with equal probability.
    """
    scores = _scores(opinions, outcomes, factors, steps)
    rates = outcomes.sum(axis=0, dtype=np.int64) / (2 * len(outcomes))  # win rate - ½
    named = scores == scores.max(axis=1, keepdims=True)
    level = named.sum(axis=1)
    return Trial(
        identified=(named & (rates == rates.max())).sum(axis=1) / level,
        gap=rates.max() - (named * rates).sum(axis=1) / level,
    )


def _scores(opinions: Opinions, outcomes: Opinions, factors: Floats, steps: int) -> NDArray[np.int64]:
    """Count wins minus losses of each system on the first `steps` queries picked.

    The result has the shape (columns of `factors`, systems).
    """
    judges, queries, systems = opinions.shape
    columns = np.arange(factors.shape[1])
    indicators = _indicators(opinions)
    posterior = np.zeros((systems, len(columns)))
    asked = np.zeros((queries, len(columns)), dtype=np.bool_)
    scores = np.zeros((len(columns), systems), dtype=np.int64)
    for _ in range(steps):
        log_weights = (factors[:, None, :] + posterior).reshape(-1, len(columns))
        entropies = _entropies(indicators, log_weights).reshape(judges, queries, -1).mean(axis=0)
        picked = lowest(entropies, asked)
        asked[picked, columns] = True
        posterior += factors[outcomes[picked].T + 1, columns]
        scores += outcomes[picked]
    return scores

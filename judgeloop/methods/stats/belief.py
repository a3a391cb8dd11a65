"""The posterior probability that each of many systems is the best, from its own win rate.

Takes win rates against one baseline and the number of queries; returns probabilities. Chooses no
query and asks no judge. `methods/selectors/credible.py` drops systems by it.

The model. System i has an unknown win rate θ_i, with a uniform prior and independent of the other
systems'. After n queries with the observed win rate r_i (a tie counts half) the posterior is

    θ_i ~ Beta(1 + n r_i, 1 + n (1 - r_i)).                                                (1)

The baseline's win rate is exactly ½. The belief in i is the probability that its win rate is the
highest, with F_j the distribution function of θ_j:

    P(i is the best) = ∫ Π_{j ≠ i} F_j(x) dF_i(x).                                         (2)

What follows. A system whose observed win rate is not the highest of all candidates, the baseline's
being ½, has a belief of at most ½. Proof. (a) Let r_i < r_j for two systems with Beta posteriors.
The ratio of the densities of θ_j and θ_i increases in x, so θ_j is stochastically larger than θ_i,
and both are independent. So P(i is the best) ≤ P(θ_i > θ_j) ≤ ½. (b) Let r_i < ½, and compare i
with the baseline. Beta(a, b) with a < b has its median below ½, so P(i is the best) ≤ P(θ_i > ½) ≤
½. (c) For the baseline and a system with r_j > ½: P(θ_j < ½) ≤ ½ for the same reason. ∎ So a belief
above ½ always belongs to the system with the highest observed win rate. The posterior of
`information.updated` has no such property: if ε₂ > 1 - ε₁ - ε₂, a tie counts for more than a win,
and the baseline, which always ties, becomes the most probable.

Two properties of (1) make the belief cautious rather than rash. A score in {0, ½, 1} with mean θ
has a variance of at most θ (1 - θ), so ties only make the posterior wider than needed. And systems
that are judged on the same queries tend to win and lose together, so differences between them vary
less than independent win rates do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BASELINE_RATE = 0.5
NODES = 512  # of the integral (2)
SPREADS = 8.0  # standard deviations from the mean beyond which a posterior is taken to be 0


def best_probabilities(rates: Floats, queries: int, baseline: int) -> Floats:
    """Return the probability that each system is the best, equation (2); shape (systems,).

    `rates`, shape (systems,), holds observed win rates in [0, 1]; that of `baseline` is ignored.
    All systems count with the same number of `queries`: a system without a verdict on some of them
    counts as if it had kept its win rate there. The integral is a sum over `NODES` points between
    the lowest and the highest win rate that the best system can have.
    """
    wins, rivals = queries * rates, np.arange(len(rates)) != baseline
    first, second = (1 + wins)[rivals], (1 + queries - wins)[rivals]
    mean = first / (first + second)
    spread = SPREADS * np.sqrt(mean * (1 - mean) / (first + second + 1))
    low = max(BASELINE_RATE, float((mean - spread).max()))
    edges = np.linspace(low, max(min(1.0, float((mean + spread).max())), low), NODES + 1)
    masses = _masses(first, second, edges)
    logs = np.log(np.clip(_below(masses), np.finfo(float).tiny, 1.0))
    found = np.zeros(len(rates))
    found[rivals] = (masses * np.exp(np.minimum(logs.sum(axis=0) - logs, 0.0))).sum(axis=1)
    if low == BASELINE_RATE:
        found[baseline] = np.prod(np.clip(1 - masses.sum(axis=1), 0.0, 1.0))
    return np.asarray(found / found.sum())


def _masses(first: Floats, second: Floats, edges: Floats) -> Floats:
    """Return the probability of each Beta(first, second) between neighbouring `edges`.

    The result has the shape (systems, edges - 1).
    """
    from scipy.special import betainc

    below = betainc(first[:, None], second[:, None], edges[None, :])
    return np.diff(below, axis=1)


def _below(masses: Floats) -> Floats:
    """Return the distribution function in the middle of each cell; all of 1 lies below the last."""
    above = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1]
    return 1 - above + masses / 2

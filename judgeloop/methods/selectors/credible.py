"""Random queries for the systems that can still be the best, by a posterior on their win rates.

judgeloop's variant of LLM Selector (Durmazkeser et al. 2025). It keeps a belief about which system
is the best, as that paper does, and changes what the belief is and what it chooses. The belief is
that of `best_probabilities`: a tie counts half, the baseline has a win rate of ½, and no system has a
belief above ½ unless its observed win rate is the highest. The belief chooses the systems to ask
about, not the queries: on GPT-4's recorded verdicts, picking queries by their expected information
under the weak judges took from 7 % more to 13 % fewer calls than drawing them (docs/results).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Belief
from judgeloop.core.records import Choice, Draws, Label, Step
from judgeloop.methods.estimators.win_rates import scores_of
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.stats.racing import Flags, Floats

BASELINE_RATE = 0.5
NODES = 512  # of the integral (2)
SPREADS = 8.0  # standard deviations from the mean beyond which a posterior is taken to be 0
DOUBT = 0.01  # the sum of all beliefs at which systems are dropped is at most this
PAUSE = 0.1  # the belief is computed again after this share of further queries


@dataclass(frozen=True, slots=True, eq=False)
class CredibleState:
    """A shuffled pool, the scores so far, and the systems that are still asked about.

    `points` and `verdicts` have the shape (systems,): the sum of scores, and their number. `drawn`
    and `heard` are numbers of queries; no more than `until` are drawn before the belief is computed
    again.
    """

    order: NDArray[np.int64]  # shape (items,)
    points: Floats
    verdicts: Floats
    credible: Flags  # shape (systems,)
    drawn: int = 0
    heard: int = 0
    until: int = 1


@final
@dataclass(frozen=True)
class Credible:
    """Draws every remaining item with equal probability, for all systems not dropped yet.

    A system is dropped once the probability that it is the best is below `DOUBT` / `systems`; never
    if no other system asked about has a higher win rate. A run ends when one candidate is left. The
    baseline, about which nothing is asked, becomes a candidate again whenever its probability is
    high enough: with few queries and many systems, one of them is all but sure to be above ½. The
    draws are those of random queries with the same generator. So after the same number of queries
    both have the same system in the lead, unless the leader of random queries is dropped, and this
    selector has asked for no more judgments.

    The queries until the belief is computed next, a tenth of those so far, are asked in parallel.
    """

    systems: int
    baseline: int
    name: str = "credible"
    draws: Draws = Draws.KNOWN

    def init(self, items: int, rng: np.random.Generator) -> CredibleState:
        """Shuffle the pool once: the draws are then independent of the answers."""
        nothing = np.zeros(self.systems)
        return CredibleState(
            rng.permutation(items), nothing, nothing, np.ones(self.systems, dtype=np.bool_)
        )

    def ask(
        self, state: CredibleState, rng: np.random.Generator
    ) -> tuple[Step | None, CredibleState]:
        """Return the next query, for every system that is not dropped.

        It is None while the belief waits for answers, or once the pool is empty or at most one
        candidate is left.
        """
        del rng  # all randomness is in the shuffle
        left = len(state.order) - state.drawn
        if not left or state.drawn >= state.until or state.credible.sum() <= 1:
            return None, state
        position = int(state.order[state.drawn])
        choices = tuple(
            Choice(position, 1.0 / left, (int(system), self.baseline))
            for system in np.flatnonzero(state.credible)
            if system != self.baseline
        )
        return Step(choices), replace(state, drawn=state.drawn + 1)

    def tell(self, state: CredibleState, labels: Sequence[Label]) -> CredibleState:
        """Add up the scores; drop systems if the belief was waiting for these."""
        points, verdicts, heard = state.points.copy(), state.verdicts.copy(), state.heard
        for _, group in groupby(labels, key=lambda label: label.choice.position):
            scores = scores_of(list(group), self.systems, self.baseline)
            points += np.nan_to_num(scores)
            verdicts += ~np.isnan(scores)
            heard += 1
        state = replace(state, points=points, verdicts=verdicts, heard=heard)
        return self._looked(state) if heard >= state.until else state

    def belief(self, state: CredibleState) -> Belief:
        """Return the probability that each system is the best."""
        return Belief(tuple(self._probabilities(state).tolist()))

    def _probabilities(self, state: CredibleState) -> Floats:
        return best_probabilities(self._rates(state), state.heard, self.baseline)

    def _looked(self, state: CredibleState) -> CredibleState:
        """Return the state after the belief has been computed and systems have been dropped."""
        rates = self._rates(state)
        likely = self._probabilities(state) >= DOUBT / self.systems
        leads = rates >= rates[state.credible].max()
        kept = likely | leads | (state.verdicts == 0)
        kept &= state.credible | (np.arange(self.systems) == self.baseline)
        until = state.heard + max(1, int(PAUSE * state.heard))
        return replace(state, credible=kept, until=until)

    def _rates(self, state: CredibleState) -> Floats:
        """Return the win rates; ½ for the baseline, and for a system without a verdict."""
        rates = np.full(self.systems, BASELINE_RATE)
        np.divide(state.points, state.verdicts, out=rates, where=state.verdicts > 0)
        return rates


def for_many(given: ForMany) -> Credible:
    """Make the selector that looks for the best of many systems."""
    return Credible(given.systems, given.baseline)


def best_probabilities(rates: Floats, queries: int, baseline: int) -> Floats:
    """Return the probability that each system is the best, equation (2); shape (systems,).

    System i has an unknown win rate θ_i, with a uniform prior and independent of the other
    systems'. After n queries with the observed win rate r_i (a tie counts half) the posterior is

        θ_i ~ Beta(1 + n r_i, 1 + n (1 - r_i)).                                            (1)

    The baseline's win rate is exactly ½. The belief in i is the probability that its win rate is
    the highest, with F_j the distribution function of θ_j:

        P(i is the best) = ∫ Π_{j ≠ i} F_j(x) dF_i(x).                                     (2)

    A system whose observed win rate is not the highest of all, the baseline's being ½, has a belief
    of at most ½. Proof. (a) If r_i < r_j, the ratio of the densities of θ_j and θ_i increases in x,
    so θ_j is stochastically larger, and P(i is the best) ≤ P(θ_i > θ_j) ≤ ½. (b) If r_i < ½, the
    median of θ_i is below ½, so P(i is the best) ≤ P(θ_i > ½) ≤ ½. (c) The same holds for the
    baseline beside a system with r_j > ½. ∎ `information.updated` has no such property: if
    ε₂ > 1 - ε₁ - ε₂, the baseline, which always ties, becomes the most probable.

    (1) is cautious: a score in {0, ½, 1} with mean θ has a variance of at most θ (1 - θ), so ties
    only make the posterior wider than needed; and systems judged on the same queries tend to win
    and lose together, so differences between them vary less than independent win rates do.

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

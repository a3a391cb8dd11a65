"""Random queries for the systems that can still be the best, by a posterior on their win rates.

judgeloop's variant of LLM Selector (Durmazkeser et al. 2025). It keeps a belief about which system
is the best, as that paper does, and changes what the belief is and what it chooses. The belief is
that of `methods/stats/belief.py`: a tie counts half, the baseline has a win rate of ½, and no system has a
belief above ½ unless its observed win rate is the highest. The belief chooses the systems to ask
about, not the queries: on GPT-4's recorded verdicts, picking queries by their expected information
under the weak judges took from 7 % more to 13 % fewer calls than drawing them (docs/results).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Belief
from judgeloop.core.records import Choice, Draws, Label, Step
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.stats.belief import BASELINE_RATE, best_probabilities
from judgeloop.methods.stats.query_scores import scores_of
from judgeloop.methods.stats.racing import Flags, Floats

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
            scores, _ = scores_of(list(group), self.systems, self.baseline)
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

"""Bradley-Terry: LLM Selector with Bradley-Terry coefficients in place of the posterior.

Durmazkeser et al. (2025), appendix C, compare LLM Selector with this method. They do not say how
they estimate the coefficients; `log_ratios` in `methods/stats/information.py` says how it is done here. The
coefficients only serve to choose queries: no result reports them.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.methods.selectors.llm_selector import Informed, Outcomes
from judgeloop.methods.stats.information import OUTCOMES, entropies_after, log_ratios


@final
@dataclass(frozen=True, eq=False)
class BradleyTerry(Informed):
    """Picks the query that minimizes the expected entropy of the softmax of the coefficients.

    Known are the losses, ties and wins of each system, shape (outcomes, systems). For the expected
    entropy, each weak judge's opinions are added to the counts as if they were outcomes.
    """

    name: str = "bradley-terry"
    draws: Draws = Draws.PICKED

    def nothing(self, systems: int) -> NDArray[np.int64]:
        """Return counts of 0, in the order of `OUTCOMES`."""
        return np.zeros((len(OUTCOMES), systems), dtype=np.int64)

    def entropies(self, known: NDArray[np.int64]) -> NDArray[np.float64]:
        """As `Informed.entropies`, of the softmax of the coefficients."""
        return entropies_after(self.opinions, coefficients_after(known))

    def learned(self, known: NDArray[np.int64], outcomes: Outcomes) -> NDArray[np.int64]:
        """Add the outcomes of a query; abstentions are not counted."""
        new = [(outcomes.values == outcome) & outcomes.judged for outcome in OUTCOMES]
        counts: NDArray[np.int64] = known + np.stack(new)
        return counts


def coefficients_after(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each system's coefficient after one more outcome, shape (outcomes, systems).

    Row i holds the coefficients after one more outcome `OUTCOMES[i]`.
    """
    more = np.eye(len(OUTCOMES), dtype=np.int64)
    losses, ties, wins = (counts[of] + more[:, [of]] for of in range(len(OUTCOMES)))
    return log_ratios(wins, ties, losses)

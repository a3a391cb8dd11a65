"""Opinions of weak judges on which systems beat the baseline, from the likelihoods of texts.

The weak judges of LLM Selector: Durmazkeser et al. (2025), "Active Model Selection for Large
Language Models", section 2.3.1 and appendix D. `methods/stats/kgrams.py` computes the likelihoods;
`methods/stats/information.py` uses the opinions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAME = 1e-12  # relative: a smaller difference between likelihoods is rounding


def opinions(likelihoods: NDArray[np.float64], baseline: int) -> NDArray[np.int8]:
    """Return each weak judge's opinion of each system against the baseline (section 2.3.1).

    1 means that the system wins, 0 a tie, -1 that it loses. `likelihoods` has the shape (weak
    judges, systems), and so has the result. The likelier text wins. Equally likely texts tie, so
    the baseline ties with itself and with every copy of its text.
    """
    own = likelihoods[:, [baseline]]
    larger = np.maximum(np.abs(likelihoods), np.abs(own))
    ahead = likelihoods - own
    return np.where(np.abs(ahead) <= SAME * larger, 0, np.sign(ahead)).astype(np.int8)


def ensemble(opinions: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the joint opinion of all weak judges: 1 a win, 0 a tie, -1 a loss (appendix D).

    `opinions` has the shape (weak judges, queries, systems), the result (queries, systems). The
    mean of win 1, tie ½ and loss 0 is a win from 2/3 on and a tie from 1/3 on. With s the sum of
    the opinions of z weak judges, that mean is (1 + s/z)/2. So the conditions are 3s ≥ z and 3s ≥
    -z, which integers decide without rounding.
    """
    thrice = 3 * opinions.sum(axis=0, dtype=np.int64)
    judges = len(opinions)
    return np.where(thrice >= judges, 1, np.where(thrice >= -judges, 0, -1)).astype(np.int8)

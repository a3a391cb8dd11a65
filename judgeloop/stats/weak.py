"""From how likely texts are to opinions on which beats a baseline's: the weak judges of LLM Selector.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models", section 2.3.1 and appendix D. How likely a text is
comes from elsewhere (`kgrams.py`), and so does what follows from an opinion (`information.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAME = 1e-12  # relative: likelihoods that differ by less do so by rounding


def opinions(likelihoods: NDArray[np.float64], baseline: int) -> NDArray[np.int8]:
    """What each weak judge thinks of each system against the baseline: 1 it wins, 0 a tie, -1 it loses (section 2.3.1).

    `likelihoods` has the shape (weak judges, systems), and so has the result. The likelier text wins; equally likely ones tie, so
    that the baseline ties with itself and with every copy of it.
    """
    own = likelihoods[:, [baseline]]
    larger = np.maximum(np.abs(likelihoods), np.abs(own))
    ahead = likelihoods - own
    return np.where(np.abs(ahead) <= SAME * larger, 0, np.sign(ahead)).astype(np.int8)


def ensemble(opinions: NDArray[np.int8]) -> NDArray[np.int8]:
    """What all weak judges think together: 1 a win, 0 a draw, -1 a loss (appendix D).

    `opinions` has the shape (weak judges, queries, systems), the result (queries, systems). The mean of win 1, draw ½ and loss 0 is a win
    from 2/3 and a draw from 1/3. With s the sum of the opinions of z weak judges that mean is (1 + s/z)/2, so these are 3s ≥ z and
    3s ≥ -z, which integers decide without rounding.
    """
    thrice = 3 * opinions.sum(axis=0, dtype=np.int64)
    judges = len(opinions)
    return np.where(thrice >= judges, 1, np.where(thrice >= -judges, 0, -1)).astype(np.int8)

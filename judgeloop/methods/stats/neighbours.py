"""Whether verdicts on items that stand near each other in a file agree more than others: a permutation test.

Takes the lines of the judged items and a number for each, and returns a p-value. Where items come in families that
nobody named, such as the segments of a document, draws of items are no independent draws of what is to come.
"""

import numpy as np
from numpy.typing import NDArray

NEAR = 10  # lines apart
FEWEST = 20  # values, so that chance is not all that they show
PERMUTATIONS = 999
ALARM = 0.01  # the p-value that is worth a warning


def neighbours_risk(lines: NDArray[np.int64], values: NDArray[np.float64], rng: np.random.Generator) -> float | None:
    """The p-value of the null that `values` stand in random order on their `lines`; both have shape (values,).

    The statistic is the sum over pairs at most `NEAR` lines apart of the product of their distances from the mean,
    which weighs less the farther they are apart. Under the null each order of the values is equally likely, so the
    p-value holds whatever values and lines are. No more orders are tried once it is above `ALARM` for certain (Besag &
    Clifford 1991). None for few values, or where all are the same.
    """
    if len(values) < FEWEST or np.all(values == values[0]):
        return None
    order = np.argsort(lines)
    at, apart = lines[order], values[order] - values.mean()
    ends = np.searchsorted(at, at + NEAR, side="right")
    near = ends - np.arange(len(at)) - 1
    first = np.repeat(np.arange(len(at)), near)
    second = first + np.arange(len(first)) - np.repeat(np.cumsum(near) - near, near) + 1
    weights = 1 - (at[second] - at[first]) / (NEAR + 1)

    def agreement(of: NDArray[np.float64]) -> float:
        return float(weights @ (of[first] * of[second]))

    seen, beyond, most = agreement(apart), 0, ALARM * (PERMUTATIONS + 1)
    for tried in range(1, PERMUTATIONS + 1):
        beyond += agreement(rng.permutation(apart)) >= seen - 1e-12
        if beyond > most:
            return beyond / tried
    return (beyond + 1) / (PERMUTATIONS + 1)

"""How far judges agree beyond chance.

scikit-learn computes Cohen's kappa and is imported on first use. Which votes count is the caller's business.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np


def kappa(votes: Sequence[Sequence[int]]) -> tuple[str, float] | None:
    """The name and value of the kappa for `votes`, one row a subject, one column a judge, entries categories.

    Cohen's (1960) for two judges, Fleiss' (1971) for more; None where it is not defined: fewer than two subjects or
    judges, or a single category throughout.
    """
    if len(votes) < len(("one", "other")) or len(votes[0]) < len(("one", "other")):
        return None
    if len({category for row in votes for category in row}) == 1:
        return None
    if len(votes[0]) == len(("one", "other")):
        return "Cohen's kappa", cohen([row[0] for row in votes], [row[1] for row in votes])
    return "Fleiss' kappa", fleiss(votes)


def cohen(first: Sequence[int], second: Sequence[int]) -> float:
    """Cohen's kappa of two judges."""
    from sklearn.metrics import cohen_kappa_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an undefined kappa, which comes out as NaN
        return float(cohen_kappa_score(first, second))


def fleiss(votes: Sequence[Sequence[int]]) -> float:
    """Fleiss' kappa (Fleiss 1971, equations 1 to 7) of any number of judges who all judged every subject."""
    table = np.asarray(votes)
    categories = np.unique(table)
    counts = np.stack(
        [(table == category).sum(axis=1) for category in categories], axis=1
    )  # (subjects, categories)
    judges = table.shape[1]
    observed = ((counts**2).sum(axis=1) - judges).mean() / (judges * (judges - 1))
    expected = ((counts.sum(axis=0) / table.size) ** 2).sum()
    return float((observed - expected) / (1 - expected))

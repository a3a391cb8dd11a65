"""The labels of one query as an array of scores, one score for each system.

Takes labels that compare systems with the baseline on one item. `methods/estimators/win_rates.py` adds the
scores up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgeloop.core.records import TIE, Abstention, Label
from judgeloop.methods.stats.racing import Flags, Floats


def scores_of(labels: Sequence[Label], systems: int, baseline: int) -> tuple[Floats, Flags]:
    """Return one query's scores and which systems were asked about, both of shape (systems,).

    A score is 1 if the system was preferred to the baseline, ½ for a tie, and 0 if the baseline was
    preferred. It is NaN for an abstention, and for a system that was not asked about. The baseline
    always counts as asked, and ties with itself.
    """
    scores, asked = np.full(systems, np.nan), np.zeros(systems, dtype=bool)
    scores[baseline], asked[baseline] = TIE, True
    for label in labels:
        system = label.choice.systems[0]
        asked[system] = True
        if not isinstance(label.answer, Abstention):
            scores[system] = TIE + label.answer.preference / 2
    return scores, asked

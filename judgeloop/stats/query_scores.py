"""The labels of one query as an array.

What they add up to is `estimators/win_rates.py`'s business.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgeloop.core.records import TIE, Abstention, Label
from judgeloop.stats.racing import Flags, Floats


def scores_of(labels: Sequence[Label], systems: int, baseline: int) -> tuple[Floats, Flags]:
    """The scores of one query's labels, NaN where there is none, and who was asked for; the baseline always ties with itself."""
    scores, asked = np.full(systems, np.nan), np.zeros(systems, dtype=bool)
    scores[baseline], asked[baseline] = TIE, True
    for label in labels:
        system = label.choice.systems[0]
        asked[system] = True
        if not isinstance(label.answer, Abstention):
            scores[system] = TIE + label.answer.preference / 2
    return scores, asked

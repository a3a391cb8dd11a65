"""Replays of past comparisons, summed up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from judgeloop.methods.stats.risk_control import new_minima


def steps(walks, walk):
    """The end of a walk as a step function of the threshold: each new minimum of the statistic, the
    judgments, and whether the leader is wrong."""
    found = np.flatnonzero(new_minima(walks.statistics[walk : walk + 1])[0])
    return [
        (float(walks.statistics[walk, at]), int(at) + 1, bool(walks.wrong[walk, at]))
        for at in found
    ]


def fared_at(walks, risk, bounds):
    """Mean judgments, and shares of wrong and undecided runs, at the threshold for a risk."""
    threshold = bounds.below(risk)
    stops = walks.statistics < (-np.inf if threshold is None else threshold)
    means = dict(zip(("judgments", "wrong", "undecided"), walks.ended(stops), strict=True))
    return SimpleNamespace(**{name: float(values.mean()) for name, values in means.items()})

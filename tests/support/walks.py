"""Replays of past comparisons, summed up, and where a walk of verdicts crosses a boundary."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from judgeloop.methods.stats.risk_control import new_minima


def steps(walks, walk):
    """The end of a walk as a step function of the threshold: each new minimum of the statistic, the
    judgments, and whether the leader is wrong."""
    found = np.flatnonzero(new_minima(walks.statistics[walk : walk + 1])[0])
    return [(float(walks.statistics[walk, at]), int(at) + 1, bool(walks.wrong[walk, at])) for at in found]


def fared_at(walks, risk, bounds):
    """Mean judgments, and shares of wrong and undecided runs, at the threshold for a risk."""
    threshold = bounds.below(risk)
    stops = walks.statistics < (-np.inf if threshold is None else threshold)
    means = dict(zip(("judgments", "wrong", "undecided"), walks.ended(stops), strict=True))
    return SimpleNamespace(**{name: float(values.mean()) for name, values in means.items()})


def first_crossing(scores, spending):
    """Return for each level the side of the first crossing, 1 or -1; 0 if there is none.

    `scores`, shape (draws,), are the preferences 1, 0 or -1 in the order drawn. The walk is their
    sum. The result has shape (levels,).
    """
    if not len(scores):
        return np.zeros(len(spending.levels), dtype=np.int64)
    sums = np.cumsum(scores, dtype=np.int64)
    crossed = np.abs(sums)[:, None] >= spending.barriers(scores != 0)
    sides = np.sign(sums)[crossed.argmax(axis=0)]
    return np.where(crossed.any(axis=0), sides, 0)

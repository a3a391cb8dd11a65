"""Tallies of verdicts in the order drawn."""

from __future__ import annotations

import math
from dataclasses import replace

from judgeloop.core.outcomes import Tally
from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.methods.estimators.preferences import Preferences


def tally_of(history, items):
    """1 for the first, -1 for the second, 0 for a tie, None for an abstention."""
    return Tally(
        items=items,
        wins=(history.count(1), history.count(-1)),
        ties=history.count(0),
        abstentions=history.count(None),
        preferences=tuple(history),
    )


def grown_and_plain(history, items):
    """Yield the tally after each verdict, once as a session grows it and once counted anew."""
    tally = Preferences().tally((), items)
    for at, verdict in enumerate(history):
        answer = Abstention("no") if verdict is None else Verdict((1 + verdict) / 2)
        tally = Preferences().extended(tally, [Label(Choice(at, 1 / (items - at)), answer)])
        yield tally, replace(tally, preferences=tuple(tally.preferences))


def labels_of_rows(rows, baseline, *, drawn=True, first=0):
    """A label for each score of each row but the baseline's: NaN an abstention, None not asked."""
    return [
        Label(
            Choice(position, 0.1 if drawn else None, (system, baseline)),
            Abstention("no") if math.isnan(score) else Verdict(score),
        )
        for position, row in enumerate(rows, first)
        for system, score in enumerate(row)
        if system != baseline and score is not None
    ]


def labels_of_scores(scores, *, drawn=True):
    """A label for each score of one system: None an abstention."""
    return [
        Label(Choice(at, 0.1 if drawn else None, (0,)), Abstention("no") if score is None else Verdict(float(score)))
        for at, score in enumerate(scores)
    ]

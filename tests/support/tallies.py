"""Tallies of verdicts in the order drawn."""

from __future__ import annotations

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

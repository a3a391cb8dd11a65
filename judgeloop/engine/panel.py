"""Several judges on one query: what their answers say together.

A single judge is a panel of one. Ratings are decided by their mean alone: the other votes count preferences, of which a rating
has none. Asking the judges is the driver's business; how far they agree over many queries is `stats/agreement.py`'s.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Sequence

from judgeloop.core.records import TIE, Abstention, Answer, Verdict


class Vote(enum.StrEnum):
    """How a panel decides."""

    MAJORITY = "majority"  # the preference of more than half of those with a verdict, else a tie
    MEAN = "mean"  # the mean of the scores
    UNANIMOUS = "unanimous"  # the preference of all, else a tie


def decide(answers: Sequence[Answer], vote: Vote) -> Answer:
    """The panel's answer, with every judge's score in `votes` (None where a judge abstained).

    A panel abstains when half of its judges or more do; under `unanimous`, when any does.
    """
    if len(answers) == 1:
        return answers[0]
    verdicts = [answer for answer in answers if isinstance(answer, Verdict)]
    reasons = [answer.reason for answer in answers if isinstance(answer, Abstention)]
    if reasons and (vote is Vote.UNANIMOUS or 2 * len(reasons) >= len(answers)):
        return Abstention(f"{len(reasons)} of {len(answers)} judges gave no verdict: {reasons[0]}")
    score = {Vote.MAJORITY: _majority, Vote.MEAN: _mean, Vote.UNANIMOUS: _unanimous}[vote](verdicts)
    return Verdict(
        score,
        reason=" / ".join(verdict.reason for verdict in verdicts),
        flipped=any(verdict.flipped for verdict in verdicts),
        votes=tuple(answer.score if isinstance(answer, Verdict) else None for answer in answers),
    )


def _majority(verdicts: Sequence[Verdict]) -> float:
    preference, count = Counter(verdict.preference for verdict in verdicts).most_common(1)[0]
    return (1 + preference) / 2 if 2 * count > len(verdicts) else TIE


def _mean(verdicts: Sequence[Verdict]) -> float:
    return math.fsum(verdict.score for verdict in verdicts) / len(verdicts)


def _unanimous(verdicts: Sequence[Verdict]) -> float:
    preferences = {verdict.preference for verdict in verdicts}
    return (1 + preferences.pop()) / 2 if len(preferences) == 1 else TIE

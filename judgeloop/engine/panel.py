"""Combines several judges' answers to one query into the panel's answer.

The answer of a single judge is returned as it is. For ratings only `mean` makes sense: the other
votes count preferences, which a rating does not have. `batch.py` asks the judges;
`methods/stats/agreement.py` computes how far they agree over many queries.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Sequence

from judgeloop.core.records import TIE, Abstention, Answer, Verdict


class Vote(enum.StrEnum):
    """How a panel decides."""

    MAJORITY = "majority"  # the preference of more than half of the verdicts, else a tie
    MEAN = "mean"  # the mean of the scores
    UNANIMOUS = "unanimous"  # the preference of all verdicts, else a tie


def decide(answers: Sequence[Answer], vote: Vote) -> Answer:
    """Return the panel's answer, with every judge's score in `votes` (None for an abstention).

    A panel abstains if at least half of its judges abstain; under `unanimous`, if any judge does.
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
        both=any(verdict.both for verdict in verdicts),
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

"""The judge `recorded:NAME`: compares two finished runs by the scores in their files.

The system with the higher score wins an item; scores that differ by at most the tie margin are a
tie. `formats/recorded.py` reads the scores, and `formats/join.py` joins them. Asks nobody and costs nothing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

from judgeloop.core.errors import InputError
from judgeloop.core.records import Call, JudgeIdentity, Reply, Verdict, as_score, preference
from judgeloop.core.verdict_key import digest
from judgeloop.formats.join import Scores
from judgeloop.judges.base import BaseJudge, JudgeOptions


@final
@dataclass(frozen=True)
class RecordedJudge(BaseJudge):
    """Answers from the recorded scores of two systems, which `scorer` gave."""

    scorer: str
    scores: Scores
    tie_margin: float = 0.0
    order_matters = False
    blind = False
    booked = False

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The name of the score, the digest of all scores, and the tie margin."""
        rows = [[*key, score] for key, score in self.scores.items()]
        parameters = {"scores": digest({"scores": rows}), "tie_margin": repr(self.tie_margin)}
        return JudgeIdentity("recorded", self.scorer, parameters, mark=":")

    async def judge(self, call: Call) -> Reply:
        """Return which system has the higher recorded score on the item."""
        first, second = (self.scores[call.item.id, system] for system in call.systems)
        score = as_score(preference(first - second, self.tie_margin))
        return Reply(Verdict(score, reason=f"scores {first:g} and {second:g}"), cost_p=0)


def make_judge(name: str, options: JudgeOptions) -> RecordedJudge:
    """Refuse: the scores are in the files of a comparison, which makes the judge from them.

    Raises:
        InputError: always; the message says which command reads recorded scores.
    """
    del options
    raise InputError(
        f"`judge=recorded:{name}`: only `compare`, with no other judge, reads recorded scores; a "
        "table of scores is a judge for any question: `judge=replay:FILE`"
    )

"""The judge `recorded:NAME`: compares two finished runs by the scores in their files.

The system with the higher score wins an item; scores that differ by at most the tie margin are a
tie. `formats/recorded.py` reads and pairs the scores. Asks nobody and costs nothing.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import final

from judgeloop.core.errors import InputError
from judgeloop.core.records import Call, JudgeIdentity, Reply, Verdict
from judgeloop.core.verdict_key import digest
from judgeloop.formats.recorded import Paired
from judgeloop.judges.base import BaseJudge, JudgeOptions
from judgeloop.judges.metric import preference


@final
class RecordedJudge(BaseJudge):
    """Answers from the recorded scores of two systems."""

    order_matters = False
    blind = False

    def __init__(self, scorer: str, paired: Paired, *, tie_margin: float = 0.0) -> None:
        """Create the judge; `scorer` is the name of the score."""
        self._scorer = scorer
        self._tie_margin = tie_margin
        pool = paired.joined.pool
        self._scores = {
            (item.id, system): score
            for system, scores in zip(pool.systems, paired.scores, strict=True)
            for item, score in zip(pool.items, scores, strict=True)
        }

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The name of the score, the digest of all scores, and the tie margin."""
        rows = [[*key, score] for key, score in self._scores.items()]
        parameters = {"scores": digest({"scores": rows}), "tie_margin": repr(self._tie_margin)}
        return JudgeIdentity("recorded", self._scorer, parameters, mark=":")

    def verdict(self, item: str, systems: Sequence[str]) -> Verdict:
        """Return which of two systems has the higher score on an item."""
        first, second = (self._scores[item, system] for system in systems)
        score = preference(first, second, self._tie_margin)
        return Verdict(score, reason=f"scores {first:g} and {second:g}")

    async def judge(self, call: Call) -> Reply:
        """Return which output has the higher recorded score."""
        return Reply(self.verdict(call.item.id, call.systems), cost_p=0)


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

"""Recorded verdicts as a judge: preferences between two systems, or ratings of one, looked up in a table.

Recorded costs count against a budget, so that a budget can be rehearsed; they are never money spent. Reading the file
is not done here (`formats/verdicts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import final

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import Questions
from judgeloop.core.records import (
    Abstention,
    Answer,
    Call,
    Item,
    JudgeIdentity,
    Quote,
    Reply,
    Verdict,
)
from judgeloop.core.verdict_table import Recorded, VerdictTable
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.judges.metric import preference
from judgeloop.judges.options import JudgeOptions

SHOWN = 8  # systems named in a message


@final
class ReplayJudge:
    """Answers from a verdict table; what is not in it is an abstention. A table of pairs can rate nobody."""

    order_matters = False
    blind = False
    by_hand = False
    priced = True

    def __init__(self, table: VerdictTable, *, tie_margin: float = 0.0) -> None:
        """`tie_margin`: scores that differ by no more are a tie; it plays no part in a rating."""
        self._table = table
        self._tie_margin = tie_margin

    @property
    def identity(self) -> JudgeIdentity:
        """The table's content and the margin."""
        return JudgeIdentity(
            "replay",
            self._table.name,
            {"table": self._table.digest, "tie_margin": repr(self._tie_margin)},
            mark=":",
        )

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Refuse a table that cannot answer: each question is one system to rate, or two to compare.

        It has to know the systems, and to have verdicts on all but a share of the items, over all questions.

        Raises:
            InputError: names what is missing, and what the table has; or a score that is no rating.
        """
        item_ids = [item.id for item in items]
        named = dict.fromkeys(name for systems in questions for name in systems)
        unknown = [name for name in named if name not in self._table.systems]
        if unknown:
            known = sorted(self._table.systems)
            more = len(known) - SHOWN
            shown = ", ".join(known[:SHOWN]) + (f" and {more} more" if more > 0 else "")
            raise InputError(
                f"replay:{self._table.name} has no verdicts on {', '.join(unknown)}; it has {shown}"
            )

        self._check_ratings([systems[0] for systems in questions if len(systems) == 1], item_ids)
        missing = [
            (item, systems)
            for systems in questions
            for item in item_ids
            if not self._has(item, systems)
        ]
        wanted = len(questions) * len(item_ids)
        if len(missing) > max_missing * wanted:
            item, systems = missing[0]
            between = f" between {' and '.join(systems)}" if len(questions) > 1 else ""
            raise InputError(
                f"replay:{self._table.name} has no verdicts on {len(missing)} of {wanted} items, such as "
                f"{item!r}{between}; more than `max_abstentions`, {max_missing:.0%}"
            )

    def _check_ratings(self, systems: Sequence[str], item_ids: Sequence[str]) -> None:
        """Refuse a table that cannot rate these systems, or has a score on one of the items that is no rating."""
        if systems and self._table.paired:
            raise InputError(
                f"replay:{self._table.name} compares pairs of systems, which does not say how good one of them is; a "
                "rating needs a table of item_id, model and score"
            )
        for system in systems:
            for item in item_ids:
                record = self._table.rows.get((item, system))
                if record and record.score is not None and not 0 <= record.score <= 1:
                    raise InputError(
                        f"replay:{self._table.name} scores {system} on {item!r} with {record.score}; a rating lies "
                        "between 0 and 1, so bring the table's scores to that scale"
                    )

    def _has(self, item: str, systems: tuple[str, ...]) -> bool:
        rows = self._table.rows
        if self._table.paired:
            return (item, *systems) in rows or (item, *systems[::-1]) in rows
        return all((item, system) in rows for system in systems)

    def quote(self, call: Call) -> Quote:
        """What the recorded verdict cost."""
        cost_p = sum(record.cost_p for record in self._records(call) if record)
        return Quote(cost_p, cost_p, rehearsed=True)

    async def judge(self, call: Call) -> Reply:
        """Look the verdict up."""
        return Reply(self._answer(call), cost_p=self.quote(call).cost_p)

    async def aclose(self) -> None:
        """Nothing is open."""

    def _answer(self, call: Call) -> Answer:
        records = self._records(call)
        scores = [record.score for record in records if record and record.score is not None]
        if len(scores) < len(records):
            return Abstention("no recorded verdict")
        if len(call.systems) == 1:
            return Verdict(scores[0])
        if self._table.paired:
            score = scores[0] if self._straight(call) else 1.0 - scores[0]
            return Verdict(preference(score, 1.0 - score, self._tie_margin))
        return Verdict(preference(scores[0], scores[1], self._tie_margin))

    def _records(self, call: Call) -> list[Recorded | None]:
        rows, item = self._table.rows, call.item.id
        if not self._table.paired:
            return [rows.get((item, system)) for system in call.systems]
        return [rows.get((item, *call.systems)) or rows.get((item, *call.systems[::-1]))]

    def _straight(self, call: Call) -> bool:
        return (call.item.id, *call.systems) in self._table.rows


def make_judge(file: str, options: JudgeOptions) -> ReplayJudge:
    """The judge `replay:FILE`."""
    return ReplayJudge(read_verdicts(Path(file)), tie_margin=options.tie_margin)

"""The judge `replay:FILE`: looks verdicts up in a table of recorded verdicts.

A table of scores per system answers comparisons and ratings; a table of pairs answers comparisons
only. If all systems are compared with one system that a table of scores does not contain, the
scores are verdicts against that system already: 1 for a win, 0.5 for a tie, 0 for a loss. RecordedScore
costs count against the budget, so that a run can be rehearsed, but they are not money spent.
`formats/verdicts.py` reads the file.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import final

from judgeloop.core import records
from judgeloop.core.errors import InputError, some
from judgeloop.core.protocols import Questions
from judgeloop.formats.verdicts import RecordedScore, VerdictTable, read_verdicts
from judgeloop.judges.base import BaseJudge, JudgeOptions


@final
class ReplayJudge(BaseJudge):
    """Answers from a verdict table; a verdict that is not in the table is an abstention."""

    order_matters = False
    blind = False

    def __init__(self, table: VerdictTable, *, tie_margin: float = 0.0, against: str | None = None) -> None:
        """Create the judge.

        In a comparison, scores that differ by at most `tie_margin` are a tie. Ratings ignore it.
        `against` names the system that all others are compared with, None without such a system.
        """
        self._table = table
        self._tie_margin = tie_margin
        recorded = table.paired or against in table.systems
        self._against = None if recorded else against  # the scores are verdicts against it

    @cached_property
    def identity(self) -> records.JudgeIdentity:
        """The hash of the table's content, and the tie margin."""
        return records.JudgeIdentity(
            "replay", self._table.name, {"table": self._table.digest, "tie_margin": repr(self._tie_margin)}, mark=":"
        )

    def check(self, questions: Questions, items: Sequence[records.Item], max_missing: float) -> None:
        """Check that the table can answer `questions`: a system to rate or two to compare each.

        The table must contain every system but the one that its scores are verdicts against. The
        share of missing verdicts, over all questions and items, must be at most `max_missing`.

        Raises:
            InputError: names what is missing and what the table has, or a score outside [0, 1] of a
                system to rate, or of a verdict against a system.
        """
        item_ids = [item.id for item in items]
        named = dict.fromkeys(name for systems in questions for name in systems)
        scored = [name for name in named if name != self._against]
        unknown = [name for name in scored if name not in self._table.systems]
        if unknown:
            raise InputError(
                f"replay:{self._table.name} has no verdicts on {some(unknown)}; it has "
                f"{some(sorted(self._table.systems))}"
            )
        rated = [systems[0] for systems in questions if len(systems) == 1]
        if rated and self._table.paired:
            raise InputError(
                f"replay:{self._table.name} compares pairs of systems and has no scores of single "
                "systems; a rating needs a table of item_id, model and score"
            )
        self._check_range(rated, item_ids, "a rating")
        if self._against is not None:
            self._check_range(scored, item_ids, f"a verdict against {self._against}")
        missing = [(item, systems) for systems in questions for item in item_ids if not self._has(item, systems)]
        wanted = len(questions) * len(item_ids)
        if len(missing) > max_missing * wanted:
            item, systems = missing[0]
            ids = {key[0] for key in self._table.rows}
            mend = "judge only the items that it has with `allow_partial`"
            if item in ids:
                mend = f"more than `max_abstentions`, {100 * max_missing:.0f} %"
            elif not ids & set(item_ids):
                mend = f"it has some on {min(ids, default='')!r}: give the rows of outputs such ids, in the field `id`"
            between = f" between {' and '.join(systems)}" if len(questions) > 1 else ""
            raise InputError(
                f"replay:{self._table.name} has no verdicts on {len(missing):,} of {wanted:,} items, such as "
                f"{item!r}{between}; {mend}"
            )

    def _check_range(self, systems: Sequence[str], item_ids: Sequence[str], what: str) -> None:
        """Check that every score of `systems` on the items lies in [0, 1]."""
        for system in systems:
            for item in item_ids:
                record = self._table.rows.get((item, system))
                if record and record.score is not None and not 0 <= record.score <= 1:
                    raise InputError(
                        f"replay:{self._table.name} scores {system} on {item!r} with {record.score}; {what} lies "
                        "between 0 and 1, so rescale the scores of the table"
                    )

    def _has(self, item: str, systems: tuple[str, ...]) -> bool:
        rows = self._table.rows
        if self._table.paired:
            return (item, *systems) in rows or (item, *systems[::-1]) in rows
        return all((item, system) in rows for system in systems if system != self._against)

    def quote(self, call: records.Call) -> records.Quote:
        """Return the recorded cost, marked as rehearsed."""
        cost_p = sum(record.cost_p for record in self._records(call) if record)
        return records.Quote(cost_p, cost_p, rehearsed=True)

    async def judge(self, call: records.Call) -> records.Reply:
        """Return the recorded verdict."""
        return records.Reply(self._answer(call), cost_p=self.quote(call).cost_p)

    def _answer(self, call: records.Call) -> records.Answer:
        found = self._records(call)
        scores = [record.score for record in found if record and record.score is not None]
        if len(scores) < len(found):
            return records.Abstention("no recorded verdict")
        if len(call.systems) == 1:
            return records.Verdict(scores[0])
        if self._table.paired:
            straight = (call.item.id, *call.systems) in self._table.rows
            scores = [scores[0], 1.0 - scores[0]] if straight else [1.0 - scores[0], scores[0]]
        elif self._against in call.systems:
            scores.insert(call.systems.index(self._against), records.TIE)
        return records.Verdict(records.as_score(records.preference(scores[0] - scores[1], self._tie_margin)))

    def _records(self, call: records.Call) -> list[RecordedScore | None]:
        rows, item = self._table.rows, call.item.id
        if not self._table.paired:
            return [rows.get((item, one)) for one in call.systems if one != self._against]
        return [rows.get((item, *call.systems)) or rows.get((item, *call.systems[::-1]))]


def make_judge(file: str, options: JudgeOptions) -> ReplayJudge:
    """Create the judge `replay:FILE`."""
    return ReplayJudge(read_verdicts(Path(file)), tie_margin=options.tie_margin, against=options.against)

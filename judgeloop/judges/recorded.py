"""Judges whose verdicts are known before they are asked: recorded scores, recorded verdicts, a script.

`formats/recorded.py`, `formats/verdicts.py` and `formats/labels.py` read the files. No model is asked, and nothing is
paid.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import final

from judgeloop.core.errors import DataError, InputError, some
from judgeloop.core.keys import digest
from judgeloop.core.protocols import Questions
from judgeloop.core.records import (
    FOR_A,
    FOR_B,
    PAIR,
    TIE,
    Abstention,
    Answer,
    Call,
    Item,
    JudgeIdentity,
    Pool,
    Quote,
    Reply,
    Verdict,
    as_score,
    preference,
)
from judgeloop.formats.join import Joined, Scores
from judgeloop.formats.labels import names_all, place_of, places_of, read_labels
from judgeloop.formats.rows import read_once
from judgeloop.formats.tables import Table, read_rows
from judgeloop.formats.verdicts import RecordedScore, VerdictTable, verdicts_in
from judgeloop.judges.base import BaseJudge
from judgeloop.methods.stats.with_people import by_people


@final
@dataclass(frozen=True)
class RecordedJudge(BaseJudge):
    """Compares two finished runs by the scores in their files, which `scorer` gave (`recorded:NAME`).

    The system with the higher score wins an item; scores that differ by at most the tie margin are a tie.
    """

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
        """Which system has the higher recorded score on the item."""
        first, second = (self.scores[call.item.id, system] for system in call.systems)
        score = as_score(preference(first - second, self.tie_margin))
        return Reply(Verdict(score, reason=f"scores {first:g}{FOR_A}, {second:g}{FOR_B}"), cost_p=0)


def recorded_verdicts(path: Path, pool: Pool | None) -> VerdictTable:
    """The verdicts in a file on the items of `pool`, in any table that is read as people's labels, too.

    A table that names the systems of each row is taken as it is, but for ids as spreadsheets write them. In any other
    one the first file is A; several people in it are one judge, who says what most of them say, of ratings the mean.
    Without a pool nobody can tell what such labels are about, and they are left out.

    Raises:
        DataError: as `verdicts_in` and `read_labels`.
    """
    rows = read_once(path, partial(read_rows, path))
    ids = [item.id for item in pool.items] if pool else []
    places = places_of(ids)
    if names_all(rows, places) or (pool and len(pool.systems) > PAIR):
        table = read_once((path, "verdicts"), partial(verdicts_in, path, rows))
        found: dict[tuple[str, ...], RecordedScore] = {}
        for (item, *systems), score in table.rows.items():
            at = place_of(item, places)
            key = (item if at is None else ids[at], *systems)
            if key in found or (key[0], *key[:0:-1]) in found:
                raise DataError(path, f"a second verdict on {', '.join(key)}, whose id is written in two ways")
            found[key] = score
        return replace(table, rows=found)
    if not pool:
        return VerdictTable(path.name, digest({}), paired=True, rows={})
    people = read_labels(Table(path, rows, "line"), pool)
    together = by_people if len(pool.systems) == PAIR else fmean
    scores = {}
    for item, *votes in zip(pool.items, *(one.scores for one in people), strict=True):
        if said := [vote for vote in votes if not math.isnan(vote)]:
            scores[item.id, *pool.systems] = RecordedScore(together(said))
    # Which answer a vote is for depends on the order of the systems, so that it is a part of the judge.
    content = digest({"labels": [[*key, one.score] for key, one in scores.items()]})
    return VerdictTable(path.name, content, len(pool.systems) == PAIR, scores, people[0].read)


def with_verdicts(joined: Joined, whole: Pool, paths: Iterable[Path]) -> Joined:
    """Leave out the items that a table lacks; a table without any of them is the judge's to refuse.

    The tables are about the items of the `whole` pool.

    Raises:
        DataError: as `recorded_verdicts`.
    """
    for path in paths:
        pool = joined.pool.only(set(recorded_verdicts(path, whole).items))
        if lacking := len(pool) and len(joined.pool) - len(pool):
            found = [joined.left_out] if joined.left_out else []
            said = ", ".join([*found, f"{lacking:,} without a verdict in {path}"])
            joined = replace(joined, pool=pool, left_out=said)
    return joined


@final
class ReplayJudge(BaseJudge):
    """Looks verdicts up in a table (`replay:FILE`); a verdict that is not in the table is an abstention.

    A table of scores per system answers comparisons and ratings; a table of pairs answers comparisons only. If all
    systems are compared with one system that a table of scores does not contain, the scores are verdicts against that
    system already: 1 for a win, 0.5 for a tie, 0 for a loss. Recorded costs count against the budget, so that a run
    can be rehearsed, but they are not money spent.
    """

    order_matters = False
    blind = False
    looks_up = True  # which is no attempt at a request

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
    def identity(self) -> JudgeIdentity:
        """The hash of the table's content, and the tie margin."""
        return JudgeIdentity(
            "replay", self._table.name, {"table": self._table.digest, "tie_margin": repr(self._tie_margin)}, mark=":"
        )

    @property
    def read(self) -> str:
        """Which columns of the table were found, in words; empty where that is plain."""
        return self._table.read

    @cached_property
    def costs(self) -> bool:
        """Whether a verdict has a cost, so that the table rehearses a run that asks."""
        return any(record.cost_p for record in self._table.rows.values())

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
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
                f"{some(sorted(self._table.systems))}; `names` says what the systems are called there"
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

    def quote(self, call: Call) -> Quote:
        """The recorded cost, marked as rehearsed."""
        cost_p = sum(record.cost_p for record in self._records(call) if record)
        return Quote(cost_p, cost_p, rehearsed=True)

    async def judge(self, call: Call) -> Reply:
        """The recorded verdict."""
        return Reply(self._answer(call), cost_p=self.quote(call).cost_p)

    def _answer(self, call: Call) -> Answer:
        found = self._records(call)
        scores = [record.score for record in found if record and record.score is not None]
        if len(scores) < len(found):
            return Abstention("no recorded verdict")
        if len(call.systems) == 1:
            return Verdict(scores[0])
        if self._table.paired:
            straight = (call.item.id, *call.systems) in self._table.rows
            scores = [scores[0], 1.0 - scores[0]] if straight else [1.0 - scores[0], scores[0]]
        elif self._against in call.systems:
            scores.insert(call.systems.index(self._against), TIE)
        return Verdict(as_score(preference(scores[0] - scores[1], self._tie_margin)))

    def _records(self, call: Call) -> list[RecordedScore | None]:
        rows, item = self._table.rows, call.item.id
        if not self._table.paired:
            return [rows.get((item, one)) for one in call.systems if one != self._against]
        return [rows.get((item, *call.systems)) or rows.get((item, *call.systems[::-1]))]


@final
@dataclass
class ScriptedJudge(BaseJudge):
    """Answers a call with `script(call)`, which may also raise a JudgeError; for tests, also of users' pipelines.

    - `cost_p`: the cost of a call, in picodollars; `worst_p`: its worst case, by default `cost_p`.
    - `delay_s`: returns the seconds to wait before answering a call.
    - `calls`: the calls received, in the order of arrival.
    - `answers_as`: the model that its replies name, by default the one asked for.
    """

    script: Callable[[Call], Answer]
    cost_p: int = 0
    worst_p: int | None = None
    delay_s: Callable[[Call], float] | None = None
    order_matters: bool = True
    blind: bool = True
    priced: bool = True
    by_hand: bool = False
    model: str = "scripted"
    calls: list[Call] = field(default_factory=list)
    answers_as: str = ""

    @property
    def identity(self) -> JudgeIdentity:
        """The model only: another script or cost is the same judge."""
        return JudgeIdentity("scripted", self.model)

    def quote(self, call: Call) -> Quote:
        """The given costs."""
        del call
        worst_p = self.cost_p if self.worst_p is None else self.worst_p
        return Quote(cost_p=worst_p, likely_cost_p=self.cost_p)

    async def judge(self, call: Call) -> Reply:
        """Wait for the delay, if any, then return the script's answer."""
        self.calls.append(call)
        if self.delay_s is not None:
            await asyncio.sleep(self.delay_s(call))
        return Reply(self.script(call), cost_p=self.cost_p, model=self.answers_as or self.model)

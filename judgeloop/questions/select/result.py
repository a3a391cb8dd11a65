"""The result of a search for the best of many: all figures that the reports show, computed once.

`text.py` makes the page. Formats nothing for people and writes no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from judgeloop.core.outcomes import Finished, Outcome, StopKind
from judgeloop.core.part import Part
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.report.labels import label_rows
from judgeloop.report.notes import Note, NoteCode, note
from judgeloop.report.records import DataNotes, Setup, counts_of
from judgeloop.report.run_result import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions(Part):
    """The settings that only a search for the best has.

    - `baseline`: the system that all others are compared with
    - `near`: the margin within which a system counts as near the best; null for the best itself
    - `epsilon`: the probabilities of a loss and a tie of the best system that LLM Selector used
    """

    baseline: str
    near: float | None = None
    epsilon: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system's verdicts against the baseline on the `queries` that it was asked for.

    `risk` is the stated risk of saying that the system is not the best; None if no risk is stated.
    `near_best` is True if the system is not ruled out as the best. `belief` is the probability that
    the selector gives it of being the best; None for a selector without a belief.
    """

    system: str
    win_rate: float | None
    wins: int
    ties: int
    losses: int
    abstentions: int
    queries: int
    risk: float | None
    near_best: bool
    belief: float | None = None


@dataclass(frozen=True, slots=True)
class Selected(RunResult):
    """The result of a search for the best of many systems.

    - `queries`: number of items that were asked about
    - `standings`: a row for each system, the best first: counts, win rate, whether it is ruled out
    - `near_best`: the systems not yet ruled out at the stated risk; null if queries were picked,
      because no risk can be stated then
    - `win_rates_biased`: true if queries were picked and not all items were judged
    - `level_since`: the number of queries after which all others promised the selector the same
      information; null if it went on choosing between them
    """

    job: ClassVar[str] = "select"

    options: SelectOptions
    queries: int
    standings: tuple[SystemRow, ...]
    near_best: tuple[str, ...] | None
    win_rates_biased: bool
    level_since: int | None = None

    def to_decide(self) -> tuple[Note, ...]:
        """Return what would decide, after an end that did not cut the run short."""
        if self.judged == 0:
            return (note(NoteCode.NOTHING_JUDGED),)
        if self.more_judgments is None:
            return (note(NoteCode.OUT_OF_REACH, items=self.items),)
        return (note(NoteCode.MORE_JUDGMENTS, judgments=self.more_judgments, usd=self.more_usd),)


def selected_of(
    finished: Finished[Standings],
    setup: Setup,
    options: SelectOptions,
    data: DataNotes,
    *,
    item_ids: Sequence[str],
    level: float,
    more_judgments: int | None,
) -> Selected:
    """Compute the result from a run's outcome.

    `item_ids` are in the order of positions. `level` is the risk at which a system is ruled out.
    """
    outcome, systems = finished.outcome, setup.systems
    tally = outcome.estimate.tally
    certain = outcome.stop.kind is StopKind.ALL_JUDGED
    rows = _standings(outcome, systems, level, certain=certain)
    stated = setup.guarantee is not None or certain
    return Selected(
        setup=setup,
        options=options,
        data=data,
        counts=counts_of(finished, both_orders=tally.both, flips=tally.flips),
        spend=finished.spend,
        labels=label_rows(outcome.labels, systems, item_ids, outcome.deciding),
        winner=None if outcome.winner is None else systems[outcome.winner],
        leader=None if tally.leader is None else systems[tally.leader],
        risk=outcome.estimate.risk if stated else None,
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=more_judgments,
        queries=tally.queries,
        standings=rows,
        near_best=tuple(row.system for row in rows if row.near_best)
        if tally.race is not None
        else None,
        win_rates_biased=tally.race is None and tally.queries < tally.items,
        level_since=None if outcome.belief is None else outcome.belief.level_since,
    )


def _standings(
    outcome: Outcome[Standings], systems: Sequence[str], level: float, *, certain: bool
) -> tuple[SystemRow, ...]:
    """Return a row for every system: the winner, systems not ruled out, then those ruled out.

    Within these groups the order is by number of queries, then by win rate.
    """
    tally, belief = outcome.estimate.tally, outcome.belief
    rates, asked, race = tally.rates, tally.asked, tally.race
    out = np.zeros(len(systems), dtype=bool) if race is None else race.out(level)
    order = sorted(
        range(len(systems)),
        key=lambda number: (
            number != outcome.winner,
            out[number],
            -asked[number],
            -np.nan_to_num(rates[number]),
        ),
    )
    return tuple(
        SystemRow(
            system=systems[number],
            win_rate=None if np.isnan(rates[number]) else float(rates[number]),
            wins=int(tally.wins[number]),
            ties=int(tally.ties[number]),
            losses=int(tally.losses[number]),
            abstentions=int(tally.silent[number]),
            queries=int(asked[number]),
            risk=None if race is None else float(min(1.0, np.exp(-race.evidence[number]))),
            near_best=number in tally.best
            if certain
            else race is not None and not bool(out[number]),
            belief=None if belief is None else belief.probabilities[number],
        )
        for number in order
    )

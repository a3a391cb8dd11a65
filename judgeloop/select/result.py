"""The result of a search for the best of many: every figure that any report shows, worked out once.

It formats nothing for people and writes no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from judgeloop.core.records import DecoyTally, Outcome, Spend, StopKind
from judgeloop.report.run_result import RunResult, RunSetup, agreement_of, label_rows
from judgeloop.stats.standings import Standings


@dataclass(frozen=True, slots=True)
class SelectSetup(RunSetup):
    """Between what the best was looked for, and how.

    `near` is how near the best is near enough, `epsilon` what LLM Selector took for losses and draws of the best.
    """

    baseline: str
    near: float | None
    epsilon: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system: how it fared against the baseline on the queries that it was asked for.

    `risk` is the stated risk of saying that it is not the best; None where none is stated. `near_best` says that it is not separated from the best.
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


@dataclass(frozen=True, slots=True)
class Selected(RunResult):
    """The best of many.

    `standings` has every system, the best first; `queries` is how many items were asked about. `near_best` are the systems that are not
    separated from the best at the stated risk: it is among them but for that chance. None where queries were picked, and
    nothing can be said. `win_rates_biased` says that, too.
    """

    job: ClassVar[str] = "select"

    setup: SelectSetup
    queries: int
    standings: tuple[SystemRow, ...]
    near_best: tuple[str, ...] | None
    win_rates_biased: bool


def selected_of(
    outcome: Outcome[Standings],
    spend: Spend,
    setup: SelectSetup,
    *,
    item_ids: Sequence[str],
    judge_models: tuple[tuple[str, ...], ...],
    decoys: DecoyTally | None,
    level: float,
    more_judgments: int | None,
) -> Selected:
    """Work out a result from how a run ended; `item_ids` by position, `level` is the risk at which a system is out."""
    tally, systems = outcome.estimate.tally, setup.systems
    certain = outcome.stop.kind is StopKind.ALL_JUDGED
    rows = _standings(tally, systems, outcome.winner, level, certain=certain)
    stated = setup.guarantee is not None or certain
    return Selected(
        setup=setup,
        winner=None if outcome.winner is None else systems[outcome.winner],
        leader=None if tally.leader is None else systems[tally.leader],
        risk=outcome.estimate.risk if stated else None,
        judged=tally.judged,
        asked=outcome.asked,
        ahead=outcome.ahead,
        rounds=outcome.rounds,
        items=tally.items,
        abstentions=tally.abstentions,
        flips=tally.flips,
        flip_rate=tally.flips / tally.judged if tally.judged and setup.order == "both" else None,
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=more_judgments,
        spend=spend,
        judge_models=judge_models,
        agreement=agreement_of(outcome.labels),
        decoys=decoys,
        labels=label_rows(outcome.labels, systems, item_ids, outcome.deciding),
        queries=tally.queries,
        standings=rows,
        near_best=tuple(row.system for row in rows if row.near_best)
        if tally.race is not None
        else None,
        win_rates_biased=tally.race is None and tally.queries < tally.items,
    )


def _standings(
    tally: Standings, systems: Sequence[str], winner: int | None, level: float, *, certain: bool
) -> tuple[SystemRow, ...]:
    """Every system: who was asked longest first, then by win rate."""
    rates, asked, race = tally.rates, tally.asked, tally.race
    out = np.zeros(len(systems), dtype=bool) if race is None else race.out(level)
    order = sorted(
        range(len(systems)),
        key=lambda one: (one != winner, out[one], -asked[one], -np.nan_to_num(rates[one])),
    )
    return tuple(
        SystemRow(
            system=systems[one],
            win_rate=None if np.isnan(rates[one]) else float(rates[one]),
            wins=int(tally.wins[one]),
            ties=int(tally.ties[one]),
            losses=int(tally.losses[one]),
            abstentions=int(tally.silent[one]),
            queries=int(asked[one]),
            risk=None if race is None else float(min(1.0, np.exp(-race.evidence[one]))),
            near_best=one in tally.best if certain else race is not None and not bool(out[one]),
        )
        for one in order
    )

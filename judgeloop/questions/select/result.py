"""The result of a search for the best of many: all figures that the reports show, computed once.

Formats nothing for people and writes no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from judgeloop.core.outcomes import DecoyTally, Outcome, Spend, StopKind
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.questions.select import text
from judgeloop.report.page import Page
from judgeloop.report.run_result import RunResult, RunSetup, agreement_of, label_rows


@dataclass(frozen=True, slots=True)
class SelectSetup(RunSetup):
    """Which systems were searched for the best, and with which settings.

    `near` is the distance from the best win rate that is near enough, None for the best itself.
    `epsilon` holds the probabilities of a loss and a tie of the best system that LLM Selector used.
    """

    baseline: str
    near: float | None
    epsilon: tuple[float, float] | None


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

    `standings` has a row for every system, the best first. `queries` is the number of items asked
    about. `near_best` names the systems not ruled out at the stated risk: the best is missing from
    them with at most that probability. It is None if queries were picked, because no risk can be
    stated then. `win_rates_biased` is True if queries were picked and not all items were judged.
    `level_since` is the number of queries after which the selector expected the same information of
    all others, so that its belief no longer moved. It is None if the selector went on choosing
    between them.
    """

    job: ClassVar[str] = "select"

    setup: SelectSetup
    queries: int
    standings: tuple[SystemRow, ...]
    near_best: tuple[str, ...] | None
    win_rates_biased: bool
    level_since: int | None = None

    @property
    def page(self) -> Page:
        """The result as text: the headline, and the details."""
        return text.page(self)


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
    """Compute the result from a run's outcome.

    `item_ids` are in the order of positions. `level` is the risk at which a system is ruled out.
    """
    tally, systems = outcome.estimate.tally, setup.systems
    certain = outcome.stop.kind is StopKind.ALL_JUDGED
    rows = _standings(outcome, systems, level, certain=certain)
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
        both_orders=tally.both,
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

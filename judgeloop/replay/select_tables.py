"""Turns rows of realisations into tables: how often the best is named, by calls and by queries.

Standard errors are over realisations, whose pools overlap: all are drawn from the same items. Runs
nothing and draws no pictures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgeloop.methods.selectors.catalogue import selector_row
from judgeloop.methods.stats.racing import Floats
from judgeloop.questions.select.config import QUESTION
from judgeloop.replay.compare import Row

LEVELS = (0.7, 0.8, 0.9, 1.0)  # shares of realisations that reach a goal
NEAR = (0.01, 0.005, 0.001)  # gaps of win rate within which a system is near the best
CALLS, QUERIES, IDENTIFIED, GAP = range(4)  # indices of the figures in a step
ROUNDING = 1e-9


def by_calls(rows: Sequence[Row], calls: Sequence[int]) -> list[Row]:
    """Return a row for each selector and number of calls.

    `identified` is how often the best is named, `within_X` how often a system within X of the best,
    `gap95` the 95th percentile of the win rate lost.
    """
    return _by(rows, calls, CALLS, "calls")


def by_queries(rows: Sequence[Row], queries: Sequence[int]) -> list[Row]:
    """Return the same by judged queries, for selectors that judge a query for all systems.

    Durmazkeser et al. (2025), figure 2.
    """
    whole = [row for row in rows if not selector_row(QUESTION, row["selector"]).drops]
    return _by(whole, queries, QUERIES, "queries")


def needed(rows: Sequence[Row]) -> list[Row]:
    """Return the calls that each selector needs to name the best or a near-best system.

    There is a row for each selector, `goal` and `level`. `goal` is "best", or a gap within which a
    system is near the best. `level` is how often the goal is to be reached. `against_random` is the
    share of the calls of random that is saved. Durmazkeser et al. (2025), table 1, has such shares
    ("label efficiency"), and does not say beside which selector. `gap95` is the 95th percentile of
    the gap at these calls (table 2). Figures of a level that is never reached are None.
    """
    table: list[Row] = []
    for name, group in _selectors(rows):
        for goal in ("best", *NEAR):
            for level in LEVELS:
                calls = _first_at(group, goal, level)
                gap = (
                    None
                    if calls is None
                    else float(np.quantile(_at(group, calls, CALLS)[:, GAP], 0.95))
                )
                table.append(
                    {"selector": name, "goal": goal, "level": level, "calls": calls, "gap95": gap}
                )
    random = {
        (row["goal"], row["level"]): row["calls"] for row in table if row["selector"] == "random"
    }
    for row in table:
        base = random.get((row["goal"], row["level"]))
        row["against_random"] = 1 - row["calls"] / base if base and row["calls"] else None
    return table


def races(rows: Sequence[Row]) -> list[Row]:
    """Return a row for the race: shares of runs with a winner and with a wrong winner, and calls.

    Empty if no race was run.
    """
    group = [row for row in rows if row["selector"] == "race"]
    if not group:
        return []
    wrong = [row["winner_gap"] is not None and row["winner_gap"] > ROUNDING for row in group]
    calls = np.array([row["calls"] for row in group])
    return [
        {
            "selector": "race",
            "runs": len(group),
            "decided": float(np.mean([row["winner_gap"] is not None for row in group])),
            "error": float(np.mean(wrong)),
            "calls": float(calls.mean()),
            "calls_se": float(calls.std() / np.sqrt(len(calls))),
        }
    ]


def _by(rows: Sequence[Row], sizes: Sequence[int], unit: int, name: str) -> list[Row]:
    table = []
    for selector, group in _selectors(rows):
        for size in sizes:
            at = _at(group, size, unit)
            if not len(at):
                continue
            identified = at[:, IDENTIFIED]
            row: Row = {
                "selector": selector,
                name: size,
                "runs": len(at),
                "identified": float(identified.mean()),
                "identified_se": float(identified.std() / np.sqrt(len(at))),
            }
            row |= {
                f"within_{near:g}": float((at[:, GAP] <= near + ROUNDING).mean()) for near in NEAR
            }
            table.append(row | {"gap95": float(np.quantile(at[:, GAP], 0.95))})
    return table


def _at(group: Sequence[Row], size: int, unit: int) -> Floats:
    """Return the last step of each run within `size` calls or queries, shape (runs, 4).

    If the runs have limits, only those with the largest limit within `size` are taken.
    """
    limits = {row["limit"] for row in group}
    if None not in limits:
        fitting = [limit for limit in limits if limit <= size]
        group = [row for row in group if row["limit"] == max(fitting)] if fitting else []
    steps = [[step for step in row["steps"] if step[unit] <= size] for row in group]
    return np.array([own[-1] if own else [0, 0, 0.0, 1.0] for own in steps])


def _first_at(group: Sequence[Row], goal: str | float, level: float) -> int | None:
    """Return the fewest calls from which on the goal is reached at `level`; None if never."""
    sizes, reached = _curve(group, goal)
    short = np.flatnonzero(reached < level - ROUNDING)
    first = int(short[-1]) + 1 if len(short) else 0
    return int(sizes[first]) if first < len(sizes) else None


def _curve(group: Sequence[Row], goal: str | float) -> tuple[Floats, Floats]:
    """Return every number of calls at which the share of runs at the goal changes, and the share.

    If the runs have limits, these are the numbers of calls.
    """
    if limits := sorted({row["limit"] for row in group} - {None}):
        means = [_reached(_at(group, limit, CALLS), goal).mean() for limit in limits]
        return np.array(limits, dtype=np.float64), np.array(means)
    runs = [np.array(row["steps"]) for row in group]
    calls = np.concatenate([steps[:, CALLS] for steps in runs])
    changes = [np.diff(_reached(steps, goal).astype(np.float64), prepend=0.0) for steps in runs]
    order = np.argsort(calls, kind="stable")
    shares = np.cumsum(np.concatenate(changes)[order]) / len(runs)
    last = np.flatnonzero(np.diff(calls[order], append=np.inf))
    return calls[order][last], shares[last]


def _reached(steps: Floats, goal: str | float) -> Floats:
    """Return how far each step, shape (steps, 4), reaches the goal: from 0 to 1."""
    if goal == "best":
        return np.asarray(steps[:, IDENTIFIED])
    return np.asarray(steps[:, GAP] <= float(goal) + ROUNDING, dtype=np.float64)


def _selectors(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["selector"], []).append(row)
    return list(groups.items())

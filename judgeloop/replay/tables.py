"""Turns rows of replayed comparisons into tables: by number of items judged, or by stopping rule.

Standard errors have pairs of systems as clusters, because runs of the same pair are correlated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from judgeloop.catalogue import selector_row
from judgeloop.methods.stats.strata import Floats
from judgeloop.questions.select.settings import QUESTION
from judgeloop.replay.compare import Row

LEVELS = (0.7, 0.8, 0.9, 1.0)  # shares of realisations that reach a goal
NEAR = (0.01, 0.005, 0.001)  # gaps of win rate within which a system is near the best
GOALS: tuple[str | float, ...] = ("best", *NEAR)
CALLS, QUERIES, IDENTIFIED, GAP = range(4)  # indices of the figures in a step
ROUNDING = 1e-9
RESAMPLES = 400
SHOWN = (10, 30)  # shares in per cent of the items whose errors are printed
ERRORS, COVERED, HALF_WIDTHS = range(3)  # the figures of a run
RUNS = (-2, -1)  # the axes of systems and repetitions


def by_size(rows: Sequence[Row]) -> list[Row]:
    """A row for each selector and number of items judged.

    `success` is the share of runs that name the right system. A run whose judged items are level
    names no system and is no success (Ashury-Tahan et al. 2024, section 5). `estimate` and
    `gap` are the mean gaps among the judged and among all items, right system minus
    wrong system. `bias` is `estimate` minus `gap`.
    """
    return [
        {"selector": selector, "judgments": size, "runs": len(group)}
        | _figure("success", group, lambda row: row["estimate"] > 0)
        | {name: float(np.mean([row[name] for row in group])) for name in ("estimate", "gap")}
        | _figure("bias", group, lambda row: row["estimate"] - row["gap"])
        for (selector, size), group in _groups(rows, "selector", "judgments")
    ]


def by_rule(rows: Sequence[Row]) -> list[Row]:
    """A row for each rule, risk and selector.

    The columns are those of Ashury-Tahan et al. (2024), tables 2 and 3. A run that judged its whole
    pool names the better system, though the rule is not met; the paper counts it as inconclusive.
    So `success_met` and `inconclusive_met` count names by the rule alone. A whole pool names no wrong
    system, so `error` is the same in both.
    """
    table = []
    for (rule, risk, selector), group in _groups(rows, "rule", "risk", "selector"):
        row: Row = {"rule": rule, "risk": risk, "selector": selector, "runs": len(group)}
        row |= _figure("judgments", group, lambda run: run["asked"])
        row["gap"] = float(np.mean([run["gap"] for run in group]))
        for name, value in (("error", -1), ("success", 1), ("inconclusive", 0)):
            of_kind = [run | {"is": run["named"] == value} for run in group]
            row |= _figure(name, of_kind, lambda run: run["is"])
            apart = [run["gap"] for run in of_kind if run["is"]]
            row[f"gap_{name}"] = float(np.mean(apart)) if apart else None
        row["success_met"] = float(np.mean([run["met"] and run["named"] == 1 for run in group]))
        row["inconclusive_met"] = float(np.mean([not run["met"] for run in group]))
        table.append(row)
    return table


def _groups(rows: Iterable[Row], *fields: str) -> list[tuple[tuple[object, ...], list[Row]]]:
    """Group rows by their values of `fields`, in the order in which the values first appear."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[field] for field in fields), []).append(row)
    return list(groups.items())


def _figure(name: str, group: Sequence[Row], value: Callable[[Row], float]) -> Row:
    mean, error = _mean(group, value)
    return {name: mean, f"{name}_se": error}


def _mean(group: Sequence[Row], value: Callable[[Row], float]) -> tuple[float, float | None]:
    """The mean of `value` over runs, and its standard error with pairs as clusters.

    The standard error is None for a single pair.
    """
    values = np.array([value(row) for row in group], dtype=np.float64)
    _, pair = np.unique([(row["first"], row["second"]) for row in group], axis=0, return_inverse=True)
    mean = float(values.mean())
    clusters = int(pair.max()) + 1
    if clusters == 1:
        return mean, None
    sums = np.bincount(pair.ravel(), weights=values - mean)
    return mean, float(np.sqrt(clusters / (clusters - 1) * (sums**2).sum()) / len(values))


def by_calls(rows: Sequence[Row], calls: Sequence[int]) -> list[Row]:
    """A row for each selector and number of calls.

    `identified` is how often the best is named, `within_X` how often a system within X of the best,
    `gap95` the 95th percentile of the win rate lost.
    """
    return _by(rows, calls, CALLS, "calls")


def by_queries(rows: Sequence[Row], queries: Sequence[int]) -> list[Row]:
    """The same by judged queries, for selectors that judge a query for all systems.

    Durmazkeser et al. (2025), figure 2.
    """
    whole = [row for row in rows if not selector_row(QUESTION, row["selector"]).drops]
    return _by(whole, queries, QUERIES, "queries")


def needed(rows: Sequence[Row]) -> list[Row]:
    """The calls that each selector needs to name the best or a near-best system.

    There is a row for each selector, `goal` and `level`. `goal` is "best", or a gap within which a
    system is near the best. `level` is how often the goal is to be reached. `against_random` is how
    many more calls than random it takes, as a share; fewer are negative. Durmazkeser et al. (2025),
    table 1, has such shares with the other sign ("label efficiency"), and does not say beside which
    selector. `gap95` is the 95th percentile of
    the gap at these calls (table 2). Figures of a level that is never reached are None.
    """
    table: list[Row] = []
    for (name,), group in _groups(rows, "selector"):
        for goal, level in product(GOALS, LEVELS):
            calls = _first_at(group, goal, level)
            gaps = None if calls is None else _at(group, calls, CALLS)[:, GAP]
            gap = None if gaps is None else float(np.quantile(gaps, 0.95))
            table.append({"selector": name, "goal": goal, "level": level, "calls": calls, "gap95": gap})
    random = {(row["goal"], row["level"]): row["calls"] for row in table if row["selector"] == "random"}
    for row in table:
        base = random.get((row["goal"], row["level"]))
        row["against_random"] = row["calls"] / base - 1 if base and row["calls"] else None
    return table


def races(rows: Sequence[Row]) -> list[Row]:
    """A row for the race: shares of runs with a winner and with a wrong winner, and calls.

    Empty if no race was run.
    """
    group = [row for row in rows if row["selector"] == "race"]
    if not group:
        return []
    wrong = [row["too_far"] for row in group]
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
    for (selector,), group in _groups(rows, "selector"):
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
            row |= {f"within_{near:g}": float((at[:, GAP] <= near + ROUNDING).mean()) for near in NEAR}
            table.append(row | {"gap95": float(np.quantile(at[:, GAP], 0.95))})
    return table


def _at(group: Sequence[Row], size: int, unit: int) -> Floats:
    """The last step of each run within `size` calls or queries, shape (runs, 4)."""
    steps = [[step for step in row["steps"] if step[unit] <= size] for row in group]
    return np.array([own[-1] if own else [0, 0, 0.0, 1.0] for own in steps])


def _first_at(group: Sequence[Row], goal: str | float, level: float) -> int | None:
    """The fewest calls from which on the goal is reached at `level`; None if never."""
    sizes, reached = _curve(group, goal)
    short = np.flatnonzero(reached < level - ROUNDING)
    first = int(short[-1]) + 1 if len(short) else 0
    return int(sizes[first]) if first < len(sizes) else None


def _curve(group: Sequence[Row], goal: str | float) -> tuple[Floats, Floats]:
    """Every number of calls at which the share of runs at the goal changes, and the share."""
    runs = [np.array(row["steps"]) for row in group]
    calls = np.concatenate([steps[:, CALLS] for steps in runs])
    changes = [np.diff(_reached(steps, goal).astype(np.float64), prepend=0.0) for steps in runs]
    order = np.argsort(calls, kind="stable")
    shares = np.cumsum(np.concatenate(changes)[order]) / len(runs)
    last = np.flatnonzero(np.diff(calls[order], append=np.inf))
    return calls[order][last], shares[last]


def _reached(steps: Floats, goal: str | float) -> Floats:
    """How far each step, shape (steps, 4), reaches the goal: from 0 to 1."""
    if goal == "best":
        return np.asarray(steps[:, IDENTIFIED])
    return np.asarray(steps[:, GAP] <= float(goal) + ROUNDING, dtype=np.float64)


def by_share(rows: Sequence[Row]) -> list[Row]:
    """A row for each selector and share: relative errors, and coverage of the intervals.

    `error` is the median over all runs of |estimate - truth| / truth, `rms` its root mean square.
    `coverage` is the share of the intervals that contain the truth, `half_width` their mean half
    width; both are None for a selector that picks.
    """
    runs = _runs(rows)
    resampled = list(_resampled(runs))
    columns: dict[str, Floats] = {}
    for name, statistic in (("error", _median), ("coverage", _coverage)):
        columns[name] = statistic(runs)
        columns[f"{name}_se"] = np.std([statistic(sample) for sample in resampled], axis=0)
    columns["rms"] = np.sqrt((runs[ERRORS] ** 2).mean(axis=RUNS))
    columns["half_width"] = _mean_of_known(runs[HALF_WIDTHS])
    selectors, shares = _values(rows, "selector"), _values(rows, "share")
    judged = {(row["selector"], row["share"]): row["judged"] for row in rows}
    count = runs.shape[-2] * runs.shape[-1]
    order = ("error", "error_se", "rms", "coverage", "coverage_se", "half_width")
    table: list[Row] = []
    for place in np.ndindex(len(selectors), len(shares)):
        at = selectors[place[0]], shares[place[1]]
        row = {"selector": at[0], "share": at[1], "judged": judged[at], "runs": count}
        table.append(row | {name: _known(float(columns[name][place])) for name in order})
    return table


def areas(rows: Sequence[Row]) -> list[Row]:
    """A row for each selector with the area under the curve of its median relative errors.

    `area` is divided by the width of the shares, which gives the mean height of the curve. Table 1
    of Huang et al. (2024) has the area over proportions from 0.05 to 0.5, which is 0.45 times this.
    `against_random` is how much larger the area is than that of random, as a share; lower is
    better. `coverage` is the mean coverage of the intervals at all shares.
    """
    runs = _runs(rows)
    selectors = _values(rows, "selector")
    shares = np.array(_values(rows, "share"), dtype=np.float64)
    others = list(_resampled(runs))
    resampled = np.array([_heights(_median(sample), shares) for sample in others])
    covered = np.array([_coverage(sample).mean(axis=1) for sample in others])
    found, coverage = _heights(_median(runs), shares), _coverage(runs).mean(axis=1)
    base = selectors.index("random") if "random" in selectors else None
    table: list[Row] = []
    for place, selector in enumerate(selectors):
        row: Row = {"selector": selector, "area": float(found[place])}
        row["area_se"] = float(resampled[:, place].std())
        row |= {"against_random": None, "against_random_se": None}
        if base is not None and place != base and found[base] > 0:
            ratios = resampled[:, place] / np.maximum(resampled[:, base], ROUNDING)
            row["against_random"] = float(found[place] / found[base] - 1)
            row["against_random_se"] = float(ratios.std())
        spread = float(covered[:, place].std())
        table.append(row | {"coverage": _known(float(coverage[place])), "coverage_se": _known(spread)})
    return table


def headlines(shares: Sequence[Row], area: Sequence[Row]) -> list[Row]:
    """A row for each selector with its area, its coverage and its errors at `SHOWN`."""
    lines = []
    for row in area:
        own = {line["share"]: line for line in shares if line["selector"] == row["selector"]}
        lines.append(row | {f"error at {at} %": own[at]["error"] for at in SHOWN if at in own})
    return lines


def _runs(rows: Sequence[Row]) -> Floats:
    """Relative errors, coverage and half widths of all runs.

    The shape is (3, selectors, shares, systems, repetitions). The last two are NaN where there is no
    interval.
    """
    axes = {name: _values(rows, name) for name in ("selector", "share", "system", "repetition")}
    shape = [len(values) for values in axes.values()]
    runs = np.full((3, *shape), np.nan)
    for row in rows:
        place = tuple(values.index(row[name]) for name, values in axes.items())
        runs[ERRORS, *place] = abs(row["estimate"] - row["truth"]) / row["truth"]
        if row["low"] is not None:
            covers = row["low"] - ROUNDING <= row["truth"] <= row["high"] + ROUNDING
            runs[COVERED, *place] = covers
            runs[HALF_WIDTHS, *place] = (row["high"] - row["low"]) / 2
    return runs


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a field, in the order in which they first appear."""
    return list(dict.fromkeys(row[name] for row in rows))


def _resampled(runs: Floats) -> Iterator[Floats]:
    rng = np.random.default_rng(0)
    systems, repetitions = runs.shape[-2:]
    axis, size = (-2, systems) if systems > 1 else (-1, repetitions)
    for _ in range(RESAMPLES):
        yield runs.take(np.asarray(rng.choice(size, size)), axis=axis)


def _median(runs: Floats) -> Floats:
    found: Floats = np.median(runs[ERRORS], axis=RUNS)
    return found


def _coverage(runs: Floats) -> Floats:
    return _mean_of_known(runs[COVERED])


def _mean_of_known(values: Floats) -> Floats:
    """The mean over runs of the values that are not NaN; NaN if all are."""
    known = ~np.isnan(values)
    count = known.sum(axis=RUNS)
    sums = np.where(known, values, 0.0).sum(axis=RUNS)
    means: Floats = np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)
    return means


def _heights(errors: Floats, shares: Floats) -> Floats:
    """The mean height of each curve by the trapezoidal rule, shape (selectors,).

    `errors` has the shape (selectors, shares), `shares` the shape (shares,).
    """
    if len(shares) == 1:
        return errors[:, 0]
    heights: Floats = np.trapezoid(errors, shares, axis=1) / (shares[-1] - shares[0])
    return heights


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

"""Turns rows of replayed comparisons into tables: by number of items judged, or by stopping rule.

Standard errors have pairs of systems as clusters, because runs of the same pair are correlated.
Runs nothing and draws no pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from judgeloop.replay.compare import Row


def by_size(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each selector and number of items judged.

    `success` is the share of runs that name the right system. A run whose judged items are level
    names no system and is no success (Ashury-Tahan et al. 2024, section 5). `estimate` and
    `gap` are the mean gaps among the judged and among all items, right system minus
    wrong system. `bias` is `estimate` minus `gap`.
    """
    table = []
    for (selector, size), group in _groups(rows, "selector", "judgments"):
        success, error = _mean(group, lambda row: row["estimate"] > 0)
        bias, bias_error = _mean(group, lambda row: row["estimate"] - row["gap"])
        table.append(
            {
                "selector": selector,
                "judgments": size,
                "runs": len(group),
                "success": success,
                "success_se": error,
                "estimate": _mean(group, lambda row: row["estimate"])[0],
                "gap": _mean(group, lambda row: row["gap"])[0],
                "bias": bias,
                "bias_se": bias_error,
            }
        )
    return table


def by_rule(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each rule, risk and selector.

    The columns are those of Ashury-Tahan et al. (2024), tables 2 and 3.
    """
    table = []
    for (rule, risk, selector), group in _groups(rows, "rule", "risk", "selector"):
        asked, asked_error = _mean(group, lambda row: row["asked"])
        row: Row = {
            "rule": rule,
            "risk": risk,
            "selector": selector,
            "runs": len(group),
            "judgments": asked,
            "judgments_se": asked_error,
        }
        for name, value in (("error", -1), ("success", 1), ("inconclusive", 0)):
            share, error = _mean(
                [run | {"is": run["named"] == value} for run in group], lambda run: run["is"]
            )
            row |= {name: share, f"{name}_se": error}
        row["gap"] = _mean(group, lambda run: run["gap"])[0]
        for name, value in (("error", -1), ("success", 1), ("inconclusive", 0)):
            apart = [run["gap"] for run in group if run["named"] == value]
            row[f"gap_{name}"] = float(np.mean(apart)) if apart else None
        table.append(row)
    return table


def _groups(rows: Iterable[Row], *fields: str) -> list[tuple[tuple[object, ...], list[Row]]]:
    """Group rows by their values of `fields`, in the order in which the values first appear."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[field] for field in fields), []).append(row)
    return list(groups.items())


def _mean(group: Sequence[Row], value: Callable[[Row], float]) -> tuple[float, float | None]:
    """Return the mean of `value` over runs, and its standard error with pairs as clusters.

    The standard error is None for a single pair.
    """
    values = np.array([value(row) for row in group], dtype=np.float64)
    _, pair = np.unique(
        [(row["first"], row["second"]) for row in group], axis=0, return_inverse=True
    )
    mean = float(values.mean())
    clusters = int(pair.max()) + 1
    if clusters == 1:
        return mean, None
    sums = np.bincount(pair.ravel(), weights=values - mean)
    return mean, float(np.sqrt(clusters / (clusters - 1) * (sums**2).sum()) / len(values))

"""Turns rows of replayed estimates into tables: errors and coverage by share of the items judged.

Standard errors are from a bootstrap of systems with all their repetitions, or of repetitions if
there is only one system. A selector without random draws has the same result in every repetition;
with a single system its standard error is 0 and means nothing. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.strata import Floats
from judgeloop.replay.compare import Row

RESAMPLES = 400
SHOWN = (10, 30)  # shares in per cent of the items whose errors are printed
ROUNDING = 1e-9
RUNS = (-2, -1)  # the axes of systems and repetitions

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Runs:
    """All runs, as arrays of the shape (selectors, shares, systems, repetitions).

    `errors` are relative. `covered` and `half_widths` are NaN where there is no interval.
    """

    errors: Floats
    covered: Floats
    half_widths: Floats

    def take(self, systems: Places, repetitions: Places) -> _Runs:
        """Return the runs of some systems and repetitions."""
        return _Runs(
            *(
                values[:, :, systems][..., repetitions]
                for values in (self.errors, self.covered, self.half_widths)
            )
        )


def by_share(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each selector and share: relative errors, and coverage of the intervals.

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
    columns["rms"] = np.sqrt((runs.errors**2).mean(axis=RUNS))
    columns["half_width"] = _mean_of_known(runs.half_widths)
    selectors, shares = _values(rows, "selector"), _values(rows, "share")
    judged = {(row["selector"], row["share"]): row["judged"] for row in rows}
    count = runs.errors.shape[-2] * runs.errors.shape[-1]
    order = ("error", "error_se", "rms", "coverage", "coverage_se", "half_width")
    table: list[Row] = []
    for place in np.ndindex(len(selectors), len(shares)):
        selector, share = selectors[place[0]], shares[place[1]]
        row = {
            "selector": selector,
            "share": share,
            "judged": judged[selector, share],
            "runs": count,
        }
        table.append(row | {name: _known(float(columns[name][place])) for name in order})
    return table


def areas(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each selector with the area under the curve of its median relative errors.

    `area` is divided by the width of the shares, which gives the mean height of the curve. Table 1
    of Huang et al. (2024) has the area over proportions from 0.05 to 0.5, which is 0.45 times this.
    `against_random` is how much larger the area is than that of random, as a share; lower is
    better. `coverage` is the mean coverage of the intervals at all shares.
    """
    runs = _runs(rows)
    selectors, shares = (
        _values(rows, "selector"),
        np.array(_values(rows, "share"), dtype=np.float64),
    )
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
        table.append(
            row | {"coverage": _known(float(coverage[place])), "coverage_se": _known(spread)}
        )
    return table


def headlines(shares: Sequence[Row], area: Sequence[Row]) -> list[Row]:
    """Return a row for each selector with its area, its coverage and its errors at `SHOWN`."""
    lines = []
    for row in area:
        own = {line["share"]: line for line in shares if line["selector"] == row["selector"]}
        lines.append(row | {f"error at {at} %": own[at]["error"] for at in SHOWN if at in own})
    return lines


def _runs(rows: Sequence[Row]) -> _Runs:
    axes = [_values(rows, name) for name in ("selector", "share", "system", "repetition")]
    places = [{value: place for place, value in enumerate(values)} for values in axes]
    errors, covered, half_widths = (
        np.full([len(values) for values in axes], np.nan) for _ in range(3)
    )
    for row in rows:
        names = ("selector", "share", "system", "repetition")
        place = tuple(known[row[name]] for known, name in zip(places, names, strict=True))
        errors[place] = abs(row["estimate"] - row["truth"]) / row["truth"]
        if row["low"] is not None:
            covered[place] = row["low"] - ROUNDING <= row["truth"] <= row["high"] + ROUNDING
            half_widths[place] = (row["high"] - row["low"]) / 2
    return _Runs(errors, covered, half_widths)


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    """Return the values of a field, in the order in which they first appear."""
    return list(dict.fromkeys(row[name] for row in rows))


def _resampled(runs: _Runs) -> Iterator[_Runs]:
    rng = np.random.default_rng(0)
    systems, repetitions = runs.errors.shape[2:]
    for _ in range(RESAMPLES):
        if systems > 1:
            yield runs.take(np.asarray(rng.choice(systems, systems)), np.arange(repetitions))
        else:
            yield runs.take(np.arange(1), np.asarray(rng.choice(repetitions, repetitions)))


def _median(runs: _Runs) -> Floats:
    found: Floats = np.median(runs.errors, axis=RUNS)
    return found


def _coverage(runs: _Runs) -> Floats:
    return _mean_of_known(runs.covered)


def _mean_of_known(values: Floats) -> Floats:
    """Return the mean over runs of the values that are not NaN; NaN if all are."""
    known = ~np.isnan(values)
    count = known.sum(axis=RUNS)
    sums = np.where(known, values, 0.0).sum(axis=RUNS)
    means: Floats = np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)
    return means


def _heights(errors: Floats, shares: Floats) -> Floats:
    """Return the mean height of each curve by the trapezoidal rule, shape (selectors,).

    `errors` has the shape (selectors, shares), `shares` the shape (shares,).
    """
    if len(shares) == 1:
        return errors[:, 0]
    heights: Floats = np.trapezoid(errors, shares, axis=1) / (shares[-1] - shares[0])
    return heights


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

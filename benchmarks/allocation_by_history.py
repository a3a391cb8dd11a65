"""Measures what `estimate` gains by more judgments where earlier systems' scores spread more.

    python benchmarks/allocation_by_history.py DATA [--histories 200] [--draws 8]

DATA is as for `benchmarks/results.py`; no judge is asked. For each history, earlier systems are
drawn at random, and then another system. Its mean score is estimated with their scores as proxy,
as by `--proxy history`. Two ways of drawing items are compared:

- random draws;
- draws from strata with equal shares of the expected spread. The number of judgments in a stratum
  is in proportion to its spread (Neyman's allocation), but an even share of the judgments goes to
  all items alike.

Errors (root mean square) and half-widths of the 90 % interval are ratios to those of random draws;
± is one standard error over histories.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from score_tables import score_table

from judgeloop.methods.stats.intervals import interval_at_once
from judgeloop.methods.stats.score_forecast import Forecast, forecast_scores, with_forecast
from judgeloop.methods.stats.strata import Counts, Floats, Strata

TABLES = {
    "AlpacaEval, GPT-4": ("alpacaeval/verdicts-gpt4.csv.gz", (0.05, 0.15)),
    "AlpacaEval, GPT-4-turbo": ("alpacaeval/verdicts-gpt4turbo.csv.gz", (0.05, 0.15)),
    "REALSumm, people": ("realsumm/verdicts-human-pyramid.csv.gz", (0.2,)),
    "REALSumm, ROUGE-2": ("realsumm/verdicts-rouge2.csv.gz", (0.2,)),
}
HISTORIES = (2, 4, 16)  # numbers of earlier systems
EVEN_SHARES = (0.1, 0.3, 0.5)
# Number of scores of an item that the mean variance over all items is worth.
PRIOR_SYSTEMS = 5.0
# FEWEST is the minimum number of judgments in a stratum.
JUDGMENTS_A_STRATUM, MOST_STRATA, FEWEST = 5, 8, 2
RISK = 0.1


class Found(NamedTuple):
    """The error of an estimate, and the coverage and half-width of its interval."""

    error: float
    covers: bool
    half_width: float


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--histories", type=int, default=200, help="number of random histories")
    parser.add_argument("--draws", type=int, default=8, help="number of draws for each history")
    given = parser.parse_args()
    columns = ("recorded scores", "history", "judged", "even share", "error", "half-width", "covered %")
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for name, (file, shares) in TABLES.items():
        scores = score_table(given.data / file).scores
        for systems in HISTORIES:
            for share in shares:
                for line in lines(scores, systems, share, given.histories, given.draws):
                    print(f"| {name} | {systems} | {share:.0%} | {line} |", flush=True)


def lines(scores: Floats, systems: int, share: float, histories: int, draws: int) -> Sequence[str]:
    """Return a line for each way of drawing: ratios to random draws, and coverage."""
    ways: tuple[float | None, ...] = (None, *EVEN_SHARES)
    rng = np.random.default_rng([systems, round(100 * share)])
    found: dict[float | None, list[list[Found]]] = {way: [] for way in ways}
    while len(found[None]) < histories:
        own, *others = rng.permutation(len(scores))[: systems + 1]
        known = ~np.isnan(scores[own])
        earlier, truth = scores[others][:, known], scores[own, known]
        forecast = forecast_scores(earlier)
        if forecast is None or np.ptp(truth) == 0:
            continue
        spread, judged = expected_spread(earlier), round(share * len(truth))
        for way in ways:
            strata, allocation = _strata(spread, judged, way)
            found[way].append([_estimated(strata, allocation, truth, forecast, rng) for _ in range(draws)])
    base = _per_history(found[None])
    return [_line(way, _per_history(runs), base) for way, runs in found.items()]


def expected_spread(earlier: Floats) -> Floats:
    """Compute the standard deviation of the earlier scores on each item, shape (items,).

    `earlier` has the shape (systems, items), NaN where there is no score. Each system's mean is
    subtracted from its scores. The variances are shrunk towards their mean over all items.
    """
    known = ~np.isnan(earlier)
    apart = np.where(known, earlier - np.nanmean(earlier, axis=1, keepdims=True), 0.0)
    means = apart.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    squares = np.where(known, (apart - means) ** 2, 0.0).sum(axis=0)
    freedom = np.maximum(known.sum(axis=0) - 1, 0)
    usual = squares.sum() / max(1, freedom.sum())
    spread: Floats = np.sqrt((squares + PRIOR_SYSTEMS * usual) / (freedom + PRIOR_SYSTEMS))
    return spread


def _strata(spread: Floats, judged: int, even: float | None) -> tuple[Strata, Counts]:
    """Return strata, and the number of items to judge in each, shape (strata,).

    `even` is the share of the judgments that is spread evenly over all items; None means random
    draws. Strata are ranges of the expected spread with equal sums of weights.
    """
    if even is None or not spread.any():
        return Strata.single(len(spread)), np.array([judged])
    weights = (1 - even) * spread / spread.mean() + even
    order = np.argsort(spread, kind="stable")
    count = max(1, min(judged // JUDGMENTS_A_STRATUM, MOST_STRATA))
    so_far = np.cumsum(weights[order]) / weights.sum()
    labels = np.empty(len(spread), dtype=np.int64)
    labels[order] = np.minimum((so_far * count * (1 - 1e-12)).astype(np.int64), count - 1)
    strata = Strata(np.unique(labels, return_inverse=True)[1])
    return strata, _shared_out(judged, np.bincount(strata.labels, weights), strata.sizes)


def _shared_out(judged: int, weights: Floats, sizes: Counts) -> Counts:
    """Share `judged` judgments out in proportion to `weights`, shape (strata,).

    Each stratum gets at least `FEWEST` judgments, and at most one for each of its items.
    """
    wanted = judged * weights / weights.sum()
    given = np.minimum(np.maximum(FEWEST, np.floor(wanted)), sizes).astype(np.int64)
    while given.sum() != judged:
        short = given.sum() < judged
        free = given < sizes if short else given > FEWEST
        urgency = np.where(free, (wanted - given) * (1 if short else -1), -np.inf)
        given[np.argmax(urgency)] += 1 if short else -1
    return given


def _estimated(
    strata: Strata, allocation: Counts, truth: Floats, forecast: Forecast, rng: np.random.Generator
) -> Found:
    drawn = [
        rng.permutation(np.flatnonzero(strata.labels == stratum))[:judged] for stratum, judged in enumerate(allocation)
    ]
    positions = np.concatenate(drawn)
    moments = with_forecast(strata, positions, truth[positions], forecast)
    low, high = interval_at_once(moments, len(positions), len(truth), RISK) or (0.0, 1.0)
    return Found(moments.mean - truth.mean(), low <= truth.mean() <= high, (high - low) / 2)


def _per_history(runs: list[list[Found]]) -> Floats:
    """Return squared error, half-width and coverage as means over draws, shape (histories, 3)."""
    values = np.array([[(run.error**2, run.half_width, run.covers) for run in history] for history in runs])
    return values.mean(axis=1)


def _line(even: float | None, own: Floats, base: Floats) -> str:
    def ratio(column: int, power: float) -> str:
        rng = np.random.default_rng(0)
        rows = [np.arange(len(own)), *(rng.integers(len(own), size=len(own)) for _ in range(200))]
        values = [(own[row, column].mean() / base[row, column].mean()) ** power for row in rows]
        return f"{values[0]:.2f} ± {np.std(values[1:]):.2f}"

    name = "random draws" if even is None else f"{even:g}"
    return f"{name} | {ratio(0, 0.5)} | {ratio(1, 1.0)} | {100 * own[:, 2].mean():.1f}"


if __name__ == "__main__":
    main()

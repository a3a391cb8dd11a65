"""Measures the error of the gap from `decisive` draws, and the coverage of its interval.

    python benchmarks/gap_coverage.py DATA [--runs 2000] [--history 16]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is
asked. Each run draws systems for a history, whose comparisons give the items their weights, and
compares two other systems. The results are measured after fixed numbers of judgments, and where the
tie-aware rule ends the run (risk 0.1, from 5 judgments to 200).

The estimate ("ours") is compared with the plain mean of the judged items and with the unbiased mean
of Des Raj (1956). Its 90 % interval is compared with the interval for any number of looks. "level"
is the coverage for systems whose gap is under 0.05.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from score_tables import score_table

from judgeloop.core.outcomes import Tally
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.history.past import past_of_scores, prospects_of, signs
from judgeloop.methods.estimators.preferences import MISSES, Preferences, weighted_gap, weighted_moments
from judgeloop.methods.selectors.decisive import Decisive, decisive
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.intervals import interval_whenever
from judgeloop.papers.diffuse.rules import TieAware

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.walking import walk

# By name: the file, the margin within which two scores tie, and the numbers of judgments.
TABLES = {
    "AlpacaEval GPT-4": ("alpacaeval/verdicts-gpt4.csv.gz", 0.0, (20, 50, 100, 200)),
    "AlpacaEval GPT-4-turbo": ("alpacaeval/verdicts-gpt4turbo.csv.gz", 0.05, (20, 50, 100, 200)),
    "REALSumm ROUGE-2": ("realsumm/verdicts-rouge2.csv.gz", 0.0, (20, 50)),
    "REALSumm pyramid": ("realsumm/verdicts-human-pyramid.csv.gz", 0.0, (20, 50)),
}
LEVEL = 0.05  # gap under which the coverage is shown separately


class Contest(NamedTuple):
    """Two systems on the items that both have, and the selector of the run.

    `preferences`, shape (items,), are 1 for the better system, -1 for the other, 0 for a tie.
    """

    preferences: np.ndarray
    selector: Decisive | Random


def main() -> None:
    """Print a table for each of the recorded verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--runs", type=int, default=2000, help="number of runs on each table")
    parser.add_argument(
        "--history",
        type=int,
        default=16,
        help="maximum number of systems in the history; at most half of the recorded systems",
    )
    given = parser.parse_args()
    print(f"{given.runs} runs; at a true coverage of 90 %, 2,000 runs show 88.7 % to 91.3 %")
    for name, (file, margin, numbers) in TABLES.items():
        systems, _, scores = score_table(given.data / file)
        history = min(given.history, len(systems) // 2)
        runs = [contest(systems, scores, margin, history, seed) for seed in range(given.runs)]
        print(f"\n{name}, a history of {history} systems")
        print(
            f"{'':<10}{'judged':>8}{'bias: plain':>13}{'Des Raj':>9}{'ours':>8}{'error: plain':>14}{'Des Raj':>9}{'ours':>8}"
            f"{'coverage':>10}{'level':>8}{'half':>7}{'any look':>10}{'level':>8}{'half':>7}"
        )
        for judged in numbers:
            show(f"at {judged}", [(pair, drawn(pair, judged, seed)) for seed, pair in enumerate(runs)])
        show("stopped", [(pair, stopped(pair, seed)) for seed, pair in enumerate(runs)])


def contest(systems: Sequence[str], scores: np.ndarray, margin: float, history: int, seed: int) -> Contest:
    """Draw two systems, and `history` others whose comparisons give the weights."""
    order = np.random.default_rng([1, seed]).permutation(len(systems))
    earlier, (first, second) = order[:history], order[history : history + 2]
    past = past_of_scores([systems[at] for at in earlier], scores[earlier], margin)
    known = prospects_of(past, ())
    assert known is not None, "some of the recorded systems are told apart"
    common = ~np.isnan(scores[[first, second]]).any(axis=0)
    preferences = signs(scores[first, common], scores[second, common], margin)
    return Contest(preferences * (-1 if preferences.sum() < 0 else 1), decisive(known.at(np.flatnonzero(common))))


def drawn(pair: Contest, judged: int, seed: int) -> Tally:
    """Return the tally after `judged` judgments."""
    rng = np.random.default_rng([2, seed])
    items = len(pair.preferences)
    labels = walk(pair.selector, items, judged, lambda choice: verdict(pair, choice.position), rng)
    return Preferences().tally(labels, items)


def stopped(pair: Contest, seed: int) -> Tally:
    """Return the tally at which the tie-aware rule ends the run."""
    session = Session(
        items=len(pair.preferences),
        selector=pair.selector,
        estimator=Preferences(),
        rule=TieAware(0.1),
        limits=Limits(),
        rng=np.random.default_rng([2, seed]),
    )
    return replay(session, lambda choice: verdict(pair, choice.position)).estimate.tally


def verdict(pair: Contest, position: int) -> Verdict:
    """Return the recorded preference as a judge's verdict."""
    return Verdict((1 + float(pair.preferences[position])) / 2)


def show(name: str, runs: list[tuple[Contest, Tally]]) -> None:
    """Print a line: bias, root mean squared error, and both intervals' coverage and half-width."""
    truth = np.array([pair.preferences.mean() for pair, _ in runs])
    tallies = [tally for _, tally in runs]
    found = [weighted_gap(tally) for tally in tallies]
    ours = [tally.gap if weighted is None else weighted.value for weighted, tally in zip(found, tallies, strict=True)]
    estimates = np.array([[tally.gap for tally in tallies], list(map(des_raj, tallies)), ours])
    once = np.array([
        (-1, 1) if weighted is None or weighted.interval is None else weighted.interval for weighted in found
    ])  # fmt: skip
    ever = np.array(list(map(at_any_look, tallies)))
    errors = estimates - truth
    bias, error = errors.mean(axis=1), np.sqrt((errors**2).mean(axis=1))
    held, held_ever = ((both[:, 0] <= truth) & (truth <= both[:, 1]) for both in (once, ever))
    half, half_ever = (float(np.diff(both).mean() / 2) for both in (once, ever))
    print(
        f"{name:<10}{np.mean([tally.judged for tally in tallies]):>8.0f}{bias[0]:>13.3f}{bias[1]:>9.3f}{bias[2]:>8.3f}"
        f"{error[0]:>14.3f}{error[1]:>9.3f}{error[2]:>8.3f}{held.mean():>10.1%}{held[truth < LEVEL].mean():>8.1%}{half:>7.3f}"
        f"{held_ever.mean():>10.1%}{held_ever[truth < LEVEL].mean():>8.1%}{half_ever:>7.3f}",
        flush=True,
    )


def des_raj(tally: Tally) -> float:
    """Return the unbiased mean of Des Raj (1956).

    It is the mean over draws of (sum of the earlier values + value / propensity) / items.
    """
    values, propensities = np.array(tally.preferences, dtype=float), np.array(tally.propensities)
    before = np.concatenate([[0], np.cumsum(values)[:-1]])
    return float(((before + values / propensities) / tally.items).mean())


def at_any_look(tally: Tally) -> tuple[float, float]:
    """Return the interval of `interval_whenever` for the same mean and variance."""
    scores, propensities = ((1 + np.array(tally.preferences, dtype=float)) / 2, np.array(tally.propensities))
    found = interval_whenever(weighted_moments(scores, propensities), tally.judged, tally.items, MISSES)
    return (-1.0, 1.0) if found is None else (2 * found[0] - 1, 2 * found[1] - 1)


if __name__ == "__main__":
    main()

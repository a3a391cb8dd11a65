"""How often `--not-worse` answers, and answers wrongly, on recorded verdicts, and after how many.

    python benchmarks/not_worse.py DATA [--pairs 300] [--margins 0.05 0.1 0.2] [--most 805]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is
asked. Each run draws two systems and an order of the items at random, in which the verdicts of each
pair are looked at one after another, at a risk of 0.1, up to `--most` judgments. The truth is the
gap on all items. "Winner" is how often the rule `anytime` names the better system in the
same order, which is the plain way to a release: wait for a winner.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from gap_coverage import TABLES
from numpy.typing import NDArray
from score_tables import score_table

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.history.past import signs
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.catalogue import Ingredients, rule_row

RISK = 0.1


class Answer(NamedTuple):
    """What a run said, after how many judgments; `wrong` if the truth is otherwise."""

    kind: StopKind
    wrong: bool
    judged: int


def pair_of(scores: NDArray[np.float64], margin: float, seed: int) -> NDArray[np.int8]:
    """Return the preferences between two systems drawn at random, on the items that both have."""
    first, second = np.random.default_rng([1, seed]).permutation(len(scores))[:2]
    common = ~np.isnan(scores[[first, second]]).any(axis=0)
    preferences: NDArray[np.int8] = signs(scores[first, common], scores[second, common], margin)
    return preferences


def answer(preferences: NDArray[np.int8], worse: float | None, most: int, seed: int) -> Answer:
    """Ask about two systems until the rule `anytime` ends the run."""
    items = len(preferences)
    session = Session(
        items=items,
        selector=Random(),
        estimator=Preferences(),
        rule=rule_row("compare", "anytime").make(Ingredients(RISK, items, most, worse=worse)),
        limits=Limits(max_judgments=most),
        rng=np.random.default_rng([2, seed]),
    )
    end = replay(session, lambda choice: Verdict((1 + float(preferences[choice.position])) / 2))
    gap, judged = float(preferences.mean()), end.estimate.tally.judged
    if end.stop.kind is StopKind.NOT_WORSE:
        return Answer(end.stop.kind, gap > (worse or 0.0) + 1e-9, judged)
    named = end.winner is not None
    least = worse or 0.0
    wrong = named and (gap <= least + 1e-9 if end.winner == 0 else gap >= 0)
    return Answer(StopKind.RISK_MET if named else StopKind.JUDGMENT_LIMIT, wrong, judged)


def main() -> None:
    """Print a line for each of the recorded verdicts and each margin."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--margins", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    parser.add_argument("--most", type=int, default=805, help="maximum number of judgments")
    given = parser.parse_args()
    head = f"{'not worse':>11}{'worse':>8}{'open':>8}{'wrong':>8}{'judged':>8}"
    print(f"{given.pairs} pairs, risk {RISK}, at most {given.most} judgments")
    print(f"{'verdicts':<26}{'question':<12}{head}")
    for name, (file, tie, _) in TABLES.items():
        _, _, scores = score_table(given.data / file)
        pairs = [pair_of(scores, tie, seed) for seed in range(given.pairs)]
        for worse in [*given.margins, None]:
            runs = [answer(pair, worse, given.most, seed) for seed, pair in enumerate(pairs)]
            show(name, "winner" if worse is None else f"by {worse:g}", runs)


def show(name: str, question: str, runs: list[Answer]) -> None:
    """Print shares of answers, of wrong ones, and the mean number of judgments."""
    kinds = StopKind.NOT_WORSE, StopKind.RISK_MET, StopKind.JUDGMENT_LIMIT
    shares = [np.mean([run.kind is kind for run in runs]) for kind in kinds]
    wrong = np.mean([run.wrong for run in runs])
    judged = np.mean([run.judged for run in runs])
    columns = f"{shares[0]:>11.1%}{shares[1]:>8.1%}{shares[2]:>8.1%}{wrong:>8.1%}{judged:>8.0f}"
    print(f"{name:<26}{question:<12}{columns}", flush=True)


if __name__ == "__main__":
    main()

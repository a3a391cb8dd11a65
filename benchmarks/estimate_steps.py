"""Time of one AcTracer step, against a direct computation with SciPy.

    python benchmarks/estimate_steps.py [--items 1000 4000 18000 100000]

A step chooses a cluster by MC-UCB and an item of it by the confidences of the items asked so far.
The direct computation gets the Wasserstein distance of every candidate from scratch with SciPy. It
is timed on some of the candidates and scaled up to all of them. Needs no data.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import wasserstein_distance

from judgeloop.core.records import Label, Verdict
from judgeloop.methods.selectors.stratified import Stratified
from judgeloop.methods.stats.strata import Strata

SIZES = [1_000, 4_000, 18_000, 100_000]
CLUSTERS = 32
STEPS = 300
PLAIN_CANDIDATES = 30


def main() -> None:
    """Print the milliseconds per step for pools of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    print(f"{CLUSTERS} clusters; milliseconds per step, with 1/20 of the pool judged")
    print(f"{'items':>8}{'selector':>12}{'plain':>12}{'ratio':>8}")
    for items in arguments.items:
        rng = np.random.default_rng(0)
        strata = Strata(np.arange(items) % CLUSTERS)
        confidence, scores = rng.random(items), rng.integers(2, size=items).astype(float)
        ours = step_ms(strata, confidence, scores)
        plain = plain_ms(confidence[strata.labels == 0])
        print(f"{items:>8,}{ours:>12.2f}{plain:>12.1f}{plain / ours:>7.0f}x")


def step_ms(strata: Strata, confidence: np.ndarray, scores: np.ndarray) -> float:
    """Return the milliseconds per item asked and scored, with the spread updated every time."""
    items = len(scores)
    selector = Stratified(strata, items // 10, confidence=confidence, rounds=0.0, name="actracer")
    rng = np.random.default_rng(0)
    state = selector.init(items, rng)
    began = 0.0
    for step in range(items // 20 + STEPS):
        if step == items // 20:
            began = time.perf_counter()
        asked, state = selector.ask(state, rng)
        assert asked is not None, "every item asked has its score"
        choice = asked.choices[0]
        state = selector.tell(state, [Label(choice, Verdict(float(scores[choice.position])))])
    return 1000 * (time.perf_counter() - began) / STEPS


def plain_ms(cluster: np.ndarray) -> float:
    """Return the milliseconds for the distances of all candidates in one cluster.

    The sample is 1/20 of the cluster, and every other item is a candidate. A candidate's distance
    is that from the sample with the candidate to the whole cluster.
    """
    sample = cluster[: max(1, len(cluster) // 20)]
    candidates = cluster[len(sample) : len(sample) + PLAIN_CANDIDATES]
    began = time.perf_counter()
    for candidate in candidates:
        wasserstein_distance(np.append(sample, candidate), cluster)
    each = (time.perf_counter() - began) / len(candidates)
    return 1000 * each * (len(cluster) - len(sample))


if __name__ == "__main__":
    main()

"""How near PACE (`mmd-critic`) comes to a language model's mean score, and what its outliers do.

    python benchmarks/pace_outliers.py FOLDER...

FOLDER is `tiny-lm` of DATA (benchmarks/results.py), or what `symbols_lm.py` writes: it holds
`hidden.npz` and `verdicts-exact.csv.gz`. The vectors are those of replays: the last layer, reduced.
Prints the share of items that are outliers, how many of them and of the others are right, what the
plain mean would be with typical items of both kinds, and the mean relative error over 5 % to 50 %
of the items judged.
"""

from __future__ import annotations

import csv
import gzip
import sys
from pathlib import Path

import numpy as np

from judgeloop.papers.actracer.rivals import OUTLIERS, MMDCritic, clusters_of, components
from judgeloop.papers.vectors import reduced

SHARES = range(5, 51)


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the reduced states of the last layer, and the scores, in the same order."""
    states = np.load(folder / "hidden.npz")
    last = max((name for name in states if name.startswith("layer")), key=lambda name: int(name[5:]))
    with gzip.open(folder / "verdicts-exact.csv.gz", "rt", encoding="utf-8") as file:
        scores = {row["item_id"]: float(row["score"]) for row in csv.DictReader(file)}
    return reduced(states[last].astype(float)), np.array([scores[item] for item in states["ids"]])


def order_of(vectors: np.ndarray, count: int) -> list[int]:
    """Return the first `count` items that PACE picks."""
    rng = np.random.default_rng(0)  # PACE draws nothing
    selector = MMDCritic(vectors)
    state = selector.init(len(vectors), rng)
    order: list[int] = []
    while len(order) < count:
        step, state = selector.ask(state, rng)
        assert step is not None, "there are items left"
        order.append(step.choices[0].position)
    return order


def main() -> None:
    """Print a line for each folder."""
    print(f"{'':>12}  outliers  right  others  both typical  in truth  mean error")
    for folder in map(Path, sys.argv[1:]):
        vectors, scores = read(folder)
        clusters, apart = clusters_of(components(vectors))
        outliers, others = scores[apart].mean(), scores[np.concatenate(clusters)].mean()
        typical = OUTLIERS * outliers + (1 - OUTLIERS) * others
        judged = scores[order_of(vectors, len(scores) // 2)]
        means = [judged[: round(share / 100 * len(scores))].mean() for share in SHARES]
        error = np.abs(np.array(means) / scores.mean() - 1).mean()
        print(
            f"{folder.name:>12}  {len(apart) / len(scores):8.1%}  {outliers:5.3f}  {others:6.3f}  "
            f"{typical:12.3f}  {scores.mean():8.3f}  {error:10.2%}"
        )


if __name__ == "__main__":
    main()

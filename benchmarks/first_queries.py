"""Time and peak memory from texts to DiffUse's first queries, by number of items.

    python benchmarks/first_queries.py [ITEMS …]

An output is 60 to 119 random words from a long-tailed vocabulary. Each number of items runs in its
own process, so that its peak memory is measured alone. `scale.py` starts from vectors instead.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

VOCABULARY = 20_000
SIZES = ["1000", "3000", "10000"]


def texts(items: int, seed: int) -> list[str]:
    """Return random outputs with word frequencies in proportion to 1/rank (Zipf's law)."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{rank}" for rank in range(VOCABULARY)])
    share = 1 / np.arange(1, VOCABULARY + 1)
    lengths = rng.integers(60, 120, items)
    drawn = rng.choice(words, size=int(lengths.sum()), p=share / share.sum())
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def measure(items: int) -> dict[str, float]:
    """Return the seconds for each stage and the peak memory in MB."""
    from judgeloop.methods.selectors.diffuse import DiffUse
    from judgeloop.represent.embed import embed_lexical

    both = [*texts(items, 1), *texts(items, 2)]
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    vectors = embed_lexical(both, seed=0)
    embedded = time.perf_counter()
    selector = DiffUse(vectors[:items] - vectors[items:], start=5)
    state = selector.init(items, rng)
    clustered = time.perf_counter()
    selector.ask(state, rng)
    asked = time.perf_counter()
    return {
        "embed": embedded - began,
        "cluster": clustered - embedded,
        "first step": asked - clustered,
        "total": asked - began,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Print the table, with each number of items measured in a new process."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(int(sys.argv[2]))))
        return
    header = True
    for size in sys.argv[1:] or SIZES:
        done = subprocess.run(
            [sys.executable, __file__, "--one", size], check=True, capture_output=True, text=True
        )
        row = json.loads(done.stdout)
        if header:
            print(f"{'items':>8}" + "".join(f"{name:>12}" for name in row))
            header = False
        print(f"{size:>8}" + "".join(f"{value:>12.2f}" for value in row.values()))


if __name__ == "__main__":
    main()

"""Processor time and peak memory from vectors to DiffUse's first queries, by number of items.

    python benchmarks/scale.py [--items 1000 10000 100000 1000000] [--dimensions 384]

Each number of items runs in its own process. The vectors are drawn around a few hundred topics. The
time starts when the vectors of both systems are in memory, in single precision. It includes their
difference, the clustering and the representatives of the first cut.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from judgeloop.papers.diffuse.selector import DiffUse
from judgeloop.papers.diffuse.tree import MOST_EXACT, SAMPLE

TOPICS = 300
START = 5


def make_vectors(items: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Return points around topics of unequal size, shape (items, dimensions)."""
    topics = rng.normal(size=(TOPICS, dimensions)).astype(np.float32)
    topic = np.minimum(rng.geometric(0.01, size=items) - 1, TOPICS - 1)
    vectors = rng.standard_normal((items, dimensions), dtype=np.float32)
    for begin in range(0, items, 100_000):
        vectors[begin : begin + 100_000] += topics[topic[begin : begin + 100_000]]
    return vectors


def measure(items: int, dimensions: int) -> None:
    """Print the seconds and the peak memory for one number of items."""
    rng = np.random.default_rng(0)
    first, second = (make_vectors(items, dimensions, rng) for _ in range(2))
    began = time.process_time()
    np.subtract(first, second, out=first)
    del second
    selector = DiffUse(first, start=START)
    step, _ = selector.ask(selector.init(items, rng), rng)
    took = time.process_time() - began
    assert step is not None
    assert len(step.choices) == START
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    way = "all items" if items <= MOST_EXACT else f"{SAMPLE:,} items"
    print(f"{items:>10,}{dimensions:>12}{way:>16}{took:>10.1f}{peak:>10.2f}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone:
        measure(arguments.items[0], arguments.dimensions)
        return
    print(f"{'items':>10}{'dimensions':>12}{'clustered':>16}{'seconds':>10}{'peak GB':>10}", flush=True)
    for items in arguments.items:
        command = [sys.executable, __file__, "--alone", "--items", str(items)]
        subprocess.run([*command, "--dimensions", str(arguments.dimensions)], check=True)


if __name__ == "__main__":
    main()

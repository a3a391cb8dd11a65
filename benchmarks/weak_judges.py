r"""Time of the weak judges' opinions, against a direct count, and of one selection step.

    python benchmarks/weak_judges.py [--queries 200] [--systems 54] [--judges 10] [--words 250] \
        [--plain 200]

The words of a text are drawn from a Zipf distribution. Each query has its own vocabulary, and its
texts share stretches of words. The direct count follows the definition: it counts contexts and the
words after them in dictionaries. It runs on the first `--plain` queries, on which both results must
agree. The opinions are timed with an empty and with a full cache. The selection step is for 10,000
queries x 100 systems x 10 judges.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.selectors.catalogue import selector_row
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.stats.information import choose_epsilons
from judgeloop.methods.stats.weak_opinions import likelihoods, opinions
from judgeloop.represent.weak_judges import weak_opinions

R = TypeVar("R")

VOCABULARY = 2000
STRETCH = 8  # words in a stretch
SHARED = 0.3  # share of the stretches that are copied from a text common to all systems
EPSILONS = (0.2, 0.3)
STEP = (10, 10_000, 100)  # weak judges, queries, systems


def make_texts(queries: int, systems: int, words: int, rng: np.random.Generator) -> list[list[str]]:
    """Return texts by system, then by query, of about `words` words on average."""
    weights = 1 / np.arange(1, VOCABULARY + 1)
    weights /= weights.sum()
    outputs: list[list[str]] = [[] for _ in range(systems)]
    for query in range(queries):
        common = rng.choice(VOCABULARY, size=2 * words, p=weights)
        for own in outputs:
            length = max(1, int(rng.normal(words, words / 4)))
            text = rng.choice(VOCABULARY, size=length, p=weights)
            for begin in range(0, length, STRETCH):
                if rng.random() < SHARED:
                    end = min(begin + STRETCH, length)
                    text[begin:end] = common[begin:end]
            own.append(" ".join(f"w{query}-{word}" for word in text))
    return outputs


def plain(texts: tuple[str, ...], orders: int) -> NDArray[np.float64]:
    """Count the likelihoods directly from the definition, shape (orders, texts)."""
    words = [["", *text.split()] for text in texts]  # start marker
    found = np.zeros((orders, len(texts)))
    for order in range(1, orders + 1):
        pairs = [
            [(tuple(text[max(0, at - order + 1) : at]), text[at]) for at in range(1, len(text))]
            for text in words
        ]
        contexts = Counter(context for own in pairs for context, _ in own)
        grams = Counter(pair for own in pairs for pair in own)
        found[order - 1] = [
            sum(grams[pair] / contexts[pair[0]] for pair in own) / len(own) for own in pairs
        ]
    return found


def timed(work: Callable[[], R]) -> tuple[float, R]:
    """Return the seconds that `work` takes, and its result."""
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def show(what: str, seconds: float, remark: str = "") -> None:
    """Print a row."""
    print(f"{what:<44}{seconds:>10.3f} s   {remark}", flush=True)


def measure_judges(arguments: argparse.Namespace) -> None:
    """Print the times of likelihoods, opinions and the choice of epsilons."""
    rng = np.random.default_rng(0)
    outputs = make_texts(arguments.queries, arguments.systems, arguments.words, rng)
    judges = arguments.judges
    print(
        f"{arguments.queries:,} queries x {arguments.systems} systems x {judges} judges", flush=True
    )
    first = list(zip(*outputs, strict=True))[: arguments.plain]
    fast, ours = timed(lambda: [likelihoods(texts, judges) for texts in first])
    show(f"likelihoods of {len(first)} queries", fast)
    if first:
        slow, plains = timed(lambda: [plain(texts, judges) for texts in first])
        show(
            f"likelihoods of {len(first)} queries, direct count",
            slow,
            f"{slow / fast:.1f} times as long",
        )
        assert np.allclose(ours, plains, rtol=1e-12)
        assert all(
            np.array_equal(opinions(own, 0), opinions(direct, 0))
            for own, direct in zip(ours, plains, strict=True)
        )
    with tempfile.TemporaryDirectory() as folder:
        took, found = timed(lambda: weak_opinions(outputs, 0, judges, Path(folder)))
        show("opinions, cache empty", took)
        again, same = timed(lambda: weak_opinions(outputs, 0, judges, Path(folder)))
        show("opinions, cache full", again)
        assert np.array_equal(found, same)
    took, pair = timed(lambda: choose_epsilons(found, 30, rng))
    show("choice of epsilons for 30 queries", took, str(pair))


def measure_step() -> None:
    """Print the time and the peak memory of a step of the two selectors that read opinions."""
    judges, queries, systems = STEP
    print(f"\n{queries:,} queries x {systems} systems x {judges} judges", flush=True)
    rng = np.random.default_rng(0)
    opinions = rng.integers(-1, 2, size=STEP, dtype=np.int8)
    opinions[:, :, 0] = 0
    for name in ("llm-selector", "bradley-terry"):
        given = ForMany(systems, 0, None, queries * systems, opinions=opinions, epsilons=EPSILONS)
        selector = selector_row("select", name).make(given)
        step = partial(selector.ask, selector.init(queries, rng), rng)
        took, _ = timed(step)
        tracemalloc.start()  # after the timed step, because tracing slows it
        step()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        show(
            f"a step of {name}",
            took,
            f"{peak:.0f} MB allocated; the opinions take {opinions.nbytes / 2**20:.0f} MB",
        )


def main() -> None:
    """Print all times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--systems", type=int, default=54)
    parser.add_argument("--judges", type=int, default=10)
    parser.add_argument("--words", type=int, default=250)
    parser.add_argument(
        "--plain", type=int, default=200, help="number of queries for the direct count"
    )
    arguments = parser.parse_args()
    measure_judges(arguments)
    measure_step()


if __name__ == "__main__":
    main()

"""Groups tested by Holm's procedure: how often level groups are named, and a planted loss is found.

    python benchmarks/by_group.py [--runs 20000] [--planted 400]

Three groups of 200 items with 30 % ties, at a risk of 0.1; no judge is asked. Level groups are looked at to
their last item, which no allocation can make worse: p-values only fall. Beside it stands the lower
bound of a 95 % interval for the share of runs with a name (Clopper & Pearson 1934, one-sided). In
the planted runs one group loses by 17 points. 200 of all items are drawn first, as for the overall
question, and the rest as `ByGroup` asks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from judgeloop.core.records import UNLIMITED, Choice, Label, Verdict
from judgeloop.methods.stats.betting import risk_by_bets
from judgeloop.methods.stats.spending import Spending
from judgeloop.methods.stopping.by_group import SHAPE, ByGroup

GROUPS, ITEMS, RISK, FIRST = 3, 200, 0.1, 200
LEVEL, LOSS = (0.35, 0.35), (0.265, 0.435)  # shares of wins and losses
LEVELS = RISK / np.arange(2 * GROUPS, 0, -1)
CHUNK = 500  # groups at a time

Preferences = NDArray[np.int8]  # shape (groups, items), in the order drawn


def groups_of(
    shares: tuple[float, float], groups: int, items: int, rng: np.random.Generator, *, sampled: bool
) -> Preferences:
    """Return groups: independent draws (`sampled`), or with exactly these shares in random order."""
    won, lost = shares
    if sampled:
        return rng.choice(np.array([1, -1, 0], np.int8), size=(groups, items), p=[won, lost, 1 - won - lost])
    wins, losses = round(won * items), round(lost * items)
    pool = np.repeat(np.array([1, -1, 0], np.int8), [wins, losses, items - wins - losses])
    return rng.permuted(np.tile(pool, (groups, 1)), axis=1)


def p_values(groups: Preferences, *, sampled: bool) -> NDArray[np.float64]:
    """Return the p-values of both sides after the last item, shape (groups, 2)."""
    if not sampled:
        return np.array([[risk_by_bets(side * one, len(one)) for side in (1, -1)] for one in groups])
    parts = np.array_split(groups, max(1, len(groups) // CHUNK))
    return np.concatenate([_by_boundaries(part) for part in parts])


def _by_boundaries(groups: Preferences) -> NDArray[np.float64]:
    spending = Spending(UNLIMITED, groups.shape[1], 2 * LEVELS, SHAPE)
    sums = np.cumsum(groups, axis=1, dtype=np.int64)
    crossed = np.abs(sums)[..., None] >= spending.barriers(groups != 0)
    first = np.take_along_axis(sums, crossed.argmax(axis=1), axis=1)
    side = np.where(crossed.any(axis=1), np.sign(first), 0)  # shape (groups, levels)
    named = np.stack([side > 0, side < 0], axis=1)
    larger = np.logical_and.accumulate(named[..., ::-1], axis=2).sum(axis=2)
    return np.where(larger > 0, np.append(LEVELS, 1.0)[len(LEVELS) - larger], 1.0)


def names(risks: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return in which runs Holm rejects at least one null; `risks` has the shape (runs, nulls)."""
    found: NDArray[np.bool_] = risks.min(axis=1) <= LEVELS[0]
    return found


def level(runs: int, rng: np.random.Generator, *, sampled: bool) -> int:
    """Return in how many runs with level groups any is named."""
    groups = groups_of(LEVEL, runs * GROUPS, ITEMS, rng, sampled=sampled)
    return int(names(p_values(groups, sampled=sampled).reshape(runs, -1)).sum())


def planted(items: int, rng: np.random.Generator, *, sampled: bool, exact: bool) -> int | None:
    """Return after how many judgments in all a planted loss is found; None if it is not."""
    shares = (LOSS, *[LEVEL] * (GROUPS - 1))
    every = np.concatenate([groups_of(one, 1, items, rng, sampled=not exact)[0] for one in shares])
    for judged, tests in in_batches(every, items, rng, sampled=sampled):
        if (0, 1) in tests.rejected():
            return judged
    return None


def in_batches(
    every: NDArray[np.int8], items: int, rng: np.random.Generator, *, sampled: bool
) -> Iterator[tuple[int, ByGroup[int]]]:
    """Yield the number of judgments and the tests after each batch: a third of all items, then as asked."""
    order = [Choice(int(position), None) for position in rng.permutation(len(every))]
    tests = ByGroup(dict(enumerate(np.repeat(np.arange(GROUPS), items).tolist())), RISK, sampled=sampled)
    labels: list[Label] = []
    asked: tuple[Choice, ...] = tuple(order[: min(FIRST, len(every) // GROUPS)])
    while asked:
        known = {choice.position for choice in asked}
        order = [choice for choice in order if choice.position not in known]
        labels += [Label(one, Verdict((1 + int(every[one.position])) / 2)) for one in asked]
        tests.follow(labels)
        yield len(labels), tests
        asked = tests.ask(order)


def named_in_the_end(rng: np.random.Generator, *, sampled: bool, items: int = 24) -> bool:
    """Return whether any of so small level groups is named, as `ByGroup` asks about them."""
    every = np.concatenate(groups_of(LEVEL, GROUPS, items, rng, sampled=sampled))
    return any(tests.rejected() for _, tests in in_batches(every, items, rng, sampled=sampled))


def main() -> None:
    """Print how often level groups are named, and the planted loss is found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--planted", type=int, default=400)
    asked = parser.parse_args()
    rng = np.random.default_rng(41)
    for sampled in (True, False):
        wrong = level(asked.runs, rng, sampled=sampled)
        least = beta.ppf(0.05, wrong, asked.runs - wrong + 1)
        about = "items like these" if sampled else "these items"
        print(f"level, {about}: a name in {wrong} of {asked.runs}, at least {least:.4f}", flush=True)
    for sampled, exact, items in (
        (False, True, 200), (True, True, 200), (True, False, 200), (True, False, 300),
        (True, False, 350), (True, False, 400),
    ):  # fmt: skip
        runs = [planted(items, rng, sampled=sampled, exact=exact) for _ in range(asked.planted)]
        found = [judgments for judgments in runs if judgments is not None]
        about = "items like these" if sampled else "these items"
        pool = "exactly 17 points" if exact else "drawn at 17 points"
        print(
            f"planted, {about}, {items} items in a group, {pool}: found in {len(found) / len(runs):.3f}, "
            f"90 % of all runs after {np.quantile([n or np.inf for n in runs], 0.9, method='higher'):.0f} "
            f"judgments, median {np.median([n or np.inf for n in runs]):.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

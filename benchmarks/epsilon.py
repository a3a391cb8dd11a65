"""How LLM Selector depends on its two numbers ε, and on the search that chooses them.

    python benchmarks/epsilon.py DATA [--pools 100] [--queries 80] [--seeds 4] [--horizons 20 50 100]

DATA holds `alpacaeval` as `benchmarks/results.py` takes it. For GPT-4's verdicts against
text_davinci_003, prints which pair the search of appendix D chooses with other seeds and horizons;
and for each pair of its grid, how often the best of 53 systems is named after so many queries, over
random pools of 400. The last line takes the pair nearest to the shares of losses and ties that the
leader had in the pool's first 20 queries: ε learned from the judge's own verdicts. No judge is asked.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeloop.papers.llm_selector import information
from judgeloop.replay.select import field_for
from judgeloop.replay.settings import ReplaySelectSettings

POOL, FIRST = 400, 20
SEARCHED = (0.25, 0.45)  # the pair that the search chooses (docs/results/tables.md)
GRID = [pair for pair in product(information.GRID, information.GRID) if sum(pair) < 1 - 1e-9]


def chosen(opinions: information.Opinions, seeds: int, horizons: list[int]) -> None:
    """Print the pairs that the search chooses."""
    print("the search chooses, by seed:")
    for horizon in horizons:
        information.HORIZON = horizon
        rngs = [np.random.default_rng([seed, horizon]) for seed in range(seeds)]
        pairs = [information.choose_epsilons(opinions, horizon, rng) for rng in rngs]
        print(f"  horizon {horizon:>4}:  {'  '.join(map(str, pairs))}", flush=True)


def learned(outcomes: information.Opinions) -> int:
    """Return the pair of the grid nearest to the leader's shares in the first queries."""
    seen = outcomes[:FIRST]
    leader = int(seen.sum(axis=0, dtype=np.int64).argmax())
    shares = (seen[:, leader] == -1).mean(), (seen[:, leader] == 0).mean()
    return int(np.argmin([np.hypot(a - shares[0], b - shares[1]) for a, b in GRID]))


class Followed(NamedTuple):
    """How often the best of a pool is named, and since which query the belief is with the baseline."""

    identified: float
    since: int | None


def followed(
    opinions: information.Opinions,
    outcomes: information.Opinions,
    factors: NDArray[np.float64],
    queries: int,
    *,
    weighted: bool,
    baseline: int,
) -> Followed:
    """Run algorithm 1 on one pool with the pairs in the columns of `factors` together.

    A query's value is the mean of its expected entropies, of pairs that are `weighted` by the
    probability of the verdicts so far, or equally.
    """
    judges, size, systems = opinions.shape
    indicators, columns = information._indicators(opinions), factors.shape[1]  # noqa: SLF001
    posterior, scores = np.zeros((systems, columns)), np.zeros(systems, dtype=np.int64)
    asked, since = np.zeros(size, dtype=np.bool_), None
    for query in range(queries):
        log_weights = (factors[:, None, :] + posterior).reshape(-1, columns)
        entropies = information._entropies(indicators, log_weights)  # noqa: SLF001
        evidence = np.logaddexp.reduce(posterior, axis=0) * weighted
        weights = np.exp(evidence - evidence.max())
        found = entropies.reshape(judges, size, -1).mean(axis=0) @ (weights / weights.sum())
        picked = int(information.lowest(found, asked))
        asked[picked] = True
        posterior += factors[outcomes[picked] + 1]
        scores += outcomes[picked]
        leads = posterior.sum(axis=1).argmax() == baseline
        since = (query + 1 if since is None else since) if leads else None
    rates = outcomes.sum(axis=0, dtype=np.int64)
    names = scores == scores.max()
    return Followed(float((names & (rates == rates.max())).sum() / names.sum()), since)


def pool_of(seed: int, queries: int) -> NDArray[np.int64]:
    """Return the queries of a random pool, in random order."""
    return np.random.default_rng([2, seed]).permutation(queries)[:POOL]


def together(opinions: information.Opinions, outcomes: information.Opinions, pools: int, queries: int) -> None:
    """Print the lines of several pairs together, and where the belief of the search's pair goes."""
    every = np.stack([information.log_factors(pair) for pair in GRID], axis=1)
    searched = information.log_factors(SEARCHED)[:, None]
    baseline = int((outcomes == 0).all(axis=0).argmax())
    for name, factors, weighted in (
        ("averaged", every, False), ("weighted", every, True), (f"{SEARCHED}", searched, False)
    ):  # fmt: skip
        runs = []
        for seed in range(pools):
            pool = pool_of(seed, len(outcomes))
            runs.append(
                followed(
                    opinions[:, pool], outcomes[pool], factors, queries,
                    weighted=weighted, baseline=baseline,
                )
            )  # fmt: skip
        shares = np.array([run.identified for run in runs])
        print(f"  {name}: {shares.mean():.0%} ± {shares.std(ddof=1) / pools**0.5:.0%}", flush=True)
    since = [run.since or queries + 1 for run in runs]
    least, median, most = np.quantile(since, (0.1, 0.5, 0.9), method="higher")
    print(
        f"the belief of {SEARCHED} stays with the baseline after {median} queries (median; "
        f"{least} to {most} in 80 % of the pools)"
    )


def named(
    opinions: information.Opinions, outcomes: information.Opinions, pools: int, queries: int
) -> tuple[NDArray[np.float64], list[int]]:
    """Return the share named right by pool and pair, and each pool's learned pair."""
    factors = np.stack([information.log_factors(pair) for pair in GRID], axis=1)
    shares, pairs = [], []
    for seed in range(pools):
        pool = pool_of(seed, len(outcomes))
        trial = information.trial_of(opinions[:, pool], outcomes[pool], factors, queries)
        shares.append(trial.identified)
        pairs.append(learned(outcomes[pool]))
    return np.array(shares), pairs


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--pools", type=int, default=100)
    parser.add_argument("--queries", type=int, default=80)
    parser.add_argument("--seeds", type=int, default=4, help="searches of each horizon")
    parser.add_argument("--horizons", type=int, nargs="+", default=[20, 50, 100])
    given = parser.parse_args()
    folder = given.data / "alpacaeval"
    field = field_for(
        ReplaySelectSettings.of(
            output=Path(),  # nothing is written
            verdicts=folder / "verdicts-gpt4.csv.gz",
            outputs=folder / "outputs",
            items=folder / "items.jsonl",
            baseline="text_davinci_003",
            selectors="llm-selector",
        )
    )
    assert field.opinions is not None, "LLM Selector takes them"
    # A missing verdict, of which there are few, counts as a tie.
    outcomes = np.sign(np.nan_to_num(field.scores, nan=0.5) - 0.5).T.astype(np.int8)
    shares, pairs = named(field.opinions, outcomes, given.pools, given.queries)
    print(f"named right after {given.queries} queries, {given.pools} pools of {POOL}:")
    for pair, share in zip(GRID, shares.T, strict=True):
        print(f"  {pair}: {share.mean():.0%} ± {share.std(ddof=1) / given.pools**0.5:.0%}")
    own = shares[np.arange(given.pools), pairs]
    print(f"  learned: {own.mean():.0%} ± {own.std(ddof=1) / given.pools**0.5:.0%}", flush=True)
    together(field.opinions, outcomes, given.pools, given.queries)
    chosen(field.opinions, given.seeds, given.horizons)


if __name__ == "__main__":
    main()

"""Simulates every stated risk where it is missed most easily; makes the table of docs/results/promises.md.

    python benchmarks/risks.py [--runs 20000] [--only groups] [--all]

A claim is simulated in populations in which it is wrong whenever it is made: level systems, a gap of
just the size that is ruled out, a judge that just does not pass. A row has the population with the most
wrong claims, their share, and its lower bound (99.9 %; Clopper & Pearson 1934), which is at most the
stated risk. `--all` shows every population. Every run is looked at to its last judgment, of 200 if
nothing else is said. For items like these the draws are independent. For these items they are a random
order of a pool with just these shares. `--only` takes the claims whose names contain its text. No judge
is asked.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from by_group import GROUPS, LEVELS, level, named_in_the_end
from numpy.typing import NDArray
from scipy.stats import beta, binom

from judgeloop.core.outcomes import Control
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.betting import Controls, risk_by_bets
from judgeloop.methods.stats.confidence_sequence import GRID, ConfidenceSequence
from judgeloop.methods.stats.controls import MOST, counted
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stats.intervals import gap_bound
from judgeloop.methods.stats.strata import Strata, foreseen
from judgeloop.methods.stopping.bets import Bets, answers

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.control_chances import chances

RISK, LIMIT, GAP, CHUNK = 0.1, 200, 0.1, 1000
LIKE, THESE = "items like these", "these items"
TRIES = 6  # of a judge by controls
TIES = (0.0, 0.3, 0.7, 0.95)
GAP_TIES = (0.0, 0.3, 0.7, 0.85)  # what a gap of 0.1 leaves room for
POOLS = (20, 50, 200, 805)
MIXES = ((0.5, 0.5), (0.45, 0.25), (0.2, 0.1))  # wins and losses
LEVEL = tuple(((1 - ties) / 2, (1 - ties) / 2) for ties in TIES)
Draws = NDArray[np.int8]  # shape (runs, draws)
Ints = NDArray[np.int64]


class Row(NamedTuple):
    """A claim, its population, the stated risk, and how many of how many runs were wrong."""

    claim: str
    about: str
    population: str
    risk: float
    wrong: int
    runs: int


def drawn(rng: np.random.Generator, runs: int, shares: tuple[float, float], items: int | None) -> Draws:
    """Return preferences of `LIMIT` draws, or of all `items` of a pool with these wins and losses."""
    won, lost = shares
    values = np.array([1, -1, 0], np.int8)
    if items is None:
        return rng.choice(values, size=(runs, LIMIT), p=[won, lost, max(0.0, 1 - won - lost)])
    wins, losses = round(won * items), round(lost * items)
    pool = np.repeat(values, [wins, losses, items - wins - losses])
    return rng.permuted(np.tile(pool, (runs, 1)), axis=1)


def each(about: str, items: int | None) -> int:
    """Return the number of items that a test reckons with."""
    return items if about == THESE and items is not None else UNLIMITED


def given(rule: Bets, preferences: Draws) -> tuple[Ints, Ints]:
    """Return the side that has its answer first in each run, -1 for none, and after how many judgments."""
    parts = np.array_split(preferences[:, : rule.most], max(1, len(preferences) // CHUNK))
    found = [answers(rule.begin, part) for part in parts]
    return np.concatenate([which for _, which in found]), np.concatenate([when for when, _ in found])


def bets(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level systems: the first is named. A pool that is judged whole is certain, and names nobody."""
    for about, items in ((LIKE, None), *((THESE, items) for items in POOLS)):
        for ties in TIES:
            won = (1 - ties) / 2
            preferences = drawn(rng, runs, (won, won), items)
            rule = Bets(RISK, each(about, items), min(LIMIT, preferences.shape[1]))
            said = f"level, {ties:.0%} ties" + (f", {items} items" if items else "")
            yield Row("better", about, said, RISK, int((given(rule, preferences)[0] == 0).sum()), runs)


# What is asked, the gap of the first system at which its answer is just wrong, and whose answer that is.
ASKED: tuple[tuple[str, dict[str, float], float, int], ...] = (
    ("`--min-gap 0.1`: a name", {"min_gap": GAP}, -GAP, 0),
    ("`--not-worse 0.1`: passes", {"not_worse": GAP}, GAP, 1),
    ("`--not-worse 0.1`: fails", {"not_worse": GAP}, 0.0, 0),
)


def about_gaps(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The answers about a gap, each at the gap where it is just wrong."""
    for claim, asked, gap, side in ASKED:
        for items in (None, 200, 805):
            rule = Bets(RISK, items or UNLIMITED, LIMIT, **asked)
            for ties in GAP_TIES:
                preferences = drawn(rng, runs, ((1 - ties + gap) / 2, (1 - ties - gap) / 2), items)
                said = f"a gap of {gap:+g}, {ties:.0%} ties" + (f", {items} items" if items else "")
                found = int((given(rule, preferences)[0] == side).sum())
                yield Row(claim, THESE if items else LIKE, said, RISK, found, runs)


def near(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Systems that are just so far apart are said to be no different."""
    for about, items in ((LIKE, None), (THESE, 200)):
        for ties in GAP_TIES:
            preferences = drawn(rng, runs, ((1 - ties + GAP) / 2, (1 - ties - GAP) / 2), items)
            rule = Bets(RISK, each(about, items), LIMIT, near_tie=GAP)
            closer = rule.begin[0]  # the second is not behind by so much, at any look
            for score in preferences[:, :LIMIT].T.astype(float):
                closer = closer.after(np.stack([score, -score], axis=-1))
            said = f"a gap of {GAP:g}, {ties:.0%} ties"
            yield Row(
                f"`--near-tie {GAP:g}`: no difference", about, said, RISK, int(closer.ruled_out[:, 1].sum()), runs
            )


def past(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The share of ties depends on the last decided verdict; the mean given the past is the gap."""
    for claim, asked, gap in (("better", {}, 0.0), ("`--min-gap 0.1`: a name", {"min_gap": GAP}, -GAP)):
        last, following = np.ones(runs), Bets(RISK, UNLIMITED, LIMIT, **asked).begin
        for _ in range(LIMIT):
            decisive = np.where(last > 0, 0.15, 0.95)
            decided, won = rng.random(runs) < decisive, rng.random(runs) < (1 + gap / decisive) / 2
            score = np.where(decided, np.where(won, 1.0, -1.0), 0.0)
            last = np.where(decided, score, last)
            following = tuple(one.after(np.stack([score, -score], axis=-1)) for one in following)
        found = int(following[-1].ruled_out[:, 0].sum())
        yield Row(claim, LIKE, f"a gap of {gap:+g}, 85 % ties after a win, 5 % after a loss", RISK, found, runs)


def changed(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """After half of the draws whoever would win gets a nearer limit, and whoever would not twice as many draws."""
    for ties in TIES:
        preferences = drawn(rng, runs, ((1 - ties) / 2, (1 - ties) / 2), None)[:, : LIMIT // 2].astype(float)
        more = rng.choice([1.0, 0.0, -1.0], size=(runs, 3 * LIMIT // 2), p=[(1 - ties) / 2, ties, (1 - ties) / 2])
        half, found = HedgedBets(RISK, 0.0, LIMIT), 0
        for score in preferences.T:
            half = half.after(score)
        for some, limit in ((half.wealth > 1, 3 * LIMIT // 4), (half.wealth <= 1, 2 * LIMIT)):
            following = replace(half.of(some), limit=limit)
            for score in more[some, : limit - LIMIT // 2].T:
                following = following.after(score)
            found += int(following.ruled_out.sum())
        yield Row("better, a limit changed by the past", LIKE, f"level, {ties:.0%} ties", RISK, found, runs)


def graded(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Skewed scores of mean 0: the first is better."""
    kinds = {
        "+1 in 10 %, else -1/9": np.where(rng.random((runs, LIMIT)) < 0.1, 1.0, -1 / 9),
        "-1 in 10 %, else +1/9": np.where(rng.random((runs, LIMIT)) < 0.1, -1.0, 1 / 9),
    }
    for said, values in kinds.items():
        following = HedgedBets(RISK, 0.0, LIMIT)
        for score in values.T:
            following = following.after(score)
        yield Row("better, graded scores", LIKE, said, RISK, int(following.ruled_out.sum()), runs)


def families(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level families, each one draw with the mean of its verdicts: the first system is better."""
    for size, alike in product((2, 5, 10), (0.1, 0.5, 0.9)):
        following = HedgedBets(RISK, 0.0, LIMIT)
        for _ in range(LIMIT):
            common, own = rng.choice([1, 0, -1], (runs, 1)), rng.choice([1, 0, -1], (runs, size))
            verdicts = np.where(rng.random((runs, size)) < math.sqrt(alike), common, own)
            following = following.after(verdicts.mean(axis=1))
        said = f"families of {size}, 33 % ties, correlation {alike:g}"
        yield Row("better, families of 2, 5 and 10", LIKE, said, RISK, int(following.ruled_out.sum()), runs)


def crossed(  # noqa: PLR0917 - what the bets are made of
    scores: NDArray[np.float64],
    items: int | None,
    mean: float,
    risk: float,
    asked: Sequence[HedgedBets] = (),
    controls: Controls | None = None,
) -> NDArray[np.bool_]:
    """Return in which runs the lower bound ever reaches this `mean`.

    Of the grid, only the nulls just below and above the mean are followed. The `controls`, of shape (runs, draws), are
    taken off the scores.
    """
    limit = min(LIMIT, items or LIMIT)
    less, most = np.zeros((2, len(scores), limit)) if controls is None else controls
    above = int(np.searchsorted(GRID, mean - 1e-9))
    sequence = ConfidenceSequence(len(scores), risk, limit, items or np.inf, asked, grid=GRID[above - 1 : above + 1])
    for score, control, largest in zip(scores[:, :limit].T.astype(float), less.T, most.T, strict=True):
        sequence.follow(score, control, largest)
    return sequence.low >= mean - 1e-9


def read_off(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A bound of the gap, and so any sentence that is read off it, is ever wrong: the worse of the two."""
    for items, (won, lost) in product((None, *POOLS), (*LEVEL, *MIXES[1:])):
        preferences = drawn(rng, runs, (won, lost), items)
        gap = preferences[0].mean() if items else won - lost  # the shares of a pool are rounded
        wrong = [int(crossed(sign * preferences, items, sign * gap, RISK).sum()) for sign in (1, -1)]
        said = f"{100 * won:g}% won, {100 * lost:g}% lost" + (f", {items} items" if items else "")
        yield Row("a bound of the gap", THESE if items else LIKE, said, RISK, max(wrong), runs)


def beside(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A bound that lies below the null that was asked is ever wrong, so what is read off it beside the answer."""
    questions = {"a winner": {}, "`--min-gap 0.1`": {"min_gap": GAP}, "`--not-worse 0.1`": {"not_worse": GAP}}
    for (question, asked), gap, items in product(questions.items(), (-0.15, -0.4), (None, 200)):
        rule = Bets(RISK, items or UNLIMITED, LIMIT, **asked)
        preferences = drawn(rng, runs, ((0.7 + gap) / 2, (0.7 - gap) / 2), items)
        own = replace(rule.begin[-1], null=np.full(runs, np.min(rule.begin[-1].null)))
        wrong = int(crossed(preferences, items, gap, RISK, [own]).sum())
        said = f"{question} is asked, a gap of {gap:g}, 30 % ties" + (f", {items} items" if items else "")
        yield Row("a bound of the gap, below what was asked", THESE if items else LIKE, said, RISK, wrong, runs)


def scores(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The interval of `estimate` for every look is ever wrong: of scores of 0 and 1, and of graded ones."""
    for items in (None, 200):
        for mean in (0.5, 0.9, 0.98):
            votes = drawn(rng, runs, (mean, 1 - mean), items)
            wrong = crossed(votes, items, 2 * mean - 1, RISK / 2) | crossed(-votes, items, 1 - 2 * mean, RISK / 2)
            said = f"scores of 0 and 1, mean {mean:g}"
            yield Row("`estimate --interval anytime`", THESE if items else LIKE, said, RISK, int(wrong.sum()), runs)
    for first, second in ((6, 3), (0.6, 19.4)):
        graded = 2 * rng.beta(first, second, (runs, LIMIT)) - 1
        mean = 2 * first / (first + second) - 1
        wrong = crossed(graded, None, mean, RISK / 2) | crossed(-graded, None, -mean, RISK / 2)
        said = f"graded scores, mean {(1 + mean) / 2:.2f}"
        yield Row("`estimate --interval anytime`", LIKE, said, RISK, int(wrong.sum()), runs)


def helped(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The interval of `estimate` for every look is ever wrong, where groups are controls of it."""
    items = 2 * LIMIT
    for said, rates in (("5 to 95", np.linspace(0.05, 0.95, 8)), ("85 to 99", np.linspace(0.85, 0.99, 8))):
        for number in (8, 40):
            groups = np.arange(items) % number
            votes = np.where(np.arange(items) // number < items / number * rates[groups % 8], 1.0, -1.0)
            order = rng.permuted(np.tile(np.arange(items), (runs, 1)), axis=1)
            values, most, least = foreseen_by_groups(votes, Strata(groups), order)
            wrong = crossed(votes[order], items, votes.mean(), RISK / 2, controls=Controls(values, most))
            wrong |= crossed(-votes[order], items, -votes.mean(), RISK / 2, controls=Controls(-values, -least))
            who = f"scores of 0 and 1, {number} groups, {said} % right"
            yield Row("`estimate --interval anytime`, by groups", THESE, who, RISK, int(wrong.sum()), runs)


def foreseen_by_groups(
    scores: NDArray[np.float64], groups: Strata, order: Ints
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the controls of the draws in each order, and the most and the least that each could have been."""
    found = np.zeros((3, len(order), LIMIT))
    for run, draw in product(range(len(order)), range(LIMIT)):
        before, left = order[run, :draw], order[run, draw:]
        ahead = foreseen(groups, before, scores[before])[left]
        found[:, run, draw] = np.array([ahead[0], ahead.max(), ahead.min()]) - ahead.mean()
    return found[0], found[1], found[2]


def groups(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level groups: any is given a name."""
    for sampled in (True, False):
        found = level(runs, rng, sampled=sampled)
        said = "3 level groups of 200 items, 30 % ties"
        yield Row("`--by-group`: any name", LIKE if sampled else THESE, said, RISK, found, runs)


def allocated(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level groups, of which the one that is nearest to a name is asked about next: any is given a name."""
    for sampled in (True, False):
        found = sum(named_in_the_end(rng, sampled=sampled) for _ in range(runs))
        said = "3 level groups of 24 items, 30 % ties"
        yield Row("`--by-group`, as it asks: any name", LIKE if sampled else THESE, said, RISK, found, runs)


def intervals(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Any of the bounds of three groups is ever wrong."""
    for about, items in ((LIKE, None), (THESE, 200)):
        for won, lost in MIXES:
            wrong = np.zeros(runs, dtype=bool)
            for _, sign in product(range(GROUPS), (1, -1)):
                preferences = drawn(rng, runs, (won, lost), items)
                null = sign * (won - lost) + 1e-9
                wrong |= [risk_by_bets(sign * one, each(about, items), null) <= LEVELS[0] for one in preferences]
            said = f"3 groups of 200, {won:.0%} won, {lost:.0%} lost"
            yield Row("`--by-group`: any interval", about, said, RISK, int(wrong.sum()), runs)


def controls(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Judges that are just not good enough pass, or just good enough fail; and a candidate beside the point."""
    asked = (
        (Control.PASSED, "passes", ((2 / 3, 0.0), (1 / 2, 1 / 3), (1 / 3, 2 / 3))),
        (Control.FAILED, "fails", ((0.85, 0.0), (0.8, 0.1), (0.75, 0.2))),
    )
    for end, said, judges in asked:
        for right, tied in judges:
            results = rng.choice([1, 0, -1], size=(runs, MOST), p=[right, tied, max(0.0, 1 - right - tied)])
            found = sum(counted(one).end is end for one in results.tolist())
            who = f"right in {right:.0%}, {tied:.0%} ties"
            yield Row(f"controls: a judge {said}", "the judge", who, 0.05, found, runs)
    passed = np.zeros(runs, dtype=bool)
    for number in range(1, TRIES + 1):
        results = rng.choice([1, -1], size=(runs, MOST), p=[2 / 3, 1 / 3])
        passed |= [counted(one, number).end is Control.PASSED for one in results.tolist()]
    who = f"right in 67 %, tried {TRIES} times"
    yield Row("controls: a judge ever passes", "the judge", who, 0.1, int(passed.sum()), runs)
    rule = Bets(RISK, UNLIMITED, LIMIT, not_worse=GAP)
    for right in (0.65, 0.7, 0.8, 0.9):
        told, beside = 2 * right - 1, 3 * GAP + 0.01
        decisive = 0.7 * (1 - beside) + beside
        shares = ((decisive - beside * told) / 2, (decisive + beside * told) / 2, 1 - decisive)
        sound = chances(right).passed
        passed = drawn(rng, int(rng.binomial(runs, sound)), shares[:2], None)
        found = int((given(rule, -passed)[0] == 1).sum())
        who = f"candidate beside the point in {beside:.0%}, judge right in {right:.0%}"
        yield Row("controls and `--not-worse 0.1` pass", LIKE, who, RISK, found, runs)


def once(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level systems with recorded scores: either is named. A bound of their gap, for a tenth of the runs."""
    bound = cache(gap_bound)
    for gap, ties in product((0.0, -0.05, 0.1, 0.4), TIES[:3]):
        chances = (1 - ties + gap) / 2, (1 - ties - gap) / 2
        if min(chances) >= 0:
            counts = rng.multinomial(LIMIT // 2, [*chances, ties], runs // 10).tolist()
            found = sum(bound(*one, RISK) > gap + 1e-9 for one in counts)
            who = f"a gap of {gap:+g}, {ties:.0%} ties"
            yield Row("`once`: a bound of the gap", LIKE, who, RISK, found, runs // 10)
    for ties in TIES:
        preferences = drawn(rng, runs, ((1 - ties) / 2, (1 - ties) / 2), None)
        decisive, lead = ((preferences != 0).sum(axis=1), np.abs(preferences.sum(axis=1, dtype=np.int64)))
        p_values = np.minimum(1, 2 * binom.sf((decisive + lead) // 2 - 1, decisive, 0.5))
        found = int(((lead > 0) & (p_values <= RISK)).sum())
        yield Row("`once`: either name", LIKE, f"level, {ties:.0%} ties", RISK, found, runs)


CLAIMS: dict[str, Callable[[int, np.random.Generator], Iterator[Row]]] = {
    "bets": bets, "gaps": about_gaps, "near": near, "past": past, "graded": graded, "bounds": read_off,
    "scores": scores, "groups": groups, "controls": controls, "once": once, "intervals": intervals,
    "allocated": allocated, "families": families, "beside": beside, "helped": helped, "changed": changed,
}  # fmt: skip


def bound_of(row: Row) -> float:
    """Return the lower bound (99.9 %) of the share of wrong claims."""
    return float(beta.ppf(0.001, row.wrong, row.runs - row.wrong + 1)) if row.wrong else 0.0


def show(rows: list[Row], *, every: bool) -> None:
    """Print the rows; of each claim and what it is about the worst one, if not `every`."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.claim, row.about), []).append(row)
    for of_one in found.values():
        for row in of_one if every else [max(of_one, key=lambda one: one.wrong / one.runs)]:
            cells = [row.claim, row.about, row.population, str(len(of_one)), f"{row.risk:g}"]
            print(f"| {' | '.join([*cells, f'{row.wrong / row.runs:.4f}', f'{bound_of(row):.4f}'])} |")


def main() -> None:
    """Print the table, and how many of all rows are above their risk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true", help="show every population, not the worst")
    given = parser.parse_args()
    head = ("claim", "about", "wrong most often", "of", "stated risk", "wrong", "lower bound")
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|", flush=True)
    above = 0
    for number, (name, simulate) in enumerate(CLAIMS.items()):
        if given.only in name:
            rows = list(simulate(given.runs, np.random.default_rng([32, number])))
            show(rows, every=given.all)
            above += sum(bound_of(row) > row.risk for row in rows)
    print(f"{above} of all bounds are above the stated risk", flush=True)


if __name__ == "__main__":
    main()

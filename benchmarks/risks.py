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
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from by_group import GROUPS, LEVELS, level, named_in_the_end
from numpy.typing import NDArray
from scipy.stats import beta, binom

from judgeloop.core.outcomes import Control, Tally
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.betting import risk_by_bets
from judgeloop.methods.stats.controls import MOST, counted
from judgeloop.methods.stats.exact_tables import ExactTable, Zone, calibrated, not_worse, within
from judgeloop.methods.stats.spending import Spending
from judgeloop.methods.stopping.sequential import Sequential

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.control_chances import chances

RISK, LIMIT, GAP, CHUNK = 0.1, 200, 0.1, 1000
LIKE, THESE, BOTH = ("items like these", "these items", "these items, by the test for items like these")
TRIES = 6  # of a judge by controls
TIES = (0.0, 0.3, 0.7)
MIXES = ((0.5, 0.5), (0.45, 0.25), (0.2, 0.1))  # wins and losses
SMALL = 60  # judgments, where a stated risk is computed for each wrong answer
LOW = (0.05, 0.08)  # stated risks below the one that is asked for
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


def named(preferences: Draws, items: int) -> int:
    """Return in how many runs `sequential` names the first system."""
    rule, wrong = Sequential(RISK, items, min(LIMIT, preferences.shape[1])), 0
    for part in np.array_split(preferences[:, :LIMIT], max(1, len(preferences) // CHUNK)):
        met = rule.met_along_each(part, items, np.array([RISK]))[0]
        leads = np.cumsum(part, axis=1, dtype=np.int64)
        first = np.take_along_axis(leads, met.argmax(axis=1)[:, None], axis=1)[:, 0]
        wrong += int((met.any(axis=1) & (first > 0)).sum())
    return wrong


def sequential(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level systems: the first is named. A pool that is judged whole is certain, and names nobody."""
    for about, items in ((LIKE, None), (THESE, 50), (THESE, 200), (THESE, 805), (BOTH, 50), (BOTH, 200)):
        for ties in TIES:
            won = (1 - ties) / 2
            found = named(drawn(rng, runs, (won, won), items), each(about, items))
            said = f"level, {ties:.0%} ties" + (f", {items} items" if items else "")
            yield Row("`sequential`: better", about, said, RISK, found, runs)


def now(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level systems: the risk of naming the leader now, at the last of all items, is at most so much."""
    for items, ties in ((50, 0.3), (100, 0.0), (200, 0.0)):
        won, spending = (1 - ties) / 2, Spending(UNLIMITED, items, np.array([2 * RISK]))
        preferences = drawn(rng, runs, (won, won), None)[:, :items]
        crossed = named(preferences, UNLIMITED)
        risks = [_now(one, spending) for one in preferences]
        for most in (0.15, 0.2, 0.3):
            found = crossed + int((np.array(risks) <= most).sum())
            said = f"level, {ties:.0%} ties, {items} items"
            yield Row(f"naming the leader now: risk at most {most:g}", LIKE, said, most, found, runs)


def _now(preferences: Draws, spending: Spending) -> float:
    """Return the stage-wise p-value of the first system; 1 if a boundary was crossed, or it does not lead."""
    leads = np.cumsum(preferences, dtype=np.int64)
    barriers = spending.barriers(preferences != 0)[:, 0]
    if leads[-1] <= 0 or (np.abs(leads) >= barriers).any():
        return 1.0
    return float(spending.chances_beyond(preferences != 0, int(leads[-1]))[0]) / 2


def ever(preferences: Draws, items: int, mean: float = 0.0, risk: float = RISK) -> int:
    """Return in how many runs bets that the mean is above `mean` ever reach 1/risk."""
    return sum(risk_by_bets(one, items, mean) <= risk for one in preferences)


def anytime(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level systems: the first is named; and systems that are just so far apart are no different."""
    for about, items in ((LIKE, None), (THESE, 50), (THESE, 200), (BOTH, 50), (BOTH, 200)):
        for ties in TIES:
            won = (1 - ties) / 2
            found = ever(drawn(rng, runs, (won, won), items), each(about, items))
            said = f"level, {ties:.0%} ties" + (f", {items} items" if items else "")
            yield Row("`anytime`: better", about, said, RISK, found, runs)
    for about, items in ((LIKE, None), (THESE, 200)):
        for ties in TIES:
            shares = ((1 - ties + GAP) / 2, (1 - ties - GAP) / 2)
            found = ever(-drawn(rng, runs, shares, items), each(about, items), -GAP)
            said = f"a gap of {GAP:g}, {ties:.0%} ties"
            yield Row(f"`--near-tie {GAP:g}`: no difference", about, said, RISK, found, runs)


def bounds(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """A bound of the gap is ever wrong, at any of the looks: the worse of the two."""
    for about, items in ((LIKE, None), (THESE, 200)):
        for won, lost in MIXES:
            preferences = drawn(rng, runs, (won, lost), items)
            most = max(ever(sign * preferences, each(about, items), sign * (won - lost) + 1e-9) for sign in (1, -1))
            said = f"{won:.0%} won, {lost:.0%} lost"
            yield Row("a bound of the gap", about, said, RISK, most, runs)


def scores(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The interval of `estimate` ever misses the mean score."""
    for about, items in ((LIKE, None), (THESE, 200)):
        for mean in (0.5, 0.9):
            preferences = drawn(rng, runs, (mean, 1 - mean), items)
            found = sum(
                ever(sign * preferences, each(about, items), sign * (2 * mean - 1) + 1e-9, RISK / 2) for sign in (1, -1)
            )  # both bounds of one run are wrong in hardly any
            said = f"scores of 0 and 1, mean {mean:g}"
            yield Row("`estimate --interval anytime`", about, said, RISK, found, runs)


ASKED = (
    ("`--min-gap 0.1`: a name", within(GAP), 0),
    ("`--not-worse 0.1`: passes", not_worse(GAP), 0),
    ("`--not-worse 0.1`: fails", not_worse(GAP), 1),
)


def answers(table: ExactTable, preferences: Draws) -> tuple[Ints, Ints]:
    """Return the side that gives its answer first in each run, -1 for none, and after how many judgments."""
    drawn = preferences[:, : table.limit]
    leads, decisive = np.cumsum(drawn, axis=1, dtype=np.int64), np.cumsum(drawn != 0, axis=1)
    n = np.arange(1, table.limit + 1)
    own, other = (sign * leads >= table.leads[side, n, decisive] for side, sign in enumerate((1, -1)))
    ends = own | other
    at = ends.argmax(axis=1)
    gave = np.where(np.take_along_axis(own, at[:, None], axis=1)[:, 0], 0, 1)
    return np.where(ends.any(axis=1), gave, -1), np.where(ends.any(axis=1), at + 1, table.limit)


def wrong_most(
    zone: Zone, side: int, runs: int, rng: np.random.Generator, limit: int = LIMIT
) -> Iterator[tuple[str, str, ExactTable, Draws]]:
    """Yield populations in which the answer of a side is just wrong: about what, the words, table and runs."""
    for items in (None, 200, 805) if limit == LIMIT else (None, limit):
        table = calibrated(zone, RISK, limit, items)
        for ties in TIES:
            won, lost = ((1 - ties + sign * zone.nulls[side]) / 2 for sign in (1, -1))
            preferences = drawn(rng, runs, (won, lost) if side == 0 else (lost, won), items)
            said = f"a gap of {zone.nulls[side]:+g}, {ties:.0%} ties" + (f", {items} items" if items else "")
            yield THESE if items else LIKE, said, table, preferences


def by_table(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """The answers about a gap, each at the gap where it is just wrong."""
    for claim, zone, side in ASKED:
        for about, said, table, preferences in wrong_most(zone, side, runs, rng):
            found = int((answers(table, preferences)[0] == side).sum())
            yield Row(claim, about, said, RISK, found, runs)


def stated(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Such answers, of 60 judgments, and names by `sequential`, given wrongly at a low stated risk."""
    for claim, zone, side in (
        ("`--min-gap 0.2`: a name", within(2 * GAP), 0),
        ("`--not-worse 0.2`: passes", not_worse(2 * GAP), 0),
        ("`--not-worse 0.2`: fails", not_worse(2 * GAP), 1),
    ):
        for about, said, table, preferences in wrong_most(zone, side, runs, rng, SMALL):
            risk = lru_cache(None)(partial(table.stated, side))
            given, at = answers(table, preferences)
            own = np.where(side, -1, 1) * preferences
            risks = [
                risk(int(n), int((one[:n] != 0).sum()), int(one[:n].sum(dtype=np.int64)))
                for one, n in zip(own[given == side], at[given == side], strict=True)
            ]
            for most in LOW:
                found = int((np.array(risks) <= most).sum())
                yield Row(f"{claim}, stated risk at most {most:g}", about, said, most, found, runs)
    for about, items in ((LIKE, None), (THESE, 200), (BOTH, 200)):
        for ties in TIES:
            rule = Sequential(RISK, each(about, items), LIMIT)
            preferences = drawn(rng, runs, ((1 - ties) / 2, (1 - ties) / 2), items)
            risks = [rule.risk(_tally(one)) for one in _named(preferences, rule)]
            for most in LOW:
                claim = f"`sequential`: better, stated risk at most {most:g}"
                found = int((np.array(risks) <= most).sum())
                yield Row(claim, about, f"level, {ties:.0%} ties", most, found, runs)


def _named(preferences: Draws, rule: Sequential) -> Iterator[Draws]:
    """Yield the judgments of each run that names the first system, up to that."""
    for part in np.array_split(preferences, max(1, len(preferences) // CHUNK)):
        met = rule.met_along_each(part, rule.items, np.array([RISK]))[0]
        for one, first in zip(part[met.any(axis=1)], met.argmax(axis=1)[met.any(axis=1)], strict=True):
            if one[: first + 1].sum(dtype=np.int64) > 0:
                yield one[: first + 1]


def _tally(preferences: Draws) -> Tally:
    counts = [int((preferences == one).sum()) for one in (1, -1, 0)]
    return Tally(LIMIT, (counts[0], counts[1]), counts[2], preferences=tuple(preferences.tolist()))


def stronger(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """What is said beyond an answer, where it is just wrong: "better", and "worse by more than the gap"."""
    for claim, zone in (("`--min-gap 0.1`: better", within(GAP)), ("`--not-worse 0.1`: better", not_worse(GAP))):
        for items in (None, 200):
            table, rule = (calibrated(zone, RISK, LIMIT, items), Sequential(RISK, items or UNLIMITED, LIMIT))
            for ties in TIES:
                preferences = drawn(rng, runs, ((1 - ties) / 2, (1 - ties) / 2), items)
                given, at = answers(table, preferences)
                found = 0
                for part, n in zip(_parts(preferences[given == 0]), _parts(at[given == 0]), strict=True):
                    met = rule.met_along_each(part, rule.items, np.array([RISK]))[0]
                    leads = np.cumsum(part, axis=1, dtype=np.int64)
                    found += int((_at(met, n) & (_at(leads, n) > 0)).sum())
                said = f"level, {ties:.0%} ties" + (f", {items} items" if items else "")
                yield Row(claim, THESE if items else LIKE, said, RISK, found, runs)
    for items in (None, 200):
        table = calibrated(not_worse(GAP), RISK, LIMIT, items)
        for ties in TIES:
            shares = ((1 - ties - GAP) / 2, (1 - ties + GAP) / 2)
            preferences = drawn(rng, runs, shares, items)
            given, at = answers(table, preferences)
            found = sum(
                risk_by_bets(-one[:n], items or UNLIMITED, GAP) <= RISK
                for one, n in zip(preferences[given == 1], at[given == 1], strict=True)
            )
            said = f"a gap of {-GAP:+g}, {ties:.0%} ties" + (f", {items} items" if items else "")
            claim = "`--not-worse 0.1`: worse by more than 10 points"
            yield Row(claim, THESE if items else LIKE, said, RISK, found, runs)


def _parts(rows: NDArray[Any]) -> list[NDArray[Any]]:
    return np.array_split(rows, max(1, len(rows) // CHUNK))


def _at(rows: NDArray[Any], judgments: Ints) -> NDArray[Any]:
    """Return the entry of each row after so many judgments."""
    found: NDArray[Any] = np.take_along_axis(rows, judgments[:, None] - 1, axis=1)[:, 0]
    return found


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
    table = calibrated(not_worse(GAP), RISK, LIMIT)
    for right in (0.65, 0.7, 0.8, 0.9):
        told, beside = 2 * right - 1, 3 * GAP + 0.01
        decisive = 0.7 * (1 - beside) + beside
        shares = ((decisive - beside * told) / 2, (decisive + beside * told) / 2, 1 - decisive)
        sound = chances(right).passed
        passed = drawn(rng, int(rng.binomial(runs, sound)), shares[:2], None)
        found = int((answers(table, passed)[0] == 0).sum())
        who = f"candidate beside the point in {beside:.0%}, judge right in {right:.0%}"
        yield Row("controls and `--not-worse 0.1` pass", LIKE, who, RISK, found, runs)


def once(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """Level systems with recorded scores: either is named."""
    for ties in TIES:
        preferences = drawn(rng, runs, ((1 - ties) / 2, (1 - ties) / 2), None)
        decisive, lead = ((preferences != 0).sum(axis=1), np.abs(preferences.sum(axis=1, dtype=np.int64)))
        p_values = np.minimum(1, 2 * binom.sf((decisive + lead) // 2 - 1, decisive, 0.5))
        found = int(((lead > 0) & (p_values <= RISK)).sum())
        yield Row("`once`: either name", LIKE, f"level, {ties:.0%} ties", RISK, found, runs)


CLAIMS: dict[str, Callable[[int, np.random.Generator], Iterator[Row]]] = {
    "sequential": sequential, "now": now, "anytime": anytime, "bounds": bounds, "scores": scores,
    "by-table": by_table, "groups": groups, "controls": controls, "once": once,
    "stated": stated, "stronger": stronger, "intervals": intervals, "allocated": allocated,
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

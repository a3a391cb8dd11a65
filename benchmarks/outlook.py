"""How often it is true that about so many more judgments would be enough, or that all would not decide.

    python benchmarks/outlook.py [--runs 20] [--items 300]
    python benchmarks/outlook.py --forecasts [--runs 4000] [--limits 200 805 2400 5000]

Comparisons about items like these are simulated, of systems that are level or nearly so. One that is still open after
60, 120 or 180 judgments is told what would decide it, and then goes on to its end. The forecast takes the rates so far
as they are, and by chance a run may end sooner or later. Where not even all would decide, the chance that they do all
the same is compared with how often they did.

With `--forecasts`: how far off the shares are that `Bets.outlook` foretells, by so many runs that are followed draw by
draw, in points, and what a forecast takes of the processor. These runs have a standard error of up to 0.8 points.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Tally
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stopping.bets import NEAR, Bets, answers
from judgeloop.methods.stopping.rule import Rule
from judgeloop.questions.compare.outlook import more_to_decide

RISK, MARGIN = 0.1, 0.1
GAPS, TIES, LOOKS = (-0.1, -0.05, 0.0, 0.05, 0.1), (0.3, 0.6), (30, 60, 120, 180)
ASKED = {
    "winner": {},
    "not worse": {"not_worse": MARGIN},
    "min gap": {"min_gap": MARGIN},
    "near tie": {"near_tie": MARGIN},
}
SHARES = ((0.0, 0.0), (0.0, 0.3), (0.05, 0.3), (0.05, 0.7), (0.1, 0.3))  # gap and ties
MORE = 1.2  # times the limit: items of a pool


def tally_of(verdicts: list[int], items: int) -> Tally:
    """Return the counts of verdicts: 1 for the first system, -1 for the second, 0 for a tie."""
    wins = verdicts.count(1), verdicts.count(-1)
    return Tally(items, wins, verdicts.count(0), preferences=tuple(verdicts))


def told(rule: Rule, verdicts: list[int], seen: Counter[str], chances: list[tuple[float, bool]]) -> None:
    """Count what is said of a run at each look where it is open, and whether it is so.

    Where no number is said, also the chance that all decide.
    """
    items = len(verdicts)
    looks = range(1, items + 1)
    met = (n for n in looks if rule.reason_to_stop(tally_of(verdicts[:n], items)) is not None)
    end = next(met, items + 1)
    for look in (one for one in LOOKS if one < end):
        known = tally_of(verdicts[:look], items)
        more = more_to_decide(rule, known, items - look, sampled=True)
        decided = end <= (items if more is None else look + more)
        seen[f"{'so many' if more else 'never'}, {'decided' if decided else 'open'}"] += 1
        if not more:
            chances.append((rule.chance_at_the_end(known, items - look), decided))


def followed(rule: Bets, gap: float, ties: float, runs: int) -> NDArray[np.float64]:
    """Return the mean judgments and the shares of the answers of runs that are followed draw by draw."""
    rng, scores = np.random.default_rng(5), np.array([1, 0, -1], dtype=np.int8)
    chances = [(1 - ties + gap) / 2, ties, (1 - ties - gap) / 2]
    if rule.items >= UNLIMITED:
        draws = rng.choice(scores, (runs, rule.limit), p=chances)
    else:
        won, tied = (round(chance * rule.items) for chance in chances[:2])
        pool = np.repeat(scores, [won, tied, rule.items - won - tied])
        draws = np.array([rng.permutation(pool)[: rule.limit] for _ in range(runs)])
    when, which = answers(rule.begin, draws)
    return np.array([when.mean(), *((which == answer).mean() for answer in (0, 1, NEAR))])


def show_forecasts(limits: list[int], runs: int) -> None:
    """Print a row for each question and limit: how far off the forecast is, and what it takes."""
    print("| asked | limit | shares | within 3 points | worst | judgments, worst | slowest |\n" + "|---" * 7 + "|")
    for (name, asked), limit in itertools.product(ASKED.items(), limits):
        off, judgments, seconds = [], [], []
        for (gap, ties), items in itertools.product(SHARES, (UNLIMITED, round(MORE * limit))):
            rule = Bets(RISK, items, limit, **asked)
            right = followed(rule, gap, ties, runs)
            begin = time.process_time()
            found = np.array(rule.outlook(gap, ties))
            seconds.append(time.process_time() - begin)
            off += [100 * abs(one) for one in found[1:] - right[1:] if one]
            judgments.append(found[0] / right[0] - 1)
        close = sum(one <= 3 for one in off)
        worst = max(judgments, key=abs)
        print(
            f"| {name} | {limit:,} | {len(off)} | {close} | {max(off):.1f} | {worst:+.1%} | {max(seconds):.2f} s |",
            flush=True,
        )


def main() -> None:
    """Print for each rule how often it decides within the judgments foretold, and where none were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help="by default 20, and 4,000 for forecasts")
    parser.add_argument("--forecasts", action="store_true")
    parser.add_argument("--limits", type=int, nargs="+", default=[200, 805, 2400, 5000])
    parser.add_argument("--items", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.forecasts:
        show_forecasts(arguments.limits, arguments.runs or 4000)
        return
    rng, items = np.random.default_rng(0), arguments.items
    rules = {"winner": Bets(RISK, UNLIMITED, items), "not worse": Bets(RISK, UNLIMITED, items, not_worse=MARGIN)}
    for name, rule in rules.items():
        seen, chances = Counter[str](), list[tuple[float, bool]]()
        for gap in GAPS:
            for ties in TIES:
                shares = ((1 - ties - gap) / 2, (1 - ties + gap) / 2, ties)
                for verdicts in rng.choice([1, -1, 0], size=(arguments.runs or 20, items), p=shares):
                    told(rule, verdicts.tolist(), seen, chances)
        for said in ("so many", "never"):
            decided, still = seen[f"{said}, decided"], seen[f"{said}, open"]
            print(f"{name:<12}{said:<9}{decided + still:>6} times, decided in {decided:>5}")
        for low, high in itertools.pairwise((0.0, 0.1, 0.2, 0.4, 1.0)):
            ends = [decided for chance, decided in chances if low <= chance < high]
            said = f"all, chance {low:g} to {high:g}"
            print(f"{name:<12}{said:<26}{len(ends):>6} times, decided in {sum(ends):>5}")


if __name__ == "__main__":
    main()

"""What each question about two systems costs on recorded verdicts, and how often it is wrong.

    python benchmarks/what_each_question_costs.py DATA [--pairs 300] [--gap 0.1] [--limits 200 805] [--about like-these]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is
asked. At a risk of 0.1, four questions are asked about pairs of systems drawn at random: which is
better (`sequential`), which to choose up to a gap (`--min-gap`), whether the second is not worse
(`--not-worse`), and whether there is no difference that matters (`--near-tie`). Those by table are
computed exactly from each pair's shares; the others run over one random order of a pair's items.
"Wrong" is the share of runs with an answer that all items contradict, and "behind" that of runs
which name a system that is behind at all. `--about` takes one of the populations; both by default.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from score_tables import TABLES, score_table

from judgeloop.core.records import UNLIMITED, Population, preference
from judgeloop.methods.stats.betting import log_wealth_path
from judgeloop.methods.stats.exact_tables import Zone, calibrated, not_worse, within
from judgeloop.methods.stopping.sequential import Sequential

RISK, EDGE = 0.1, 1e-9


class Row(NamedTuple):
    """Of one pair: expected judgments, and chances of a first, a second and a wrong answer."""

    judged: float
    first: float
    second: float
    wrong: float
    behind: float


def pairs_of(scores: NDArray[np.float64], margin: float, count: int) -> list[NDArray[np.int8]]:
    """Return the preferences between systems drawn at random, on the items that both have."""
    found = []
    for seed in range(count):
        one, other = np.random.default_rng([1, seed]).permutation(len(scores))[:2]
        common = ~np.isnan(scores[[one, other]]).any(axis=0)
        found.append(preference(scores[one, common] - scores[other, common], margin).astype(np.int8))
    return found


def by_table(pair: NDArray[np.int8], zone: Zone, limit: int, items: int | None) -> Row:
    """Compute what a table answers, from the shares of a pair; the first system is side 0."""
    table = calibrated(zone, RISK, limit, items)
    gap = float(pair.mean())
    seen = table.outlook(gap, float((pair != 0).mean()))
    wrong = [
        answer if own <= null + EDGE else 0.0
        for answer, own, null in zip(seen.answers, (gap, -gap), zone.nulls, strict=True)
    ]
    names = zone.nulls[0] == zone.nulls[1]
    behind = seen.answers[gap > 0] if names and abs(gap) > EDGE else 0.0
    return Row(seen.judgments, *seen.answers, sum(wrong), behind)


def winner(pair: NDArray[np.int8], limit: int, *, these: bool) -> Row:
    """Run `sequential` over the pair's items in their order."""
    most = min(limit, len(pair))
    rule = Sequential(RISK, len(pair) if these else UNLIMITED, most)
    met = rule.met_along_each(pair[None, :most], rule.items, np.array([RISK]))[0, 0, 4:]
    at = int(met.argmax()) + 5 if met.any() else most
    lead, gap = int(pair[:at].sum()), float(pair.mean())
    if not met.any() and not (these and most == len(pair)):
        return Row(at, 0, 0, 0, 0)
    wrong = float(lead * gap <= 0 and lead != 0)
    return Row(at, float(lead > 0), float(lead < 0), wrong, wrong)


def near_tie(pair: NDArray[np.int8], limit: int, near: float, *, these: bool) -> Row:
    """Bet over the pair's items in their order: no difference that matters, or a winner."""
    items, most = len(pair) if these else UNLIMITED, min(limit, len(pair))
    bets = {
        mean: [np.exp(-np.maximum(0, log_wealth_path(sign * pair[:most], items, mean))) <= RISK for sign in (1, -1)]
        for mean in (0.0, -near)
    }  # fmt: skip
    named, tied = bets[0.0][0] | bets[0.0][1], bets[-near][0] & bets[-near][1]
    ends = named | tied
    at = int(ends[4:].argmax()) + 4 if ends[4:].any() else most - 1
    lead, gap = int(pair[: at + 1].sum()), float(pair.mean())
    none = bool(tied[at])
    wrong = abs(gap) >= near - EDGE if none else bool(named[at]) and lead * gap <= 0
    return Row(at + 1, float(named[at] and not none), float(none), float(wrong), 0.0)


def costs(data: Path, pairs: int, gap: float, limits: list[int], about: list[str]) -> None:
    """Print a line for each of the recorded verdicts, populations, limits and questions."""
    head = f"{'judged':>8}{'first':>8}{'second':>8}{'open':>7}{'wrong':>8}{'behind':>8}"
    print(f"{pairs} pairs, risk {RISK}, a gap of {gap:g}\n{'verdicts':<24}{'about':<12}{'limit':>6}  question    {head}")  # fmt: skip
    for name, (file, tie, _) in TABLES.items():
        found = pairs_of(score_table(data / file).scores, tie, pairs)
        rng = np.random.default_rng(7)
        shuffled = [rng.permutation(pair) for pair in found]
        most = max(map(len, found))
        for population in about:
            these = population == Population.THESE_ITEMS
            items = most if these else None
            for limit in sorted({min(limit, most) for limit in limits}):
                asked = {
                    "winner": [winner(pair, limit, these=these) for pair in shuffled],
                    "min gap": [by_table(p, within(gap), limit, items) for p in found],
                    "not worse": [by_table(p, not_worse(gap), limit, items) for p in found],
                    "near tie": [near_tie(pair, limit, gap, these=these) for pair in shuffled],
                }
                for question, rows in asked.items():
                    m = Row(*np.mean(rows, axis=0))
                    figures = f"{m.judged:>8.0f}{m.first:>8.1%}{m.second:>8.1%}{1 - m.first - m.second:>7.1%}{m.wrong:>8.2%}{m.behind:>8.1%}"  # fmt: skip
                    print(f"{name:<24}{population:<12}{limit:>6}  {question:<12}{figures}", flush=True)


def main() -> None:
    """Print what each question costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--gap", type=float, default=0.1)
    parser.add_argument("--limits", type=int, nargs="+", default=[200, 805])
    parser.add_argument("--about", nargs="+", choices=list(Population), default=list(Population))
    given = parser.parse_args()
    costs(given.data, given.pairs, given.gap, given.limits, given.about)


if __name__ == "__main__":
    main()

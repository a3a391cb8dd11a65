"""What each question about two systems costs on recorded verdicts, and how often it is wrong.

    python benchmarks/what_each_question_costs.py DATA [--pairs 300] [--gap 0.1] [--limits 200 805] [--only MQM]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is
asked. At a risk of 0.1, four questions are asked about pairs of systems drawn at random: which is
better, which to choose up to a gap (`--min-gap`), whether the second is not worse (`--not-worse`),
and whether there is no difference that matters (`--near-tie`), over one random order of a pair's
items. "Wrong" is the share of runs with an answer that all items contradict, and "behind" that of
runs which name a system that is behind at all. `--about` takes one of the populations; both by default.
`--only` takes the verdicts whose names contain its text. "MQM news" are people's marks of translations: 650 segments,
fifteen systems, most of which are close.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from score_tables import TABLES, score_table

from judgeloop.core.records import UNLIMITED, Population, preference
from judgeloop.methods.stopping.bets import NEAR, Bets, answers

RISK, EDGE = 0.1, 1e-9
VERDICTS = {name: (file, tie) for name, (file, tie, _) in TABLES.items()}
VERDICTS["MQM news"] = "mqm-news/verdicts-mqm.csv.gz", 0.0


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


def asked(shuffled: list[NDArray[np.int8]], limit: int, *, these: bool, **question: float) -> list[Row]:
    """Run the rule over each pair's items in their order; the first answer that can be given is side 0."""
    rows = []
    for pair in shuffled:
        most, gap = min(limit, len(pair)), float(pair.mean())
        rule = Bets(RISK, len(pair) if these else UNLIMITED, most, **question)
        (when,), (which,) = answers(rule.begin, pair[None, :most].astype(np.int64))
        margin = question.get("near_tie", question.get("min_gap", 0.0))
        ahead = gap if which == 0 else -gap
        if which == NEAR:
            rows.append(Row(when, 0, 1, float(abs(gap) >= margin - EDGE), 0))
        elif "not_worse" in question:  # the second passes, or fails
            wrong = gap >= question["not_worse"] - EDGE if which == 1 else gap <= EDGE
            rows.append(Row(when, float(which == 1), float(which == 0), float(which >= 0 and wrong), 0))
        else:
            wrong = which >= 0 and ahead <= (-question["min_gap"] if "min_gap" in question else 0.0) + EDGE
            rows.append(
                Row(when, float(which == 0), float(which == 1), float(wrong), float(which >= 0 and ahead < -EDGE))
            )
    return rows


def costs(data: Path, pairs: int, gap: float, limits: list[int], about: list[str], *, only: str) -> None:
    """Print a line for each of the recorded verdicts, populations, limits and questions."""
    head = f"{'judged':>8}{'first':>8}{'second':>8}{'open':>7}{'wrong':>8}{'behind':>8}"
    print(f"{pairs} pairs, risk {RISK}, a gap of {gap:g}\n{'verdicts':<24}{'about':<12}{'limit':>6}  question    {head}")  # fmt: skip
    for name, (file, tie) in VERDICTS.items():
        if only not in name:
            continue
        found = pairs_of(score_table(data / file).scores, tie, pairs)
        rng = np.random.default_rng(7)
        shuffled = [rng.permutation(pair) for pair in found]
        most = max(map(len, found))
        for population in about:
            these = population == Population.THESE_ITEMS
            for limit in sorted({min(limit, most) for limit in limits}):
                questions: dict[str, dict[str, float]] = {
                    "winner": {},
                    "min gap": {"min_gap": gap},
                    "not worse": {"not_worse": gap},
                    "near tie": {"near_tie": gap},
                }
                for question, given in questions.items():
                    rows = asked(shuffled, limit, these=these, **given)
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
    parser.add_argument("--only", default="", help="part of the name of verdicts")
    given = parser.parse_args()
    costs(given.data, given.pairs, given.gap, given.limits, given.about, only=given.only)


if __name__ == "__main__":
    main()

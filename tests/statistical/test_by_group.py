"""Level groups are named with at most the risk, whatever decides which is looked at next.

`python benchmarks/by_group.py` repeats the first test 20,000 times.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from support.promises import TIMES, check_risk

from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.methods.stats.betting import risk_by_bets
from judgeloop.methods.stats.corrected import controls, of_pool
from judgeloop.methods.stopping.by_group import ByGroup

SPEC = importlib.util.spec_from_file_location("by_group", Path(__file__).parents[2] / "benchmarks" / "by_group.py")
assert SPEC is not None
assert SPEC.loader is not None
BENCHMARK = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(BENCHMARK)


@pytest.mark.parametrize("sampled", [True, False])
def test_level_groups_looked_at_to_the_end_are_named_with_at_most_the_risk(sampled, capsys):
    wrong = BENCHMARK.level(1_000, np.random.default_rng(5), sampled=sampled)
    check_risk(f"level groups, sampled {sampled}", wrong, 1_000, BENCHMARK.RISK, capsys)


@pytest.mark.parametrize("sampled", [True, False])
def test_level_groups_of_unequal_sizes_asked_as_they_promise_keep_the_risk(sampled, capsys):
    """With groups of 20, 40 and 80 items, and abstentions; the nearest group is asked next."""
    rng, wrong, runs = np.random.default_rng(6), 0, 100 * TIMES
    groups = np.repeat(["a", "b", "c"], [20, 40, 80]).tolist()
    for _ in range(runs):
        verdicts = {
            n: Abstention("refused") if rng.random() < 0.03 else Verdict(float(rng.choice([0, 0.5, 1])))
            for n in range(140)
        }
        if not sampled:  # each group is exactly level
            halves = [np.repeat([0.0, 1.0], size // 2) for size in (20, 40, 80)]
            scores = np.concatenate([rng.permutation(half) for half in halves])
            verdicts = {n: Verdict(float(score)) for n, score in enumerate(scores)}
        tests, labels = ByGroup(dict(enumerate(groups)), 0.1, sampled=sampled), []
        order = [Choice(int(n), None) for n in rng.permutation(140)]
        asked = order[:30]
        while asked:
            labels += [Label(one, verdicts[one.position]) for one in asked]
            tests.follow(labels)
            known = {label.choice.position for label in labels}
            asked = tests.ask([one for one in order if one.position not in known])
        wrong += bool(tests.rejected())
    check_risk(f"as asked, sampled {sampled}", wrong, runs, 0.1, capsys)


@pytest.mark.quick
@pytest.mark.parametrize("agrees", [0.0, 0.7, 1.0])
def test_level_groups_keep_the_risk_whatever_a_cheap_judge_of_all_items_says(agrees, capsys):
    """Groups of 20, 40 and 80 items that are exactly level, looked at to their last item (`by_group.py`)."""
    rng, wrong, runs = np.random.default_rng(8), 0, 200 * TIMES
    for _ in range(runs):
        risks = []
        for items in (20, 40, 80):
            dear = rng.permutation(np.repeat([1.0, 0.0, -1.0], [items // 4, items // 2, items // 4]))
            guess = rng.choice([1.0, 0.0, -1.0], size=items, p=[0.5, 0.3, 0.2])  # in favour of the first
            cheap = np.where(rng.random(items) < agrees, dear, guess)
            own = controls(dear.tolist(), of_pool(cheap, np.arange(items)))
            risks += [risk_by_bets((1, -1)[side] * dear, items, controls=own.of(side)) for side in (0, 1)]
        wrong += min(risks) <= 0.1 / 6  # the first of Holm's levels
    check_risk(f"a cheap judge that agrees in {agrees:.0%}", wrong, runs, 0.1, capsys)


def test_a_planted_loss_is_found_in_most_runs_about_these_items():
    rng = np.random.default_rng(7)
    found = [BENCHMARK.planted(200, rng, sampled=False, exact=True) for _ in range(40)]
    assert sum(judgments is not None and judgments <= 350 for judgments in found) >= 36

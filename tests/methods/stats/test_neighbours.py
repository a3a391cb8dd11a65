from __future__ import annotations

import numpy as np
import pytest

from judgeloop.methods.stats.neighbours import ALARM, FEWEST, NEAR, neighbours_risk

pytestmark = pytest.mark.smoke


def risk(lines, values, seed=0):
    return neighbours_risk(np.array(lines), np.array(values, dtype=float), np.random.default_rng(seed))


def documents(seed, items=300, length=20):
    """Verdicts that lean to one side in each document, of `length` lines, in a random order of lines."""
    rng = np.random.default_rng(seed)
    lines = rng.permutation(items)[:200]
    lean = rng.choice([-1.0, 1.0], items // length + 1)[lines // length]
    return lines, np.where(rng.random(200) < 0.75, lean, -lean)


def test_documents_are_seen_and_random_order_is_not():
    seen = [risk(*documents(seed)) for seed in range(20)]
    assert sum(found <= ALARM for found in seen) >= 18
    shuffled = [
        (lines, np.random.default_rng(seed).permutation(values))
        for seed in range(300)
        for lines, values in [documents(seed)]
    ]
    alarms = sum(risk(*one) <= ALARM for one in shuffled)
    assert alarms <= 9, "more than 3 of 100 where 1 is stated has a chance of 0.4 %"


def test_the_order_in_which_items_were_judged_does_not_matter_and_the_seed_does_little():
    lines, values = documents(1)
    turned = np.argsort(values, kind="stable")
    assert risk(lines, values) == risk(lines, values)
    assert risk(lines[turned], values[turned]) <= ALARM


def test_only_lines_near_each_other_count():
    lines = np.arange(60) * (NEAR + 1)
    assert risk(lines, np.repeat([-1.0, 1.0], 30)) == 1.0


@pytest.mark.parametrize("values", [[1.0] * 100, [1.0, -1.0] * (FEWEST // 2 - 1), []])
def test_of_few_values_or_of_one_value_nothing_is_said(values):
    assert risk(range(len(values)), values) is None

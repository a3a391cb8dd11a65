"""Holm's procedure over criteria on the same items."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.core.records import IDENTICAL, Abstention, Choice, Label, Verdict
from judgeloop.methods.stopping.by_criterion import ByCriterion
from judgeloop.methods.stopping.by_group import ByGroup

NAMES = ("accuracy", "tone")


def labels(*scores):
    return [
        Label(Choice(n, 0.1), Verdict(0.5, criteria=dict(zip(NAMES, each, strict=True))))
        for n, each in enumerate(scores)
    ]


def test_each_criterion_is_tested_as_a_group_with_these_verdicts_would_be():
    found = labels(*[(1.0, 0.0)] * 30, *[(0.0, 0.0)] * 4)
    test = ByCriterion(NAMES, range(40), 0.1, sampled=True)
    for known in (5, 20, len(found)):
        test.follow(found[:known])
    groups = ByGroup(dict(enumerate(name for name in NAMES for _ in range(40))), 0.1, sampled=True)
    groups.follow([Label(Choice(n, 0.1), Verdict(one.answer.criteria["accuracy"])) for n, one in enumerate(found)])
    groups.follow(
        [
            *[Label(Choice(n, 0.1), Verdict(one.answer.criteria["accuracy"])) for n, one in enumerate(found)],
            *[Label(Choice(40 + n, 0.1), Verdict(one.answer.criteria["tone"])) for n, one in enumerate(found)],
        ]
    )
    assert test.findings() == groups.findings()
    assert {name: one.better for name, one in test.findings().items()} == {"accuracy": 0, "tone": 1}


def test_it_asks_on_in_the_order_drawn_for_what_is_open():
    test = ByCriterion(NAMES, range(40), 0.1, sampled=True)
    test.follow(labels(*[(1.0, 0.5)] * 6))
    left = [Choice(n, None) for n in range(39, 5, -1)]
    asked = test.ask(left)
    assert 0 < len(asked) < len(left)
    assert list(asked) == left[: len(asked)]
    assert test.left == 34


@pytest.mark.parametrize(
    ("answer", "against"),
    [(Verdict(0.5, reason=IDENTICAL), False), (Verdict(1.0), True), (Abstention("refused"), True)],
)
def test_what_has_no_score_counts_against_both_unless_the_outputs_are_identical(answer, against):
    test = ByCriterion(NAMES[:1], range(60), 0.1, sampled=True)
    known = labels(*[(1.0, 1.0)] * 12)
    test.follow([*[Label(Choice(12 + n, 0.1), answer) for n in range(8)], *known])
    assert (test.findings()["accuracy"].better is None) is against


def test_no_criterion_is_named_wrongly_more_often_than_the_risk():
    rng = np.random.default_rng(5)
    wrong, runs = 0, 40
    for _ in range(runs):
        shared = rng.integers(2, size=(40, 1))
        scores = np.where(rng.random((40, 3)) < 0.5, shared, rng.integers(2, size=(40, 3))).astype(float)
        test = ByCriterion("abc", range(40), 0.1, sampled=True)
        known = [
            Label(Choice(n, 0.1), Verdict(0.5, criteria=dict(zip("abc", row, strict=True))))
            for n, row in enumerate(scores)
        ]
        for end in range(10, 41, 5):
            test.follow(known[:end])
        wrong += any(one.better is not None for one in test.findings().values())
    assert wrong <= 0.1 * runs + 2 * (runs * 0.1 * 0.9) ** 0.5

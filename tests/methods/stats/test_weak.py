"""From likelihoods to opinions, and to one opinion of all weak judges."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from judgeloop.methods.stats.kgrams import likelihoods
from judgeloop.methods.stats.weak import ensemble, opinions

TEXTS = ["a b a b", "a b", "a c"]  # their likelihoods are worked by hand in test_kgrams.py


def test_the_likelier_text_wins_and_equally_likely_ones_tie():
    # Likelihoods in sixteenths 7 7 5, in eighths 7 7 5, in twelfths 11 10 8; the second is the
    # baseline.
    assert opinions(likelihoods(TEXTS, 3), 1).tolist() == [[0, 0, -1], [0, 0, -1], [1, 0, -1]]


def test_differences_by_rounding_are_ties_however_small_the_likelihoods():
    likely = np.array([[0.3, 0.1 + 0.2, 0.3 + 1e-9], [3e-15, 3e-15 * (1 + 1e-15), 2e-15]])
    assert opinions(likely, 0).tolist() == [[0, 0, 1], [0, 0, -1]]


def test_texts_without_words_tie_with_each_other():
    assert opinions(np.zeros((2, 3)), 1).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_one_system_ties_with_itself():
    assert opinions(np.array([[0.4]]), 0).tolist() == [[0]]


def test_all_together_as_worked_by_hand():
    found = opinions(likelihoods(TEXTS, 3), 1)[:, None, :]
    # The first: (½ + ½ + 1)/3 = 2/3, a win only just. The baseline: ½. The third: 0.
    assert ensemble(found).tolist() == [[1, 0, -1]]


@pytest.mark.parametrize("judges", [1, 2, 3, 4, 6, 10])
def test_all_together_are_the_rounded_mean_exactly(judges):
    worth = {1: Fraction(1), 0: Fraction(1, 2), -1: Fraction(0)}
    every = list(
        {tuple(sorted(row)) for row in product((-1, 0, 1), repeat=judges)} if judges < 7 else ten()
    )
    found = ensemble(np.array(every, dtype=np.int8).T[:, None, :])[0]
    for row, outcome in zip(every, found, strict=True):
        mean = sum(worth[opinion] for opinion in row) / judges
        expected = 1 if mean >= Fraction(2, 3) else 0 if mean >= Fraction(1, 3) else -1
        assert outcome == expected


def ten():
    """All counts of ten opinions."""
    for wins in range(11):
        for ties in range(11 - wins):
            yield (1,) * wins + (0,) * ties + (-1,) * (10 - wins - ties)


def test_three_hundred_judges_do_not_overflow():
    assert ensemble(np.ones((300, 1, 2), dtype=np.int8)).tolist() == [[1, 1]]

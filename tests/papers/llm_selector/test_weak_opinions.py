"""From likelihoods to opinions, and to one opinion of all weak judges."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.papers.llm_selector.information import ensemble
from judgeloop.papers.llm_selector.opinions import likelihoods, opinions

TEXTS = ["a b a b", "a b", "a c"]  # their likelihoods are worked by hand below


def test_the_likelier_text_wins_and_equally_likely_ones_tie():
    # Likelihoods in sixteenths 7 7 5, in eighths 7 7 5, in twelfths 11 10 8; the second is the
    # baseline.
    assert opinions(likelihoods(TEXTS, 3), 1).tolist() == [[0, 0, -1], [0, 0, -1], [1, 0, -1]]


def test_differences_by_rounding_are_ties_however_small_the_likelihoods():
    likely = np.array([[0.3, 0.1 + 0.2, 0.3 + 1e-9], [3e-15, 3e-15 * (1 + 1e-15), 2e-15]])
    assert opinions(likely, 0).tolist() == [[0, 0, 1], [0, 0, -1]]


@pytest.mark.parametrize("judges", [1, 2, 3, 4, 6, 10])
def test_all_together_are_the_rounded_mean_exactly(judges):
    worth = {1: Fraction(1), 0: Fraction(1, 2), -1: Fraction(0)}
    every = list({tuple(sorted(row)) for row in product((-1, 0, 1), repeat=judges)} if judges < 7 else ten())
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


START = object()


def plainly(texts, orders):
    """The definition, with a counter of contexts and one of what follows them."""
    found = np.zeros((orders, len(texts)))
    for order in range(1, orders + 1):
        pairs = [list(in_context(text.split(), order)) for text in texts]
        contexts = Counter(context for own in pairs for context, _ in own)
        grams = Counter(pair for own in pairs for pair in own)
        for system, own in enumerate(pairs):
            if own:
                found[order - 1, system] = sum(grams[pair] / contexts[pair[0]] for pair in own) / len(own)
    return found


def in_context(words, order):
    """Each word after up to `order` - 1 things before it; before the first stands a mark."""
    marked = [START, *words]
    for place in range(1, len(marked)):
        yield tuple(marked[max(0, place - order + 1) : place]), marked[place]


def test_values_worked_by_hand():
    found = likelihoods(["a b a b", "a b", "a c"], 3)
    # k = 1. Of 8 words 4 are a, 3 b, 1 c: (4+3+4+3)/8/4, (4+3)/8/2, (4+1)/8/2.
    assert found[0] == pytest.approx([7 / 16, 7 / 16, 5 / 16])
    # k = 2. a comes first in all; of 4 words after an a 3 are b, 1 c; after b comes a only: so
    # the means are (1 + 3/4 + 1 + 3/4)/4, (1 + 3/4)/2, (1 + 1/4)/2.
    assert found[1] == pytest.approx([7 / 8, 7 / 8, 5 / 8])
    # k = 3. After a first a come b, b, c; after "a b" a only, after "b a" b only: so
    # the means are (1 + 2/3 + 1 + 1)/4, (1 + 2/3)/2, (1 + 1/3)/2.
    assert found[2] == pytest.approx([11 / 12, 5 / 6, 2 / 3])


@given(st.lists(st.text(alphabet="abc  ", max_size=14), min_size=1, max_size=6), st.integers(1, 6))
def test_they_are_those_plainly_counted(texts, orders):
    assert likelihoods(texts, orders) == pytest.approx(plainly(texts, orders), rel=1e-12, abs=1e-15)


@given(st.lists(st.text(alphabet="ab ", max_size=8), min_size=1, max_size=5), st.integers(1, 4))
def test_equal_texts_are_exactly_as_likely(texts, orders):
    found = likelihoods([*texts, texts[0]], orders)
    assert np.array_equal(found[:, 0], found[:, -1])


def test_a_text_by_itself_is_certain_once_its_contexts_do_not_repeat():
    assert likelihoods(["a b c"], 3).tolist() == [[pytest.approx(1 / 3)], [1], [1]]

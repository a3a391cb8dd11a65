from __future__ import annotations

import pytest

from judgeloop.methods.stats.agreement import cohen, fleiss, kappa

# The widely published example of Fleiss' kappa: 14 raters put each of 10 subjects into one of 5
# categories, a row a
# subject, a column a category. The shares of the categories are 20, 28, 39, 21 and 32 of 140; their
# squares add up to
# (400 + 784 + 1521 + 441 + 1024) / 19600 = 4170 / 19600 = 0.2128, the agreement expected by chance.
# The squares of the
# counts add up to 828, so that (828 - 140) / (10 * 14 * 13) = 688 / 1820 = 0.3780 is observed.
# kappa = (0.3780 - 0.2128) / (1 - 0.2128) = 0.210.
FOURTEEN_RATERS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def votes_of(counts):
    """One entry a rater, from counts a category; -1, 0, 1 … stand for the categories."""
    return [[category - 1 for category, count in enumerate(row) for _ in range(count)] for row in counts]


def square(both, first_only, second_only, neither):
    """Votes of two judges from a table of two by two."""
    return [[1, 1]] * both + [[1, 0]] * first_only + [[0, 1]] * second_only + [[0, 0]] * neither


def test_fleiss_kappa_is_that_of_the_published_example():
    votes = votes_of(FOURTEEN_RATERS)
    assert fleiss(votes) == pytest.approx((688 / 1820 - 4170 / 19600) / (1 - 4170 / 19600), abs=1e-12)
    assert fleiss(votes) == pytest.approx(0.210, abs=5e-4)
    assert kappa(votes) == ("Fleiss' kappa", fleiss(votes))


@pytest.mark.parametrize(
    ("table", "value"),
    [
        # 35 of 50 agree; by chance 25/50 * 30/50 + 25/50 * 20/50 = 0.5 would. (0.7 - 0.5) / (1 -
        # 0.5)
        ((20, 5, 10, 15), 0.4),
        # 60 of 100 agree; by chance 0.7 * 0.6 + 0.3 * 0.4 = 0.54 would. (0.6 - 0.54) / 0.46
        ((45, 25, 15, 15), 0.06 / 0.46),
        # never agree; by chance half would. (0 - 0.5) / 0.5
        ((0, 4, 4, 0), -1.0),
        ((3, 0, 0, 5), 1.0),
        # each always says the same, but not the same as the other: nothing is left of what chance
        # would bring
        ((0, 6, 0, 0), 0.0),
    ],
)
def test_cohens_kappa_is_that_worked_by_hand(table, value):
    votes = square(*table)
    name, found = kappa(votes)
    assert name == "Cohen's kappa"
    assert found == pytest.approx(value, abs=1e-12)
    assert found == cohen([one for one, _ in votes], [other for _, other in votes])


def test_fleiss_kappa_does_not_depend_on_who_said_what():
    votes = votes_of(FOURTEEN_RATERS)
    assert fleiss([row[::-1] for row in votes[::-1]]) == pytest.approx(fleiss(votes))


@pytest.mark.parametrize(
    "votes", [[], [[1, 0]], [[1, 0, 1]], [[1], [0], [1]], [[1, 1], [1, 1]], [[0, 0, 0], [0, 0, 0], [0, 0, 0]]]
)
def test_a_kappa_that_is_not_defined_is_none(votes):
    assert kappa(votes) is None

from __future__ import annotations

import pytest

from judgeloop.core.outcomes import Tally
from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.rule import scores_for

pytestmark = pytest.mark.smoke

SCORES = {"a": Verdict(1.0), "b": Verdict(0.0), "=": Verdict(0.5), "?": Abstention("refused")}
FAMILIES = ["aab", "b=", "???", "a?", "=", "??b"]


def tally_of(families, *, at_once):
    family_of, labels, place = {}, [], 0
    for family, members in enumerate(families):
        labels.append([])
        for member in members:
            family_of[place] = family
            labels[-1].append(Label(Choice(place, 1 / (len(families) - family)), SCORES[member]))
            place += 1
    estimator = Preferences(sampled=True, family_of=family_of)
    if at_once:
        return estimator.tally([one for family in labels for one in family], len(families))
    tally = Tally(len(families))
    for family in labels:
        tally = estimator.extended(tally, family)
    return tally


@pytest.mark.parametrize("at_once", [True, False])
def test_a_family_is_one_draw_whose_score_is_the_mean_of_its_verdicts(at_once):
    tally = tally_of(FAMILIES, at_once=at_once)
    assert [round(score, 3) for score in scores_for(tally, 0).tolist()] == [0.333, -0.5, -1, 0, 0, -1]
    assert [round(score, 3) for score in scores_for(tally, 1).tolist()] == [-0.333, 0.5, -1, -1, 0, -0.333]
    assert (tally.wins, tally.ties, tally.abstentions) == ((2, 2), 1, 1)
    assert tally.propensities == ()
    means = [1 / 3, -1 / 2, 1 / 2, 0, -1 / 3]
    assert tally.total == pytest.approx(sum(means))
    assert tally.leader is None
    assert tally.gap == pytest.approx(0.0)


def test_the_leader_has_the_higher_mean_and_not_more_families():
    tally = tally_of(["aaa", "aab", "abb", "abb", "abb"], at_once=True)
    assert tally.wins == (2, 3)
    assert tally.leader == 0
    assert tally.gap == pytest.approx((1 + 1 / 3 - 1) / 5)


def test_bets_on_means_follow_a_growing_tally_as_they_follow_it_at_once():
    families = ["aab", "aaa", "aa=", "a?a", "aab", "aaa"] * 4
    rule, other = (Bets(0.1, 10**12, 100) for _ in (0, 1))
    grown = tally_of(families, at_once=False)
    whole = tally_of(families, at_once=True)
    bounds = [rule.bounds_by_draw(tally, 10**12, 100) for tally in (grown, whole)]
    assert (bounds[0] == bounds[1]).all()
    signs = tally_of([family[:1] for family in families], at_once=True)
    assert bounds[0][0, -1] < other.bounds_by_draw(signs, 10**12, 100)[0, -1]
    assert rule.is_met(grown)
    assert other.is_met(whole)

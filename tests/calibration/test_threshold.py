"""Replaying the past: which comparisons count, what they draw, how they end, and that a session
would have done the same."""

from __future__ import annotations

from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.walks import fared_at, steps

from judgeloop.calibration import walks as replaying
from judgeloop.calibration.threshold import Calibration, TooLittle, calibrate
from judgeloop.calibration.walks import Comparable, comparable, replayed
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.history.past import Past, no_past, past_of_scores, prospects_of
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.decisive import decisive
from judgeloop.methods.stats.risk_control import bounds_of
from judgeloop.methods.stopping.calibrated import Calibrated, chance_not_to_win
from judgeloop.methods.stopping.catalogue import Ingredients, rule_row


def past_of(rows, known=None):
    """From preferences by pair."""
    preferences = np.array(list(rows.values()), dtype=np.int8)
    known = np.ones(preferences.shape, dtype=bool) if known is None else np.array(known, dtype=bool)
    return Past(tuple(rows), np.where(known, preferences, 0).astype(np.int8), known)


def all_of(past):
    return Comparable(tuple(range(len(past))), "")


def walks_of(past, least=1, most=200, repetitions=1, seed=0):
    return replayed(
        past, all_of(past), limits=Limits(least, most), weighted=False,
        rng=np.random.default_rng(seed), repetitions=repetitions,
    )  # fmt: skip


def random_past(seed, systems=8, items=40, unknown=0.0):
    rng = np.random.default_rng(seed)
    skills = rng.normal(size=(systems, 1)) + rng.normal(size=(1, items)) ** 2 * rng.normal(size=(systems, items))
    scores = np.round(skills)
    scores[rng.random(scores.shape) < unknown] = np.nan
    return past_of_scores([f"s{one}" for one in range(systems)], scores, 0.0)


class TestWalks:
    def test_every_look_from_the_least_on_is_a_step_where_all_items_prefer_one(self):
        walks = walks_of(past_of({("a", "b"): [-1] * 9}), least=3, most=5)
        assert steps(walks, 0) == [(chance_not_to_win(n, 0, n, 9), n, False) for n in (3, 4)] + [(0, 5, False)]

    def test_ties_add_no_step(self):
        assert steps(walks_of(past_of({("a", "b"): [0] * 5})), 0) == []

    def test_between_level_systems_any_name_is_wrong_and_nothing_is_certain_at_the_end(self):
        # Whoever wins the first leads after one judgment only; after two they are level.
        walks = walks_of(past_of({("a", "b"): [1, -1]}), repetitions=4)
        assert [steps(walks, walk) for walk in range(4)] == [[(chance_not_to_win(1, 0, 1, 2), 1, True)]] * 4
        assert walks.complete.tolist() == [False] * 4

    def test_who_leads_is_wrong_as_long_as_it_is_not_who_wins_on_all_items(self):
        walks = walks_of(past_of({("a", "b"): [1, 1, -1]}), repetitions=200)
        # A third of the runs draw the item first that prefers the loser.
        firsts = [steps(walks, walk)[0] for walk in range(200)]
        assert {first[:2] for first in firsts} == {(chance_not_to_win(1, 0, 1, 3), 1)}
        assert 0.2 < np.mean([first[2] for first in firsts]) < 0.47
        assert walks.complete.all()

    def test_only_what_is_known_is_drawn(self):
        known = [[True, False, True, False, True, False]]
        walks = walks_of(past_of({("a", "b"): [1, -1, 1, -1, 1, -1]}, known), most=6)
        assert np.isfinite(walks.statistics[0]).tolist() == [True] * 3 + [False] * 3
        assert [step[1] for step in steps(walks, 0)] == [1, 2]  # two of three cannot be overtaken
        assert (walks.ends.tolist(), walks.complete.tolist()) == ([3], [True])

    def test_no_more_is_drawn_than_the_limit(self):
        walks = walks_of(past_of({("a", "b"): [1] * 9}), most=4)
        assert [step[1] for step in steps(walks, 0)] == [1, 2, 3, 4]
        assert (walks.ends.tolist(), walks.complete.tolist()) == ([4], [False])

    def test_how_runs_fared_counts_what_stopped_wrong_or_not_at_all(self):
        rows = {("a", "b"): [1] * 9, ("c", "d"): [1, -1], ("e", "f"): [0] * 9, ("g", "h"): [1] * 2}
        known = [[True] * 9, [True] * 2 + [False] * 7, [True] * 9, [True] * 2 + [False] * 7]
        past = past_of({pair: row + [0] * (9 - len(row)) for pair, row in rows.items()}, known)
        walks = walks_of(past, most=8)

        def fared(critical):
            return fared_at(walks, 0.5, bounds_of(np.array([[critical]])))

        # Anything under what 2 to 0 gives stops the first after 3; the second ends level after 2,
        # the third tied after 8, and of the
        # fourth all is known after 2.
        strict = fared(chance_not_to_win(2, 0, 2, 9))
        assert (strict.judgments, strict.wrong, strict.undecided) == ((3 + 2 + 8 + 2) / 4, 0, 2 / 4)
        # Anything that leads stops all but the third at once, the second wrongly.
        loose = fared(inf)
        assert (loose.judgments, loose.wrong, loose.undecided) == ((1 + 1 + 8 + 1) / 4, 1 / 4, 1 / 4)

    @settings(max_examples=40)
    @given(seed=st.integers(0, 10_000), critical=st.floats(0.001, 0.5), weighted=st.booleans())
    def test_a_session_with_the_same_draws_ends_where_the_walk_says(self, seed, critical, weighted):
        past, limits = random_past(seed), Limits(min_judgments=3, max_judgments=25)
        row = seed % len(past)
        first, second = past.pairs[row]
        found = Comparable((row,), "")
        walks = replayed(past, found, limits=limits, weighted=weighted, rng=np.random.default_rng(seed), repetitions=1)
        bounds = bounds_of(np.array([[critical]]))
        rest = past.without(first, second)
        known = prospects_of(rest, (first, second)) if weighted else None
        session = Session(
            items=past.known.shape[1],
            selector=decisive(known),
            estimator=Preferences(),
            rule=Calibrated(0.5, bounds, ""),
            limits=limits,
            rng=np.random.default_rng(seed),
        )
        outcome = replay(session, lambda choice: Verdict((1 + past.preferences[row, choice.position]) / 2))
        total = np.sign(past.preferences[row].sum())
        fared = fared_at(walks, 0.5, bounds)
        assert outcome.estimate.tally.judged == fared.judgments
        assert (outcome.winner is None) == (fared.undecided == 1)
        assert (outcome.winner is not None and (1 - 2 * outcome.winner) != total) == (fared.wrong == 1)


class TestComparable:
    def test_comparisons_of_one_of_the_two_with_others_are_like_the_new_one(self, rng):
        past = past_of({("base", "a"): [1, 1], ("b", "base"): [1, 1], ("c", "d"): [1, 1]})
        found = comparable(past, ("new", "base"), rng)
        assert (found.rows, found.shared) == ((0, 1), "base")
        assert found.sentence == "2 past comparisons of base with others on nearly all items"

    def test_without_a_baseline_those_that_share_no_system_are(self, rng):
        past = past_of({pair: [1, 1] for pair in combinations("abcdefg", 2)})
        found = comparable(past, ("x", "y"), rng)
        assert found.shared is None
        assert len(found.rows) == 3
        assert len({name for row in found.rows for name in past.pairs[row]}) == 6
        assert found.sentence == "3 past comparisons on nearly all items that share no system"

    def test_and_so_they_are_where_there_are_more_of_them(self, rng):
        past = past_of({("base", "a"): [1, 1], ("b", "c"): [1, 1], ("d", "e"): [1, 1]})
        found = comparable(past, ("base", "new"), rng)
        assert (found.rows, found.shared) == ((1, 2), None)

    def test_the_choice_does_not_depend_on_what_was_preferred(self):
        past = random_past(3)
        flipped = Past(past.pairs, np.roll(-past.preferences, 7, axis=0), past.known)
        one, other = (comparable(each, ("x", "y"), np.random.default_rng(5)) for each in (past, flipped))
        assert one == other

    def test_the_pair_itself_is_no_comparison_of_its_own_past(self, rng):
        past = past_of({("base", "new"): [1, 1], ("base", "a"): [1, 1]})
        assert comparable(past, ("new", "base"), rng).rows == (1,)

    def test_of_two_comparisons_of_the_same_systems_the_one_known_on_more_items_counts(self, rng):
        known = [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
        past = Past(
            (("a", "base"), ("base", "a"), ("base", "b")), np.ones((3, 3), dtype=np.int8), np.array(known, dtype=bool)
        )
        assert comparable(past, ("base", "new"), rng).rows == (1, 2)

    @pytest.mark.parametrize(
        ("items", "known", "counts"), [(10, 9, True), (10, 8, False), (1000, 900, True), (1000, 899, False)]
    )
    def test_nearly_all_items_have_to_be_known(self, items, known, counts, rng):
        flags = [[place < known for place in range(items)]]
        past = past_of({("base", "a"): [1] * items}, flags)
        assert len(comparable(past, ("base", "new"), rng).rows) == counts


def calibrated_on(past, pair=("base", "new"), risk=0.1, *, weighted=False, seed=0):
    return calibrate(past, pair, risk=risk, limits=Limits(), weighted=weighted, rng=np.random.default_rng(seed))


def with_baseline(comparisons, items=20):
    return past_of({("base", f"s{one}"): [1] * items for one in range(comparisons)})


class TestCalibrate:
    def test_too_little_says_how_many_it_found_and_how_many_it_takes(self):
        found = calibrated_on(with_baseline(4))
        assert found == TooLittle(4, 9, "4 past comparisons of base with others on nearly all items", 0.1)
        assert (
            found.sentence
            == "found 4 past comparisons of base with others on nearly all items, and a risk of 0.1 needs at least 9"
        )
        assert isinstance(calibrated_on(with_baseline(8)), TooLittle)
        assert isinstance(calibrated_on(with_baseline(9)), Calibration)

    def test_nothing_at_all_is_too_little(self):
        assert calibrated_on(no_past(20)).found == 0
        assert calibrated_on(no_past(20), weighted=True).needed == 9

    def test_where_no_run_erred_the_least_judgments_are_enough(self):
        found = calibrated_on(with_baseline(9))
        assert found.bounds.below(0.1) == inf
        fared = fared_at(found.walks, 0.1, found.bounds)
        assert (fared.judgments, fared.wrong, fared.undecided) == (5, 0, 0)
        rule = rule_row("compare", "calibrated").make(
            Ingredients(risk=0.1, items=20, limit=200, threshold=found.threshold)
        )
        assert (rule.threshold, rule.bounds) == (0.1, found.bounds)
        assert "9 past comparisons of base with others on nearly all items" in rule.guarantee

    def test_one_level_comparison_of_nineteen_is_all_that_a_tenth_bears(self):
        # (19 · 1/19 + 1) / 20 = 0.1 with one lost, 0.15 with two.
        past = with_baseline(19)
        level = np.tile(np.array([1, -1], dtype=np.int8), 10)
        one, two = past.preferences.copy(), past.preferences.copy()
        one[0] = two[0] = two[1] = level
        assert calibrated_on(Past(past.pairs, one, past.known)).bounds.below(0.1) == inf
        assert calibrated_on(Past(past.pairs, two, past.known)).bounds.below(0.1) < 0.5

    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_same_seed_chooses_the_same_threshold(self, weighted):
        past = random_past(1, systems=20, unknown=0.03)
        found = [
            calibrated_on(past, ("x", "y"), 0.2, weighted=weighted, seed=seed).bounds.critical for seed in (4, 4, 5)
        ]
        assert found[0].tolist() == found[1].tolist() != found[2].tolist()

    def test_the_bound_it_states_covers_what_its_own_runs_came_to(self):
        for seed in range(20):
            found = calibrated_on(random_past(seed, systems=20), ("x", "y"), 0.2, seed=seed)
            assert fared_at(found.walks, 0.2, found.bounds).wrong <= 0.2

    @pytest.mark.parametrize(("pair", "left"), [(("s0", "new"), 21), (("x", "y"), 15)])
    def test_weights_rest_on_the_past_without_the_systems_that_are_new_to_it(self, pair, left, monkeypatch):
        # Of 28 pairs of 8 systems, 21 are without one of them, and 15 without two.
        seen = []

        def noted(past, systems):
            seen.append((len(past), int((~past.apart_from(*systems)).sum())))
            return prospects_of(past, systems)

        monkeypatch.setattr(replaying, "prospects_of", noted)
        calibrated_on(random_past(2), pair, risk=0.25, weighted=True)
        in_common = 6 if "s0" in pair else 0  # comparisons of the baseline with the other six
        assert set(seen) == {(left, in_common)}
        assert len(seen) == (7 if "s0" in pair else 4)

    def test_weighted_draws_take_the_items_that_decide_first(self):
        """Only the first ten of two hundred items ever decide."""
        rows = {(f"a{one}", f"b{one}"): [1] * 10 + [0] * 190 for one in range(9)}
        found = [calibrated_on(past_of(rows), ("x", "y"), weighted=flag) for flag in (False, True)]
        even, weighted = (fared_at(one.walks, 0.1, one.bounds) for one in found)
        assert weighted.judgments == pytest.approx(5)
        assert even.judgments > 10

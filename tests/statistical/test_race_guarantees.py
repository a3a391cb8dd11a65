"""The best of many systems is dropped with at most the stated risk: by simulation, with fixed
seeds, on fields that invite the mistake."""

from __future__ import annotations

import numpy as np
import pytest
from support.promises import check_risk
from support.selectors import oracle

from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.betting import BETS, STAKES
from judgeloop.methods.stats.racing import after, start
from judgeloop.methods.stopping.best_of_many import Separated

RUNS, MORE_RUNS, SESSIONS = 2000, 20_000, 150
RISKS = (0.01, 0.05, 0.1, 0.2, 0.5)
TOO_RICH = 1e200  # long out


def half_and_half(items):
    scores = np.repeat([1.0, 0.0], [items // 2, items - items // 2])
    scores[items // 2] = 0.5 if items % 2 else scores[items // 2]
    return scores


def level(systems, items, rng):
    """All independent, and all exactly level."""
    return np.array([rng.permutation(half_and_half(items)) for _ in range(systems)])


def opposite(systems, items, rng):
    """Two level leaders, each winning where the other loses; copies of the first."""
    scores = np.tile(half_and_half(items), (systems, 1))
    scores[1] = 1 - scores[0]
    return scores


def alike(systems, items, rng):
    """Systems that mostly do the same, and are level."""
    scores = np.tile(half_and_half(items), (systems, 1))
    for row in scores:
        swapped = rng.permutation(items)[: items // 5]
        row[swapped] = row[rng.permutation(swapped)]
    return scores


def seldom(systems, items, rng):
    """Level; a fifth of the queries tell anything apart, so that a single loss weighs much."""
    scores = np.full((systems, items), 0.5)
    for row in scores:
        told = rng.permutation(items)[: max(2, items // 5 // 2 * 2)]
        row[told[::2]], row[told[1::2]] = 1.0, 0.0
    return scores


def hidden(systems, items, rng):
    """As `alike`; whoever knows the scores hides a third of the first system's wins and of the
    others' losses."""
    scores = alike(systems, items, rng)
    return np.where(hides(scores, rng, 1 / 3), np.nan, scores)


def hides(scores, rng, share):
    hidden = rng.random(scores.shape) < share
    hidden[0] &= scores[0] == 1
    hidden[1:] &= scores[1:] == 0
    return hidden


FIELDS = {field.__name__: field for field in (level, opposite, alike, seldom, hidden)}


def most_wealth(scores, runs, rng, dropped_at=None):
    """The most wealth against each system in `runs` orders, shape (runs, systems); a race drops at
    the risk `dropped_at`.

    The bets as `Race` describes them, written a second time, for many orders at once.
    """
    systems, items = scores.shape
    orders = rng.permuted(np.tile(np.arange(items), (runs, 1)), axis=1)
    for_it, against = np.nan_to_num(scores, nan=0.0), np.nan_to_num(scores, nan=1.0)
    least, most = np.zeros((runs, systems)), np.zeros((runs, systems))
    wealth, richest = np.ones((runs, systems, len(BETS))), np.ones((runs, systems))
    running = np.ones((runs, systems), dtype=bool)

    def opponents():
        """By run and system the opponent, and its sum."""
        sums = np.where(running, least, -np.inf)
        every = np.arange(runs)
        first = sums.argmax(axis=1)
        others = sums.copy()
        others[every, first] = -np.inf
        found = np.repeat(first[:, None], systems, axis=1)
        found[every, first] = others.argmax(axis=1)
        alone = running.sum(axis=1)[:, None] == 1
        return found, np.where(alone, -np.inf, np.take_along_axis(sums, found, axis=1))

    for draw in range(items):
        left = items - draw
        if dropped_at is not None:
            running &= richest < 1 / dropped_at
        found, theirs = opponents()
        betted = running & np.isfinite(theirs)
        low, high = for_it[:, orders[:, draw]].T, against[:, orders[:, draw]].T
        mean = np.where(betted, most - theirs, 0.0) / left
        won = np.take_along_axis(low, found, axis=1) - high
        room = 1 + mean
        gain = np.divide(won - mean, room, out=np.zeros_like(room), where=betted & (room > 0))
        wealth = np.minimum(wealth * (1 + gain[:, :, None] * BETS), TOO_RICH)
        least += np.where(running, low, 0.0)
        most += np.where(running, high, 0.0)
        surely = running & (opponents()[1] - most > left - 1)
        richest = np.maximum(richest, np.where(surely, np.inf, wealth @ STAKES))
    return richest, orders


@pytest.mark.parametrize("dropped_at", [None, 0.1, 0.3])
@pytest.mark.parametrize("field", FIELDS)
def test_many_races_at_once_are_the_race_run_one_by_one(field, dropped_at):
    rng = np.random.default_rng(4)
    scores = FIELDS[field](4, 40, rng)
    richest, orders = most_wealth(scores, 8, rng, dropped_at)
    for wealth, order in zip(richest, orders, strict=True):
        race, asked = start(40, 4), np.ones(4, dtype=bool)
        for position in order:
            asked = asked if dropped_at is None else asked & ~race.out(dropped_at)
            race = after(race, scores[:, position], asked)
        np.testing.assert_allclose(race.evidence, np.log(wealth), atol=1e-9)


def check_all(field, systems, items, runs, capsys, risks=(0.1, 0.3)):
    """In the field every system is the best; those with a role of their own are looked at, first
    with nobody dropped."""
    title = f"{field}, m {systems}, N {items}"
    for dropped_at in (None, *risks):
        rng = np.random.default_rng([systems, items, round(100 * (dropped_at or 0))])
        scores = FIELDS[field](systems, items, rng)
        richest, _ = most_wealth(scores, runs, rng, dropped_at)
        best = (0,) if field == "hidden" else (0, 1, systems - 1)
        for risk in RISKS if dropped_at is None else (dropped_at,):
            dropped = max((richest[:, one] >= 1 / risk).sum() for one in best)
            check_risk(
                f"{title}, {'race' if dropped_at else 'nobody dropped'}",
                dropped,
                runs,
                risk,
                capsys,
            )


@pytest.mark.parametrize(
    ("systems", "items"),
    [pytest.param(2, 10, marks=pytest.mark.quick), (2, 40), (2, 200), (3, 10), (3, 40), (20, 10)],
)
@pytest.mark.parametrize("field", FIELDS)
def test_each_of_the_best_systems_is_ever_dropped_with_at_most_the_risk(
    field, systems, items, capsys
):
    check_all(field, systems, items, RUNS, capsys, risks=(0.1,))


@pytest.mark.slow
@pytest.mark.parametrize(("systems", "items"), [(3, 40), (3, 200), (20, 40), (20, 200)])
@pytest.mark.parametrize("field", FIELDS)
def test_with_more_runs_it_still_is(field, systems, items, capsys):
    check_all(field, systems, items, MORE_RUNS if systems * items <= 1000 else RUNS, capsys)


def outcome_of(scores, seed, selector, *, risk, near_best=None):
    """One whole run; the last system is the baseline, whose score is ½ everywhere."""
    systems, items = scores.shape
    rule = Separated(risk, items, near_best)
    pairs = tuple((one, systems - 1) for one in range(systems - 1))
    session = Session(
        items=items,
        selector=Racing(systems, systems - 1, rule.level) if selector == "race" else Random(pairs),
        estimator=WinRates(systems, systems - 1),
        rule=rule,
        limits=Limits(1, systems * items, 1.0),
        rng=np.random.default_rng(seed),
    )

    return replay(session, oracle(scores))


def the_first_by_a_hair(field, items, rng):
    """A field, level but for half a point that makes the first system the only best one; and the
    baseline."""
    scores = np.vstack([FIELDS[field](3, items, rng), np.full(items, 0.5)])
    short = np.flatnonzero(scores[0] == 0)[0]
    scores[0, short] = 0.5
    return scores


@pytest.mark.parametrize("selector", ["race", "random"])
@pytest.mark.parametrize("field", ["level", "opposite", "alike", "hidden"])
def test_a_session_names_a_system_that_is_not_the_best_with_at_most_the_risk(
    field, selector, capsys
):
    scores = the_first_by_a_hair(field, 40, np.random.default_rng(8))
    wrong = sum(
        outcome_of(scores, seed, selector, risk=0.2).winner not in {0, None}
        for seed in range(SESSIONS)
    )
    check_risk(f"{field}, a session with {selector}, wrongly named", wrong, SESSIONS, 0.2, capsys)


@pytest.mark.parametrize("selector", ["race", "random"])
def test_a_system_too_far_below_the_best_is_named_with_at_most_the_risk(selector, capsys):
    """The best is 0.125 ahead of two systems that are level with the baseline, and 0.12 is near
    enough."""
    rng = np.random.default_rng(9)
    scores = np.array(
        [rng.permutation(np.repeat([1.0, 0.0], wins)) for wins in ((25, 15), (20, 20))]
    )
    scores = np.vstack([scores, 1 - scores[1], np.full(40, 0.5)])
    named = [
        outcome_of(scores, seed, selector, risk=0.5, near_best=0.12).winner
        for seed in range(SESSIONS)
    ]
    wrong = sum(winner not in {0, None} for winner in named)
    check_risk(f"near the best, {selector}, wrongly named", wrong, SESSIONS, 0.5, capsys)
    assert named.count(0) > SESSIONS / 4, "a rule that names nobody would keep any promise"


@pytest.mark.parametrize("selector", ["race", "random"])
def test_the_best_is_mostly_named_and_a_race_asks_for_less(selector):
    """A rule that never names anybody keeps any promise; this one has power."""
    rng = np.random.default_rng(10)
    rates = np.array([0.75, 0.5, 0.4, 0.2])
    scores = np.vstack([rng.random((4, 150)) < rates[:, None], np.full(150, 0.5)])
    outcomes = [outcome_of(scores, seed, selector, risk=0.1) for seed in range(25)]
    assert sum(outcome.winner == 0 for outcome in outcomes) > 20
    if selector == "race":
        others = [outcome_of(scores, seed, "random", risk=0.1) for seed in range(25)]
        for race, random in zip(outcomes, others, strict=True):
            assert race.asked < random.asked

"""A race: in what order it asks, when it waits, and that its end does not depend on how calls are
made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.selectors import oracle

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import SCOUTED, WinRates
from judgeloop.methods.selectors.race import Racing, likely_best
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.best_of_many import Separated

RISK = 0.1
NO_LIMITS = Limits(1, 10**6, 1.0)


def field(seed, systems=5, items=60, *, silent=0.05):
    """Scores, shape (systems, items), of systems whose win rates differ; NaN for an abstention."""
    rng = np.random.default_rng(seed)
    rates = rng.random((systems, 1))
    scores = (rng.random((systems, items)) < rates).astype(float)
    scores[rng.random(scores.shape) < rng.choice([0.0, 0.4])] = 0.5
    scores[rng.random(scores.shape) < silent] = np.nan
    return scores


def session_of(scores, *, selector="race", baseline=0, risk=RISK, gap=0.0, seed=0, limits=NO_LIMITS, **more):
    systems, items = scores.shape
    pairs = tuple((one, baseline or 0) for one in range(systems) if one != (baseline or 0))
    racing = Racing(systems, baseline, risk, gap)
    return Session(
        items=items,
        selector=racing if selector == "race" else Random(pairs),
        estimator=WinRates(systems, baseline, risk),
        rule=Separated(risk, gap),
        limits=limits,
        rng=np.random.default_rng(seed),
        **more,
    )


def by_system(outcome):
    """The positions that each system was asked about, in the order asked."""
    asked = {}
    for label in outcome.labels:
        asked.setdefault(label.choice.systems[0], []).append(label.choice.position)
    return asked


@pytest.mark.parametrize("selector", ["race", "random"])
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    gap=st.sampled_from([0.0, 0.2]),
    systems=st.integers(2, 9),
    items=st.integers(1, 50),
    limit=st.one_of(st.none(), st.integers(1, 200)),
)
def test_calls_ahead_change_neither_the_winner_nor_the_evidence(selector, seed, gap, systems, items, limit):
    scores = field(seed, systems, items)
    how = {"selector": selector, "gap": gap, "seed": seed, "baseline": seed % systems}
    how["limits"] = Limits(1, limit or 10**6, 1.0)
    plain = replay(session_of(scores, **how), oracle(scores))
    ahead = replay(session_of(scores, **how, ahead=3), oracle(scores), places=100)
    assert len({label.choice.key for label in plain.labels}) == plain.asked <= (limit or 10**6)
    if limit is None:
        assert plain.deciding == ahead.deciding
        assert (plain.winner, plain.stop) == (ahead.winner, ahead.stop)
        assert plain.estimate.interval == ahead.estimate.interval


@pytest.mark.parametrize("systems", [3, 5, 9])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), baseline=st.integers(0, 2))
def test_every_system_is_asked_along_one_random_order(systems, seed, baseline):
    scores = field(seed, systems)
    outcome = replay(session_of(scores, baseline=baseline, seed=seed), oracle(scores))
    orders = sorted(by_system(outcome).values(), key=len)
    for order in orders:
        assert order == orders[-1][: len(order)]
    assert all(label.choice.systems[1] == baseline for label in outcome.labels)
    seen = by_system(outcome)
    for label in outcome.labels:
        place = seen[label.choice.systems[0]].index(label.choice.position)
        assert label.choice.propensity == pytest.approx(1 / (60 - place))


@pytest.mark.parametrize("systems", [2, 4, 8])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), gap=st.sampled_from([0.0, 0.1, 0.4]))
def test_without_abstentions_it_ends_decided(systems, seed, gap):
    scores = field(seed, systems, silent=0.0)
    outcome = replay(session_of(scores, gap=gap, seed=seed), oracle(scores))
    assert outcome.stop.kind is StopKind.RISK_MET
    assert outcome.winner is not None
    assert outcome.estimate.interval[1] <= gap + 1e-9


def test_a_wider_gap_takes_fewer_calls():
    scores = field(7, systems=8, items=200, silent=0.0)
    calls = [replay(session_of(scores, gap=gap), oracle(scores)).asked for gap in (0, 0.1, 0.3)]
    assert calls == sorted(calls, reverse=True)
    assert calls[-1] < 0.6 * calls[0]


def test_it_takes_fewer_calls_than_asking_about_everybody():
    scores = field(7, systems=8, items=200, silent=0.0)
    race, random = (replay(session_of(scores, selector=name), oracle(scores)) for name in ("race", "random"))
    assert race.winner == random.winner
    assert race.asked < random.asked / 2


@pytest.mark.parametrize("answered", range(9))
@pytest.mark.parametrize("before", [1, 12])
def test_a_run_cut_off_keeps_whole_rounds_and_states_its_gap(answered, before):
    scores = field(1, systems=5, silent=0.0)
    session, known = session_of(scores, risk=0.01), 0
    for _ in range(before):
        choices = session.ask()
        session.tell([oracle(scores)(choice) for choice in choices])
        known += len(choices)
    choices = session.ask()
    answers = [oracle(scores)(choice) for choice in choices[:answered]]
    session.tell(answers, halt=StopReason(StopKind.BUDGET, "no money"))
    outcome = session.ending()
    assert outcome.asked == known + min(answered, len(choices)), "what was paid for is reported"
    whole = len(choices) if answered >= len(choices) else 0
    assert len(outcome.deciding) == known + whole
    assert outcome.winner is None
    tally = outcome.estimate.tally
    if before == 1:  # nothing is proved after so few answers
        assert (tally.leader, outcome.estimate.interval) == (None, None)
    else:
        assert outcome.estimate.interval == (0.0, tally.levels.gap_of(tally.leader))
        assert 0 < outcome.estimate.interval[1] < 1
    assert session.ask() == ()


def clear():
    """The second system wins, the third loses everywhere."""
    return np.repeat([[0.5], [1.0], [0.0]], 100, axis=1)


@pytest.mark.parametrize("least", [20, 50])
def test_a_race_that_is_over_early_still_names_its_winner(least):
    outcome = replay(session_of(clear(), limits=Limits(least, 1000, 1.0)), oracle(clear()))
    assert outcome.winner == 1


def test_a_baseline_is_chosen_and_its_items_leave_the_decision():
    scores = field(3, systems=6, silent=0.0)
    session = session_of(scores, baseline=None)
    outcome = replay(session, lambda choice: versus(scores, choice))
    tally = outcome.estimate.tally
    scouting = [label for label in outcome.labels if label.choice.key not in outcome.deciding]
    assert len(scouting) == SCOUTED * 5
    assert {label.choice.systems[1] for label in outcome.labels[len(scouting) :]} == {tally.baseline}
    positions = {label.choice.position for label in scouting}
    rest = {label.choice.position for label in outcome.labels[len(scouting) :]}
    assert not positions & rest
    assert tally.items == tally.levels.items == 60 - SCOUTED


def versus(scores, choice):
    """The answer that the scores of two systems make."""
    first, second = (scores[system, choice.position] for system in choice.systems)
    return Verdict(0.5 + np.sign(first - second) / 2)


def test_the_baseline_is_the_system_with_the_most_wins_less_losses():
    rows = np.array([[1.0, 1.0, 1.0], [0.5, 1.0, 0.0], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0]])
    assert likely_best(rows) == 0
    assert likely_best(rows[::-1]) == 3
    assert likely_best(np.full((3, 2), 0.5)) == 0

"""A race: who is asked about, when it waits, and that a session asks for no call that one query at
a time would not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.selectors import answered, oracle, steps_of

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.racing import could_be_out
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


def session_of(
    scores, *, selector="race", baseline=0, risk=RISK, seed=0, limits=NO_LIMITS, **settings
):
    systems, items = scores.shape
    rule = Separated(risk, items, settings.pop("near_best", None))
    pairs = tuple((one, baseline) for one in range(systems) if one != baseline)
    return Session(
        items=items,
        selector=Racing(systems, baseline, rule.level) if selector == "race" else Random(pairs),
        estimator=WinRates(systems, baseline),
        rule=rule,
        limits=limits,
        rng=np.random.default_rng(seed),
        **settings,
    )


def one_at_a_time(session, scores):
    session._could_stop = lambda active: bool(session._pending)
    return replay(session, oracle(scores))


def by_query(labels):
    """The systems asked about, query by query, in the order asked."""
    asked = {}
    for label in labels:
        asked.setdefault(label.choice.position, []).append(label.choice.systems[0])
    return list(asked.values())


def keys(outcome):
    return [label.choice.key for label in outcome.labels]


@pytest.mark.parametrize("selector", ["race", "random"])
@pytest.mark.parametrize("near_best", [None, 0.1])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    risk=st.sampled_from([0.02, 0.1, 0.3]),
    systems=st.integers(2, 6),
    items=st.integers(1, 50),
    silent=st.sampled_from([0.0, 0.05, 0.3]),
    limit=st.one_of(st.none(), st.integers(1, 200)),
)
def test_a_session_asks_for_no_call_that_one_query_at_a_time_would_not(
    selector, near_best, seed, risk, systems, items, silent, limit
):
    scores = field(seed, systems, items, silent=silent)
    how = {
        "selector": selector,
        "near_best": near_best,
        "risk": risk,
        "baseline": seed % systems,
        "limits": Limits(1, limit or 10**6, 1.0),
        "seed": seed,
    }
    together = replay(session_of(scores, **how), oracle(scores))
    alone = one_at_a_time(session_of(scores, **how), scores)
    assert keys(together) == keys(alone)
    assert (together.winner, together.stop, together.estimate.risk) == (
        alone.winner, alone.stop, alone.estimate.risk,
    )  # fmt: skip
    assert together.deciding == alone.deciding
    assert together.rounds <= alone.rounds
    assert together.ahead == 0


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), baseline=st.integers(0, 4))
def test_the_systems_asked_about_are_nested_and_nothing_is_asked_twice(seed, baseline):
    scores = field(seed)
    outcome = replay(session_of(scores, baseline=baseline, seed=seed), oracle(scores))
    assert len(set(keys(outcome))) == outcome.asked
    queries = by_query(outcome.labels)
    assert set(queries[0]) == set(range(5)) - {baseline}
    for earlier, later in pairwise(queries):
        assert set(later) <= set(earlier)
    assert all(label.choice.systems[1] == baseline for label in outcome.labels)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_system_that_is_out_is_asked_about_no_more_and_one_that_is_not_always(seed):
    scores = field(seed)
    session = session_of(scores, seed=seed)
    while choices := session.ask():
        tally = session.estimate.tally
        out = tally.race.out(RISK)
        for systems in by_query([Label(choice, Verdict(0.5)) for choice in choices]):
            assert set(systems) == {int(one) for one in np.flatnonzero(~out) if one != 0}
        session.tell([oracle(scores)(choice) for choice in choices])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), risk=st.sampled_from([0.02, 0.1, 0.3]))
def test_it_asks_side_by_side_exactly_as_long_as_nobody_could_leave(seed, risk):
    scores = field(seed)
    selector, rng = Racing(5, 0, risk), np.random.default_rng(seed)
    state = selector.init(60, rng)
    while True:
        steps, asked = steps_of(selector, state, 1000, rng)
        if not steps:
            break
        running = state.race.running & ~state.race.out(risk)
        assert not (could_be_out(state.race, len(steps) - 1, risk) & running).any()
        assert (could_be_out(state.race, len(steps), risk) & running).any() or asked.drawn == 60
        assert steps_of(selector, asked, 1, rng)[0] == []
        state = selector.tell(
            asked,
            answered(steps, oracle(scores)),
        )
    assert state.drawn == 60 or (state.race.running & ~state.race.out(risk)).sum() <= 1


def test_the_next_draw_is_equally_likely_to_be_any_item_left():
    scores = field(3)
    outcome = replay(session_of(scores), oracle(scores))
    seen = []
    for label in outcome.labels:
        if label.choice.position not in seen:
            seen.append(label.choice.position)
        assert label.choice.propensity == pytest.approx(1 / (60 - len(seen) + 1))


@pytest.mark.parametrize("answered", range(13))
def test_halted_in_the_middle_of_a_query_only_whole_ones_are_in_the_decision(answered):
    scores = field(1, systems=5, silent=0.0)
    session = session_of(scores, risk=0.01)
    choices = session.ask()
    assert len(choices) >= 13
    answers = [oracle(scores)(choice) for choice in choices[:answered]]
    session.tell(answers, halt=StopReason(StopKind.BUDGET, "no money"))
    outcome = session.outcome()
    whole = answered // 4
    assert outcome.asked == answered, "what was paid for is reported"
    assert outcome.deciding == {choice.key for choice in choices[: whole * 4]}
    assert outcome.estimate.tally.queries == outcome.estimate.tally.race.drawn == whole
    assert outcome.estimate.tally.in_question.all()
    assert outcome.winner is None
    assert session.ask() == ()


def test_a_limit_of_judgments_is_never_exceeded_and_cuts_no_query():
    scores = field(2, silent=0.0)
    for limit in range(4, 40):
        outcome = replay(
            session_of(scores, risk=0.001, limits=Limits(1, limit, 1.0)), oracle(scores)
        )
        assert outcome.asked <= limit
        assert len(outcome.deciding) == outcome.asked


def clear():
    """The second system wins, the third loses everywhere."""
    return np.repeat([[0.5], [1.0], [0.0]], 100, axis=1)


@pytest.mark.parametrize("least", [20, 50])
def test_a_race_that_is_over_early_still_names_its_winner(least):
    outcome = replay(session_of(clear(), limits=Limits(least, 1000, 1.0)), oracle(clear()))
    assert outcome.winner == 1


@pytest.mark.parametrize("risk", [0.0, 1.0, float("nan")])
def test_a_risk_at_which_nobody_has_to_be_asked_is_refused(risk):
    with pytest.raises(ValueError, match="expected a risk between 0 and 1"):
        Racing(3, 0, risk)

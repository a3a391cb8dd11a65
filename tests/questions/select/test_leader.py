"""Who is named by a search that is cut off, and that progress, picture and page name the same."""

from __future__ import annotations

import numpy as np
import pytest
from support.tallies import labels_of_rows

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Verdict
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.stopping.best_of_many import Separated
from judgeloop.questions.select.page import course_of, so_far
from judgeloop.questions.select.result import bounds_of

SYSTEMS, ITEMS, RISK = 9, 120, 0.1
NAMES = tuple(f"s{number}" for number in range(SYSTEMS))
MONEY = StopReason(StopKind.BUDGET, "no money")


def cut(seed, rounds):
    """The outcome of a race that is cut off after so many rounds; the last system is the baseline."""
    rng = np.random.default_rng(seed)
    scores = (rng.random((SYSTEMS, ITEMS)) < np.linspace(0.9, 0.6, SYSTEMS)[:, None]).astype(float)
    session = Session(
        items=ITEMS, selector=Racing(SYSTEMS, SYSTEMS - 1, RISK),
        estimator=WinRates(SYSTEMS, SYSTEMS - 1, RISK), rule=Separated(RISK),
        limits=Limits(1, 10**6, 1.0), rng=np.random.default_rng(seed),
    )  # fmt: skip
    for _ in range(rounds):
        asked = session.ask()
        session.tell([Verdict(scores[one.systems[0], one.position]) for one in asked])
    session.ask()
    session.tell([], halt=MONEY)
    return session.ending()


@pytest.mark.simulation
@pytest.mark.parametrize("seed", range(4))
def test_a_race_cut_off_names_the_least_gap_in_every_place(seed):
    for rounds in (30, 45, 60):
        outcome = cut(seed, rounds)
        tally = outcome.estimate.tally
        gaps = [tally.levels.gap_of(system) for system in range(SYSTEMS)]
        leader = tally.leader
        assert outcome.winner is None
        assert outcome.estimate.interval == (0.0, min(gaps)) == (0.0, gaps[leader])
        assert so_far(tally, NAMES, 9).startswith(f"leads: {NAMES[leader]}")
        course = course_of(outcome.labels, WinRates(SYSTEMS, SYSTEMS - 1, RISK), tally, NAMES, ITEMS)
        assert course[-1].name == NAMES[leader]
        sure = max(level.lower(tally.levels.lower_risk) for level in tally.levels.each)
        assert tally.in_question.tolist() == (tally.levels.uppers >= sure - 1e-9).tolist()
        ends = {line.name: line.points[-1][0] for line in course[:-2]}
        assert [name for name, end in ends.items() if end == len(outcome.labels)] == [
            name for name, may in zip(NAMES, tally.in_question, strict=True)
            if may and name != NAMES[leader]
        ]  # fmt: skip


def test_the_race_may_chase_another_system_than_the_one_it_can_name():
    found = [cut(seed, 40).estimate.tally.levels for seed in range(4)]
    assert any(levels.favourite != levels.leader for levels in found)


def test_before_anything_is_proved_nobody_leads():
    outcome = cut(0, 2)
    assert outcome.estimate.interval is None
    assert so_far(outcome.estimate.tally, NAMES, 9) == "no leader yet"
    assert course_of(outcome.labels, WinRates(SYSTEMS, 8, RISK), outcome.estimate.tally, NAMES, ITEMS) == ()


def test_the_baselines_line_begins_at_its_level():
    outcome = cut(1, 60)
    tally = outcome.estimate.tally
    course = course_of(outcome.labels, WinRates(SYSTEMS, SYSTEMS - 1, RISK), tally, NAMES, ITEMS)
    (base,) = [line for line in course if line.name == NAMES[-1]]
    assert {y for _, y in base.points} == {50.0}
    assert len(base.points) > 1


@pytest.mark.parametrize("systems", [4, SYSTEMS])
def test_each_shown_bound_is_at_the_stated_risk_and_none_contradicts_the_win_rate(systems):
    # The first system begins badly and then wins always: its bound of all looks is below its rate.
    late = [0.0] * 12 + [1.0] * 60
    rows = [[score, *[0.0, 1.0][at % 2 :][:1] * (systems - 1)] for at, score in enumerate(late)]
    tally = WinRates(systems, systems - 1, RISK).tally(labels_of_rows(rows, systems - 1), 140)
    bounds, levels = bounds_of(tally, RISK), tally.levels.each
    assert bounds[0] == (levels[0].lower(RISK) / 140, tally.rates[0])
    assert levels[0].highest(RISK) / 140 < tally.rates[0]
    assert bounds[1] == (levels[1].lower(RISK) / 140, levels[1].highest(RISK) / 140)
    assert bounds[-1] == (0.5, 0.5), "the baseline's is known"

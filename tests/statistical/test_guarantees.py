"""The guaranteed rules keep their promise: by simulation, with fixed seeds, on populations where
naming a winner is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from support.promises import check_risk
from support.rules import make_rule
from support.walks import first_crossing

from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.core.records import UNLIMITED, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.betting import risk_by_bets
from judgeloop.methods.stats.exact_tables import calibrated, not_worse, within
from judgeloop.methods.stats.spending import Spending

RUNS, MORE_RUNS = 500, 20_000
LIMIT = 200
RISKS = np.array([0.01, 0.05, 0.1, 0.2])


def level_population(items: int, ties: float) -> np.ndarray:
    """+1 and -1 in equal number, and a share of ties."""
    each = round(items * (1 - ties) / 2)
    return np.repeat(np.array([1, -1, 0], dtype=np.int8), [each, each, items - 2 * each])


def named_by_sequential(population, rng, runs):
    """How often the first system is ever named within the limit, at each risk."""
    limit = min(LIMIT, len(population))
    spending = Spending(len(population), limit, 2 * RISKS)
    sides = [first_crossing(rng.permutation(population)[:limit], spending) for _ in range(runs)]
    return (np.array(sides) > 0).sum(axis=0)


def named_by_anytime(population, rng, runs):
    """How often the first system is ever named, to the last item, at each risk."""
    risks = [risk_by_bets(rng.permutation(population), len(population)) for _ in range(runs)]
    return (np.array(risks)[:, None] <= RISKS).sum(axis=0)


def check(title, named, runs, capsys):
    for count, risk in zip(named, RISKS, strict=True):
        check_risk(f"{title}, named", count, runs, risk, capsys)


@pytest.mark.parametrize(
    ("items", "ties"), [pytest.param(50, 0.0, marks=pytest.mark.quick), (50, 0.9), (500, 0.5), (5000, 0.0), (5000, 0.9)]
)
@pytest.mark.parametrize("name", ["sequential", "anytime"])
def test_a_system_that_is_not_better_is_named_with_at_most_the_risk(name, items, ties, capsys):
    rng = np.random.default_rng([items, round(100 * ties)])
    simulate = named_by_sequential if name == "sequential" else named_by_anytime
    named = simulate(level_population(items, ties), rng, RUNS)
    check(f"{name}, N {items}, ties {ties:.0%}", named, RUNS, capsys)


@pytest.mark.parametrize("items", [UNLIMITED, 100])
def test_a_wrong_name_has_a_low_stated_risk_as_seldom_as_that_says(items, capsys):
    """Level systems, 30 % ties: the first is named at a stated risk of at most so much."""
    rng, population = np.random.default_rng([3, items]), level_population(100, 0.3)
    rule = make_rule("sequential", risk=0.1, items=items, limit=100)
    stated = np.ones(RUNS)
    for run in range(RUNS):
        draws = rng.choice(population, 100, replace=items == UNLIMITED)
        barriers = rule._spending.barriers(draws != 0)[:, 0]
        crossed = np.flatnonzero(np.abs(draws.cumsum(dtype=int)) >= barriers)
        if len(crossed) and draws[: crossed[0] + 1].sum() > 0:
            stated[run] = rule.risk(with_verdicts(draws[: crossed[0] + 1].tolist(), 100))
    for most in (0.02, 0.05, 0.1):
        check_risk(f"stated, {items} items", (stated <= most).sum(), RUNS, most, capsys)


def with_verdicts(verdicts, items):
    wins = verdicts.count(1), verdicts.count(-1)
    return Tally(items, wins=wins, ties=verdicts.count(0), preferences=tuple(verdicts))


def winner_of(population, name, seed, **settings):
    items = len(population)
    session = Session(
        items=items,
        selector=Random(),
        estimator=Preferences(),
        rule=make_rule(name, risk=0.1, items=items, limit=LIMIT, **settings),
        limits=Limits(min_judgments=1, max_judgments=LIMIT),
        rng=np.random.default_rng(seed),
    )
    return replay(session, lambda choice: Verdict((1 + population[choice.position]) / 2))


@pytest.mark.parametrize("arrange", [np.sort, lambda scores: np.sort(scores)[::-1]])
@pytest.mark.parametrize("name", ["sequential", "anytime"])
def test_the_pools_order_does_not_matter_and_the_session_keeps_its_promise(name, arrange, capsys):
    population = arrange(level_population(120, 0.4))
    named = sum(winner_of(population, name, seed).winner == 0 for seed in range(150))
    check_risk(f"{name}, sessions, named", named, 150, 0.1, capsys)


def test_no_practical_difference_is_claimed_wrongly_with_at_most_the_risk(capsys):
    """The gap is just outside what counts as none."""
    population = np.repeat(np.array([1, -1, 0], dtype=np.int8), [120, 99, 181])  # 0.0525
    wrong = sum(
        winner_of(population, "anytime", seed, near_tie=0.05).stop.kind is StopKind.NO_DIFFERENCE for seed in range(150)
    )
    check_risk("no difference claimed wrongly", wrong, 150, 0.1, capsys)


def walks(rng, table, shares, runs, items):
    """Which answer each of so many simulated runs gives first, -1 for none."""
    given = np.full(runs, -1)
    population = np.repeat([1, -1, 0], np.round(np.array(shares) * items).astype(int))
    drawn = (
        rng.choice([1, -1, 0], size=(runs, table.limit), p=shares)
        if table.items is None
        else np.array([rng.permutation(population)[: table.limit] for _ in range(runs)])
    )
    leads, decisive = drawn.cumsum(axis=1), (drawn != 0).cumsum(axis=1)
    for n in range(table.limit):
        for side, sign in enumerate((1, -1)):
            reached = sign * leads[:, n] >= table.leads[side, n + 1, decisive[:, n]]
            given[(given < 0) & reached] = side
    return given


@pytest.mark.parametrize("items", [None, 200])
@pytest.mark.parametrize("ties", [0.0, 0.5])
@pytest.mark.parametrize(("zone", "side"), [(within(0.1), 0), (not_worse(0.1), 0), (not_worse(0.1), 1)])
def test_an_answer_is_wrong_with_at_most_the_risk_and_as_often_as_computed(zone, side, ties, items, capsys):
    """At the gap where the answer is wrong most often; 20,000 runs, with and without replacement."""
    table = calibrated(zone, 0.1, 100, items)
    win, loss = ((1 - ties + sign * zone.nulls[side]) / 2 for sign in (1, -1))
    shares = (win, loss, ties) if side == 0 else (loss, win, ties)
    given = walks(np.random.default_rng([side, items or 0]), table, shares, MORE_RUNS, 200)
    wrong = int((given == side).sum())
    check_risk(f"{zone.nulls}, answer {side}, wrong", wrong, MORE_RUNS, 0.1, capsys)
    exact = table.outlook(shares[0] - shares[1], 1 - ties).answers[side]
    assert wrong / MORE_RUNS == pytest.approx(exact, abs=4 * (0.1 / MORE_RUNS) ** 0.5)


@pytest.mark.parametrize("name", ["within-gap", "not-worse"])
def test_a_session_by_a_table_keeps_its_promise(name, capsys):
    """The first system is behind by 0.1, or level for a question about the second."""
    behind = 0.1 if name == "within-gap" else 0.0
    population = np.repeat(
        np.array([1, -1, 0], dtype=np.int8), [round(120 - 200 * behind), round(120 + 200 * behind), 160]
    )
    ends = [winner_of(population, name, seed, gap=0.1) for seed in range(30)]
    check_risk(f"{name}, sessions", sum(end.winner == 0 for end in ends), 30, 0.1, capsys)
    assert sum(end.stop.kind in {StopKind.RISK_MET, StopKind.NOT_WORSE} for end in ends) > 15


@pytest.mark.parametrize("name", ["sequential", "anytime"])
def test_a_system_that_is_better_is_named_mostly(name):
    """A rule that never names anybody keeps any promise; these have power."""
    population = np.repeat(np.array([1, -1], dtype=np.int8), [300, 200])
    named = sum(winner_of(population, name, seed).winner == 0 for seed in range(100))
    assert named > 75

"""The guaranteed rule keeps its promise: by simulation, with fixed seeds, on populations where an answer is wrong.

`benchmarks/risks.py` makes 20,000 runs of each of these, and of more; those beside a cheap judge are those of
`benchmarks/people.py --errors`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.promises import TIMES, check_risk
from support.rules import make_rule

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import UNLIMITED, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.confidence_sequence import GRID, ConfidenceSequence
from judgeloop.methods.stats.corrected import Aside
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stopping.bets import Bets, answers

RUNS, SESSIONS, LIMIT, RISK = 1500, 50 * TIMES, 200, 0.1


def pool_of(gap, ties, items):
    """Verdicts of so many items with this gap and share of ties."""
    won, lost = round(items * (1 - ties + gap) / 2), round(items * (1 - ties - gap) / 2)
    return np.repeat(np.array([1, -1, 0]), [won, lost, items - won - lost])


def drawn(rng, gap, ties, items, runs):
    """Draws of so many runs, with replacement where there are items without end."""
    if items == UNLIMITED:
        return rng.choice([1, 0, -1], size=(runs, LIMIT), p=[(1 - ties + gap) / 2, ties, (1 - ties - gap) / 2])
    pool = pool_of(gap, ties, items)
    return np.array([rng.permutation(pool)[:LIMIT] for _ in range(runs)])


ASKED = {
    "winner": ({}, 0.0, (0, 1)),
    "min gap": ({"min_gap": 0.1}, -0.1, (0,)),
    "not worse, pass": ({"not_worse": 0.1}, 0.1, (1,)),
    "not worse, fail": ({"not_worse": 0.1}, 0.0, (0,)),
}


@pytest.mark.parametrize(
    ("items", "ties"),
    [
        pytest.param(UNLIMITED, 0.3, marks=pytest.mark.quick),
        (UNLIMITED, 0.0),
        (UNLIMITED, 0.9),
        pytest.param(20, 0.2, marks=pytest.mark.quick),
        (200, 0.5),
    ],
)
@pytest.mark.parametrize("name", ASKED)
def test_a_wrong_answer_is_given_with_at_most_the_risk(name, items, ties, capsys):
    """At the gap, first minus second, at which the answer is wrong most often."""
    asked, gap, wrong = ASKED[name]
    rule = Bets(RISK, items, min(LIMIT, items), **asked)
    rng = np.random.default_rng([len(name), items % 997, round(100 * ties)])
    gap = math.copysign(min(abs(gap), 1 - ties), gap)
    _, which = answers(rule.begin, drawn(rng, gap, ties, items, RUNS))
    for side in wrong:
        check_risk(f"{name}, {items} items, ties {ties:.0%}, side {side}", (which == side).sum(), RUNS, RISK, capsys)


@pytest.mark.quick
@pytest.mark.parametrize(("high", "low", "chance"), [(1.0, -1 / 9, 0.1), (1 / 9, -1.0, 0.9), (0.2, -0.2, 0.5)])
def test_graded_scores_of_mean_zero_are_ruled_out_with_at_most_the_risk(high, low, chance, capsys):
    rng = np.random.default_rng(round(100 * chance))
    scores = np.where(rng.random((RUNS, LIMIT)) < chance, high, low)
    bets = HedgedBets(RISK, np.zeros(2), LIMIT)
    for score in scores.T:
        bets = bets.after(np.stack([score, -score], axis=-1))
    for side in (0, 1):
        wrong = np.broadcast_to(bets.ruled_out, (RUNS, 2))[:, side].sum()
        check_risk(f"graded {high:.2f}/{low:.2f}, side {side}", wrong, RUNS, RISK, capsys)


@pytest.mark.quick
@pytest.mark.parametrize("gap", [0.0, -0.1])
def test_ties_that_depend_on_the_past_harm_no_answer(gap, capsys):
    """The mean given the past is the gap; the share of ties is 85 % after a win, and 5 % after a loss."""
    rng, last, wrong = np.random.default_rng(3), np.full(RUNS, 1), np.zeros(RUNS, dtype=bool)
    rule = Bets(RISK, UNLIMITED, LIMIT, min_gap=-gap or None)
    bets = rule.begin
    for _ in range(LIMIT):
        decisive = np.where(last > 0, 0.15, 0.95)
        decided, won = rng.random(RUNS) < decisive, rng.random(RUNS) < (1 + gap / decisive) / 2
        score = np.where(decided, np.where(won, 1.0, -1.0), 0.0)
        last = np.where(decided, score, last)
        bets = tuple(one.after(np.stack([score, -score], axis=-1)) for one in bets)
        wrong |= bets[-1].ruled_out[:, 0]
    check_risk(f"ties by the past, gap {gap}", wrong.sum(), RUNS, RISK, capsys)


@pytest.mark.quick
@pytest.mark.parametrize("ties", [0.0, 0.5])
def test_a_limit_that_is_changed_by_what_was_seen_harms_no_name(ties, capsys):
    """After half of the draws whoever is ahead gets a nearer limit, and whoever is not twice as many draws."""
    draws = drawn(np.random.default_rng(5), 0.0, ties, UNLIMITED, RUNS).astype(float)
    draws = np.hstack([draws, draws[::-1]])  # of another run
    half, wrong = HedgedBets(RISK, 0.0, LIMIT), 0
    for score in draws[:, : LIMIT // 2].T:
        half = half.after(score)
    for some, limit in ((half.wealth > 1, 3 * LIMIT // 4), (half.wealth <= 1, 2 * LIMIT)):
        bets = replace(half.of(some), limit=limit)
        for score in draws[some, LIMIT // 2 : limit].T:
            bets = bets.after(score)
        wrong += bets.ruled_out.sum()
    check_risk(f"a limit by the past, {ties:.0%} ties", wrong, RUNS, RISK, capsys)


@pytest.mark.quick
def test_families_that_count_once_keep_the_risk(capsys):
    """A draw is a family of four whose verdicts are much alike; its mean is the score."""
    rng = np.random.default_rng(9)
    common = rng.choice([1, -1], size=(RUNS, LIMIT, 1))
    own = rng.choice([1, -1], size=(RUNS, LIMIT, 4))
    means = np.where(rng.random((RUNS, LIMIT, 4)) < 0.7, common, own).mean(axis=2)
    bets = HedgedBets(RISK, np.zeros(2), LIMIT)
    for score in means.T:
        bets = bets.after(np.stack([score, -score], axis=-1))
    check_risk("families, either side", bets.ruled_out.any(axis=1).sum(), RUNS, 2 * RISK, capsys)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("gap", "ties", "items"),
    [
        (0.0, 0.3, UNLIMITED),
        (0.0, 0.95, UNLIMITED),
        (0.2, 0.5, UNLIMITED),
        (-0.15, 0.0, UNLIMITED),
        (0.0, 0.0, 20),
        (0.0, 0.7, 50),
        (0.0, 0.3, 805),
    ],
)
def test_each_bound_is_ever_wrong_with_at_most_the_risk_whatever_is_read_off_it(gap, ties, items, capsys):
    """Of the grid the two nulls around the gap are followed, which are those that decide; from either side."""
    draws = drawn(np.random.default_rng(7), gap, ties, items, RUNS).astype(float)
    for sign in (1, -1):
        above = int(np.searchsorted(GRID, sign * gap - 1e-9))
        pool = math.inf if items == UNLIMITED else items
        sequence = ConfidenceSequence(RUNS, RISK, min(LIMIT, items), pool, grid=GRID[above - 1 : above + 1])
        for score in sign * draws.T:
            sequence.follow(score)
        wrong = (sequence.low >= sign * gap - 1e-9).sum()
        check_risk(f"bound, gap {sign * gap}, ties {ties:.0%}, {items} items", wrong, RUNS, RISK, capsys)


def winner_of(population, seed, **asked):
    items = len(population)
    session = Session(
        items=items,
        selector=Random(),
        estimator=Preferences(),
        rule=make_rule("bets", risk=RISK, items=items, limit=LIMIT, **asked),
        limits=Limits(min_judgments=1, max_judgments=LIMIT),
        rng=np.random.default_rng(seed),
    )
    return replay(session, lambda choice: Verdict((1 + population[choice.position]) / 2))


@pytest.mark.parametrize("arrange", [np.sort, lambda scores: np.sort(scores)[::-1]])
def test_the_pools_order_does_not_matter_and_the_session_keeps_its_promise(arrange, capsys):
    population = arrange(pool_of(0.0, 0.4, 120))
    named = sum(winner_of(population, seed).winner == 0 for seed in range(SESSIONS))
    check_risk("sessions, named", named, SESSIONS, RISK, capsys)


def test_no_practical_difference_is_claimed_wrongly_with_at_most_the_risk(capsys):
    """The gap is just outside what counts as none."""
    population = np.repeat(np.array([1, -1, 0], dtype=np.int8), [120, 99, 181])  # 0.0525
    wrong = sum(
        winner_of(population, seed, near_tie=0.05).stop.kind is StopKind.NO_DIFFERENCE for seed in range(SESSIONS)
    )
    check_risk("no difference claimed wrongly", wrong, SESSIONS, RISK, capsys)


def test_a_system_that_is_better_is_named_mostly():
    """A rule that never names anybody keeps any promise; this one has power."""
    population = np.repeat(np.array([1, -1], dtype=np.int8), [300, 200])
    assert sum(winner_of(population, seed).winner == 0 for seed in range(100)) > 75


def says(rng, truth, agrees):
    """What a judge says that agrees with each of these with this chance, and guesses else."""
    return np.where(rng.random(truth.shape) < agrees, truth, rng.choice([1, 0, -1], size=truth.shape))


@pytest.mark.parametrize("agrees", [pytest.param(0.8, marks=pytest.mark.quick), 0.0, 1.0])
def test_a_cheap_judge_on_every_item_leaves_the_risk_as_it_is(agrees, capsys):
    """Level systems on 300 items, all of which the judge has rated."""
    rng, items = np.random.default_rng(round(10 * agrees)), 300
    dear = rng.permuted(np.tile(pool_of(0.0, 0.3, items), (RUNS, 1)), axis=1)
    cheap = says(rng, dear, agrees)
    left = cheap.sum(axis=1, keepdims=True) - np.cumsum(cheap, axis=1) + cheap
    means = left / np.arange(items, 0, -1)
    begin = Bets(RISK, items, LIMIT).begin
    _, which = answers(begin, dear[:, :LIMIT], Aside(cheap[:, :LIMIT], means[:, :LIMIT]))
    for side in (0, 1):
        check_risk(f"every item, agrees {agrees}, side {side}", (which == side).sum(), RUNS, RISK, capsys)


@pytest.mark.parametrize("asked", [{}, {"min_gap": 0.1}, {"not_worse": 0.1}])
@pytest.mark.parametrize("agrees", [pytest.param(0.8, marks=pytest.mark.quick), 0.0, 1.0])
def test_a_cheap_judge_in_blocks_leaves_the_risk_as_it_is(agrees, asked, capsys):
    rng, gap = np.random.default_rng(round(10 * agrees) + len(asked)), -asked.get("min_gap", 0.0)
    blocks = np.stack([drawn(rng, gap, 0.3, UNLIMITED, RUNS) for _ in range(4)])  # the first of each gets the label
    cheap = says(rng, blocks, agrees)
    beside = Aside(cheap[0], cheap.mean(axis=0), 4)
    _, which = answers(Bets(RISK, UNLIMITED, LIMIT, **asked).begin, blocks[0], beside)
    check_risk(f"blocks, {asked}, agrees {agrees}", (which == 0).sum(), RUNS, RISK, capsys)

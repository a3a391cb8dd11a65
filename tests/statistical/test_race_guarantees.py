"""The best of many systems is named with at most the stated risk of a better one: by simulation, with
fixed seeds, on fields that invite the mistake."""

from __future__ import annotations

import numpy as np
import pytest
from support.promises import TIMES, check_risk
from support.selectors import oracle

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import UNLIMITED
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.levels import Drawn, start
from judgeloop.methods.stopping.best_of_many import Separated

pytestmark = pytest.mark.first
# Fewer where a session takes a second; `benchmarks/race.py --only least` makes 20,000 of the least favourable pools.
RUNS, SESSIONS, FEWER = 150 * TIMES, 50 * TIMES, 20 * TIMES
RISKS = (0.05, 0.1, 0.2)


def pool(systems, items, gap, rng, *, mean=0.6, ties=0.0, alike=False):
    """The least favourable pool: one best system, and all others half a point more than `gap` behind.

    The last system is the baseline, whose score is ½ everywhere.
    """
    half = round(2 * items * mean)
    behind = half - int(gap * items) - 1

    def row(halves):
        scores = np.zeros(items)
        tied = min(round(ties * items), halves, 2 * items - halves)
        tied += (halves - tied) % 2
        scores[:tied] = 0.5
        scores[tied : tied + (halves - tied) // 2] = 1.0
        return scores

    order = rng.permutation(items)
    rows = [row(half)] + [row(behind) for _ in range(systems - 2)]
    mixed = [scores[order if alike else rng.permutation(items)] for scores in rows]
    return np.vstack([*mixed, np.full(items, 0.5)])


def outcome_of(scores, seed, *, risk, gap=0.0, selector="race", sampled=False, cheap=None):
    """One whole run; `cheap` has what a cheap judge says in [-1, 1], in the shape of the scores."""
    systems, items = scores.shape
    pairs = tuple((one, systems - 1) for one in range(systems - 1))
    beside = None
    if cheap is not None:
        beside = {pair: ProxyVerdicts(items, scores=dict(enumerate(cheap[pair[0]].tolist()))) for pair in pairs}
    racing = Racing(systems, systems - 1, risk, gap, sampled, beside)
    session = Session(
        items=items,
        selector=racing if selector == "race" else Random(pairs),
        estimator=WinRates(systems, systems - 1, risk, sampled, gap, beside),
        rule=Separated(risk, gap),
        limits=Limits(1, systems * items, 1.0),
        rng=np.random.default_rng(seed),
    )
    return replay(session, oracle(scores))


@pytest.mark.parametrize("mean", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("items", [20, 60])
def test_a_bound_ever_fails_with_at_most_its_risk(items, mean, capsys):
    rng = np.random.default_rng([items, round(100 * mean)])
    scores = pool(3, items, 0.0, rng, mean=mean, ties=0.2)[0]
    for risk in RISKS:
        high = low = 0
        for _ in range(RUNS):
            level = start(2, 1, risk, items, items).each[0]
            failed = [False, False]
            for score in rng.permutation(scores).tolist():
                level = level.after(Drawn(score))
                failed[0] |= level.upper < scores.sum() - 1e-9
                failed[1] |= level.reaches(scores.sum() + 0.5, risk)
            high, low = high + failed[0], low + failed[1]
        check_risk(f"upper, N {items}, mean {mean}", high, RUNS, risk, capsys)
        check_risk(f"lower, N {items}, mean {mean}", low, RUNS, risk, capsys)


@pytest.mark.parametrize("gap", [0.0, 0.1])
@pytest.mark.parametrize(("systems", "alike"), [(3, False), (3, True), (6, False), (7, False), (12, True)])
def test_a_system_too_far_behind_is_named_with_at_most_the_risk(systems, alike, gap, capsys):
    rng = np.random.default_rng([systems, alike, round(10 * gap)])
    scores = pool(systems, 40, gap, rng, alike=alike)
    wrong = {number for number, total in enumerate(scores.sum(axis=1)) if total < scores[0].sum()}
    risk = 0.2
    found = [outcome_of(scores, seed, risk=risk, gap=gap) for seed in range(SESSIONS)]
    title = f"m {systems}, gap {gap}, {'alike' if alike else 'independent'}"
    named = sum(outcome.winner in wrong for outcome in found)
    check_risk(f"{title}, wrongly named", named, SESSIONS, risk, capsys)
    assert all(outcome.winner is not None or outcome.estimate.tally.level for outcome in found)


@pytest.mark.parametrize("agrees", [0.0, 0.7, 1.0, -0.7])
@pytest.mark.parametrize(("systems", "selector"), [(3, "race"), (9, "race"), (4, "random")])
def test_beside_a_cheap_judge_it_is_named_with_at_most_the_risk(systems, selector, agrees, capsys):
    """The judge says the same, or with a sign the contrary, in a share of the items, and guesses else."""
    rng, risk = np.random.default_rng([systems, round(10 * agrees) + 10]), 0.2
    scores = pool(systems, 30, 0.0, rng)
    cheap = np.where(
        rng.random(scores.shape) < abs(agrees),
        np.sign(agrees) * (2 * scores - 1),
        rng.choice([1.0, 0.0, -1.0], size=scores.shape),
    )
    found = [outcome_of(scores, seed, risk=risk, selector=selector, cheap=cheap) for seed in range(FEWER)]
    named = sum(scores[outcome.winner].sum() < scores[0].sum() for outcome in found)
    check_risk(f"m {systems}, {selector}, a judge agrees in {agrees:.0%}, wrongly named", named, FEWER, risk, capsys)


@pytest.mark.parametrize(("systems", "gap", "alike"), [(4, 0.05, False), (9, 0.05, True), (13, 0.2, False)])
def test_of_items_like_these_one_too_far_behind_is_named_with_at_most_the_risk(systems, gap, alike, capsys):
    """In pairs and by levels; the one best system is just more than the gap ahead of all others."""
    rng, risk, named, open_ = np.random.default_rng([systems, alike]), 0.2, 0, 0
    rates = np.array([0.7] + [0.7 - gap / 2 - 0.001] * (systems - 2))
    for seed in range(FEWER):
        draws = rng.random((1 if alike else systems - 1, 150))
        scores = np.vstack([(draws < rates[:, None]).astype(float), np.full(150, 0.5)])
        outcome = outcome_of(scores, seed, risk=risk, gap=gap, sampled=True)
        named, open_ = named + (outcome.winner not in {None, 0}), open_ + (outcome.winner is None)
        assert outcome.stop.kind is not StopKind.ALL_JUDGED
    title = f"items like these, m {systems}, gap {gap}, {open_} open"
    check_risk(f"{title}, wrongly named", named, FEWER, risk, capsys)


@pytest.mark.parametrize("gap", [0.0, 0.05])
def test_in_pairs_every_gap_of_every_system_holds_at_once_with_at_most_the_risk(gap, capsys):
    """The gaps of all systems, after every item, for items without end."""
    rng, risk, failed, systems = np.random.default_rng(7), 0.2, 0, 4
    rates = np.array([0.62, 0.6, 0.5, 0.45])
    true = 2 * (rates.max() - rates)
    for _ in range(FEWER):
        levels, ever = start(systems + 1, systems, risk, UNLIMITED, 60, gap=gap), False
        for _ in range(15):
            rows = [dict(enumerate(map(Drawn, (rng.random(systems) < rates).astype(float)))) for _ in range(4)]
            levels = levels.after(rows)
            ever |= any(levels.gap_of(one) < true[one] - 1e-9 for one in range(systems))
        failed += ever
    check_risk(f"all gaps at any time, gap {gap}", failed, FEWER, risk, capsys)


@pytest.mark.parametrize("systems", [4, 9])
def test_the_gap_of_a_run_that_is_cut_off_holds_with_at_most_the_risk(systems, capsys):
    rng = np.random.default_rng(systems)
    scores = pool(systems, 30, 0.1, rng)
    totals, risk, failed = scores.sum(axis=1), 0.2, 0
    for seed in range(FEWER):
        levels = start(systems, systems - 1, risk, 30, 30)
        order, ever = np.random.default_rng(seed).permutation(30), False
        while wanted := levels.wanted(0.0):
            places = levels.judged
            levels = levels.after(
                {one: Drawn(scores[one, order[place]])}
                if levels.pairs is None
                else {each: Drawn(scores[each, order[place]]) for each in wanted}
                for one, count in (wanted.items() if levels.pairs is None else [min(wanted.items())])
                for place in range(places[one], places[one] + count)
            )
            if levels.leader is not None:
                behind = 2 * (totals.max() - totals[levels.leader]) / 30
                ever |= behind > levels.gap_of(levels.leader) + 1e-9
                ever |= not levels.in_question[totals.argmax()]
        failed += ever
    check_risk(f"the gap at any time, m {systems}", failed, FEWER, risk, capsys)


@pytest.mark.parametrize("selector", ["race", "random"])
def test_the_best_is_mostly_named(selector):
    """A rule that never names anybody keeps any promise; this one has power."""
    rng = np.random.default_rng(10)
    rates = np.array([0.75, 0.5, 0.4, 0.2])
    scores = np.vstack([rng.random((4, 150)) < rates[:, None], np.full(150, 0.5)])
    outcomes = [outcome_of(scores, seed, risk=0.1, selector=selector) for seed in range(25)]
    assert sum(outcome.winner == 0 for outcome in outcomes) > 20

"""A run that has not ended goes on with another limit of judgments: from its next draw on, as the same test."""

from __future__ import annotations

import numpy as np
import pytest

import judgeloop
from judgeloop.core.outcomes import Tally
from judgeloop.core.records import UNLIMITED
from judgeloop.ledger.opening import runs_of
from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.hedged import VERSION, HedgedBets
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.giving_up import GivingUp

ITEMS = 400
ROWS = [{"prompt": f"q{n}"} for n in range(ITEMS)]
SYSTEMS = {name: [row | {"output": f"{name} {n}"} for n, row in enumerate(ROWS)] for name in "abc"}
ORDER = np.random.default_rng(0).permutation(ITEMS).tolist()  # in which items are drawn
FEW = 57  # replies before the judge is gone


class Judge:
    """Answers so often, and is gone then; half of the items go to each system. It never answers about the `hole`."""

    def __init__(self) -> None:
        self.left = self.calls = 0
        self.hole, self.asked = "", []

    def replies(self, prompt: str) -> None:
        self.asked.append(prompt)
        if not self.left or prompt == self.hole:
            raise RuntimeError("gone")
        self.left, self.calls = self.left - 1, self.calls + 1

    @property
    def drawn(self) -> int:
        """The last draw that it was ever asked about, whatever became of that."""
        return 1 + max(ORDER.index(int(one[1:])) for one in self.asked)

    def compares(self, prompt: str, first: str, second: str) -> float:
        self.replies(prompt)
        better = max if int(prompt[1:]) * 7919 % 100 < 52 else min
        return float(first == better(first, second))

    def rates(self, prompt: str, output: str) -> float:
        self.replies(prompt)
        return (int(prompt[1:]) * 37 % 100) / 100


@pytest.fixture
def judge():
    return Judge()


@pytest.fixture
def ask(judge, tmp_path):
    """A question, `left` replies before the judge is gone, and what the ledger notes of each run then."""

    def ask(question="compare", left=10_000, **settings):
        judge.left, judge.calls = left, 0
        about = {"compare": "ab", "select": "abc", "estimate": "a"}[question]
        given = [SYSTEMS[one] for one in about]
        outputs = [dict(zip(about, given, strict=True))] if question == "select" else given
        result = getattr(judgeloop, question)(
            *outputs,
            judge=judge.rates if question == "estimate" else judge.compares,
            version="1",
            ledger=tmp_path / "ledger",
            controls="off",
            **({} if question == "estimate" else {"order": "random"}),
            **settings,
        )
        return result, [one.note for one in runs_of(tmp_path / "ledger")]

    return ask


QUESTIONS = {"compare": {}, "select": {"baseline": "a"}, "estimate": {"interval": "anytime"}}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("limit", [100, 300])
def test_a_run_that_was_cut_short_goes_on_with_another_limit(question, limit, ask, judge):
    settings = QUESTIONS[question]
    cut, _ = ask(question, FEW, max_judgments=200, **settings)
    asked = judge.drawn
    result, (noted,) = ask(question, max_judgments=limit, **settings)
    drawn = noted.limits[1][0]
    assert (result.setup.run, judge.calls) == (cut.setup.run, result.asked - FEW)
    assert limit - 10 < result.asked <= limit, "the next round may not fit"
    assert noted.limits == result.setup.limits == ((0, 200), (drawn, limit))
    assert drawn == asked or (question == "select" and 0 < drawn <= FEW), "a search counts judgments"
    again, (noted,) = ask(question, max_judgments=limit, **settings)
    assert (again.labels, judge.calls, noted.limits) == (result.labels, 0, result.setup.limits)


def test_a_run_that_has_ended_is_another_one_with_another_limit(ask, judge):
    before, _ = ask(max_judgments=100)
    more, notes = ask(max_judgments=150)
    assert more.setup.run != before.setup.run
    assert (more.comparison, judge.calls) == (2, 50)
    assert [one.limits for one in notes] == [((0, 100),), ((0, 150),)]


def test_the_first_limit_of_a_run_that_ended_with_another_is_another_run(ask, judge):
    ask(left=FEW, max_judgments=200)
    asked = judge.drawn
    ended, _ = ask(max_judgments=100)
    first, notes = ask(max_judgments=200)
    assert first.setup.run != ended.setup.run
    assert (ended.asked, first.asked) == (100, 200)
    assert [one.limits for one in notes] == [((0, 200), (asked, 100)), ((0, 200),)]
    assert ask(max_judgments=200)[0].setup.run == first.setup.run
    assert ask(max_judgments=100)[0].setup.run == ended.setup.run


def test_a_limit_below_what_was_drawn_ends_the_run_there(ask, judge):
    ask(left=FEW, max_judgments=200)
    result, (noted,) = ask(max_judgments=30)
    assert (result.asked, judge.calls, noted.limits) == (30, 0, ((0, 200), (judge.drawn, 30)))
    assert (result.stop_reason, ask(max_judgments=30)[0].asked) == ("judgment_limit", 30)


def test_what_was_asked_ahead_keeps_its_limit_though_an_answer_before_it_was_missing(ask, judge):
    """The twentieth draw has no answer: those after it were asked, and are folded once it is answered."""
    judge.hole = f"q{ORDER[19]}"
    cut, _ = ask(max_judgments=200, concurrency=8)
    asked, judge.hole = judge.drawn, ""
    assert cut.asked == 19 < asked
    result, (noted,) = ask(max_judgments=300, concurrency=8)
    assert noted.limits == result.setup.limits == ((0, 200), (asked, 300))


def test_a_dry_run_of_another_limit_is_of_the_run_that_goes_on(ask, judge, tmp_path):
    ask(left=FEW, max_judgments=200)
    found = judgeloop.compare_dry_run(
        SYSTEMS["a"],
        SYSTEMS["b"],
        judge=judge.compares,
        version="1",
        ledger=tmp_path / "ledger",
        controls="off",
        order="random",
        max_judgments=300,
    )
    assert (found.judgments.worst, found.result.setup.limits) == (300 - FEW, ((0, 200), (judge.drawn, 300)))
    assert [one.note.limits for one in runs_of(tmp_path / "ledger")] == [((0, 200),)], "a dry run notes nothing"


@pytest.mark.parametrize("flights", [1, 64])
def test_a_run_whose_limit_changed_has_the_bounds_of_its_draws_whatever_is_in_flight(flights, ask, judge):
    """Two changes, at draws that the ledger alone knows of; the bounds are those of the formula, to the last bit."""
    for limit, left in ((200, FEW), (350, 40), (300, 10_000)):
        result, (noted,) = ask(left=left, max_judgments=limit, concurrency=flights)
    scores = np.array([{"first": 1.0, "second": -1.0}[one.winner] for one in result.labels])
    (_, first), *then = noted.limits
    assert [limit for _, limit in noted.limits] == [200, 350, 300]
    asked = HedgedBets(0.1, np.zeros(2), first, then=tuple(then))
    low, high = lower_bounds(np.array([scores, -scores]), 0.1, first, asked=[asked], then=tuple(then))[:, -1]
    assert result.of("first")[1] == (low, -high)


def test_no_limit_changes_a_stake_of_a_draw_that_was_seen():
    """Whatever limits follow, the wealth after each draw before them is the same to the last bit."""
    scores = np.random.default_rng(4).choice([1.0, 0.0, -1.0], size=150)

    def wealths(*limits):
        (_, first), *then = limits
        bets, found = HedgedBets(0.1, np.array([0.0, 0.1]), first, of_grid=True, then=tuple(then)), []
        for score in scores:
            bets = bets.after(np.array([score, -score]))
            found.append(bets.wealth.tolist())
        return found

    plain, raised, lowered = wealths((0, 200)), wealths((0, 200), (60, 400)), wealths((0, 200), (60, 400), (90, 120))
    assert plain[:60] == raised[:60] == lowered[:60]
    assert raised[:90] == lowered[:90]
    assert plain[60] != raised[60], "the next draw has another stake"
    assert raised[90] != lowered[90]
    assert lowered[119] == lowered[149], "beyond the limit nobody bets"


@pytest.mark.parametrize("asked", [{}, {"min_gap": 0.1}, {"not_worse": 0.1}, {"near_tie": 0.2}])
def test_before_a_change_no_run_is_hopeless_and_none_is_given_up(asked):
    """It had not ended there, or its limit could not have changed: with the new limit it may look as if it had."""
    rule = Bets(0.1, UNLIMITED, 30, **asked, limits=((0, 400), (25, 30)))
    level = [1, -1] * 15
    for drawn in range(25):
        tally = Tally(UNLIMITED, (-(-drawn // 2), drawn // 2), preferences=level[:drawn])
        assert rule.can_be_met(tally, 1)
        assert not GivingUp(rule, 0.5, 30, sampled=True, since=rule.since).looks(tally)
    assert not rule.can_be_met(Tally(UNLIMITED, (14, 14), preferences=level[:28]), 1)


def test_the_note_of_a_run_has_its_limits_its_risk_its_margins_and_the_version_of_its_stakes(ask, judge):
    ask(left=FEW, max_judgments=200, risk=0.05, not_worse=0.1)
    asked = judge.drawn
    _, (noted,) = ask(left=10, max_judgments=250, risk=0.05, not_worse=0.1)
    assert (noted.limits, noted.risk, noted.margins, noted.stakes) == (
        ((0, 200), (asked, 250)),
        0.05,
        (("not_worse", 0.1),),
        VERSION,
    )


@pytest.mark.parametrize("other", [{"risk": 0.05}, {"min_gap": 0.1}, {"seed": 3}, {"rule": "tie-aware"}])
def test_whatever_else_changes_makes_another_run(other, ask):
    cut, _ = ask(left=FEW, max_judgments=200)
    result, notes = ask(max_judgments=300, **other)
    assert result.setup.run != cut.setup.run
    assert [one.limits[0] for one in notes] == [(0, 200), (0, 300)]

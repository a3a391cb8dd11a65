"""A panel of judges: how it decides; each is asked about every item, and pays for itself."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.driving import run, script_from

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Item, Order, Query, Verdict, Vote
from judgeloop.engine.asks import asks_for
from judgeloop.engine.presentation import decide
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.papers.diffuse.rules import TieAware

pytestmark = pytest.mark.usefixtures("no_task_is_lost")


NO = Abstention("refused")


def answers_of(*scores):
    """An answer a judge: a score, or None for an abstention."""
    return [NO if score is None else Verdict(score, reason=f"said {score}") for score in scores]


@pytest.mark.parametrize("vote", Vote)
@pytest.mark.parametrize("answer", [Verdict(0.75, "why", flipped=True), NO, Abstention("unparsable", again=True)])
def test_the_answer_of_a_single_judge_is_left_as_it_is(vote, answer):
    assert decide([answer], vote) is answer


@pytest.mark.parametrize(
    ("vote", "scores", "score"),
    [
        (Vote.MAJORITY, (1.0, 1.0, 0.0), 1.0),
        (Vote.MAJORITY, (0.4, 0.1, 1.0), 0.0),  # a lead of any size is one vote
        (Vote.MAJORITY, (1.0, 0.0, 0.5), 0.5),
        (Vote.MAJORITY, (1.0, 1.0, 0.0, 0.5), 0.5),  # half is not more than half
        (Vote.MAJORITY, (1.0, 1.0, None), 1.0),
        (Vote.MEAN, (1.0, 1.0, 0.25), 0.75),
        (Vote.MEAN, (1.0, 0.5, 0.75, None), 0.75),
        (Vote.UNANIMOUS, (1.0, 0.75, 1.0), 1.0),
        (Vote.UNANIMOUS, (0.0, 0.25), 0.0),
        (Vote.UNANIMOUS, (1.0, 1.0, 0.5), 0.5),
    ],
)
def test_a_vote_decides_by_the_scores_there_are_and_is_a_tie_otherwise(vote, scores, score):
    assert decide(answers_of(*scores), vote).score == score


@pytest.mark.parametrize(
    ("scores", "vote", "words"),
    [
        ((1.0, None), Vote.MAJORITY, "1 of 2"),
        ((1.0, None, None), Vote.MEAN, "2 of 3"),
        ((1.0, 1.0, None, None), Vote.MAJORITY, "2 of 4"),
        ((None, None), Vote.UNANIMOUS, "2 of 2"),
        ((1.0, 1.0, None), Vote.UNANIMOUS, "1 of 3"),
    ],
)
def test_a_panel_abstains_when_half_of_it_does_or_under_unanimous_any(scores, vote, words):
    assert decide(answers_of(*scores), vote) == Abstention(f"{words} judges gave no verdict: refused")


@pytest.mark.parametrize("vote", [Vote.MAJORITY, Vote.MEAN])
def test_every_judges_score_is_kept_in_its_place(vote):
    decided = decide(answers_of(1.0, None, 0.25), vote)
    assert decided.votes == (1.0, None, 0.25)
    assert decided.reason == "said 1.0 / said 0.25"


@pytest.mark.parametrize("vote", Vote)
@pytest.mark.parametrize("flips", [(False, False, False), (False, True, False), (True, True, True)])
def test_a_panel_has_flipped_when_any_of_its_judges_has(vote, flips):
    answers = [Verdict(0.5, flipped=flipped) for flipped in flips]
    assert decide(answers, vote).flipped == any(flips)


answers = st.lists(
    # Scores whose sums are exact, so that only the order is in question.
    st.builds(Verdict, st.integers(0, 8).map(lambda eighths: eighths / 8)) | st.just(NO), min_size=2, max_size=7
)  # fmt: skip


@given(data=st.data(), given_answers=answers, vote=st.sampled_from(Vote))
def test_the_order_of_the_judges_does_not_matter_to_the_score(data, given_answers, vote):
    shuffled = data.draw(st.permutations(given_answers))
    one, other = decide(given_answers, vote), decide(shuffled, vote)
    assert type(one) is type(other)
    if isinstance(one, Verdict):
        assert one.score == other.score


@given(given_answers=answers, vote=st.sampled_from(Vote))
def test_turning_every_verdict_round_turns_the_panels(given_answers, vote):
    turned = [Verdict(1 - one.score) if isinstance(one, Verdict) else one for one in given_answers]
    one, other = decide(given_answers, vote), decide(turned, vote)
    if isinstance(one, Verdict):
        assert other.score == pytest.approx(1 - one.score)
    else:
        assert one == other


def panel_of(*tables, cost_p=0, worst_p=None):
    return [
        ScriptedJudge(script_from(table), cost_p=cost_p, worst_p=worst_p, model=f"judge-{number}")
        for number, table in enumerate(tables)
    ]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_each_judge_of_a_panel_is_asked_in_both_orders(size, concurrency):
    panel = panel_of(*[[1.0] * 40] * size, cost_p=2)
    finished = run(panel, terms=Terms("run", concurrency=concurrency))
    assert finished.ending.winner == 0
    for judge in panel:
        assert Counter(call.systems for call in judge.calls) == {("a", "b"): 5, ("b", "a"): 5}
    assert finished.spend.charged_p == size * 10 * 2
    assert finished.models == tuple((f"judge-{number}",) for number in range(size))
    assert {label.answer.votes for label in finished.ending.labels} == {(1.0,) * size}


@pytest.mark.parametrize(("vote", "score"), [(Vote.MAJORITY, 1.0), (Vote.MEAN, 1.75 / 3), (Vote.UNANIMOUS, 0.5)])
def test_a_panel_decides_each_item_by_its_vote_and_keeps_the_votes(vote, score):
    finished = run(panel_of([1.0] * 40, [0.75] * 40, [0.0] * 40), terms=Terms("run", vote=vote),
                   limits=Limits(5, 5), rule=TieAware(-1))  # fmt: skip
    for label in finished.ending.labels:
        assert label.answer.votes == (1.0, 0.75, 0.0)
        assert label.answer.score == pytest.approx(score)


@settings(max_examples=15)
@given(budget=st.integers(0, 300), concurrency=st.sampled_from([1, 3, 16]))
def test_a_budget_covers_all_the_calls_of_a_panels_query_or_none(budget, concurrency):
    panel = panel_of([1.0, 0.0] * 20, [1.0, 0.0] * 20, [0.0, 1.0] * 20, cost_p=3, worst_p=10)
    terms = Terms("run", budget_p=budget, concurrency=concurrency)
    finished = run(panel, terms=terms, rule=TieAware(-1), limits=Limits(5, 40))
    asked = [sorted((call.item.id, call.systems) for call in judge.calls) for judge in panel]
    assert asked[0] == asked[1] == asked[2]
    assert {len(asked[0]), finished.spend.charged_p / 9} == {2 * finished.ending.asked}
    assert finished.spend.charged_p <= budget
    if finished.ending.stop.kind is StopKind.BUDGET:
        assert budget - finished.spend.charged_p < 60, "what is left would not cover another query"


def test_a_panel_that_answers_from_the_ledger_asks_only_the_judge_that_is_new(tmp_path):
    old, new = panel_of([1.0] * 40, [1.0] * 40)
    run([old], ledger=tmp_path / "l.sqlite")
    asked = len(old.calls)
    finished = run([old, new], ledger=tmp_path / "l.sqlite")
    assert len(old.calls) == asked == len(new.calls)
    assert finished.spend.remembered == asked


def test_only_a_judge_that_goes_by_names_is_asked_about_equal_outputs():
    terms, item = Terms("run", order=Order.FIXED), Item("q1", "p")
    equal = Query(item, ("a", "b"), ("same", "same"))
    assert not asks_for(equal, panel_of([1.0], [1.0]), terms)
    by_name = [ScriptedJudge(script_from([1.0]), model=name, blind=False, order_matters=False) for name in ("m", "n")]
    asks = asks_for(equal, by_name, terms)
    assert [(ask.judge, ask.call.systems) for ask in asks] == [(0, ("a", "b")), (1, ("a", "b"))]
    rated = asks_for(Query(item, ("a",), ("same",)), by_name, terms)
    assert len({ask.key for ask in (*asks, *rated)}) == 4


def test_judges_without_a_reason_leave_none_in_the_panels():
    told = [Verdict(1.0, reason) for reason in ("", "longer", "", "newer")]
    assert decide(told, Vote.MAJORITY).reason == "longer / newer"

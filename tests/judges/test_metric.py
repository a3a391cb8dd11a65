from __future__ import annotations

import asyncio

import pytest

from judgeloop.core.errors import InputError
from judgeloop.core.records import Abstention, Call, Item, Quote, Verdict
from judgeloop.judges.metric import MetricJudge, metric_named

CAT = "the cat sat on the mat"


def reply(judge, first, second, reference=CAT):
    return asyncio.run(judge.judge(Call(Item("q1", "p", reference), ("x", "y"), (first, second))))


@pytest.mark.parametrize(
    ("name", "reference", "output", "score"),
    [
        # Of 3 words 2 are among the reference's 6: F = 2 * 2 / (3 + 6).
        ("rouge1", CAT, "the cat lay", 4 / 9),
        # "the cat" of 2 pairs of words is among the reference's 5: F = 2 * 1 / (2 + 5).
        ("rouge2", CAT, "the cat lay", 2 / 7),
        # All 3 words are there, but only "the cat" in that order: F = 2 * 3 / 9 for words, 2 * 2 /
        # 9 in order.
        ("rouge1", CAT, "mat the cat", 6 / 9),
        ("rougeL", CAT, "mat the cat", 4 / 9),
        # Stemmed, "dogs running" and "dog runs" are the same.
        ("rouge1", "dogs running", "Dog, runs!", 1.0),
        ("rouge2", "one", "one", 0.0),
        ("rougeL", CAT, "", 0.0),
        ("exact", "The cat!", "a  Cat", 1.0),
        ("exact", "the cat", "the cats", 0.0),
        ("exact", "an", "", 1.0),
        # quick brown fox (3) and quick red fox jumps (4) share 2: F = 2 * 2 / (3 + 4).
        ("token-f1", "the quick brown fox", "A quick red fox jumps.", 4 / 7),
        # A word counts as often as both have it: 1 of 3 and 1: F = 2 * 1 / (3 + 1).
        ("token-f1", "no no yes", "no", 0.5),
        ("token-f1", "yes", "no", 0.0),
        ("token-f1", "the", "...", 1.0),
        ("token-f1", "yes", "", 0.0),
    ],
)
def test_scores_are_those_worked_out_by_hand(name, reference, output, score):
    assert metric_named(name)(reference, output) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL", "exact", "token-f1"])
def test_the_output_with_the_higher_score_wins_whichever_stands_first(name):
    judge = MetricJudge(name)
    assert reply(judge, CAT, "nothing alike").answer.score == 1.0
    assert reply(judge, "nothing alike", CAT).answer.score == 0.0
    assert reply(judge, CAT, CAT).answer.score == 0.5


def test_the_margin_reaches_the_verdict_and_the_identity():
    # 4/9 against 2/9: one word of 3 fewer.
    plain, wide = MetricJudge("rouge1"), MetricJudge("rouge1", tie_margin=0.25)
    said = reply(plain, "the cat lay", "the dog lay").answer
    assert said == Verdict(1.0, reason="rouge1 0.4444 for A, 0.2222 for B")
    assert reply(wide, "the cat lay", "the dog lay").answer.score == 0.5
    assert rating(wide, "the cat lay") == rating(plain, "the cat lay"), "a rating has no margin"
    assert MetricJudge("exact").identity != MetricJudge("exact", tie_margin=0.25).identity


def rating(judge, output, reference=CAT):
    return asyncio.run(judge.judge(Call(Item("q1", "p", reference), ("x",), (output,)))).answer


@pytest.mark.parametrize(
    ("name", "output", "score", "shown"),
    [
        # As worked out above: 2 * 2 / (3 + 6) and 2 * 1 / (2 + 5); without "the", 1 of 2 and 4: 2 *
        # 1 / (2 + 4).
        ("rouge1", "the cat lay", 4 / 9, "0.4444"),
        ("rouge2", "the cat lay", 2 / 7, "0.2857"),
        ("token-f1", "the cat lay", 1 / 3, "0.3333"),
        ("exact", "the cat lay", 0.0, "0.0000"),
        ("exact", "Cat sat on mat.", 1.0, "1.0000"),
    ],
)
def test_one_output_alone_is_rated_by_its_own_score(name, output, score, shown):
    answer = rating(MetricJudge(name), output)
    assert answer.score == pytest.approx(score, abs=1e-12)
    assert answer.reason == f"{name} {shown}"


def test_without_a_reference_there_is_neither_a_rating_nor_a_verdict():
    none = Abstention("the item has no reference")
    assert rating(MetricJudge("exact"), "x", None) == none
    assert reply(MetricJudge("exact"), "x", "y", None).answer == none


def test_an_empty_reference_is_a_reference():
    assert reply(MetricJudge("exact"), "", "y", "").answer.score == 1.0


def test_a_metric_costs_nothing():
    judge = MetricJudge("exact")
    assert judge.quote(Call(Item("q1", "p", CAT), ("x", "y"), ("f", "s"))) == Quote(0, 0)
    assert reply(judge, "f", "s").cost_p == 0


@pytest.mark.parametrize("name", ["", "rouge3", "ROUGE1", "bleu"])
def test_an_unknown_metric_is_refused_with_those_known(name):
    with pytest.raises(InputError, match=f"^unknown metric '{name}'; known: rouge1, rouge2, rougeL, exact, token-f1$"):
        MetricJudge(name)

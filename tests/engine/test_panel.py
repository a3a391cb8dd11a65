from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.records import Abstention, Verdict
from judgeloop.engine.presentation import Vote, decide

NO = Abstention("refused")


def panel(*scores):
    """An answer a judge: a score, or None for an abstention."""
    return [NO if score is None else Verdict(score, reason=f"said {score}") for score in scores]


@pytest.mark.parametrize("vote", Vote)
@pytest.mark.parametrize(
    "answer", [Verdict(0.75, "why", flipped=True), NO, Abstention("unparsable", again=True)]
)
def test_the_answer_of_a_single_judge_is_left_as_it_is(vote, answer):
    assert decide([answer], vote) is answer


@pytest.mark.parametrize(
    ("scores", "score"),
    [
        ((1.0, 1.0, 0.0), 1.0),
        ((0.0, 0.0, 1.0), 0.0),
        ((0.6, 0.9, 0.0), 1.0),  # a lead of any size is one vote
        ((0.4, 0.1, 1.0), 0.0),
        ((0.5, 0.5, 1.0), 0.5),
        ((1.0, 0.0, 0.5), 0.5),
        ((1.0, 0.0), 0.5),
        ((1.0, 1.0), 1.0),
        ((1.0, 0.5), 0.5),
        ((1.0, 1.0, 0.0, 0.0), 0.5),
        ((1.0, 1.0, 0.0, 0.5), 0.5),  # half is not more than half
        ((1.0, 1.0, None), 1.0),
        ((1.0, 0.0, None), 0.5),
    ],
)
def test_a_majority_is_more_than_half_of_those_with_a_verdict_and_anything_else_a_tie(
    scores, score
):
    assert decide(panel(*scores), Vote.MAJORITY).score == score


@pytest.mark.parametrize(
    ("scores", "score"),
    [
        ((1.0, 0.0), 0.5),
        ((1.0, 1.0, 0.25), 0.75),
        ((0.75, 0.25, None), 0.5),
        ((1.0, 0.5, 0.75, None), 0.75),
    ],
)
def test_the_mean_is_that_of_the_scores_there_are(scores, score):
    assert decide(panel(*scores), Vote.MEAN).score == score


def test_ratings_are_decided_by_their_mean_without_those_who_abstained():
    # (0.25 + 1.0) / 2; no rating is a preference, so that 0.25 and 1.0 are no disagreement.
    assert decide(panel(0.25, None, 1.0), Vote.MEAN) == Verdict(
        0.625, reason="said 0.25 / said 1.0", votes=(0.25, None, 1.0)
    )


@pytest.mark.parametrize(
    ("scores", "score"),
    [
        ((1.0, 0.75, 1.0), 1.0),
        ((0.0, 0.25), 0.0),
        ((0.5, 0.5), 0.5),
        ((1.0, 1.0, 0.5), 0.5),
        ((1.0, 0.0), 0.5),
    ],
)
def test_the_unanimous_preference_is_that_of_all_and_anything_else_a_tie(scores, score):
    assert decide(panel(*scores), Vote.UNANIMOUS).score == score


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
    assert decide(panel(*scores), vote) == Abstention(f"{words} judges gave no verdict: refused")


@pytest.mark.parametrize("vote", [Vote.MAJORITY, Vote.MEAN])
def test_every_judges_score_is_kept_in_its_place(vote):
    decided = decide(panel(1.0, None, 0.25), vote)
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

from __future__ import annotations

import asyncio

import pytest

from judgeloop.core.errors import InputError
from judgeloop.core.records import Abstention, Call, Item, Quote, Verdict
from judgeloop.formats.verdicts import Recorded, VerdictTable
from judgeloop.judges.replay import ReplayJudge

SINGLE = VerdictTable(
    "single.csv",
    "digest",
    paired=False,
    rows={
        ("q1", "a"): Recorded(0.75, 3),
        ("q1", "b"): Recorded(0.25, 4),
        ("q2", "a"): Recorded(None, 5),
        ("q2", "b"): Recorded(0.5, 6),
        ("q3", "a"): Recorded(0.5, 7),
    },
)
PAIRED = VerdictTable(
    "paired.csv",
    "digest",
    paired=True,
    rows={
        ("q1", "a", "b"): Recorded(0.75, 3),
        ("q2", "b", "a"): Recorded(1.0, 4),
        ("q3", "a", "b"): Recorded(None, 5),
        ("q4", "a", "b"): Recorded(0.5, 6),
    },
)


def call(item, *systems):
    return Call(Item(item, "p"), systems or ("a", "b"), ("x", "y"))


def items(*ids):
    return [Item(item_id, "p") for item_id in ids]


def replied(table, asked, **options):
    return asyncio.run(ReplayJudge(table, **options).judge(asked))


@pytest.mark.parametrize(("table", "item"), [(SINGLE, "q1"), (PAIRED, "q1")])
def test_the_better_recorded_system_wins_whichever_is_shown_first(table, item):
    assert replied(table, call(item, "a", "b")).answer.score == 1.0
    assert replied(table, call(item, "b", "a")).answer.score == 0.0


def test_a_pair_recorded_the_other_way_round_is_turned():
    assert replied(PAIRED, call("q2", "a", "b")).answer.score == 0.0
    assert replied(PAIRED, call("q2", "b", "a")).answer.score == 1.0


def test_a_recorded_tie_is_a_tie():
    assert replied(PAIRED, call("q4")).answer.score == 0.5


@pytest.mark.parametrize("table", [SINGLE, PAIRED])
@pytest.mark.parametrize(("margin", "score"), [(0.49, 1.0), (0.5, 0.5), (0.6, 0.5)])
def test_scores_within_the_margin_tie(table, margin, score):
    # Scores of 0.75 and 0.25, as such or as a preference and its complement.
    assert replied(table, call("q1"), tie_margin=margin).answer.score == score


@pytest.mark.parametrize(
    ("table", "item"),
    [(SINGLE, "q2"), (SINGLE, "q3"), (SINGLE, "q9"), (PAIRED, "q3"), (PAIRED, "q9")],
)
@pytest.mark.parametrize("systems", [("a", "b"), ("b", "a")])
def test_a_missing_row_or_an_empty_score_is_an_abstention(table, item, systems):
    assert replied(table, call(item, *systems)).answer == Abstention("no recorded verdict")


@pytest.mark.parametrize(
    ("table", "item", "cost_p"),
    [
        (SINGLE, "q1", 7),
        (SINGLE, "q2", 11),
        (SINGLE, "q3", 7),
        (SINGLE, "q9", 0),
        (PAIRED, "q2", 4),
        (PAIRED, "q3", 5),
    ],
)
def test_recorded_costs_are_rehearsed_and_never_real(table, item, cost_p):
    assert ReplayJudge(table).quote(call(item)) == Quote(cost_p, cost_p, rehearsed=True)
    assert replied(table, call(item)).cost_p == cost_p


@pytest.mark.parametrize("table", [SINGLE, PAIRED])
def test_systems_that_the_table_does_not_know_are_refused_with_those_it_has(table):
    ReplayJudge(table).check([("b", "a")], items("q1"), 0.0)
    with pytest.raises(
        InputError, match=f"^replay:{table.name} has no verdicts on c, d; it has a, b$"
    ):
        ReplayJudge(table).check([("a", "c"), ("a", "d")], items("q1"), 1.0)


def test_only_some_of_many_known_systems_are_shown():
    table = VerdictTable(
        "t", "d", paired=False, rows={("q1", f"s{n}"): Recorded(1.0) for n in range(10)}
    )
    with pytest.raises(InputError, match=r"it has s0, s1, s2, s3, s4, s5, s6, s7 and 2 more$"):
        ReplayJudge(table).check([("s0", "other")], [], 1.0)


@pytest.mark.parametrize("table", [SINGLE, PAIRED])
@pytest.mark.parametrize("systems", [("a", "b"), ("b", "a")])
def test_a_table_without_more_items_than_may_abstain_is_refused_with_one_of_them(table, systems):
    asked = items("q1", "q2", "q8", "q9")
    ReplayJudge(table).check([systems], asked, 0.5)
    message = rf"^replay:{table.name} has no verdicts on 2 of 4 items, such as 'q8'; more than `max_abstentions`, 49%$"
    with pytest.raises(InputError, match=message):
        ReplayJudge(table).check([systems], asked, 0.49)


def test_an_item_with_a_row_for_one_system_alone_is_missing():
    with pytest.raises(InputError, match="no verdicts on 1 of 1 items, such as 'q3'"):
        ReplayJudge(SINGLE).check([("a", "b")], items("q3"), 0.0)


@pytest.mark.parametrize("margin", [0.0, 1.0])
@pytest.mark.parametrize(("system", "score", "cost_p"), [("a", 0.75, 3), ("b", 0.25, 4)])
def test_a_system_alone_is_rated_by_its_recorded_score(system, score, cost_p, margin):
    reply = replied(SINGLE, call("q1", system), tie_margin=margin)
    assert (reply.answer, reply.cost_p) == (Verdict(score), cost_p)
    assert ReplayJudge(SINGLE).quote(call("q1", system)) == Quote(cost_p, cost_p, rehearsed=True)


@pytest.mark.parametrize(
    ("table", "item", "system"),
    [(SINGLE, "q2", "a"), (SINGLE, "q3", "b"), (SINGLE, "q9", "a"), (PAIRED, "q1", "a")],
)
def test_a_system_alone_without_a_score_is_not_rated(table, item, system):
    assert replied(table, call(item, system)).answer == Abstention("no recorded verdict")


def test_a_table_of_pairs_is_refused_where_one_system_is_to_be_rated():
    message = r"^replay:paired.csv compares pairs of systems and .* needs a table of item_id, model and score$"
    with pytest.raises(InputError, match=message):
        ReplayJudge(PAIRED).check([("a",)], items("q1"), 1.0)


def test_only_the_rated_system_has_to_have_rows():
    ReplayJudge(SINGLE).check([("a",)], items("q1", "q2", "q3"), 0.0)
    message = r"^replay:single.csv has no verdicts on 1 of 3 items, such as 'q3'; more than `max_abstentions`, 0%$"
    with pytest.raises(InputError, match=message):
        ReplayJudge(SINGLE).check([("b",)], items("q1", "q2", "q3"), 0.0)
    with pytest.raises(InputError, match=r"has no verdicts on c; it has a, b$"):
        ReplayJudge(SINGLE).check([("c",)], items("q1"), 1.0)


@pytest.mark.parametrize(
    ("score", "shown"), [(7.5, "7.5"), (-0.25, "-0.25"), (1.0000001, "1.0000001")]
)
def test_a_score_beyond_0_to_1_is_refused_as_a_rating_and_fine_in_a_comparison(score, shown):
    rows = {("q1", "a"): Recorded(1.0), ("q2", "a"): Recorded(score), ("q2", "b"): Recorded(0.0)}
    judge = ReplayJudge(VerdictTable("t", "d", paired=False, rows=rows))
    judge.check([("a", "b")], items("q2"), 0.0)
    judge.check([("a",)], items("q1"), 0.0)
    judge.check([("b",)], items("q2"), 0.0)
    with pytest.raises(
        InputError, match=rf"^replay:t scores a on 'q2' with {shown}; a rating lies between 0 and 1"
    ):
        judge.check([("a",)], items("q1", "q2"), 1.0)


def test_the_identity_follows_the_content_and_the_margin_of_the_table():
    identity = ReplayJudge(SINGLE).identity
    changed = VerdictTable("single.csv", "another digest", paired=False, rows=SINGLE.rows)
    assert identity.name == "replay:single.csv"
    assert identity != ReplayJudge(changed).identity
    assert identity != ReplayJudge(SINGLE, tie_margin=0.1).identity


def test_scores_are_verdicts_against_a_system_that_the_table_does_not_contain():
    judge = ReplayJudge(SINGLE, against="base")
    judge.check([("a", "base"), ("b", "base")], items("q1"), 0.0)
    scores = {
        systems: asyncio.run(judge.judge(call("q1", *systems))).answer.score
        for systems in [("a", "base"), ("base", "a"), ("b", "base"), ("base", "b")]
    }
    assert scores == {
        ("a", "base"): 1.0,
        ("base", "a"): 0.0,
        ("b", "base"): 0.0,
        ("base", "b"): 1.0,
    }
    assert asyncio.run(judge.judge(call("q2", "b", "base"))).answer.score == 0.5
    assert asyncio.run(judge.judge(call("q2", "a", "base"))).answer == Abstention(
        "no recorded verdict"
    )
    assert judge.quote(call("q1", "a", "base")) == Quote(3, 3, rehearsed=True)


def test_a_verdict_within_the_tie_margin_of_one_half_is_a_tie():
    judge = ReplayJudge(SINGLE, tie_margin=0.3, against="base")
    assert asyncio.run(judge.judge(call("q1", "a", "base"))).answer.score == 0.5


def test_a_system_that_all_are_compared_with_and_that_is_recorded_is_looked_up():
    judge = ReplayJudge(SINGLE, against="b")
    assert asyncio.run(judge.judge(call("q3", "a", "b"))).answer == Abstention(
        "no recorded verdict"
    )


def test_another_system_without_verdicts_is_refused_beside_the_one_compared_with():
    with pytest.raises(InputError, match=r"^replay:single.csv has no verdicts on c; it has a, b$"):
        ReplayJudge(SINGLE, against="base").check([("a", "base"), ("c", "base")], items("q1"), 1.0)
    with pytest.raises(InputError, match="has no verdicts on base"):
        ReplayJudge(PAIRED, against="base").check([("a", "base")], items("q1"), 1.0)


def test_scores_that_cannot_be_verdicts_against_a_system_are_refused():
    table = VerdictTable("t", "d", paired=False, rows={("q1", "a"): Recorded(31.0)})
    message = "t scores a on 'q1' with 31.0; a verdict against base lies between 0 and 1"
    with pytest.raises(InputError, match=message):
        ReplayJudge(table, against="base").check([("a", "base")], items("q1"), 0.0)

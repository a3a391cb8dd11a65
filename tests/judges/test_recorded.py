from __future__ import annotations

import asyncio

import pytest

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Abstention, Call, Item, Pool, Quote, Verdict
from judgeloop.formats.verdicts import RecordedScore, VerdictTable
from judgeloop.judges.recorded import ReplayJudge, recorded_verdicts

SINGLE = VerdictTable(
    "single.csv",
    "digest",
    paired=False,
    rows={
        ("q1", "a"): RecordedScore(0.75, 3),
        ("q1", "b"): RecordedScore(0.25, 4),
        ("q2", "a"): RecordedScore(None, 5),
        ("q2", "b"): RecordedScore(0.5, 6),
        ("q3", "a"): RecordedScore(0.5, 7),
    },
)
PAIRED = VerdictTable(
    "paired.csv",
    "digest",
    paired=True,
    rows={
        ("q1", "a", "b"): RecordedScore(0.75, 3),
        ("q2", "b", "a"): RecordedScore(1.0, 4),
        ("q3", "a", "b"): RecordedScore(None, 5),
        ("q4", "a", "b"): RecordedScore(0.5, 6),
    },
)


def items(*ids):
    return [Item(item_id, "p") for item_id in ids]


AB, BA, A, B = ("a", "b"), ("b", "a"), ("a",), ("b",)
TO_BASE = {"against": "base"}


@pytest.mark.parametrize(
    ("table", "item", "systems", "score", "cost_p", "options"),
    [
        (SINGLE, "q1", AB, 1.0, 7, {}),
        (SINGLE, "q1", BA, 0.0, 7, {}),
        (SINGLE, "q1", AB, 1.0, 7, {"tie_margin": 0.49}),  # 0.75 and 0.25 differ by 0.5
        (SINGLE, "q1", AB, 0.5, 7, {"tie_margin": 0.5}),
        (SINGLE, "q2", AB, None, 11, {}),  # an empty score
        (SINGLE, "q3", BA, None, 7, {}),  # one row of two
        (SINGLE, "q9", AB, None, 0, {}),
        (PAIRED, "q1", AB, 1.0, 3, {}),
        (PAIRED, "q1", BA, 0.0, 3, {}),
        (PAIRED, "q1", AB, 1.0, 3, {"tie_margin": 0.49}),
        (PAIRED, "q1", AB, 0.5, 3, {"tie_margin": 0.5}),
        (PAIRED, "q2", AB, 0.0, 4, {}),  # recorded the other way round
        (PAIRED, "q2", BA, 1.0, 4, {}),
        (PAIRED, "q3", AB, None, 5, {}),
        (PAIRED, "q4", AB, 0.5, 6, {}),
        (PAIRED, "q9", BA, None, 0, {}),
        (SINGLE, "q1", A, 0.75, 3, {}),  # one system alone, whatever the margin
        (SINGLE, "q1", B, 0.25, 4, {"tie_margin": 1.0}),
        (SINGLE, "q2", A, None, 5, {}),
        (SINGLE, "q3", B, None, 0, {}),
        (PAIRED, "q1", A, None, 0, {}),
        (SINGLE, "q1", ("a", "base"), 1.0, 3, TO_BASE),  # a score against a system without rows
        (SINGLE, "q1", ("base", "a"), 0.0, 3, TO_BASE),
        (SINGLE, "q1", ("b", "base"), 0.0, 4, TO_BASE),
        (SINGLE, "q1", ("base", "b"), 1.0, 4, TO_BASE),
        (SINGLE, "q2", ("b", "base"), 0.5, 6, TO_BASE),
        (SINGLE, "q2", ("a", "base"), None, 5, TO_BASE),
        (SINGLE, "q1", ("a", "base"), 0.5, 3, TO_BASE | {"tie_margin": 0.3}),
        (SINGLE, "q3", AB, None, 7, {"against": "b"}),  # which is recorded, and looked up
    ],
)
def test_what_is_recorded_is_the_answer_and_its_cost_is_rehearsed(table, item, systems, score, cost_p, options):
    judge, asked = ReplayJudge(table, **options), Call(Item(item, "p"), systems, ("x", "y"))
    none = Abstention("no recorded verdict")
    reply = asyncio.run(judge.judge(asked))
    assert (reply.answer, reply.cost_p) == (none if score is None else Verdict(score), cost_p)
    assert judge.quote(asked) == Quote(cost_p, cost_p, rehearsed=True), "never real"


@pytest.mark.parametrize("table", [SINGLE, PAIRED])
def test_systems_that_the_table_does_not_know_are_refused_with_those_it_has(table):
    ReplayJudge(table).check([("b", "a")], items("q1"), 0.0)
    with pytest.raises(InputError, match=f"^replay:{table.name} has no verdicts on c, d; it has a, b; `names` says"):
        ReplayJudge(table).check([("a", "c"), ("a", "d")], items("q1"), 1.0)


def test_only_some_of_many_known_systems_are_shown():
    table = VerdictTable("t", "d", paired=False, rows={("q1", f"s{n}"): RecordedScore(1.0) for n in range(10)})
    with pytest.raises(InputError, match=r"it has s0, s1, s2, s3, s4 and 5 more; "):
        ReplayJudge(table).check([("s0", "other")], [], 1.0)


@pytest.mark.parametrize("table", [SINGLE, PAIRED])
@pytest.mark.parametrize("systems", [("a", "b"), ("b", "a")])
def test_a_table_without_more_items_than_may_abstain_is_refused_with_one_of_them(table, systems):
    asked = items("q1", "q2", "q8", "q9")
    ReplayJudge(table).check([systems], asked, 0.5)
    message = (
        rf"^replay:{table.name} has no verdicts on 2 of 4 items, such as 'q8'; judge only .* with `allow_partial`$"
    )
    with pytest.raises(InputError, match=message):
        ReplayJudge(table).check([systems], asked, 0.49)
    strangers = r"such as 'prompt-0'.*; it has some on 'q1': give the rows of outputs such ids, in the field `id`$"
    with pytest.raises(InputError, match=strangers):
        ReplayJudge(table).check([systems], items("prompt-0"), 0.49)


def test_a_table_of_pairs_is_refused_where_one_system_is_to_be_rated():
    message = r"^replay:paired.csv compares pairs of systems and .* needs a table of item_id, model and score$"
    with pytest.raises(InputError, match=message):
        ReplayJudge(PAIRED).check([("a",)], items("q1"), 1.0)


def test_only_the_rated_system_has_to_have_rows():
    ReplayJudge(SINGLE).check([("a",)], items("q1", "q2", "q3"), 0.0)
    message = r"^replay:single.csv has no verdicts on 1 of 3 items, such as 'q3'; more than `max_abstentions`, 0 %$"
    with pytest.raises(InputError, match=message):
        ReplayJudge(SINGLE).check([("b",)], items("q1", "q2", "q3"), 0.0)
    with pytest.raises(InputError, match=r"has no verdicts on c; it has a, b; `names`"):
        ReplayJudge(SINGLE).check([("c",)], items("q1"), 1.0)


@pytest.mark.parametrize(("score", "shown"), [(7.5, "7.5"), (-0.25, "-0.25"), (1.0000001, "1.0000001")])
def test_a_score_beyond_0_to_1_is_refused_as_a_rating_and_fine_in_a_comparison(score, shown):
    rows = {("q1", "a"): RecordedScore(1.0), ("q2", "a"): RecordedScore(score), ("q2", "b"): RecordedScore(0.0)}
    judge = ReplayJudge(VerdictTable("t", "d", paired=False, rows=rows))
    judge.check([("a", "b")], items("q2"), 0.0)
    judge.check([("a",)], items("q1"), 0.0)
    judge.check([("b",)], items("q2"), 0.0)
    with pytest.raises(InputError, match=rf"^replay:t scores a on 'q2' with {shown}; a rating lies between 0 and 1"):
        judge.check([("a",)], items("q1", "q2"), 1.0)


def test_the_identity_follows_the_content_and_the_margin_of_the_table():
    identity = ReplayJudge(SINGLE).identity
    changed = VerdictTable("single.csv", "another digest", paired=False, rows=SINGLE.rows)
    assert identity.name == "replay:single.csv"
    assert identity != ReplayJudge(changed).identity
    assert identity != ReplayJudge(SINGLE, tie_margin=0.1).identity


def test_another_system_without_verdicts_is_refused_beside_the_one_compared_with():
    with pytest.raises(InputError, match=r"^replay:single.csv has no verdicts on c; it has a, b; `names`"):
        ReplayJudge(SINGLE, against="base").check([("a", "base"), ("c", "base")], items("q1"), 1.0)
    with pytest.raises(InputError, match="has no verdicts on base"):
        ReplayJudge(PAIRED, against="base").check([("a", "base")], items("q1"), 1.0)


def test_scores_that_cannot_be_verdicts_against_a_system_are_refused():
    table = VerdictTable("t", "d", paired=False, rows={("q1", "a"): RecordedScore(31.0)})
    message = "t scores a on 'q1' with 31.0; a verdict against base lies between 0 and 1"
    with pytest.raises(InputError, match=message):
        ReplayJudge(table, against="base").check([("a", "base")], items("q1"), 0.0)


POOL = Pool(tuple(Item(f"{at}", f"What is {at}?") for at in range(4)), ("old", "new"), (("x",) * 4, ("y",) * 4))
TURNED = Pool(POOL.items, POOL.systems[::-1], POOL.outputs[::-1])
ONE = Pool(POOL.items, ("old",), POOL.outputs[:1])


def replayed(folder, content, pool=POOL):
    path = folder / "sheet.csv"
    path.write_text(content, encoding="utf-8-sig")
    table = recorded_verdicts(path, pool)
    return {(item, *systems): score.score for (item, *systems), score in table.rows.items()}


def of_old(*scores):
    """Scores of the first system by item, without those that are None."""
    return {(f"{at}", "old", "new"): score for at, score in enumerate(scores) if score is not None}


@pytest.mark.parametrize(
    ("content", "scores"),
    [
        ("Ticket;Who is better?\n0;A\n1;tie\n2;\n3;B is better\n", (1.0, 0.5, None, 0.0)),
        ("Question,vote\nWhat is  0?,new\nWhat is 3?,1st\n", (0.0, None, None, 1.0)),
        ("id,Anna,Ben,Cleo\n0,a,a,b\n1,a,b,\n2,b,b,b\n", (1.0, 0.5, 0.0)),
        ("id,Rater,vote\n0,Anna,a\n0,Ben,b\n0,Cleo,b\n1,Ben,a\n", (0.0, 1.0)),
        ("item_id,model_a,model_b,winner\n0.0,old,new,model_a\n3.0,old,new,B is better\n", (1.0, None, None, 0.0)),
        ("item_id,model_a,model_b,winner,rater\n0,old,new,a,x\n0,old,new,b,y\n0,old,new,b,z\n", (0.0,)),
        ("id,prompt,model_a,model_b,winner\n7,What is 0?,old,new,a\n8,What is 1?,old,new,b\n", (1.0, 0.0)),
        ("item_id,model_a,model_b,score\n0,old,new,0.7\n1,old,new,\n", (0.7,)),
    ],
)  # fmt: skip
def test_a_table_of_labels_as_people_write_it_is_replayed(tmp_path, content, scores):
    found = replayed(tmp_path, content)
    assert {key: score for key, score in found.items() if score is not None} == of_old(*scores)


def test_which_answer_a_label_is_for_depends_on_the_order_of_the_systems_and_so_does_the_judge(tmp_path):
    content = "id,vote\n0,a\n1,new\n"
    assert replayed(tmp_path, content, TURNED) == {("0", "new", "old"): 1.0, ("1", "new", "old"): 1.0}
    one, other = (ReplayJudge(recorded_verdicts(tmp_path / "sheet.csv", pool)) for pool in (POOL, TURNED))
    assert one.identity != other.identity
    assert "'vote'" in one.read
    assert "A is old" in one.read


def test_ratings_of_several_people_are_their_mean_and_scores_of_systems_are_taken_as_they_are(tmp_path):
    assert replayed(tmp_path, "id,rater,rating\n0,x,1\n0,y,0.5\n1,x,0\n", ONE) == {
        ("0", "old"): 0.75,
        ("1", "old"): 0.0,
    }
    assert replayed(tmp_path, "id,model,score\n0,old,31\n0,new,7\n") == {("0", "old"): 31.0, ("0", "new"): 7.0}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Ticket,Winner\n0,A\n1,Q\n", "line 3: 'winner': expected a, b or tie, or old, new, found 'Q'"),
        ("Ticket,Winner\nx,A\ny,A\n", "expected a column with the ids of the items, such as '0'"),
        (
            "id,model_a,model_b,winner\n0,old,new,Q\n",
            "line 2: the field 'score' is wrong: expected a number, of two systems",
        ),
    ],
)
def test_a_table_that_tells_no_verdicts_is_refused_with_what_was_expected_and_found(tmp_path, content, said):
    with pytest.raises(DataError, match=said):
        replayed(tmp_path, content)


def test_a_second_verdict_whose_id_a_spreadsheet_wrote_is_refused(tmp_path):
    for again in ("2.0,old,new,1", "2.0,new,old,1"):
        with pytest.raises(DataError, match="a second verdict on 2, "):
            replayed(tmp_path, f"item_id,model_a,model_b,score\n2,old,new,0\n{again}\n")


def test_two_people_who_name_the_systems_in_either_order_are_one_judge(tmp_path):
    rows = "2,old,new,anna,old\n2,new,old,ben,a\n3,new,old,anna,b\n"
    found = replayed(tmp_path, f"item_id,model_a,model_b,annotator,vote\n{rows}")
    assert found == {("2", "old", "new"): 0.5, ("3", "old", "new"): 1.0}


def test_a_score_that_is_against_the_winner_beside_it_is_refused(tmp_path):
    content = "item_id,model_a,model_b,winner,score\n0,old,new,{},0.9\n1,old,new,tie,0.9\n"
    assert replayed(tmp_path, content.format("model_a")) == {("0", "old", "new"): 0.9, ("1", "old", "new"): 0.9}
    for winner in ("model_b", "new"):
        with pytest.raises(DataError, match="line 2: the score"):
            replayed(tmp_path, content.format(winner))

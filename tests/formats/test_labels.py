"""Labels by people, as tables of many forms have them."""

from __future__ import annotations

import math

import pytest

from judgeloop.core.errors import DataError
from judgeloop.core.records import Item, Pool
from judgeloop.formats.labels import people_of, read_labels
from judgeloop.formats.tables import Row, Table

ITEMS = 6
POOL = Pool(
    tuple(Item(f"{at}", f"What is {at}?") for at in range(ITEMS)), ("old", "new"), (("a",) * ITEMS, ("b",) * ITEMS)
)
ONE = Pool(POOL.items, ("old",), POOL.outputs[:1])
A, TIE, B, NONE = 1.0, 0.5, 0.0, None


def read(rows, pool=POOL, **more):
    table = Table("`truth`", [Row(number, row) for number, row in enumerate(rows, 1)])
    found = read_labels(table, pool, **more)
    return {one.person: [None if math.isnan(score) else score for score in one.scores] for one in found}


@pytest.mark.parametrize(
    ("words", "scores"),
    [
        (["A", "b", "Tie", "same", "Answer A", "B is better"], [A, B, TIE, TIE, A, B]),
        (["old", "NEW", "", "n/a", "new", "draw"], [A, B, NONE, NONE, B, TIE]),
        ([1, 2, 2, 1, 0, 1], [A, B, B, A, TIE, A]),
        (["first", "second", "equal", "model_a", "tie (bothbad)", "Output 2"], [A, B, TIE, A, TIE, B]),
    ],
)
def test_votes_are_words_numbers_or_names_below_any_header(words, scores):
    rows = [{"Ticket #": at, "Which is better?": word, "Comment": "as I see it"} for at, word in enumerate(words)]
    assert read(rows) == {"truth": scores}


def test_verdicts_that_judgeloop_wrote_are_of_the_first_system_whichever_was_shown_first():
    rows = [
        {"item_id": at, "system": "old", "against": "new", "score": score, "winner": winner, "shown_first": shown}
        for at, (score, winner, shown) in enumerate([(1.0, "old", "new"), (0.5, "", "old"), (0.0, "new", "new")])
    ]
    assert read(rows)["truth"][:3] == [A, TIE, B]


def test_an_item_is_found_by_its_prompt_or_by_an_id_that_a_spreadsheet_wrote_as_a_number():
    assert read([{"question": " What is  3?", "vote": "a"}])["truth"][3] == A
    assert read([{"id": 4.0, "vote": "b"}, {"id": "5.0", "vote": "b"}])["truth"][4:] == [B, B]


def test_a_running_number_beside_a_column_named_id_is_none():
    rows = [{"No": at, "id": at + 1, "Sure (1-5)": at + 2, "Anna": "a"} for at in range(4)]
    assert read(rows)["truth"] == [NONE, A, A, A, A, NONE]


def test_several_columns_and_names_in_a_column_are_several_people():
    wide = read([{"id": at, "Anna": "a", "Ben": "b" if at else ""} for at in range(2)])
    long = read([{"id": at, "annotator": who, "vote": vote}
                 for at, who, vote in [(0, "Anna", "a"), (1, "Anna", "a"), (1, "Ben", "b")]])  # fmt: skip
    assert wide == {"anna": [A, A, *[NONE] * 4], "ben": [NONE, B, *[NONE] * 4]}
    assert long == {"Anna": wide["anna"], "Ben": wide["ben"]}


@pytest.mark.parametrize(
    "header", ["Person", "Rater", "Rater name", "Annotator ID", "person_id", "Labelled by", "Who?", "Coder", "Initials"]
)
@pytest.mark.parametrize("people", [("Anna", "Ben"), (1, 2), ("A", "B")])
def test_a_column_that_says_who_voted_may_have_many_headers(header, people):
    rows = [
        {"id": at, header: people[who], "Which is better?": vote}
        for at, who, vote in [(0, 0, "a"), (1, 0, "b"), (1, 1, "a")]
    ]
    assert read(rows) == {str(people[0]): [A, B, *[NONE] * 4], str(people[1]): [NONE, A, *[NONE] * 4]}


@pytest.mark.parametrize(
    "header", ["confidence", "Confidence (1-3)", "How sure?", "Difficulty", "certainty", "Seconds"]
)
@pytest.mark.parametrize("votes", [("a", "b", "a"), (1, 2, 1)])
def test_how_sure_somebody_was_is_no_vote(header, votes):
    rows = [{"id": at, "Anna": vote, header: at % 2 + 1} for at, vote in enumerate(votes)]
    assert read(rows)["truth"] == [A, B, A, *[NONE] * 3]


def test_votes_in_words_are_votes_below_a_header_that_asks_how_sure_somebody_is():
    assert read([{"id": 0, "Which one is better for sure?": "b"}])["truth"][0] == B


def test_a_row_that_names_its_systems_says_which_is_a_and_rows_on_others_are_left_out():
    rows = [
        {"id": 0, "model_a": "new", "model_b": "old", "winner": "model_a"},
        {"id": 1, "model_a": "new", "model_b": "old", "winner": "old"},
        {"id": 2, "model_a": "new", "model_b": "third", "winner": "model_a"},
    ]
    assert read(rows)["truth"] == [B, A, *[NONE] * 4]
    assert read([{"item_id": 2, "system": "new", "against": "old", "score": 0.0}])["truth"][2] == A


def test_ratings_have_a_scale():
    rows = [{"id": at, "Rating": at + 1} for at in range(5)]
    assert read(rows, ONE, scale=(1.0, 5.0))["truth"] == [0, 0.25, 0.5, 0.75, 1, NONE]
    unsure = [{"id": at, "Anna": at + 1, "confidence": 5 - at} for at in range(5)]
    assert read(unsure, ONE, scale=(1.0, 5.0))["truth"] == [0, 0.25, 0.5, 0.75, 1, NONE]
    with pytest.raises(DataError, match=r"row 2: 'rating': expected a rating from 0 to 1, found 2; `scale=1,5`"):
        read(rows, ONE)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"id": 0, "winner": "Q"}],
            r"row 1: 'winner': expected a, b or tie, or old, new, found 'Q'; leave the cell empty",
        ),
        ([{"id": 0, "winner": 1}], r"row 1: 'winner': 1 may be a score or the number of a system"),
        (
            [{"id": 90, "winner": "a"}],
            r"expected a column with the ids of the items, such as '0', or with their prompts",
        ),
        ([{"nr": 0, "note": "fine"}], r"expected a column of labels \(a, b or tie, or old, new\); found 'note'"),
        ([{"id": 0, "winner": "a"}, {"id": 0, "winner": "b"}], r"row 2: a second label of truth on '0'"),
        (
            [{"id": 0, "judged for": who, "winner": "a"} for who in ("x", "y")]
            + [{"id": 1, "judged for": "x", "winner": "a"}],
            r"row 2: a second label of truth on '0'; if 'judged_for' says who voted, name it 'annotator'",
        ),
        # Numbers beside words may be something else, which must not vote.
        (
            [{"id": at, "Anna": ("a", "b", "tie")[at], "Round": at % 2 + 1} for at in range(3)],
            r"'round' has numbers alone, beside votes in words in 'anna': write a, b or tie there if",
        ),
        # A running number of the rows is no id, though it fits as well.
        (
            [{"No": at, "Prompt no.": at + 1, "Anna": "a"} for at in range(4)],
            r"row 1: 'no' and 'prompt_no.' may both have the ids of the items, and differ; name the one that has them 'id'",
        ),
        # A slip in a cell must not take a person away.
        (
            [{"id": at, "Anna": "a", "Ben": ("a", "b", "tei")[at]} for at in range(3)],
            r"row 3: 'ben': expected a, b or tie, or old, new, found 'tei'; leave the cell empty",
        ),
        (
            [{"Prompt no.": at, "Anna": ("tie", "Bn", "b")[at]} for at in range(3)],
            r"row 2: 'anna': expected a, b or tie, or old, new, found 'Bn'",
        ),
        (
            [{"Prompt no.": at, "Anna": "a"} for at in (0, 1, 400)],
            r"row 3: 'prompt_no\.': expected the id of an item, or its prompt, found 400",
        ),
        ([{"id": 0, "model_a": "x", "model_b": "y", "winner": "a"}], r"no row is about old, new; the file has x and y"),
    ],
)
def test_what_cannot_be_told_is_an_error_with_its_place(rows, said):
    with pytest.raises(DataError, match=f"^`truth`.*{said}"):
        read(rows)


def test_a_person_who_labels_other_items_in_another_table_is_one_person():
    def labels(*places):
        table = Table("anna.csv", [Row(at, {"id": at, "annotator": "anna", "vote": "a"}) for at in places])
        return read_labels(table, POOL)

    (one,) = people_of([*labels(0, 1), *labels(2)])
    assert (one.person, sorted(one.places)) == ("anna", [0, 1, 2])
    assert len(people_of([*labels(0, 1), *labels(1)])) == 2, "two labels of an item are two people's"


TEXTS = Pool(POOL.items, POOL.systems, tuple(tuple(f"{system} says {at}" for at in range(ITEMS)) for system in "xy"))


@pytest.mark.parametrize("vote", ["a", "new", "new_better", "Model new", "output A"])
@pytest.mark.parametrize(
    "shown",
    [
        {"model_a": "new", "model_b": "old"},
        {"model_b": "old"},
        {"left": "new", "right": "old"},
        {"System 1": "New", "System 2": "Old"},
        {"Response A": "y says {at}", "Response B": "x says {at}"},
        {"output_b": "x  says {at}"},
    ],
)
def test_a_row_that_names_or_shows_its_systems_says_which_is_a(shown, vote):
    rows = [{"id": at, **{name: text.format(at=at) for name, text in shown.items()}, "choice": vote} for at in range(6)]
    assert read(rows, TEXTS)["truth"] == [B] * 6
    assert read([row | {"choice": "b"} for row in rows], TEXTS)["truth"] == [A] * 6


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([("new", "old"), ("", "old")], "''"),
        ([("new", "old"), ("new", "new")], "'new'"),
        ([("y says 0", "x says 0"), ("y says 1, edited", "x says 1")], "'y says 1, edited'"),
    ],
)
def test_a_row_that_does_not_say_which_is_a_beside_others_that_do_is_refused(rows, found):
    table = [{"id": at, "left": left, "right": right, "vote": "left"} for at, (left, right) in enumerate(rows)]
    with pytest.raises(DataError, match=f"row {len(rows)}: .*expected old, new, .* found {found}$"):
        read(table, TEXTS)
    assert read([table[0], table[1] | {"vote": ""}], TEXTS)["truth"][:2] == [B, NONE]


def test_a_row_of_one_of_the_systems_and_of_another_is_refused():
    rows = [{"id": at, "left": "gpt", "right": "old", "vote": "right"} for at in range(6)]
    with pytest.raises(DataError, match=r"'left': expected old, new, .* found 'gpt'"):
        read(rows)
    named = [row | {"model_a": "old", "model_b": "new", "output_a": "x", "output_b": "b"} for row in rows]
    assert (
        read([{name: row[name] for name in row if name not in {"left", "right"}} for row in named])["truth"] == [B] * 6
    )


@pytest.mark.parametrize("name", ["model", "system", "generator"])
def test_ratings_of_single_systems_are_no_votes_of_two(name):
    rows = [{"id": at, name: "new" if at else "old", "annotator": who, "score": 0.9} for at in range(6) for who in "xy"]
    with pytest.raises(DataError, match=f"'{name}': expected labels of two systems"):
        read(rows)


@pytest.mark.parametrize("names", [("old", "new"), ("rating_old", "rating_new"), ("Old rating", "New rating")])
def test_ratings_in_a_column_of_each_system_are_no_votes(names):
    for first, second in [(2, 5), (2, 1), (1, 2)]:
        with pytest.raises(DataError, match=r"has numbers, and names (old|new)"):
            read([{"id": at, names[0]: first, names[1]: second} for at in range(6)])


def test_a_vote_that_names_a_system_and_the_place_of_the_other_is_refused_unless_the_row_says_which_is_a():
    pool = Pool(POOL.items, ("b", "a"), POOL.outputs)
    with pytest.raises(DataError):
        read([{"id": at, "vote": "a"} for at in range(6)], pool)
    rows = [{"id": at, "model_a": "a", "model_b": "b", "vote": "a"} for at in range(6)]
    assert read(rows, pool)["truth"] == [B] * 6
    assert (
        read([{"id": at, "vote": "a"} for at in range(6)], Pool(POOL.items, ("a", "b"), POOL.outputs))["truth"]
        == [A] * 6
    )


def test_an_id_as_it_stands_comes_before_one_that_a_spreadsheet_wrote():
    items = tuple(Item(one, f"What is {one}?") for one in ("1.0", "1", "2.0"))
    pool = Pool(items, POOL.systems, (("a",) * 3, ("b",) * 3))
    votes = [{"id": "1", "vote": "b"}, {"id": "1.0", "vote": "a"}, {"id": 2, "vote": "tie"}]
    assert read(votes, pool)["truth"] == [A, B, TIE]


@pytest.mark.parametrize("header", ["Which is worse?", "loser", "rejected"])
def test_who_is_worse_is_no_vote_for_it(header):
    rows = [{"id": at, header: "a"} for at in range(6)]
    with pytest.raises(DataError, match="expected a column of labels"):
        read(rows)
    assert read([row | {"chosen": "new"} for row in rows]) == {"truth": [B] * 6}
    assert read([{"id": at, "Better or worse?": "a"} for at in range(6)]) == {"truth": [A] * 6}


def test_who_stands_at_a_place_is_no_vote():
    rows = [{"id": at, "left model": "new", "right model": "old", "Anna": "left", "Ben": "b"} for at in range(6)]
    assert read(rows) == {"anna": [B] * 6, "ben": [A] * 6}
    assert read([{"id": at, "shown first": "new", "vote": "first"} for at in range(6)]) == {"truth": [B] * 6}


def test_a_table_that_swaps_the_answers_has_to_name_them():
    rows = [{"id": at, "swapped": at % 2, "vote": "a"} for at in range(6)]
    with pytest.raises(DataError, match="'swapped'"):
        read(rows)
    named = [
        row | dict(zip(("model_a", "model_b"), ("old", "new")[:: 1 - 2 * row["swapped"]], strict=True)) for row in rows
    ]
    assert read(named) == {"truth": [A, B] * 3}
    assert read([row | {"swapped": "no"} for row in rows]) == {"truth": [A] * 6}


@pytest.mark.parametrize("other", [{"Vote": "b"}, {"winner": "b"}, {"winner": "new"}, {"score": 0}, {"score": "0.2"}])
def test_two_columns_that_are_known_for_votes_and_differ_are_refused(other):
    with pytest.raises(DataError, match="row 1"):
        read([{"id": at, "vote": "a", **other} for at in range(6)])
    assert read([{"id": at, "vote": "a", "winner": "old", "score": 1} for at in range(6)]) == {"truth": [A] * 6}


def test_labels_of_other_items_are_counted_file_by_file():
    first, second = (
        Table(f"`{name}`", [Row(at, {"id": f"{at}", name: "a"}) for at in places])
        for name, places in (("anna", range(2, ITEMS + 3)), ("ben", range(ITEMS)))
    )
    (anna,) = read_labels(first, POOL)
    assert anna.left_out == ("`anna`: 3 of 7 labels are of other items",)
    (ben,) = read_labels(second, POOL)
    assert ben.left_out == ()

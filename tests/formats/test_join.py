from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core import work
from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Item
from judgeloop.formats.columns import parse_map
from judgeloop.formats.join import join
from judgeloop.formats.rows import ItemRow, Located, OutputRow, Outputs, read_outputs
from judgeloop.formats.tables import Row, Table

pytestmark = pytest.mark.smoke

ITEMS = Path("items.jsonl")


def outputs(system, *rows):
    located = (
        Located(line, OutputRow(**({"output": f"{system} says"} | row))) for line, row in enumerate(rows, start=1)
    )
    return Outputs(Path(f"{system}.jsonl"), system, tuple(located))


def joined(first, second, items=None, *, allow_partial=False):
    catalogue = items and tuple(Located(line, ItemRow(**row)) for line, row in enumerate(items, start=1))
    files = (outputs("a", *first), outputs("b", *second))
    return join(files, catalogue, ITEMS if items else None, allow_partial=allow_partial)


def q(number, **fields):
    return {"id": f"q{number}", "prompt": f"prompt {number}"} | fields


def test_outputs_without_ids_join_by_the_exact_prompt():
    pool = joined(
        [{"prompt": "p", "output": "x"}, {"prompt": "p "}], [{"prompt": "p "}, {"prompt": "p", "output": "y"}]
    ).pool
    assert [item.prompt for item in pool.items] == ["p", "p "]
    assert (pool.outputs[0][0], pool.outputs[1][0]) == ("x", "y")


@pytest.mark.parametrize("bare", [{"prompt": "prompt 1"}, {"id": "q1"}])
@pytest.mark.parametrize("turned", [False, True])
def test_what_only_one_file_gives_is_kept_whichever_file_is_first(bare, turned):
    files = ([bare], [q(1, reference="r", group="g")])
    assert joined(*files[:: -1 if turned else 1]).pool.items == (Item("q1", "prompt 1", "r", "g"),)


@pytest.mark.parametrize("turned", [1, -1])
def test_a_prompt_or_an_id_learnt_from_the_second_file_joins_the_third(turned):
    first, third = ({"id": "q1"}, {"prompt": "prompt 1"})[::turned]
    files = [outputs("a", first), outputs("b", q(1)), outputs("c", third)]
    assert join(files, None, None, allow_partial=False).pool.items == (Item("q1", "prompt 1"),)


def test_a_file_whose_ids_nobody_else_knows_joins_by_the_prompt():
    own = [q(1, id="x1", output="b1"), q(2, id="x2", output="b2")]
    for items in (None, [q(1), q(2)]):
        pool = joined([q(1), q(2)], own[::-1], items).pool
        assert [item.id for item in pool.items] == ["q1", "q2"]
        assert pool.outputs[1] == ("b1", "b2")


def test_of_many_files_those_that_lack_most_are_named():
    every = [q(number) for number in range(9)]
    files = [outputs(f"s{number}", *every) for number in range(50)]
    files += [outputs(f"t{lacks}", *every[lacks:]) for lacks in (1, 2, 3, 4, 5, 6)]
    left_out = join(files, None, None, allow_partial=True).left_out
    assert left_out == (
        "3 matched, 6 not in t6 ('q0', 'q1', 'q2', …), 5 not in t5 ('q0', 'q1', 'q2', …), 4 not in t4 ('q0', "
        "'q1', 'q2', …), 3 not in t3 ('q0', 'q1', 'q2'), 2 not in t2 ('q0', 'q1'), and likewise in 1 more"
    )


def test_where_ids_join_an_unknown_id_is_another_item_despite_its_prompt():
    partial = joined([q(1), q(2)], [q(1), q(2, id="q9")], allow_partial=True)
    assert partial.left_out == "1 matched, 1 only in a ('q2'), 1 only in b ('q9')"
    partial = joined([q(1), q(2)], [q(1), q(2, id="q9")], [q(1), q(2)], allow_partial=True)
    assert [item.id for item in partial.pool.items] == ["q1"]
    assert "1 rows of b.jsonl that are not in the items file" in partial.left_out


def test_an_items_file_that_all_outputs_have_whole_chooses_the_items():
    files = [[q(1), q(2)]] * 3 + [[q(1), q(2), q(3)]]
    partial = joined(*files[:2], [q(1)])
    said = "1 rows of a.jsonl and of each of 1 more that are not in the items file"
    assert (partial.left_out, partial.beyond) == ("", said)


def test_in_a_file_that_joins_by_id_a_row_without_one_joins_by_the_prompt():
    pool = joined([q(1), q(2)], [{"prompt": "prompt 2", "output": "b2"}, q(1, output="b1")]).pool
    assert pool.outputs[1] == ("b1", "b2")


def test_an_items_file_gives_prompts_references_and_the_order():
    items = [q(2, reference="r"), q(1)]
    pool = joined([{"id": "q1"}, {"id": "q2"}], [{"id": "q1"}, {"prompt": "prompt 2"}], items).pool
    assert pool.items == (Item("q2", "prompt 2", "r"), Item("q1", "prompt 1"))


def test_two_items_may_have_the_same_prompt_where_both_files_give_ids():
    rows = [q(1, prompt="same"), q(2, prompt="same")]
    assert [item.id for item in joined(rows, rows[::-1]).pool.items] == ["q1", "q2"]


BARE = {"prompt": "only text"}
TWICE = "b.jsonl, line 3: the item {!r} appears twice, first on line 1; both rows are the same: take one of them out"
SAME = [q(1, prompt="same"), q(2, prompt="same")]


@pytest.mark.parametrize(
    ("first", "second", "items", "said"),
    [
        ([q(1), q(2)], [q(1), q(2), q(1)], None, "^" + re.escape(TWICE.format("q1")) + "$"),
        ([BARE, q(2)], [BARE, q(2), BARE], None, "^" + re.escape(TWICE.format("only text")) + "$"),
        ([q(1), q(1, prompt="another")], [q(1)], None, r"^a\.jsonl, line 2: the item 'q1' appears twice, first on line 1; the rows differ in 'prompt': take"),
        ([q(1)], [q(1)], [q(1), q(1, prompt="another")], r"^items\.jsonl, line 2: the id 'q1' appears twice"),
        (SAME, [{"prompt": "same"}], SAME, r"^b\.jsonl, line 1: 2 items have this prompt, 'q1' and others; add ids to the rows$"),
        ([q(1)], [q(1), {}], None, r"^b\.jsonl, line 2: a row needs the field 'id' or 'prompt'"),
        ([q(1)], [q(1)], [q(2), q(1, prompt="another")], r"^a\.jsonl, line 1: the field 'prompt' of the item 'q1' differs from line 2 of items\.jsonl: 'prompt 1' here, 'another' there\. Correct"),
        ([q(1), {"id": "q2"}], [q(1), {"id": "q2"}], None, "^a.jsonl, line 2: the item 'q2' has no field 'prompt', and no `items` file gives its prompt$"),
        ([q(1, prompt="caf\u00e9")], [q(1, prompt="cafe\u0301")], None, "there; they differ only in Unicode normal"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_joined_are_refused_with_their_place(first, second, items, said):
    with pytest.raises(DataError, match=said):
        joined(first, second, items)


@pytest.mark.parametrize("by", [lambda: q(1), lambda: {"prompt": "prompt 1"}])
@pytest.mark.parametrize("listed", [None, [q(1, group="g"), q(2)]])
def test_several_outputs_to_an_item_are_samples_and_meet_in_their_order(by, listed):
    def sampled(count, name):
        return [by() | {"output": f"{name} {number}"} for number in range(count)]

    others = [q(2, output="one")]
    found = joined(sampled(3, "a")[:1] + others + sampled(3, "a")[1:], others + sampled(2, "b"), listed)
    pool = found.pool
    texts = dict(zip(zip(*pool.outputs, strict=True), pool.items, strict=True))
    assert set(texts) == {("one", "one"), ("a 0", "b 0"), ("a 1", "b 1")}
    first, second = texts["a 0", "b 0"], texts["a 1", "b 1"]
    assert (first.prompt, first.group) == (second.prompt, second.group)
    assert second.id == f"{first.id}#2"
    assert found.left_out == ""
    assert found.beyond.startswith("1 further output of a without a counterpart ('")
    assert "#3')" in found.beyond
    assert len(pool.families) == 2


def test_of_one_file_all_samples_are_items():
    found = join([outputs("a", *(q(1, output=str(number)) for number in range(4)))], None, None, allow_partial=False)
    assert [item.id for item in found.pool.items] == ["q1", "q1#2", "q1#3", "q1#4"]
    assert (found.beyond, found.pool.families) == ("", ((0, 1, 2, 3),))


def test_a_sample_need_not_repeat_what_the_first_row_says_of_its_item():
    rows = [q(1, reference="r", output="x"), {"id": "q1", "output": "y"}]
    assert [item.reference for item in joined(rows, rows).pool.items] == ["r", "r"]


def test_an_output_that_comes_again_among_samples_that_differ_is_one_of_them():
    texts = ["yes", "no", "yes"]
    found = joined([q(1, output=text) for text in texts], [q(1, output=text) for text in texts[::-1]])
    assert found.pool.outputs == (("yes", "no", "yes"), ("yes", "no", "yes"))


def test_items_with_one_prompt_meet_the_rows_of_a_file_without_their_ids_in_order():
    found = joined(SAME, [{"prompt": "same", "output": "x"}, {"prompt": "same", "output": "y"}])
    assert ([item.id for item in found.pool.items], found.pool.outputs[1]) == (["q1", "q2"], ("x", "y"))
    left = joined(SAME, [{"prompt": "same", "output": "x"}])
    assert ([item.id for item in left.pool.items], left.left_out) == (["q1"], "")
    assert left.beyond == "1 further output of a without a counterpart ('q2')"
    more = joined(SAME, [{"prompt": "same", "output": text} for text in "xyz"])
    assert (len(more.pool), more.beyond) == (2, "1 further output of b without a counterpart ('q1#2')")


def test_the_id_of_a_sample_is_that_of_no_other_item():
    rows = [q(1, output="x"), q(1, output="y"), q(3, id="q1#2")]
    ids = [item.id for item in joined(rows, rows).pool.items]
    assert len(set(ids)) == 3


def test_an_item_that_a_file_lacks_with_all_its_samples_is_missed():
    with pytest.raises(InputError, match="1 only in a"):
        joined([q(1), q(2, output="x"), q(2, output="y")], [q(1)])


@pytest.mark.parametrize("field", ["prompt", "reference"])
def test_one_id_with_two_texts_is_refused_with_file_line_and_field(field):
    message = (
        f"b.jsonl, line 2: the field {field!r} of the item 'q2' differs from line 3 of a.jsonl: "
        "'another' here, 'one' there. Correct one of the files, take the field out of one of them, or "
        f"name another column with `map={field}=COLUMN`"
    )
    with pytest.raises(DataError, match="^" + re.escape(message) + "$"):
        joined([q(1), q(3), q(2, **{field: "one"})], [q(1), q(2, **{field: "another"})])


def test_texts_that_differ_are_shown_around_the_place_with_the_number_of_such_items():
    long, end = "word " * 20, " tail" * 20
    first = [q(1, prompt=f"{long}is 4{end}"), q(2, prompt="p"), q(3, prompt="p")]
    second = [q(1, prompt=f"{long}is 5{end}"), q(2, prompt="p "), q(3, prompt="p")]
    message = (
        "differs from line 1 of a.jsonl: …'d word word word is 5 tail tail tail tai'… here, …'d word "
        "word word is 4 tail tail tail tai'… there; 2 items differ so. Correct"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        joined(first, second)
    with pytest.raises(DataError, match=re.escape(": 'p ' here, 'p' there; they differ only in white space")):
        joined(first[1:], second[1:])


def test_prompts_that_differ_join_by_another_column_that_has_the_same_text():
    rows = [
        [Row(1, {"id": "q1", "prompt": "<user> p", "question": "p", "output": "a1"})],
        [Row(1, {"id": "q1", "prompt": "p", "output": "b1"})],
    ]

    def files(mapped):
        return [read_outputs(Table("ab"[n], rows[n]), parse_map(mapped)) for n in (0, 1)]

    with pytest.raises(DataError, match="name another column with `map=prompt=COLUMN`"):
        join(files(None), None, None, allow_partial=False)
    found = join(files("prompt=question"), None, None, allow_partial=False)
    assert found.pool.items == (Item("q1", "p"),)


@pytest.mark.parametrize("field", ["id", "prompt"])
@pytest.mark.parametrize("items", [None, "caf\u00e9"])
def test_names_that_differ_only_in_unicode_normalization_are_said_to_do_so(field, items):
    composed, apart = {"prompt": "p", field: "caf\u00e9"}, {"prompt": "p", field: "cafe\u0301"}
    if field == "id":
        apart["prompt"] = "p2"
    also = {"id": "q9", "prompt": "also"}
    listed = items and [{"prompt": "p", field: items}, also]
    form = "2 of these ids and prompts differ only in Unicode normalization (NFC, NFD): write all files in one form."
    with pytest.raises(InputError, match="no item is in all files.*" + re.escape(form)):
        joined([composed], [apart], listed)
    with pytest.raises(InputError, match="cover different items.*" + re.escape(form)):
        joined([composed, also], [apart, also], listed)


THREE = "the files cover different items: 1 matched, 2 only in a ('q2', 'q3'), 1 only in b ('q4'). Correct the files, or judge only the 1 matched items with `allow_partial`"


@pytest.mark.parametrize(
    ("first", "second", "items", "said"),
    [
        ([q(1), q(2), q(3)], [q(4), q(1)], None, "^" + re.escape(THREE) + "$"),
        ([q(1)], [q(1)], [q(1), q(2)], r"1 only in the items file \('q2'\)"),
        ([q(1)], [q(8), q(1), q(9)], [q(1), q(2)], r"2 rows of b\.jsonl that are not in the items file"),
    ],
)  # fmt: skip
def test_a_partial_join_is_refused_with_its_counts_unless_it_is_allowed(first, second, items, said):
    with pytest.raises(InputError, match=said):
        joined(first, second, items)
    assert len(joined(first, second, items, allow_partial=True).pool) == 1


@pytest.mark.parametrize(
    ("second", "items", "said"),
    [
        (2, None, r"^no item is in all files: 0 matched, 1 only in a \('q1'\), 1 only in b \('q2'\)\. Outputs join each other by"),
        (1, [q(8)], "Outputs join the items file by the same id or the exact same prompt"),
    ],
)  # fmt: skip
def test_no_common_item_is_refused_even_where_a_partial_join_is_allowed(second, items, said):
    with pytest.raises(InputError, match=said):
        joined([q(1)], [q(second)], items, allow_partial=True)


ids = st.lists(st.integers(0, 9).map(str), unique=True, max_size=10)


@given(first=ids, second=ids)
def test_the_pool_holds_just_the_common_items_with_their_own_outputs(first, second):
    sides = [[q(n, output=f"{side}{n}") for n in names] for side, names in (("a", first), ("b", second))]
    common = [n for n in first if n in second]
    if not common:
        with pytest.raises(InputError, match="no item is in all files"):
            joined(*(side or [q("other" + str(i))] for i, side in enumerate(sides)), allow_partial=True)
        return
    found = joined(*sides, allow_partial=True)
    assert [item.id for item in found.pool.items] == [f"q{n}" for n in common]
    assert found.pool.outputs == tuple(tuple(f"{side}{n}" for n in common) for side in "ab")
    assert bool(found.left_out) == (set(first) != set(second))


@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
def test_more_than_two_systems_join_in_any_order(order):
    files = [outputs("a", q(1), q(2)), outputs("b", q(2), q(1)), outputs("c", q(1), q(2))]
    pool = join([files[i] for i in order], None, None, allow_partial=False).pool
    assert pool.systems == tuple("abc"[i] for i in order)
    assert {item.id for item in pool.items} == {"q1", "q2"}


@pytest.mark.parametrize("other", ["one\r\ntwo", "one\ntwo ", " one\ntwo\n"])
def test_texts_that_differ_in_white_space_alone_are_refused_with_that_reason(tmp_path, other):
    for name, prompt in (("a", "one\ntwo"), ("b", other)):
        rows = [{"id": "1", "prompt": prompt, "output": name}]
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(rows[0]))
        rows = [{"prompt": prompt, "output": name}]
        (tmp_path / f"{name}-without-ids.jsonl").write_text(json.dumps(rows[0]))
    for suffix in ("", "-without-ids"):
        files = [read_outputs(tmp_path / f"{name}{suffix}.jsonl") for name in "ab"]
        with pytest.raises(InputError, match="differ only in white space"):
            join(files, allow_partial=False)


def test_a_join_tells_how_many_rows_are_joined():
    told = []
    step = type("Step", (), {"done": lambda _, more: told.append(more), "close": lambda _: told.append("over")})()
    with work.shown_by(lambda what, of: told.append((what, of)) or step):
        joined([q(0), q(1)], [q(1), q(0)])
    assert told[0][0] == "rows joined"
    assert told[-1] == "over"
    assert sum(told[1:-1]) == told[0][1] > 0

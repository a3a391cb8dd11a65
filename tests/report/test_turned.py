"""Which items turned between two results of one question."""

from __future__ import annotations

from dataclasses import replace

from support.results import make_result

from judgeloop.core.records import Abstention, Choice, Item, Label, Pool, Verdict
from judgeloop.report.labels import Texts
from judgeloop.report.turned import MOST_NAMED, Since, Turned, turned_since


def judged(*scores, outputs=("a", "b"), **changes):
    """A result of these scores of "small", item by item; None is an abstention."""
    labels = tuple(
        Label(Choice(n, None), Abstention("refused") if score is None else Verdict(score))
        for n, score in enumerate(scores)
    )
    result = make_result(labels=labels, **changes)
    items = tuple(Item(f"q{n}", "a question") for n in range(len(scores)))
    texts = tuple((text,) * len(scores) for text in outputs)
    return replace(result, texts=Texts(Pool(items, result.setup.systems, texts)))


def test_an_item_turned_if_it_has_another_winner_and_says_whose_output_changed():
    before = judged(1.0, 0.0, 0.5, None, 0.5)
    after = judged(0.0, 0.25, 0.5, 1.0, outputs=("a", "c"), systems=("small", "large-2"), seed=8)
    found = turned_since(before, after)
    assert [one[:3] for one in found.turned] == [("q0", "small", "large-2"), ("q3", "no verdict", "small")]
    assert {one.changed for one in found.turned} == {("large-2",)}
    assert found.both == 4
    assert found.line.startswith("2 of 4 items in both nights: q0 (small, then large-2; other output of large-2)")


def test_items_with_another_output_come_first_and_then_those_judged_otherwise():
    before, after = judged(1.0, 1.0, 1.0), judged(0.0, 0.0, 1.0)
    pool = after.texts.pool
    outputs = (pool.outputs[0], ("b", "new", "b"))
    found = turned_since(before, replace(after, texts=Texts(replace(pool, outputs=outputs))))
    assert [(one.item_id, one.changed) for one in found.turned] == [("q1", ("large",)), ("q0", ())]
    (table,) = found.page("0a").tables
    assert [row[-1] for row in table.rows] == ["large", "none: the judge said otherwise"]
    unknown = turned_since(before, replace(after, texts=None))
    assert [one.changed for one in unknown.turned] == [None, None]
    assert [row[-1] for row in unknown.page("0a").tables[0].rows] == ["not known", "not known"]


def test_runs_that_judged_no_item_in_common_have_nothing_that_turned():
    before, after = judged(1.0), judged(1.0)
    after = replace(after, labels=(replace(after.labels[0], item_id="another"),))
    found = turned_since(before, after)
    assert (len(found.turned), found.both) == (0, 0)
    assert (found.line, found.page("0a").tables) == ("", ())


def test_a_search_counts_judgments_and_the_items_that_they_are_about():
    turned = (Turned("q1", "a", "tie", (), ("a", "b")), Turned("q1", "a", "c", (), ("a", "c")))
    line = Since(turned, 9, unit="judgment", items=4).line
    assert line == "2 of 9 judgments on 4 items in both nights: q1 of a and b (a, then tie), q1 of a and c (a, then c)"


def test_a_line_names_some_items_and_counts_the_others():
    many = MOST_NAMED + 3
    found = turned_since(judged(*[1.0] * many), judged(*[0.0] * many))
    assert len(found.turned) == many
    assert found.line.count("then large") == MOST_NAMED
    assert found.line.endswith(" and 3 more")


def test_the_same_pair_in_swapped_places_is_matched_by_name():
    before = judged(1.0, 0.3, None)
    after = judged(0.0, 0.7, None, outputs=("b", "a"), systems=("large", "small"))
    assert before.setup.systems == ("small", "large")
    assert turned_since(before, after)[:3] == ((), 3, (0.0, None, None))
    (turned, *_) = turned_since(before, judged(1.0, systems=("large", "small"))).turned
    assert (turned.before, turned.after) == ("small", "large")


def test_the_change_of_few_items_has_no_interval_and_says_on_which_they_are():
    few = turned_since(judged(1.0, 0.0, 1.0), judged(0.0, 0.0, 1.0))
    assert (few.moved, few.same) == ((2 / 3, None, None), True)
    more = turned_since(judged(1.0, 0.0), judged(0.0, 0.0, 0.0))
    assert (more.moved, more.on_all, more.same, more.both) == ((1.0, None, None), True, False, 2)
    ten = turned_since(judged(*[1.0] * 10), judged(*[0.0] * 12))
    assert (ten.moved, ten.on_all, ten.same, ten.both) == ((2.0, 2.0, 2.0), False, False, 10)
    assert turned_since(judged(None), judged(1.0)).moved is None

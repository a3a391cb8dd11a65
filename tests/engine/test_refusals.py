"""Which refusals for an unknown reason are an item's fault."""

from judgeloop.engine.attempts import FIRST_ITEMS, IN_A_ROW, Refusals
from judgeloop.engine.state import RunState
from judgeloop.engine.terms import Terms


def refusals_of(*, remembered=0, **options):
    state = RunState(Terms("run"))
    state.remembered = remembered
    return Refusals(state, **options)


def test_before_any_reply_the_first_items_are_blamed_however_often_each_is_refused():
    refusals = refusals_of()
    for number in range(FIRST_ITEMS - 1):
        assert all(refusals.blames(f"i{number}") for _ in range(IN_A_ROW))
    assert not refusals.blames("one more")


def test_a_reply_begins_a_longer_row():
    refusals = refusals_of()
    assert refusals.blames("i0")
    refusals.answered()
    assert [refusals.blames(f"i{number}") for number in range(IN_A_ROW + 1)] == [
        *[True] * IN_A_ROW,
        False,
    ]
    refusals.answered()
    assert refusals.blames("i0")


def test_verdicts_that_the_ledger_remembers_count_as_replies():
    refusals = refusals_of(remembered=1)
    assert [refusals.blames(f"i{number}") for number in range(IN_A_ROW + 1)] == [
        *[True] * IN_A_ROW,
        False,
    ]


def test_where_one_item_is_asked_about_no_item_is_blamed_before_a_reply():
    assert not refusals_of(first_items=1).blames("i")

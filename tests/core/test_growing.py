"""A sequence that shares its list with what it was extended from never changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.memory import Growing, grown

ENTRIES = st.lists(st.integers(0, 3), max_size=6)


@given(first=ENTRIES, second=ENTRIES, third=ENTRIES)
def test_what_is_extended_twice_gives_two_sequences_and_stays_as_it_was(first, second, third):
    start = grown(tuple(first), ())
    one, other = start.extended(second), start.extended(third)
    further = one.extended(third)
    assert start == tuple(first)
    assert one == tuple(first + second)
    assert other == tuple(first + third)
    assert further == tuple(first + second + third)
    assert tuple(further) == further
    assert hash(further) == hash(tuple(further))
    assert further.after(len(first)) == second + third


@given(entries=ENTRIES, more=ENTRIES)
def test_it_is_read_as_the_tuple_with_the_same_entries(entries, more):
    shorter = Growing(entries)
    shorter.extended(more)
    assert len(shorter) == len(entries)
    assert [*shorter] == entries
    assert repr(shorter) == repr(tuple(entries))
    assert shorter[:2] == tuple(entries[:2])
    assert [shorter[at] for at in range(-len(entries), len(entries))] == entries * 2


def test_the_list_is_shared_until_two_sequences_differ():
    start = Growing([1])
    one, other = start.extended([2]), start.extended([3])
    assert one.begins_as(start)
    assert not other.begins_as(one)
    assert Growing([1]) != [1]

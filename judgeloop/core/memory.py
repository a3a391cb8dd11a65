"""What keeps long runs and large files cheap: a sequence that grows in place, and a rest for the garbage collector.

A tuple is copied whenever something is added, so that a run of n judgments copies about n² / 2 entries. `Growing`
shares one list with the sequences that it was extended from. The collector would look through all objects of a file
again and again while they are made, which is a third of the time that reading takes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Generic, Self, TypeVar, final, overload

E = TypeVar("E")
S = TypeVar("S")


@final
class Growing(Sequence[E], Generic[E]):
    """The first entries of a list that is only ever appended to.

    It never changes: `extended` returns a longer sequence on the same list. It equals a tuple or
    another `Growing` with equal entries.
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, entries: Iterable[E] = ()) -> None:
        """Copy `entries`."""
        self._shared = list(entries)
        self._length = len(self._shared)

    def extended(self, more: Iterable[E]) -> Growing[E]:
        """Return these entries and `more`.

        The list is copied only if this sequence was extended before.
        """
        longer: Growing[E] = Growing.__new__(Growing)
        whole = len(self._shared) == self._length
        longer._shared = self._shared if whole else self._shared[: self._length]
        longer._shared.extend(more)
        longer._length = len(longer._shared)
        return longer

    def begins_as(self, other: Self) -> bool:
        """Whether both share a list, so that one of them is the beginning of the other."""
        return self._shared is other._shared

    def after(self, count: int) -> list[E]:
        """Return the entries but the first `count`."""
        return self._shared[count : self._length]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[E]:
        return islice(self._shared, self._length)

    @overload
    def __getitem__(self, at: int) -> E: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[E, ...]: ...
    def __getitem__(self, at: int | slice) -> E | tuple[E, ...]:
        if isinstance(at, slice):
            return tuple(self._shared[: self._length][at])
        return self._shared[range(self._length)[at]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Growing | tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def grown(before: Sequence[E], more: Iterable[E]) -> Growing[E]:
    """Return the entries of `before` and `more`."""
    return (before if isinstance(before, Growing) else Growing(before)).extended(more)


@final
class IncrementalState(Generic[E, S]):
    """A state that is computed entry by entry: of a sequence that grows, each is looked at once."""

    def __init__(self, begin: Callable[[], S], follow: Callable[[S, E], None]) -> None:
        """Compute a state from `begin`'s, which `follow` changes by one entry at a time."""
        self._begin, self._follow = begin, follow
        self._state, self._entries = begin(), Growing[E]()

    def after(self, entries: Growing[E]) -> S:
        """Return the state after `entries`; the caller does not change it."""
        if not entries.begins_as(self._entries) or len(entries) < len(self._entries):
            self._state, self._entries = self._begin(), Growing()
        for entry in entries.after(len(self._entries)):
            self._follow(self._state, entry)
        self._entries = entries
        return self._state


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile; also a decorator."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()

"""How far a long computation is that comes before the first judgment: hidden states, a search for a layer.

Who computes tells it, and knows nothing of who listens. Without a listener nothing is shown.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar, final

T = TypeVar("T")


class Listener(Protocol):
    """Who shows it to the user."""

    def progress(self, what: str, done: int, of: int) -> None:
        """So many of all are done; `what` they are."""
        ...

    def found(self, sentence: str) -> None:
        """What was found."""
        ...


_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener of all work within."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def found(sentence: str) -> None:
    """Tell what was found."""
    if (listener := _LISTENER.get()) is not None:
        listener.found(sentence)


def counted(what: str, things: Sequence[T]) -> Iterator[T]:
    """Yield things, and tell how many of them are done."""
    work = Work(what, len(things))
    work.done(0)
    for thing in things:
        yield thing
        work.done(1)


@final
class Work:
    """Counts what is done of `of` things, and tells it."""

    def __init__(self, what: str, of: int) -> None:
        self._what, self._of = what, of
        self._done = 0

    def done(self, more: int) -> None:
        """So many more are done; of 0 more, the work begins."""
        self._done += more
        if (listener := _LISTENER.get()) is not None:
            listener.progress(self._what, self._done, self._of)

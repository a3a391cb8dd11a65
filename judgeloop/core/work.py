"""How far long work is. Who works tells it, and knows nothing of who listens; without a listener nothing is shown.

There are two kinds. Computations before the first judgment (`Work`: hidden states, a search for a layer) are told in a
log as well, with their seconds. What merely takes a while on a large file (`lasting`: a join, the check of a ledger) is
seen while it lasts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
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


class ShownStep(Protocol):
    """A step that is shown while it lasts."""

    def done(self, more: int) -> None:
        """So many more are done."""
        ...

    def close(self) -> None:
        """It is over."""
        ...


Begin = Callable[[str, int], ShownStep]  # shows a step: what is done, and of how many, 0 if they are not counted
TOLD_TIMES = 200  # in which the parts of a step are told at most, so that telling costs nothing

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
_BEGIN: ContextVar[Begin | None] = ContextVar("begin", default=None)


@contextmanager
def _being(variable: ContextVar[T | None], value: T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def listening(listener: Listener) -> AbstractContextManager[None]:
    """Tell a listener of all work within."""
    return _being(_LISTENER, listener)


def shown_by(begin: Begin) -> AbstractContextManager[None]:
    """Show the steps within by `begin`."""
    return _being(_BEGIN, begin)


@contextmanager
def lasting(what: str, of: int = 0) -> Iterator["Lasting"]:
    """A step that may last: "rows joined", of so many, or without a number "joining the rows"."""
    begin = _BEGIN.get()
    step = None if begin is None else begin(what, of)
    try:
        yield Lasting(step, of)
    finally:
        if step is not None:
            step.close()


@final
class Lasting:
    """Counts the parts of a step that are done, and tells it now and then."""

    def __init__(self, step: ShownStep | None, of: int) -> None:
        self._step, self._every, self._untold = step, max(1, of // TOLD_TIMES), 0

    def done(self, more: int = 1) -> None:
        """So many more are done."""
        self._untold += more
        if self._step is not None and self._untold >= self._every:
            self._step.done(self._untold)
            self._untold = 0

    def over(self, things: Iterable[T]) -> Iterator[T]:
        """Yield things, each of which is done when the next is wanted."""
        for thing in things:
            yield thing
            self.done()


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

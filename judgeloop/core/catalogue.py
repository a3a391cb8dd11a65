"""A catalogue: a tuple of rows, each with a name and a function that makes what it stands for.

A function imports what it makes when it is called, so that the help of a command pays for nothing, and so that a reader
gets from a row to what it makes.
"""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from judgeloop.core.errors import InputError, did_you_mean, some


class Named(Protocol):
    """What all rows have."""

    @property
    def name(self) -> str:
        """The name as typed."""
        ...


R = TypeVar("R", bound=Named)


def find(rows: Iterable[R], name: str, what: str) -> R:
    """The row called `name`.

    Raises:
        InputError: there is none; `what` says what the rows are.
    """
    names = []
    for row in rows:
        if row.name == name:
            return row
        names.append(row.name)
    raise InputError(f"expected {what}, one of {some(names)}, found {name!r}{did_you_mean(name, names)}")

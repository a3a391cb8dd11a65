"""Whether a request that was refused for an unknown reason was refused because of its item.

Counts one judge's refusals between its replies. Does no I/O; `attempts.py` makes the attempts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

# Number of attempts in a row that are refused, after which no item is blamed.
IN_A_ROW = 10
# Number of items refused before any request is answered, at which no item is blamed. By default a
# run ends anyway with as many items without a verdict (`max_abstentions`).
FIRST_ITEMS = 3


@final
class Refusals:
    """The refusals of one judge since its last reply."""

    def __init__(
        self, remembers: Callable[[], bool] = lambda: False, *, first_items: int = FIRST_ITEMS
    ) -> None:
        """`remembers` returns whether the ledger had verdicts on other calls of the run.

        `first_items` is the number of items refused at which every request is taken to be wrong, if
        the judge has never replied. With 1 no item is blamed before the first reply.
        """
        self._remembers = remembers
        self._first_items = first_items
        self._attempts = 0
        self._items: set[str] = set()
        self._answered = False

    def answered(self) -> None:
        """Note a reply: the settings are accepted."""
        self._answered, self._attempts = True, 0
        self._items.clear()

    @property
    def accepts_settings(self) -> bool:
        """Whether the judge has answered a call of the run: a refusal is then of its item."""
        return self._answered or self._remembers()

    def blames(self, item: str, *, at_first: bool = True) -> bool:
        """Note that a request about `item` was refused; return whether the item is to blame.

        It is, unless too many are refused with no reply between: then every request is wrong. If
        not `at_first`, it is not before the judge's first reply either.
        """
        self._attempts += 1
        self._items.add(item)
        if self.accepts_settings:
            return self._attempts <= IN_A_ROW
        return at_first and len(self._items) < self._first_items

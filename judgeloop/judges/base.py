"""What most judges have in common: they see texts only, cost nothing and accept every question."""

from __future__ import annotations

from collections.abc import Sequence

from judgeloop.core.protocols import Questions
from judgeloop.core.records import Call, Item, Quote


class BaseJudge:
    """A judge of texts that costs nothing; the docstrings of `protocols.Judge` hold.

    A subclass adds `identity` and `judge`, and replaces what does not fit.
    """

    order_matters = True
    blind = True
    by_hand = False
    priced = True

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Accept every question."""

    def quote(self, call: Call) -> Quote:
        """Return zero cost."""
        del call
        return Quote(0, 0)

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

"""The limit of output tokens that a judge is sent: its full limit, or a lower one learned. Pure.

What is reserved for a call is its worst case, which grows with the limit. Replies are mostly much
shorter. So earlier replies of the same judge to the same prompt give a lower limit. A reply that it
cuts off is asked for again at the full limit, and is paid for twice. No verdict depends on which
limit was sent: a truncated reply brings none, and other replies are the same under either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, final, runtime_checkable

from judgeloop.core.records import Abstention, Call
from judgeloop.providers.thinking import truncated

FEWEST_REPLIES = 20  # fewer say little about the longest one
FACTOR = 2  # the learned limit is so many times the longest reply
LOWEST = 256  # tokens; below this little is saved
# What OpenAI and Azure say with HTTP 400, in place of a truncated reply, if a model has used up its
# limit while it was thinking.
_RAN_OUT = re.compile(r"max_tokens or model output limit was reached", re.IGNORECASE)


def ran_out(message: str) -> bool:
    """Return whether an error's message says that the reply reached its limit of tokens."""
    return _RAN_OUT.search(message) is not None


@runtime_checkable
class Learns(Protocol):
    """A judge that can be sent a lower limit of output tokens than its full one."""

    def learn_lengths(self, lengths: Sequence[int]) -> None:
        """Take the numbers of output tokens of earlier replies, cut off or not."""
        ...


@final
class TokenLimit:
    """The limit of output tokens for each call of a judge."""

    def __init__(self, full: int) -> None:
        """Send `full` until something is learned."""
        self.full = full
        self._learned = full
        self._cut: set[Call] = set()

    def learn_lengths(self, lengths: Sequence[int]) -> None:
        """Send twice the longest of `lengths` from now on, if there are enough of them."""
        if len(lengths) >= FEWEST_REPLIES:
            self._learned = min(self.full, max(LOWEST, FACTOR * max(lengths)))

    def of(self, call: Call) -> int:
        """Return the limit for `call`."""
        return self.full if call in self._cut else self._learned

    def cut_off(self, call: Call) -> bool:
        """Note that the reply to `call` reached its limit; return whether to ask it again.

        The next attempt at `call` has the full limit. Other calls keep theirs, because their
        reservations were made for it.
        """
        if self.of(call) == self.full:
            return False
        self._cut.add(call)
        return True

    def truncated(self, call: Call, thoughts: int) -> Abstention:
        """Return the abstention on a reply to `call` that reached its limit, after `thoughts`."""
        limit = self.of(call)
        if self.cut_off(call):
            said = f"truncated at {limit} tokens, a learned limit"
            return Abstention(said, again=True, changed=True, truncated=True)
        return Abstention(truncated(limit, thoughts), truncated=True)

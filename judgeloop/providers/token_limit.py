"""The limit of output tokens that a model is sent, its thinking tokens included. Pure.

A model that thinks writes thoughts before its answer. They are billed as output, and count against
the limit of output tokens. The limit that is sent is the answer's own limit and the thinking tokens
together. The thinking tokens are in no key: a reply that was not truncated is the same reply under
a higher limit, and a truncated reply is no verdict. The effort is in the key.

What is reserved for a call is its worst case, which grows with the limit. Replies are mostly much
shorter. So earlier replies of the same model to the same prompt give a lower limit. A reply that it
cuts off is asked for again at the full limit, and is paid for twice. No verdict depends on which
limit was sent: a truncated reply brings none, and other replies are the same under either.
"""

import re
from collections.abc import Hashable, Sequence
from typing import final

from judgeloop.core.errors import InputError
from judgeloop.core.records import Abstention
from judgeloop.providers.endpoint import ChatOptions

# Thinking tokens by effort. OpenAI advises to keep 25,000 free at first; a verdict on two answers
# takes fewer.
THINKING_TOKENS = {
    "none": 0, "minimal": 2_048, "low": 4_096, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 32_768,
}  # fmt: skip
USUAL_THINKING_TOKENS = THINKING_TOKENS["medium"]
LEAST_THOUGHTS = 1_024  # the smallest number of tokens that Anthropic takes for thoughts
# Models that think unless they are told not to. OpenAI's gpt-5.1 to gpt-5.4 do not.
_THINKS = re.compile(
    r"(^|[/.])(o\d|gpt-5($|-(?!chat))|gpt-5\.[5-9]|gpt-[6-9]|gpt-oss|claude-[a-z]+-([5-9]|\d\d(?!\d))|"
    r"gemini-(2\.5|[3-9])|deepseek-r|magistral|qwq)|think|reason",
    re.IGNORECASE,
)
# Forms of a reply that come without thoughts: a bare label, or a tool that must be called.
WITHOUT_THOUGHTS = ("choice", "logprob", "tool")
FEWEST_REPLIES = 20  # fewer say little about the longest one
FACTOR = 2  # the learned limit is so many times the longest reply
LOWEST = 256  # tokens; below this little is saved


def thinks(model: str) -> bool:
    """Whether the model of this name thinks unless it is told not to.

    >>> thinks("o4-mini"), thinks("gpt-5-mini"), thinks("gpt-4.1"), thinks("gpt-5.1")
    (True, True, False, False)
    """
    return _THINKS.search(model) is not None


def thinking_tokens_for(model: str, options: ChatOptions) -> int:
    """The tokens that are added to the answer's limit for the thoughts of `model`.

    None are added to a limit that the user gave, nor to a form of reply without thoughts.
    """
    effort = options.effort
    if options.max_output_tokens is not None or options.verdict in WITHOUT_THOUGHTS:
        return 0
    if effort is None:
        return USUAL_THINKING_TOKENS if thinks(model) else 0
    if effort.isdecimal():
        return int(effort)
    return THINKING_TOKENS.get(effort, USUAL_THINKING_TOKENS)


def effort_for(options: ChatOptions, *, in_tokens: bool) -> str | None:
    """The effort to ask for; None if none is asked for.

    It is a word, or a number of tokens where the provider takes one (`in_tokens`).

    Raises:
        InputError: the form of the reply allows no thoughts, the provider takes no number, or the
            number is too small or leaves nothing of the limit for the answer.
    """
    effort, limit = options.effort, options.max_output_tokens
    if effort in {None, "none"}:
        return effort
    if options.verdict in WITHOUT_THOUGHTS:
        raise InputError(
            f"`judge_effort={effort}`: with `verdict={options.verdict}` a judge cannot think first; "
            "use `verdict=schema`, or leave `judge_effort` out"
        )
    if not effort.isdecimal():
        return effort
    if not in_tokens:
        raise InputError(
            f"`judge_effort={effort}`: this judge takes a word, such as low, medium or high; only "
            "anthropic/MODEL takes a number of tokens"
        )
    if int(effort) < LEAST_THOUGHTS or (limit is not None and int(effort) >= limit):
        raise InputError(
            f"`judge_effort={effort}`: expected a word, or a number of tokens from {LEAST_THOUGHTS:,} "
            "to less than `judge_max_tokens`"
        )
    return effort


def truncated(limit: int, thoughts: int) -> str:
    """The reason for an abstention on a reply that was cut at `limit` tokens."""
    if not thoughts:
        return f"truncated at {limit} tokens (`judge_max_tokens`)"
    return (
        f"truncated at {limit} tokens, {thoughts} of them thoughts; give "
        f"`judge_max_tokens={2 * limit}`, or a lower `judge_effort`"
    )


@final
class TokenLimit:
    """The limit of output tokens for each call of a model."""

    def __init__(self, full: int) -> None:
        """Send `full` until something is learned."""
        self.full = full
        self._learned = full
        self._cut: set[Hashable] = set()

    def learn_lengths(self, lengths: Sequence[int]) -> bool:
        """Send twice the longest of `lengths` from now on, if there are enough of them; whether that is less."""
        before = self._learned
        if len(lengths) >= FEWEST_REPLIES:
            self._learned = min(self.full, max(LOWEST, FACTOR * max(lengths)))
        return self._learned < before

    def of(self, call: Hashable) -> int:
        """The limit for `call`."""
        return self.full if call in self._cut else self._learned

    def cut_off(self, call: Hashable) -> bool:
        """Note that the reply to `call` reached its limit; return whether to ask it again.

        The next attempt at `call` has the full limit. Other calls keep theirs, because their
        reservations were made for it.
        """
        if self.of(call) == self.full:
            return False
        self._cut.add(call)
        return True

    def truncated(self, call: Hashable, thoughts: int) -> Abstention:
        """The abstention on a reply to `call` that reached its limit, after `thoughts`."""
        limit = self.of(call)
        if self.cut_off(call):
            said = f"truncated at {limit} tokens, a learned limit"
            return Abstention(said, again=True, changed=True, truncated=True)
        return Abstention(truncated(limit, thoughts), truncated=True)

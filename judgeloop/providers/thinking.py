"""How hard a model is asked to think before it answers, and the tokens it may use for it. Pure.

A model that thinks writes thoughts before its answer. They are billed as output, and count against
the limit of output tokens. The limit that is sent is the answer's own limit and the thinking tokens
together. The thinking tokens are in no key: a reply that was not truncated is the same reply under
a higher limit, and a truncated reply is no verdict. The effort is in the key.
"""

from __future__ import annotations

import re

from judgeloop.core.errors import InputError
from judgeloop.judges.options import JudgeOptions

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


def thinks(model: str) -> bool:
    """Return whether the model of this name thinks unless it is told not to.

    >>> thinks("o4-mini"), thinks("gpt-5-mini"), thinks("gpt-4.1"), thinks("gpt-5.1")
    (True, True, False, False)
    """
    return _THINKS.search(model) is not None


def thinking_tokens_for(model: str, options: JudgeOptions) -> int:
    """Return the tokens that are added to the answer's limit for the thoughts of `model`.

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


def check_effort(options: JudgeOptions) -> None:
    """Refuse an effort where the form of the reply allows no thoughts.

    Raises:
        InputError: it cannot be followed.
    """
    effort, form = options.effort, options.verdict
    if effort not in {None, "none"} and form in WITHOUT_THOUGHTS:
        raise InputError(
            f"`judge_effort={effort}`: with `verdict={form}` a judge cannot think first; use "
            "`verdict=schema`, or leave `judge_effort` out"
        )


def effort_in_words(options: JudgeOptions) -> str | None:
    """Return the effort for a server that takes a word; None if none is asked for.

    Raises:
        InputError: the effort is a number.
    """
    if options.effort is not None and options.effort.isdecimal():
        raise InputError(
            f"`judge_effort={options.effort}`: this judge takes a word, such as low, medium or high; "
            "only anthropic/MODEL takes a number of tokens"
        )
    return options.effort


def thoughts_budget(options: JudgeOptions) -> str | None:
    """Return the effort for Anthropic: a word, or a number of tokens; None if none is asked for.

    Raises:
        InputError: the number is too small, or leaves nothing of the limit for the answer.
    """
    effort, limit = options.effort, options.max_output_tokens
    if effort is None or not effort.isdecimal():
        return effort
    if int(effort) < LEAST_THOUGHTS or (limit is not None and int(effort) >= limit):
        raise InputError(
            f"`judge_effort={effort}`: expected a word, or a number of tokens from {LEAST_THOUGHTS:,} "
            "to less than `judge_max_tokens`"
        )
    return effort


def truncated(limit: int, thoughts: int) -> str:
    """Return the reason for an abstention on a reply that was cut at `limit` tokens."""
    if not thoughts:
        return f"truncated at {limit} tokens (`judge_max_tokens`)"
    return (
        f"truncated at {limit} tokens, {thoughts} of them thoughts; give "
        f"`judge_max_tokens={2 * limit}`, or a lower `judge_effort`"
    )

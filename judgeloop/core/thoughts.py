"""Thoughts in tags, which many models write before their answer: `<think>…</think>`."""

import re

THOUGHTS_END = "</think>"  # the tag after which most models that think give their answer
_TAGS = "think|thinking|thought|reasoning"
_OPENING = re.compile(rf"\s*<(?:{_TAGS})>")
_CLOSING = re.compile(rf"</(?:{_TAGS})>")


def holds_thoughts(text: str) -> bool:
    """Whether a text holds thoughts; the opening tag may stand in the model's template.

    >>> [holds_thoughts(text) for text in ("<think>hm", "hm</think>4", "4 < 5")]
    [True, True, False]
    """
    return _OPENING.match(text) is not None or _CLOSING.search(text) is not None


def answer_of(text: str) -> str | None:
    r"""What stands behind the thoughts; None without an end of them.

    >>> answer_of("<think>hm</think>\n\n4"), answer_of("<think>hm")
    ('4', None)
    """
    ends = [found.end() for found in _CLOSING.finditer(text)]
    return text[ends[-1] :].lstrip() if ends else None

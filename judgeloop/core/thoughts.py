"""Thoughts in tags, which many models write before their answer: `<think>…</think>`."""

import re

THOUGHTS_END = "</think>"  # the tag after which most models that think give their answer
_TAGS = "(?:seed:)?(?:think|thinking|thought|reasoning)"
# Beside tags: the marks of Mistral's models, of Kimi, and of gpt-oss, whose channel "final" has the answer.
_OPENING = re.compile(rf"\s*(?:<{_TAGS}(?:\s[^>]*)?>|\[think\]|◁think▷|<\|channel\|>analysis\b)", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_TAGS}>|\[/think\]|◁/think▷|<\|channel\|>final<\|message\|>", re.IGNORECASE)


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

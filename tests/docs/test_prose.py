"""Sentences on the pages are short, and use no word of a private idiom."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from support.pages import DOCS, ROOT, name

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
MOST_WORDS = 30
# The beginning of a longer sentence, and why it is not cut in two.
EXCEPTIONS: dict[str, str] = {}
# Words that a reader has to look up, or stumbles over.
AVOIDED = ("thereby", "whosoever", "whoever", "foretell", "fares", "save that", "but for the", "at naught")
APART = re.compile(r"<!--.*?-->|^(`{3,})[^\n]*\n.*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"\s*(\||#{1,6} |!\[[^\]]*\]\([^)]*\)\s*$|\[[^\]]+\]: )")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
# Not the full stop of "et al." or "e.g.", and not one before a small letter.
END = re.compile(r"(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.?!][\"”)*_]*\s+(?=[^\sa-z])")


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of a page: no code, table, heading, picture or comment."""
    gathered: list[str] = []
    for line in [*APART.sub("\n", text).splitlines(), ""]:
        stop = not line.strip() or NOT_PROSE.match(line)
        if (stop or ITEM.match(line)) and gathered:
            yield " ".join(gathered)
            gathered = []
        if not stop:
            gathered.append(ITEM.sub("", line, count=1).strip().removeprefix("> "))


def plain(paragraph: str) -> str:
    """Return a paragraph as it is read: a link as its text, code and a formula as one word."""
    text = re.sub(r"``.*?``|`[^`]*`", "CODE", paragraph)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\*\*|__", "", text)


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph."""
    return [sentence.strip() for sentence in END.split(plain(paragraph)) if sentence.strip()]


def words(sentence: str) -> int:
    """Return how many words a sentence has: what stands between spaces and has a letter or digit."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def long_sentences(text: str) -> list[str]:
    """Return the sentences of a page that have too many words."""
    return [
        sentence
        for paragraph in paragraphs(text)
        for sentence in sentences(paragraph)
        if words(sentence) > MOST_WORDS
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_sentence_has_at_most_thirty_words(page):
    found = long_sentences(page.read_text(encoding="utf-8"))
    kept = [one for one in found if not one.startswith(tuple(EXCEPTIONS))] if EXCEPTIONS else found
    assert not kept, "\n".join(f"{words(one)}: {one}" for one in kept)

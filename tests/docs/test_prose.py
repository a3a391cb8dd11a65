"""Sentences on the pages are short, and in plain words; so are messages, help and docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from support.pages import PAGES, ROOT, name

MOST_WORDS = 30
# Words that a reader stumbles over; the plain one stands beside.
AVOIDED = {
    "thereby": "so",
    "whosoever": "everybody who",
    "foretell": "predict",
    "in vain": "without use",
    "of one's own": "of your own",
    "what there is": "the thing itself",
}
COMMENT_OR_CODE = re.compile(r"<!--.*?-->|^[ ]*(`{3,})[^\n]*\n.*?^[ ]*\1[ ]*$", re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"\s*(\||#{1,6} |!\[[^\]]*\]\([^)]*\)\s*$)")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
# Not the full stop of "et al." or "e.g.", and not a full stop before a small letter.
END = re.compile(r"(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.?!][\"”)]*\s+(?=[^\sa-z])")


def paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and list items, without code, tables, headings, pictures and comments."""
    gathered: list[str] = []
    for line in [*COMMENT_OR_CODE.sub("\n", text).splitlines(), ""]:
        stop = not line.strip() or NOT_PROSE.match(line)
        if (stop or ITEM.match(line)) and gathered:
            yield " ".join(gathered)
            gathered = []
        if not stop:
            gathered.append(ITEM.sub("", line).strip())


def plain(paragraph: str) -> str:
    """Return a paragraph as it is read: links as their text, a piece of code as one word."""
    text = re.sub(r"`+[^`]*`+", "CODE", paragraph)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "")


def sentences(text: str) -> list[str]:
    """Return the sentences of a page."""
    found = (END.split(plain(paragraph)) for paragraph in paragraphs(text))
    return [sentence for each in found for sentence in each]


def words(sentence: str) -> int:
    """Count the words: what stands between spaces and has a letter or a digit."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def read(page):
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_sentence_has_at_most_thirty_words(page):
    too_long = [
        f"{words(sentence)} words: {sentence}" for sentence in sentences(read(page)) if words(sentence) > MOST_WORDS
    ]
    assert not too_long, "\n".join(too_long)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_uses_plain_words(page):
    text = " ".join(sentences(read(page))).lower()
    found = {word: better for word, better in AVOIDED.items() if re.search(rf"\b{word}\b", text)}
    assert not found


def texts():
    """The messages, help and docstrings of the package: every constant text."""
    for path in (ROOT / "judgeloop").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value.lower()


def test_messages_and_docstrings_use_plain_words():
    every = list(texts())
    whole = "\n".join(every)
    for word, better in AVOIDED.items():
        assert word not in whole or not [text for text in every if re.search(rf"\b{word}\b", text)], better


PAGE = """# A heading of many words that is not counted

A paragraph with `code of many words` and a
[link](https://example.com/a) to it (Somebody et al. 2024). A second **one.** A third
<!-- a comment that is not read -->

| a | table |
|---|---|

1. An item,
   on two lines
- another 0.5 item.

    ```sh
    a command. Not a sentence.
    ```
"""


def test_sentences_are_those_of_paragraphs_and_list_items():
    assert sentences(PAGE) == [
        "A paragraph with CODE and a link to it (Somebody et al. 2024)",
        "A second one",
        "A third",
        "An item, on two lines",
        "another 0.5 item.",
    ]
    assert [words(sentence) for sentence in sentences(PAGE)] == [13, 3, 2, 5, 3]

"""Thoughts are known by the marks that models write around them."""

import pytest

from judgeloop.core.thoughts import answer_of, holds_thoughts

MARKED = [
    "<think>hm</think>\n\n4",
    "<THINK>hm</THINK>4",
    '<think time="3">hm</think>4',
    "<seed:think>hm</seed:think>4",
    "[THINK]hm[/THINK]4",
    "◁think▷hm◁/think▷4",
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>4",
]


@pytest.mark.parametrize("text", MARKED)
def test_the_answer_stands_behind_the_mark(text):
    assert holds_thoughts(text)
    assert answer_of(text) == "4"
    cut = text[: text.index("hm") + 2]
    assert holds_thoughts(cut), "thoughts that do not end"
    assert answer_of(cut) is None


@pytest.mark.parametrize(
    "text", ["4 < 5", "I think so: [1]", "<thinker>4", "the channel of analysis", "[thinking aloud] 4"]
)
def test_an_answer_without_marks_holds_none(text):
    assert not holds_thoughts(text)

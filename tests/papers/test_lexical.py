from __future__ import annotations

import numpy as np
import pytest

from judgeloop.papers.vectors import embed_lexical

TEXTS = [
    f"{a} {b} jumps over the {c}" for a in ("quick", "slow") for b in ("fox", "cat") for c in ("dog", "log", "frog")
]


def test_vectors_are_of_unit_length_and_the_same_every_time():
    one, two = embed_lexical(TEXTS, seed=1), embed_lexical(TEXTS, seed=1)
    assert np.array_equal(one, two)
    assert np.allclose(np.linalg.norm(one, axis=1), 1)


def test_equal_texts_have_equal_vectors_and_like_texts_are_closer_than_unlike_ones():
    vectors = embed_lexical([*TEXTS, TEXTS[0]], seed=0)
    assert np.allclose(vectors[0], vectors[-1])
    same_animal, other = vectors[0] @ vectors[1], vectors[0] @ vectors[11]
    assert same_animal > other


@pytest.mark.parametrize("texts", [["", ""], ["...", "!?"], ["word", "word"], ["one"], ["", "a b"]])
def test_texts_without_much_in_them_still_have_finite_vectors(texts):
    vectors = embed_lexical(texts, seed=0)
    assert vectors.shape[0] == len(texts)
    assert np.isfinite(vectors).all()


def test_words_of_one_letter_and_of_other_scripts_count():
    vectors = embed_lexical(["a b c", "x y z", "这 是 一", "مرحبا بالعالم"], seed=0)
    assert (np.linalg.norm(vectors, axis=1) > 0.9).all()

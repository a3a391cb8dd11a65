"""Opinions of weak judges: what they are, and that the folder they are kept in costs time only."""

from __future__ import annotations

import numpy as np
import pytest
from support.database import opened
from support.extras import needs_diskcache

from judgeloop.papers.llm_selector import opinions as weak_judges
from judgeloop.papers.llm_selector.opinions import QUERIES_AT_A_TIME, likelihoods, opinions, weak_opinions

OUTPUTS = [  # by system, then by query; the first query is worked by hand in test_weak_opinions.py
    ["a b a b", "x", ""],
    ["a b", "x", ""],
    ["a c", "x", "y z"],
]
EXPECTED = [[[0, 0, -1], [0, 0, 0], [0, 0, 1]], [[0, 0, -1], [0, 0, 0], [0, 0, 1]], [[1, 0, -1], [0, 0, 0], [0, 0, 1]]]


@pytest.fixture
def computed(monkeypatch):
    """The lists of texts whose likelihoods were computed."""
    lists = []

    def noted(texts, orders):
        lists.append(texts)
        return likelihoods(texts, orders)

    monkeypatch.setattr(weak_judges, "likelihoods", noted)
    return lists


def test_opinions_by_judge_query_and_system(tmp_path):
    found = weak_opinions(OUTPUTS, 1, 3, tmp_path)
    assert found.dtype == np.int8
    assert found.tolist() == EXPECTED


def test_an_empty_text_loses_to_every_other(tmp_path):
    assert weak_opinions([["y"], [""], [""]], 0, 2, tmp_path).tolist() == [[[0, -1, -1]]] * 2


@needs_diskcache
def test_queries_with_the_same_texts_are_computed_once(tmp_path, computed):
    weak_opinions([["a", "b", "a"], ["b", "c", "b"]], 0, 2, tmp_path)
    assert computed == [("a", "b"), ("b", "c")]


@needs_diskcache
def test_another_baseline_computes_nothing(tmp_path, computed):
    weak_opinions(OUTPUTS, 1, 3, tmp_path)
    found = weak_opinions(OUTPUTS, 0, 3, tmp_path)
    assert found[:, 0].tolist() == [[0, 0, -1], [0, 0, -1], [0, -1, -1]]
    assert len(computed) == 3


def test_other_texts_or_judges_are_computed_anew(tmp_path, computed):
    for outputs, judges in (([["a"], ["b"]], 2), ([["b"], ["a"]], 2), ([["ab"], [""]], 2), ([["a"], ["b"]], 3)):
        weak_opinions(outputs, 0, judges, tmp_path)
    assert len(computed) == 4


def test_many_queries_are_found_in_their_places(tmp_path, computed):
    rng = np.random.default_rng(0)
    queries = QUERIES_AT_A_TIME + 30
    outputs = [["".join(rng.choice(list("ab "), size=9)) for _ in range(queries)] for _ in range(3)]
    weak_opinions([texts[::2] for texts in outputs], 0, 2, tmp_path)  # half of them are there already
    found = weak_opinions(outputs, 0, 2, tmp_path)
    for query, texts in enumerate(zip(*outputs, strict=True)):
        assert np.array_equal(found[:, query], opinions(likelihoods(texts, 2), 0))


@needs_diskcache
@pytest.mark.parametrize(
    "value",
    [b"", b"short", bytes(8 * 9 + 1), np.full(9, np.nan).tobytes(), np.full(9, -5.0).tobytes(), "text", None, 7],
)
def test_what_cannot_be_likelihoods_is_computed_anew_and_mended(tmp_path, computed, value):
    weak_opinions(OUTPUTS, 1, 3, tmp_path)
    with opened(tmp_path / "cache.db") as connection:
        connection.execute("UPDATE Cache SET value = ?", (value,))
    for _ in range(2):
        assert weak_opinions(OUTPUTS, 1, 3, tmp_path).tolist() == EXPECTED
    assert len(computed) == 6

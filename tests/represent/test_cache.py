"""The cache is never believed more than it deserves: losing or doctoring it costs time only."""

from __future__ import annotations

import pickle
import shutil
import sqlite3

import numpy as np
import pytest

from judgeloop.represent.cache import RawDisk, cached


@pytest.fixture
def counted():
    """An embedding that counts the texts it was asked for."""
    asked = []

    def embed(texts):
        asked.extend(texts)
        return np.array([[len(text), text.count("a"), 1.0] for text in texts])

    return embed, asked


def test_each_text_is_embedded_once_for_ever(tmp_path, counted):
    embed, asked = counted
    for _ in range(2):
        vectors = cached(embed, model="m", folder=tmp_path)(["a", "bb", "a"])
        assert vectors.tolist() == [[1, 1, 1], [2, 0, 1], [1, 1, 1]]
    assert asked == ["a", "bb"]


def test_another_model_has_vectors_of_its_own(tmp_path, counted):
    embed, asked = counted
    for model in ("m", "n"):
        cached(embed, model=model, folder=tmp_path)(["a"])
    assert asked == ["a", "a"]


def test_losing_the_folder_costs_nothing_but_time(tmp_path, counted):
    embed, _ = counted
    before = cached(embed, model="m", folder=tmp_path / "c")(["a"])
    shutil.rmtree(tmp_path / "c")
    assert np.array_equal(cached(embed, model="m", folder=tmp_path / "c")(["a"]), before)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_a_doctored_row_is_neither_unpickled_nor_read_from_a_file(tmp_path, counted, mode):
    embed, asked = counted
    cached(embed, model="m", folder=tmp_path)(["a"])
    secret = tmp_path / "secret"
    secret.write_bytes(b"\0" * 12)
    connection = sqlite3.connect(tmp_path / "cache.db")
    connection.execute(
        "UPDATE Cache SET mode = ?, value = ?, filename = ?",
        (mode, pickle.dumps(Bomb()), str(secret) if mode < 4 else None),
    )
    connection.commit()
    connection.close()
    assert cached(embed, model="m", folder=tmp_path)(["a"]).tolist() == [[1, 1, 1]]
    assert asked == ["a", "a"]
    assert secret.exists()


@pytest.mark.parametrize("value", [{"a": 1}, "text", None])
def test_nothing_but_bytes_under_text_is_stored(tmp_path, value):
    disk = RawDisk(str(tmp_path))
    with pytest.raises(TypeError):
        disk.store(value, read=False)
    with pytest.raises(TypeError):
        disk.put(3)

"""The cache is never believed more than it deserves: losing or doctoring it costs time only."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from support.database import opened
from support.extras import needs_diskcache

from judgeloop.core.errors import InputError
from judgeloop.papers.vectors import cached, raw_disk
from judgeloop.papers.vectors import embed as embed_as


@pytest.fixture
def counted():
    """An embedding that counts the texts it was asked for."""
    asked = []

    def embed(texts):
        asked.extend(texts)
        return np.array([[len(text), text.count("a"), 1.0] for text in texts])

    return embed, asked


@needs_diskcache
def test_each_text_is_embedded_once_for_ever(tmp_path, counted):
    embed, asked = counted
    for _ in range(2):
        vectors = cached(embed, model="m", folder=tmp_path)(["a", "bb", "a"])
        assert vectors.tolist() == [[1, 1, 1], [2, 0, 1], [1, 1, 1]]
    assert asked == ["a", "bb"]


@needs_diskcache
def test_another_model_has_vectors_of_its_own(tmp_path, counted):
    embed, asked = counted
    for model in ("m", "n"):
        cached(embed, model=model, folder=tmp_path)(["a"])
    assert asked == ["a", "a"]


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


@needs_diskcache
@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_a_doctored_row_is_neither_unpickled_nor_read_from_a_file(tmp_path, counted, mode):
    embed, asked = counted
    cached(embed, model="m", folder=tmp_path)(["a"])
    secret = tmp_path / "secret"
    secret.write_bytes(b"\0" * 12)
    with opened(tmp_path / "cache.db") as connection:
        connection.execute(
            "UPDATE Cache SET mode = ?, value = ?, filename = ?",
            (mode, pickle.dumps(Bomb()), str(secret) if mode < 4 else None),
        )
    assert cached(embed, model="m", folder=tmp_path)(["a"]).tolist() == [[1, 1, 1]]
    assert asked == ["a", "a"]
    assert secret.exists()


@needs_diskcache
@pytest.mark.parametrize("value", [{"a": 1}, "text", None])
def test_nothing_but_bytes_under_text_is_stored(tmp_path, value):
    disk = raw_disk()(str(tmp_path))
    with pytest.raises(TypeError):
        disk.store(value, read=False)
    with pytest.raises(TypeError):
        disk.put(3)


@pytest.fixture
def without_diskcache(monkeypatch):
    monkeypatch.setitem(sys.modules, "diskcache", None)


@pytest.mark.usefixtures("without_diskcache")
def test_without_diskcache_everything_is_embedded_and_no_folder_is_made(tmp_path, counted):
    embed, asked = counted
    for _ in range(2):
        vectors = cached(embed, model="m", folder=tmp_path / "c")(["a", "bb"])
        assert vectors.tolist() == [[1, 1, 1], [2, 0, 1]]
        assert vectors.dtype == np.float32
    assert asked == ["a", "bb", "a", "bb"]
    assert not (tmp_path / "c").exists()


@pytest.mark.usefixtures("without_diskcache")
def test_vectors_of_a_model_without_their_extra_name_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"needs an extra: .* pip install '.\[embed\]'"):
        embed_as(["a"], "minilm", seed=0, cache_dir=tmp_path)


def test_a_folder_that_is_no_cache_is_done_without_and_left_alone(tmp_path, counted):
    embed, _ = counted
    (tmp_path / "cache.db").write_bytes(b"no database at all" * 100)
    assert cached(embed, model="m", folder=tmp_path)(["a"]).tolist() == [[1, 1, 1]]
    assert (tmp_path / "cache.db").read_bytes().startswith(b"no database")


@pytest.mark.processes
def test_every_module_can_be_imported_without_the_extras():
    code = (
        "import importlib, pkgutil, sys\n"
        "for name in ('diskcache', 'matplotlib', 'sentence_transformers', 'torch', 'transformers'):\n"
        "    sys.modules[name] = None\n"
        "import judgeloop\n"
        "names = [m.name for m in pkgutil.walk_packages(judgeloop.__path__, 'judgeloop.')]\n"
        "for name in names:\n"
        "    name.endswith('__main__') or importlib.import_module(name)\n"
        "print(len(names))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100

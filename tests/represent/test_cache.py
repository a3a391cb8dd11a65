"""The cache is never believed more than it deserves: losing or doctoring it costs time only."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from support.database import opened

from judgeloop.core.errors import InputError
from judgeloop.represent.cache import FILE, cached
from judgeloop.represent.embed import embed as embed_as


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


@pytest.mark.parametrize("value", ["text", "", 7, None, b""])
def test_what_is_no_vector_is_computed_anew_and_mended(tmp_path, counted, value):
    embed, asked = counted
    cached(embed, model="m", folder=tmp_path)(["a"])
    with opened(tmp_path / FILE) as connection:
        connection.execute("UPDATE kept SET value = ?", (value,))
    for _ in range(2):
        assert cached(embed, model="m", folder=tmp_path)(["a"]).tolist() == [[1, 1, 1]]
    assert asked == ["a", "a"]


def test_vectors_of_a_model_without_their_extra_name_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"needs an extra: .* pip install '.\[embed\]'"):
        embed_as(["a"], "minilm", seed=0, cache_dir=tmp_path)


def test_a_folder_that_is_no_cache_is_done_without_and_left_alone(tmp_path, counted):
    embed, _ = counted
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    assert cached(embed, model="m", folder=tmp_path)(["a"]).tolist() == [[1, 1, 1]]
    assert (tmp_path / FILE).read_bytes().startswith(b"no database")


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path, counted):
    embed, _ = counted
    (tmp_path / "taken").write_text("")
    assert cached(embed, model="m", folder=tmp_path / "taken")(["a"]).tolist() == [[1, 1, 1]]


@pytest.mark.processes
def test_every_module_can_be_imported_without_the_extras():
    code = (
        "import importlib, pkgutil, sys\n"
        "for name in ('matplotlib', 'sentence_transformers', 'torch', 'transformers'):\n"
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

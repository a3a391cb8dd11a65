"""Files of recorded vectors: by system or by layer, with ids or in the order of the items."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.core.errors import DataError
from judgeloop.papers.recorded import read_vectors


@pytest.fixture
def file(tmp_path):
    """Writes arrays to a file, and reads it."""

    def written(**arrays):
        np.savez(tmp_path / "v.npz", **{name: np.array(array) for name, array in arrays.items()})
        return read_vectors(tmp_path / "v.npz")

    return written


@pytest.mark.parametrize(
    ("name", "system"),
    [
        ("abs-bart", "abs-bart"),
        ("abs-bart_out.txt", "abs-bart"),
        ("abs-unilm_out_v1.txt", "abs-unilm_out_v1"),
        ("gpt4.json", "gpt4"),
        ("v1.5", "v1.5"),
    ],
)
def test_a_system_is_found_by_its_name_or_by_that_of_its_file(file, name, system):
    vectors = file(models=["other", name], embeddings=np.arange(12).reshape(2, 3, 2))
    assert vectors.of_system(system).tolist() == [[6, 7], [8, 9], [10, 11]]
    assert vectors.of_system("oth") is None
    assert vectors.of_system("") is None


def test_the_exact_name_comes_before_that_of_a_file(file):
    vectors = file(models=["a_out.txt", "a"], embeddings=[[[1.0]], [[2.0]]])
    assert vectors.of_system("a") == 2


def test_ids_join_the_vectors_to_items_in_any_order(file):
    vectors = file(models=["a"], embeddings=[[[1.0], [2], [3]]], ids=["x", "y", "z"])
    assert vectors.places(["z", "x"]).tolist() == [2, 0]
    with pytest.raises(DataError, match="'w'"):
        vectors.places(["x", "w"])


def test_without_ids_the_order_is_that_of_the_items_and_all_have_a_vector(file):
    vectors = file(models=["a"], embeddings=[[[1.0], [2], [3]]])
    assert vectors.places(["p", "q", "r"]).tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="2 items"):
        vectors.places(["p", "q"])


def test_the_middle_layer_is_half_of_the_last(file):
    vectors = file(layer1=[[1.0]], layer2=[[2.0]], layer4=[[4.0]], ids=["x"])
    found = {layer: vectors.at_layer(layer).item() for layer in ("1", "2", "4", "middle", "last")}
    assert found == {"1": 1, "2": 2, "4": 4, "middle": 2, "last": 4}
    for layer in ("3", "auto"):
        with pytest.raises(DataError, match=layer):
            vectors.at_layer(layer)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"models": ["a"], "embeddings": [[1.0]]}, r"\(1, 1, …\), found \(1, 1\)"),
        ({"models": ["a", "b"], "embeddings": [[[1.0]]]}, r"\(2, 1, …\), found \(1, 1, 1\)"),
        ({"models": ["a"], "embeddings": [[[1.0]]], "ids": ["x", "y"]}, r"\(1, 2, …\)"),
        ({"models": ["a"]}, "models and embeddings"),
        ({"other": [1.0]}, "models and embeddings"),
        ({"layer1": [[1.0]], "layer2": [[1.0], [2.0]]}, "layer2"),
        ({"layer1": [1.0]}, "layer1"),
        ({"models": ["a"], "embeddings": [[[np.nan]]]}, "not finite"),
    ],
)
def test_arrays_that_are_not_those_of_the_format_are_refused(file, arrays, said):
    with pytest.raises(DataError, match=said):
        file(**arrays)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"text"])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "v.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"v\.npz: expected an \.npz"):
        read_vectors(tmp_path / "v.npz")


def test_an_array_alone_or_none_at_all_is_refused(tmp_path):
    np.save(tmp_path / "v.npy", np.zeros(3))
    for name in ("v.npy", "none.npz"):
        with pytest.raises(DataError, match=r"expected an \.npz"):
            read_vectors(tmp_path / name)

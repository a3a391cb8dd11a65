"""MiniLM, with the real model: from a package, offline."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app
from judgeloop.core.errors import InputError
from judgeloop.papers.vectors import MODEL, embed_sentences, find_model

HAS_EXTRA = importlib.util.find_spec("sentence_transformers") is not None


def test_a_folder_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="no such folder"):
        find_model("nowhere")


def test_a_folder_with_the_name_of_the_model_is_not_loaded_in_its_place(tmp_path, monkeypatch):
    """sentence-transformers would: the folder may be a stranger's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("judgeloop.papers.vectors.PACKAGED", "no_such_package")
    assert find_model(None) == MODEL
    (tmp_path / MODEL).mkdir(parents=True)
    with pytest.raises(InputError, match="in place of the model"):
        find_model(None)
    assert find_model(f"./{MODEL}") == f"./{MODEL}"


@pytest.mark.skipif(HAS_EXTRA, reason="the extra is installed")
def test_without_the_extra_the_message_says_how_to_get_it(incidents):
    arguments = ["compare", incidents / "lead.jsonl", incidents / "central.jsonl", "--items", incidents / "items.jsonl",
                 "--judge", "metric:rouge2", "--selector", "diffuse", "--represent", "minilm"]  # fmt: skip
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 2
    assert "pip install '.[embed]'" in result.stderr


@pytest.mark.embed
def test_the_packaged_model_is_found_and_places_like_texts_together(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = find_model(None)
    assert model != MODEL
    cat, kitten, tax = embed_sentences(["The cat sleeps.", "A kitten naps.", "Taxes are due in May."], model)
    assert cat.shape == (384,)
    assert np.linalg.norm(cat) == pytest.approx(1, abs=1e-5)
    assert cat @ kitten > 0.5 > cat @ tax


@pytest.mark.embed
def test_a_folder_without_a_model_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="cannot be loaded"):
        embed_sentences(["text"], find_model(str(tmp_path)))


@pytest.mark.embed
def test_compare_runs_on_minilm_vectors_and_embeds_each_text_once(incidents, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    arguments = ["compare", incidents / "lead.jsonl", incidents / "central.jsonl", "--items", incidents / "items.jsonl",
                 "--judge", "metric:rouge2", "--selector", "diffuse", "--represent", "minilm", "--json"]  # fmt: skip
    first = json.loads(CliRunner().invoke(app, list(map(str, arguments))).stdout)
    second = json.loads(CliRunner().invoke(app, list(map(str, arguments))).stdout)
    assert first["winner"] == second["winner"] == "centrality"
    assert first["gap_biased"]
    assert first["represent"] == "minilm"

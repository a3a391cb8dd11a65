"""The layer search, on curves and distributions worked by hand and on models whose divergences are
known."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.tiny_models import LAYERS, hidden_states, make_network, save_model, save_tokenizer

from judgeloop.core.errors import InputError
from judgeloop.represent import causal_model, layer_search
from judgeloop.represent.causal_model import find_place, load
from judgeloop.represent.layer_search import divergence, divergences, search_layer

embed = pytest.mark.embed

PROMPTS = ["one and one", "what is 12", "x y z", "a b", "two"]


@pytest.mark.parametrize(
    ("medians", "expected"),
    [
        ([10, 2, 1, 0], 2),  # below the chord by 0, 14/3, 7/3, 0
        ([10, 9, 2, 1, 0], 3),  # by 0, -1.5, 3, 1.5, 0
        ([100, 20, 10, 0], 2),  # the first again, ten times as high
        ([9, 9, 0, 0, 0], 3),  # by 0, -2.25, 4.5, 2.25, 0
    ],
)
def test_the_layer_is_the_one_where_the_medians_are_farthest_below_their_chord(
    monkeypatch, medians, expected
):
    far_off = [1e6] * (len(medians) - 2) + [0, 0]  # an elbow of its own, which moves no median
    monkeypatch.setattr(
        layer_search, "divergences", lambda *_: np.array([medians, far_off, medians, medians])
    )
    assert search_layer(SimpleNamespace(layers=99), PROMPTS, np.random.default_rng(0)) == expected


@pytest.mark.parametrize(
    "medians", [[3, 2, 1, 0], [0, 0, 0, 0], [9, 8, 6, 0], [math.inf, 1, 0, 0], [math.nan, 1, 0, 0]]
)
def test_without_a_bend_it_is_the_middle_layer(monkeypatch, medians):
    monkeypatch.setattr(layer_search, "divergences", lambda *_: np.array([medians]))
    assert search_layer(SimpleNamespace(layers=9), ["a"], np.random.default_rng(0)) == 4


def test_the_patched_run_is_the_first_of_the_divergence():
    patched, clean = np.log([[0.5, 0.5]]), np.log([[0.25, 0.75]])
    # ½ ln(0.5 / 0.25) + ½ ln(0.5 / 0.75) = 0.14384; the other way round ¼ ln ½ + ¾ ln 1.5 = 0.13081
    assert divergence(patched, clean) == pytest.approx([0.143841], abs=1e-6)
    assert divergence(clean, patched) == pytest.approx([0.130812], abs=1e-6)


def test_the_divergence_takes_logits_of_any_height_and_tokens_that_are_ruled_out():
    level = np.array([[1000.0, 1000.0, -np.inf], [-1000.0, -1000.0, -np.inf]])
    assert divergence(level, level[::-1]).tolist() == [0, 0]
    assert divergence(level, np.zeros((2, 3))) == pytest.approx([math.log(1.5)] * 2)
    assert divergence(np.zeros((1, 3)), level[:1]) == [np.inf]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return load(find_place(save_model(tmp_path_factory.mktemp("tiny"))))


@embed
@pytest.mark.parametrize("kind", ["Llama", "GPT2", "GPTNeoX"])
def test_what_the_last_layer_gives_settles_the_next_token(tmp_path, kind):
    found = divergences(load(find_place(save_model(tmp_path, kind))), PROMPTS)
    assert found.shape == (len(PROMPTS), LAYERS)
    assert found[:, -1] == pytest.approx(0, abs=1e-9)
    assert (found[:, :-1] > 1e-3).all()


@embed
def test_the_divergences_are_those_of_exchanging_states_by_hand(tiny):
    import torch

    prompt = [0, *tiny.encode([PROMPTS[0]])[0][1:]]
    pair = torch.tensor([[prompt[0], prompt[-1]]])
    blocks, network = tiny.network.model.layers, tiny.network
    with torch.no_grad():
        clean = network(input_ids=torch.tensor([prompt]), output_hidden_states=True)
        hidden = network(input_ids=pair, output_hidden_states=True).hidden_states[3].clone()
        hidden[0, 1] = clean.hidden_states[3][0, -1]
        turns = network.model.rotary_emb(hidden, position_ids=torch.tensor([[0, 1]]))
        mask = torch.full((1, 1, 2, 2), -torch.inf).triu(1)
        after = blocks[3](hidden, attention_mask=mask, position_embeddings=turns)
        patched = network.lm_head(network.model.norm(after))[0, -1].log_softmax(-1)
        q = clean.logits[0, -1].log_softmax(-1)
    expected = float((patched.exp() * (patched - q)).sum())
    assert divergences(tiny, PROMPTS[:1])[0, 2] == pytest.approx(expected, rel=1e-3)
    assert expected > 1e-3


@embed
def test_a_prompt_of_two_tokens_is_its_own_first_and_last(tiny):
    assert divergences(tiny, ["a", "z"]) == pytest.approx(0, abs=1e-9)


@embed
def test_layers_that_add_nothing_leave_the_elbow_before_them(tmp_path):
    network = make_network()
    for block in network.model.layers[2:]:
        block.self_attn.o_proj.weight.data.zero_()
        block.mlp.down_proj.weight.data.zero_()
    network.save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    model = load(find_place(str(tmp_path)))
    found = np.median(divergences(model, PROMPTS), axis=0)
    assert found[0] > 0.01
    assert found[1:] == pytest.approx(0, abs=1e-9)
    assert search_layer(model, PROMPTS, np.random.default_rng(0)) == 2
    assert np.array_equal(
        hidden_states(PROMPTS, str(tmp_path), layer="auto"),
        hidden_states(PROMPTS, str(tmp_path), layer=2),
    )


def test_of_many_prompts_some_are_drawn(monkeypatch):
    seen = []

    def curve(_, prompts):
        seen.append(prompts)
        return np.array([[5.0, 1, 0.5, 0]] * len(prompts))

    monkeypatch.setattr(layer_search, "divergences", curve)
    model = SimpleNamespace(layers=4)
    many = [f"p{number}" for number in range(500)]
    for seed in (1, 1, 2):
        assert search_layer(model, many, np.random.default_rng(seed)) == 2
    assert seen[0] == seen[1] != seen[2]
    assert len(set(seen[0])) == layer_search.PROMPTS
    with pytest.raises(ValueError, match="at least one prompt"):
        search_layer(model, [], np.random.default_rng(1))


@embed
def test_a_model_that_cannot_be_reached_into_asks_for_the_layer(tmp_path, monkeypatch):
    folder = save_model(tmp_path)
    monkeypatch.setattr(causal_model, "_blocks", lambda *_: None)
    with pytest.raises(
        InputError,
        match="cannot replace the hidden states of a llama; give the layer: middle, last or a number",
    ):
        hidden_states(PROMPTS, folder, layer="auto")

"""The search for a layer, on curves and distributions worked by hand and on models whose divergences are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.tiny_models import LAYERS, hidden_states, make_network, save_model, save_tokenizer

from judgeloop.core import work
from judgeloop.core.errors import InputError
from judgeloop.papers.actracer import layer as searching
from judgeloop.papers.actracer.hidden import find_place, load
from judgeloop.papers.actracer.layer import at_elbow, auto_layer, divergence, divergences

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
def test_the_layer_is_the_one_where_the_medians_are_farthest_below_their_chord(medians, expected):
    assert at_elbow(np.array(medians, dtype=float)) == expected


@pytest.mark.parametrize(
    "medians", [[3, 2, 1, 0], [0, 0, 0, 0], [9, 8, 6, 0], [math.inf, 1, 0, 0], [math.nan, 1, 0, 0]]
)
def test_without_a_bend_it_is_the_middle_layer(medians):
    assert at_elbow(np.array(medians, dtype=float)) == 2
    assert at_elbow(np.zeros(1)) == 1


@pytest.fixture
def curves(monkeypatch, tmp_path):
    """Searches a layer with divergences by prompt that are given; returns the layer, and the prompts asked about."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")

    def search(by_prompt, prompts):
        asked = []

        def known(_, texts, tell):
            asked.extend(texts)
            tell.done(len(texts))
            return np.array([by_prompt[text] for text in texts], dtype=np.float32)

        monkeypatch.setattr(searching, "load", lambda _: None)
        monkeypatch.setattr(searching, "divergences", known)
        return auto_layer(prompts, str(tmp_path / "model"), tmp_path / "cache"), asked

    return search


def test_all_prompts_count_and_the_median_is_moved_by_none(curves):
    bend = {"a": [10, 2, 1, 0], "bb": [10, 2, 1, 0], "ccc": [1e6, 1e6, 0, 0]}
    assert curves(bend, ["a", "ccc", "bb"]) == (2, ["a", "bb", "ccc"])
    with pytest.raises(ValueError, match="at least one prompt"):
        curves(bend, [])


def test_what_was_searched_is_found_again_and_only_new_prompts_run(curves):
    pytest.importorskip("diskcache")
    bend = {"a": [10, 2, 1, 0], "bb": [10, 2, 1, 0], "ccc": [10, 9, 0, 0], "dddd": [10, 9, 0, 0]}
    assert curves(bend, ["a", "bb"])[0] == 2
    assert curves(bend, ["a", "ccc", "dddd"]) == (3, ["ccc", "dddd"])


def test_who_listens_hears_how_far_it_is_and_what_was_found(curves):
    class Heard:
        def __init__(self):
            self.said = []

        def progress(self, what, done, of):
            self.said.append((what, done, of))

        def found(self, sentence):
            self.said.append(sentence)

    heard = Heard()
    with work.listening(heard):
        curves({"a": [10, 2, 1, 0], "b": [10, 2, 1, 0]}, ["a", "b"])
    *_, (what, done, of), last = heard.said
    assert (what, done, of) == ("prompts of the search for a layer", 2, 2)
    assert "layer 2 of 4" in last
    before = list(heard.said)
    curves({"c": [10, 2, 1, 0]}, ["c"])
    assert heard.said == before, "nobody listens any more"


@embed
def test_the_patched_run_is_the_first_of_the_divergence():
    import torch

    patched, clean = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]]).log()
    # ½ ln(0.5 / 0.25) + ½ ln(0.5 / 0.75) = 0.14384; the other way round ¼ ln ½ + ¾ ln 1.5 = 0.13081
    assert divergence(patched, clean).item() == pytest.approx(0.143841, abs=1e-6)
    assert divergence(clean, patched).item() == pytest.approx(0.130812, abs=1e-6)


@embed
def test_the_divergence_takes_logits_of_any_height_and_tokens_that_are_ruled_out():
    import torch

    level = torch.tensor([[1000.0, 1000.0, -math.inf], [-1000.0, -1000.0, -math.inf]])
    assert divergence(level, level.flip(0)).tolist() == [0, 0]
    assert divergence(level, torch.zeros(2, 3)).tolist() == pytest.approx([math.log(1.5)] * 2)
    assert divergence(torch.zeros(1, 3), level[:1]).item() == math.inf


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return load(find_place(save_model(tmp_path_factory.mktemp("tiny"))))


def searched(model, prompts=PROMPTS):
    return divergences(model, prompts, work.Work("prompts", len(prompts)))


@embed
@pytest.mark.parametrize("kind", ["Llama", "GPT2", "GPTNeoX"])
def test_what_the_last_layer_gives_settles_the_next_token(tmp_path, kind):
    found = searched(load(find_place(save_model(tmp_path, kind))))
    assert found.shape == (len(PROMPTS), LAYERS)
    assert (found[:, -1] == 0).all()
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
    assert searched(tiny, PROMPTS[:1])[0, 2] == pytest.approx(expected, rel=1e-3)
    assert expected > 1e-3


@embed
def test_batches_change_nothing(tiny, monkeypatch):
    together = searched(tiny)
    monkeypatch.setattr("judgeloop.papers.actracer.hidden.TOGETHER", 2)
    assert searched(tiny) == pytest.approx(together, rel=1e-4, abs=1e-6)


@embed
def test_a_prompt_of_two_tokens_is_its_own_first_and_last(tiny):
    assert searched(tiny, ["a", "z"]) == pytest.approx(0, abs=1e-6)


@embed
def test_no_hook_stays_on_the_model(tiny):
    def hooks():
        return [len(one._forward_hooks) + len(one._forward_pre_hooks) for one in tiny.network.modules()]

    searched(tiny)
    before = hooks()  # transformers keeps some of its own
    searched(tiny)
    assert hooks() == before


@embed
def test_layers_that_add_nothing_leave_the_elbow_before_them(tmp_path):
    network = make_network()
    for block in network.model.layers[2:]:
        block.self_attn.o_proj.weight.data.zero_()
        block.mlp.down_proj.weight.data.zero_()
    network.save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    found = np.median(searched(load(find_place(str(tmp_path)))), axis=0)
    assert found[0] > 0.01
    assert found[1:] == pytest.approx(0, abs=1e-6)
    assert auto_layer(PROMPTS, str(tmp_path), tmp_path / "cache") == 2
    assert hidden_states(PROMPTS, str(tmp_path), layer=2).shape == (len(PROMPTS), 32)


@embed
def test_a_model_that_cannot_be_reached_into_asks_for_the_layer(tiny):
    with pytest.raises(InputError, match=r"`layer=auto` cannot patch .* a llama; give the layer"):
        searching._blocks(replace(tiny, layers=LAYERS + 1))

"""Hidden states: those that transformers gives for one prompt at a time, whatever the batch, the
architecture and the tokenizer."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support.tiny_models import (
    BEGIN,
    END,
    LAYERS,
    LONGEST,
    WIDTH,
    hidden_states,
    make_network,
    save_model,
    save_tokenizer,
    tokens_of,
)

from judgeloop.core.errors import InputError
from judgeloop.papers.actracer import hidden
from judgeloop.papers.actracer.hidden import find_place, hidden_vectors, load

HAS_EXTRA = importlib.util.find_spec("torch") is not None
embed = pytest.mark.embed

PROMPTS = ["one and one", "a", "what is 12 and 30", "b", "two", "of the same leng", "and as long as th", "x y z"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("tiny"))


def plain(folder, tokens, layer):
    """One prompt, all states, by transformers alone."""
    import torch
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        found = network(input_ids=torch.tensor([tokens]), output_hidden_states=True)
    return found.hidden_states[layer][0, -1].numpy()


@pytest.mark.parametrize("model", ["/no/where", "./nowhere", "a/b/c", "~/no where", ""])
def test_a_folder_that_is_not_there_is_refused(model):
    with pytest.raises(InputError, match=rf"`represent=hidden:{model}`: there is no such folder"):
        hidden_states(["a"], model, layer="middle")


def test_a_folder_without_a_model_is_refused(tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(InputError, match=r"`represent=hidden:.*`: .*holds no model: there is no .*config\.json"):
        hidden_states(["a"], f"{tmp_path}/model", layer="middle")


@pytest.mark.parametrize("layer", ["first", "2", ""])
def test_a_layer_of_another_name_is_refused_before_anything_is_loaded(layer):
    with pytest.raises(InputError, match="expected the layer middle, last or a number, found"):
        hidden_states(["a"], "/no/where", layer=layer)


@pytest.mark.skipif(HAS_EXTRA, reason="the extra is installed")
@pytest.mark.parametrize("local", [True, False])
def test_without_the_extra_the_message_says_how_to_get_it(tmp_path, local):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"pip install '.\[embed\]' \(no t.*`represent=lexical`"):
        hidden_states(["a"], str(tmp_path) if local else "some/model", layer="middle")


@embed
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("Llama", {}),
        ("GPT2", {}),
        ("Gemma2", {"head_dim": 16}),
        ("OPT", {"word_embed_proj_dim": 16, "ffn_dim": 48}),
        ("GPTNeoX", {}),
        ("Bloom", {}),
        ("Mixtral", {}),
        ("Mamba", {}),
    ],
)
def test_the_states_are_those_of_one_prompt_at_a_time(tmp_path, kind, settings):
    folder = save_model(tmp_path, kind, **settings)
    for layer in range(LAYERS + 1):
        states = hidden_states(PROMPTS, folder, layer=layer)
        assert states.dtype == np.float32
        for prompt, state in zip(PROMPTS, states, strict=True):
            np.testing.assert_allclose(state, plain(folder, [BEGIN, *tokens_of(prompt)], layer), rtol=1e-4, atol=1e-5)


@embed
def test_the_middle_is_half_of_the_layers_and_the_last_is_after_the_norm(tiny):
    def states(layer):
        return hidden_states(PROMPTS, tiny, layer=layer)

    assert np.array_equal(states("middle"), states(LAYERS // 2))
    assert np.array_equal(states("last"), states(LAYERS))
    assert states("last").shape == (len(PROMPTS), WIDTH)
    assert not np.allclose(states("last"), states("middle"))


@embed
@pytest.mark.parametrize("room", [None, 1, 150])
@pytest.mark.parametrize("layer", ["middle", "last"])
def test_the_batch_changes_nothing(tiny, monkeypatch, layer, room):
    alone = np.concatenate([hidden_states([prompt], tiny, layer=layer, batch=1) for prompt in PROMPTS])
    if room:
        monkeypatch.setattr(hidden, "STATES_AT_A_TIME", room)
    for batch in (1, 3, 64):
        np.testing.assert_allclose(hidden_states(PROMPTS, tiny, layer=layer, batch=batch), alone, rtol=1e-4, atol=1e-5)


@embed
@pytest.mark.parametrize(
    ("template", "begin", "expected"),
    [
        ("$A", "<s>", [BEGIN]),
        ("<s> $A", "<s>", [BEGIN]),
        ("<s> $A </s>", "<s>", [BEGIN]),
        ("$A </s>", "<s>", [BEGIN]),
        ("</s> $A", "<s>", [BEGIN, END]),
        ("$A </s>", None, []),
    ],
)
def test_the_first_token_is_there_once_and_none_is_after_the_prompt(tiny, tmp_path, template, begin, expected):
    folder = shutil.copytree(tiny, tmp_path / "model")
    save_tokenizer(folder, template, begin)
    model = load(find_place(str(folder)))
    assert model.encode(["ab", "c"]) == [[*expected, *tokens_of("ab")], [*expected, *tokens_of("c")]]


@embed
def test_an_empty_prompt_is_its_first_token(tiny):
    states = hidden_states(["", "a"], tiny, layer=2)
    np.testing.assert_allclose(states[0], plain(tiny, [BEGIN], 2), rtol=1e-4, atol=1e-5)


@embed
def test_an_empty_prompt_without_a_first_token_is_refused(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "model")
    save_tokenizer(folder, begin=None)
    with pytest.raises(InputError, match="a prompt has no tokens"):
        hidden_states(["a", ""], str(folder), layer=2)


@embed
def test_half_a_surrogate_pair_is_a_question_mark(tiny, tmp_path):
    expected = hidden_states(["a?"], tiny, layer=2)
    assert np.array_equal(hidden_states(["a\ud83d"], tiny, layer=2), expected)
    assert np.array_equal(hidden_vectors(["a\ud83d"], tiny, 2, tmp_path), expected)


@embed
@pytest.mark.parametrize("kind", ["Llama", "GPT2"])
def test_of_a_prompt_that_is_too_long_the_end_is_read_and_that_is_said(tmp_path, kind):
    folder = save_model(tmp_path, kind)
    just, over = "a" + "b" * (LONGEST - 2), "ba" + "b" * (LONGEST - 2)
    expected = hidden_states([just], folder, layer=2)
    with pytest.warns(UserWarning, match=rf"1 of 2 prompts are longer than the model's {LONGEST} tokens"):
        states = hidden_states(["c", over], folder, layer=2)
    np.testing.assert_allclose(states[1], expected[0], rtol=1e-4, atol=1e-5)


@embed
def test_a_tokenizer_that_knows_more_than_the_model_is_refused(tmp_path):
    folder = save_model(tmp_path, vocab_size=10)
    with pytest.raises(InputError, match="they do not belong together"):
        hidden_states(["zzz"], folder, layer=2)


@embed
@pytest.mark.parametrize("layer", [-1, LAYERS + 1])
def test_a_layer_that_is_not_there_is_refused(tiny, layer):
    with pytest.raises(InputError, match=rf"from 0 .* to {LAYERS} .*found {layer}"):
        hidden_states(["a"], tiny, layer=layer)


@embed
@pytest.mark.parametrize("kind", ["Bert", "Roberta"])
def test_a_model_that_sees_what_follows_is_refused(tmp_path, kind):
    folder = save_model(tmp_path, kind, pad_token_id=2)
    with pytest.raises(InputError, match=r"`represent=hidden:.*`: .*it is not a causal language model"):
        hidden_states(["a"], folder, layer=2)


@embed
def test_a_model_of_another_kind_is_refused(tmp_path):
    import transformers

    transformers.T5Config().save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(InputError, match=r"`represent=hidden:.*`: .*cannot be loaded as a causal language model"):
        hidden_states(["a"], str(tmp_path), layer=2)


@embed
def test_a_model_without_its_head_is_refused(tmp_path):
    make_network().base_model.save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(InputError, match=r"are missing: lm_head\.weight"):
        hidden_states(["a"], str(tmp_path), layer=2)


@embed
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("content", [b"", b"{", None])
def test_a_broken_folder_is_refused(tiny, tmp_path, name, content):
    folder = shutil.copytree(tiny, tmp_path / "model")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=r"`represent=hidden:.*`: .*(cannot be loaded|holds no model)"):
        hidden_states(["a"], str(folder), layer=2)


@embed
def test_weights_as_a_pickle_are_not_read(tiny, tmp_path):
    import torch

    folder = shutil.copytree(tiny, tmp_path / "model")
    torch.save(make_network().state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="cannot be loaded"):
        hidden_states(["a"], str(folder), layer=2)


@embed
def test_code_that_comes_with_a_model_is_not_run(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModelForCausalLM": "mine.Mine"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'was-run')!r}, 'w').close()\n")
    with pytest.raises(InputError, match="cannot be loaded"):
        hidden_states(["a"], str(folder), layer=2)
    assert not (tmp_path / "was-run").exists()


@embed
@pytest.mark.parametrize("layer", [1, "middle", "last"])
def test_what_is_kept_loads_no_model(tiny, tmp_path, monkeypatch, layer):
    monkeypatch.setattr(hidden, "KEPT_AT_A_TIME", 3)
    expected = hidden_states(PROMPTS, tiny, layer=layer)
    first = hidden_vectors(PROMPTS, tiny, layer, tmp_path)
    np.testing.assert_allclose(first, expected, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(hidden, "load", lambda _: pytest.fail("the model was loaded"))
    second = hidden_vectors(PROMPTS[::-1], tiny, layer, tmp_path)
    assert np.array_equal(second, first[::-1])
    assert second.dtype == np.float32


@embed
def test_another_model_in_the_same_folder_has_vectors_of_its_own(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "model")
    before = hidden_vectors(PROMPTS, str(folder), 2, tmp_path / "cache")
    config = (folder / "config.json").read_bytes()
    network = make_network()
    network.lm_head.weight.data.mul_(2)
    network.model.layers[0].mlp.down_proj.weight.data.mul_(2)
    network.save_pretrained(folder)
    os.utime(folder / "model.safetensors", ns=(1, 1))
    assert (folder / "config.json").read_bytes() == config
    after = hidden_vectors(PROMPTS, str(folder), 2, tmp_path / "cache")
    assert not np.allclose(before, after)
    np.testing.assert_allclose(after, hidden_states(PROMPTS, str(folder), layer=2), rtol=1e-4, atol=1e-5)


@embed
def test_a_name_on_the_hub_is_the_commit_that_was_fetched_last(tiny, tmp_path):
    commit = "0123456789abcdef0123456789abcdef01234567"
    stored = tmp_path / "hub" / "models--some--model"
    shutil.copytree(tiny, stored / "snapshots" / commit)
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text(commit)
    code = (
        "import sys; from pathlib import Path\n"
        "from judgeloop.papers.actracer.hidden import hidden_vectors\n"
        "from judgeloop.papers.actracer.hidden import find_place\n"
        "def states(model): return hidden_vectors(['ab'], model, 2, Path(sys.argv[2]))\n"
        "print(find_place('some/model').identity)\n"
        "print(abs(states('some/model') - states(sys.argv[1])).max())\n"
        "states('other/model')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tiny, str(tmp_path / "cache")],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"},
    )
    assert done.stdout.split() == [f"some/model@{commit}", "0.0"], done.stderr
    assert "InputError: `represent=hidden:other/model`: there is no such folder, and no such model" in done.stderr


@embed
def test_a_trained_model_gives_the_states_recorded_of_it(recorded_data):
    folder = recorded_data / "tiny-lm"
    rows = [json.loads(line) for line in (folder / "outputs.jsonl").read_text(encoding="utf-8").splitlines()][::10]
    with np.load(folder / "hidden.npz") as stored:
        place = {name: position for position, name in enumerate(stored["ids"])}
        recorded = {
            layer: stored[f"layer{layer}"][[place[row["id"]] for row in rows]].astype(np.float32) for layer in (1, 2, 4)
        }
    for layer, expected in recorded.items():
        states = hidden_states([row["prompt"] for row in rows], str(folder / "model"), layer=layer)
        np.testing.assert_allclose(states, expected, rtol=1e-3, atol=1e-3)  # half precision

"""Causal language models of a few thousand random weights, a token a character, saved as
transformers saves them."""

from __future__ import annotations

import string
import tempfile
from pathlib import Path

import pytest

from judgeloop.papers.actracer import hidden

CHARACTERS = [*string.ascii_lowercase, *string.digits, " "]
VOCABULARY = ["<s>", "</s>", "?", *CHARACTERS]
BEGIN, END = 0, 1
LAYERS, WIDTH, LONGEST = 4, 32, 24


def tokens_of(text):
    """The tokens of a text, without any of the tokenizer's own."""
    return [VOCABULARY.index(character) for character in text]


def save_tokenizer(folder, template="$A", begin="<s>"):
    """A tokenizer that dresses a text as the template says; it has no token for padding."""
    import tokenizers
    import transformers

    inner = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({token: number for number, token in enumerate(VOCABULARY)}, unk_token="?")
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    inner.post_processor = tokenizers.processors.TemplateProcessing(
        single=template, special_tokens=[("<s>", BEGIN), ("</s>", END)]
    )
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token=begin, eos_token="</s>").save_pretrained(
        folder
    )


def make_network(kind="Llama", **settings):
    """A model for causal language modelling with random weights, the same every time."""
    import torch
    import transformers

    shape = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": LONGEST,
        "initializer_range": 0.3,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "pad_token_id": None,
    }
    config = getattr(transformers, f"{kind}Config")(**shape | settings)
    torch.manual_seed(7)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def save_model(folder, kind="Llama", **settings):
    """A model and its tokenizer in `folder`, whose name comes back as text."""
    make_network(kind, **settings).save_pretrained(folder)
    save_tokenizer(folder)
    return str(folder)


def hidden_states(prompts, model, *, layer, batch=hidden.TOGETHER):
    """The vectors, without what earlier calls have cached."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(hidden, "TOGETHER", batch)
        return hidden.hidden_vectors(prompts, model, layer, Path(folder))

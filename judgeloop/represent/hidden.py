"""Computes the hidden state of a causal language model at the last token of each prompt.

This is AcTracer's representation (Huang et al. 2024, section 3.1.1) before its reduction to few
dimensions (`reduced` in `embed.py`). Prompts are used as they are, without a chat template. Needs the extra
`judgeloop[embed]`; torch is imported on first use.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.represent.cache import cached
from judgeloop.represent.causal_model import CausalModel, Tokens, find_place, flag, load

# Part of cache keys: increase it when code changes a hidden state.
VERSION = "hidden.1"
NAMES = ("middle", "last")
TOGETHER = 64  # prompts in a batch
# Hidden states in a batch, of all layers and of padding, too: transformers returns them together.
STATES_AT_A_TIME = 131_072
STATE_AXES = 3  # hidden states have shape (prompts, tokens, hidden size)
KEPT_AT_A_TIME = 1024  # prompts cached at a time: an interrupted run keeps what it has computed

Layer = str | int
Vectors = NDArray[np.float32]


def hidden_vectors(prompts: Sequence[str], model: str, layer: Layer, cache_folder: Path) -> Vectors:
    """Return the hidden state of each prompt's last token, shape (prompts, hidden size).

    `model` is a folder or a name on the hub. `layer` is "middle" (half of the layers), "last"
    (after the last norm), or k for transformers' `hidden_states[k]`.
    The beginning-of-text token precedes each prompt, if the tokenizer has such a token. Of a prompt
    that is too long for the model, only the end is read, with a warning. Results on a CPU and on a
    GPU differ only by rounding; a GPU uses the precision in which the model was saved.

    If every vector is in the cache in `cache_folder`, the model is not loaded.

    Raises:
        InputError: the extra is not installed, the model or the layer does not exist, or a prompt
            cannot be encoded.
        ValueError: there are no prompts.
    """
    _check(prompts, model, layer)
    place = find_place(model)
    loaded = functools.cache(lambda: load(place))
    remember = cached(
        lambda texts: _read(loaded(), texts, _number(loaded(), layer), TOGETHER),
        model=f"{VERSION}\0{place.identity}\0{layer}",
        folder=cache_folder,
    )
    return _in_parts(prompts, lambda texts: np.asarray(remember(texts), dtype=np.float32))


def _check(prompts: Sequence[str], model: str, layer: Layer) -> None:
    if not prompts:
        raise ValueError("expected at least one prompt")
    if isinstance(layer, str) and layer not in NAMES:
        raise InputError(f"{flag(model)}: expected the layer {', '.join(NAMES)} or a number, found {layer!r}")


def _number(model: CausalModel, layer: Layer) -> int:
    """Return the index of `layer` in transformers' `hidden_states`."""
    number = {"middle": model.layers // 2, "last": model.layers}.get(str(layer), layer)
    if not 0 <= int(number) <= model.layers:
        raise InputError(
            f"{flag(model.name)}: expected a layer from 0 (the embeddings) to {model.layers} (the last), found {layer}"
        )
    return int(number)


def _in_parts(prompts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
    """Return the vectors of all prompts, computed in parts of prompts of similar length."""
    order = sorted(range(len(prompts)), key=lambda position: len(prompts[position]))
    parts = [order[begin : begin + KEPT_AT_A_TIME] for begin in range(0, len(order), KEPT_AT_A_TIME)]
    vectors = np.concatenate([embed([prompts[position] for position in part]) for part in parts])
    return vectors[np.argsort(order)]


def _read(model: CausalModel, prompts: Sequence[str], layer: int, batch: int) -> Vectors:
    """Return the state of each prompt's last token at `layer`, computed in batches.

    Each batch is moved to the CPU at once, so that results do not fill the model's device.
    """
    import torch

    tokens = model.encode(prompts)
    room = STATES_AT_A_TIME // (model.layers + 1)
    parts = list(_batches([len(prompt) for prompt in tokens], batch, room))
    with torch.inference_mode():
        vectors = [_ends(model, [tokens[position] for position in part], layer) for part in parts]
    return np.concatenate(vectors)[np.argsort(np.concatenate(parts))]


def _ends(model: CausalModel, tokens: Sequence[Tokens], layer: int) -> Vectors:
    """Return the state of the last token of each prompt, on the CPU."""
    import torch

    states = _states(model, tokens, layer)
    last = torch.tensor([len(prompt) - 1 for prompt in tokens], device=states.device)
    ends = states[torch.arange(len(tokens), device=states.device), last]
    return np.asarray(ends.float().cpu().numpy())


def _batches(lengths: Sequence[int], most: int, room: int) -> Iterator[list[int]]:
    """Yield the positions in batches, the longest prompts first.

    A batch has at most `most` prompts and at most `room` tokens with padding, but at least one
    prompt.
    """
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    begin = 0
    while begin < len(order):
        count = min(most, max(1, room // lengths[order[begin]]))
        yield order[begin : begin + count]
        begin += count


def _states(model: CausalModel, tokens: Sequence[Tokens], layer: int) -> Any:
    """Return the model's `hidden_states[layer]` of all tokens."""
    found = model.base(**model.padded(tokens), output_hidden_states=True).hidden_states
    if len(found) != model.layers + 1 or found[layer].ndim != STATE_AXES:
        raise InputError(
            f"{flag(model.name)}: a {model.network.config.model_type} does not return the hidden states of each layer"
        )
    return found[layer]

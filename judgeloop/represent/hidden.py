"""Prompts to hidden states of a causal language model: what it makes of a prompt before it writes the first token.

The representation of AcTracer (Huang et al. 2024, section 3.1.1), before the reduction to few dimensions, which is `reducing.py`'s; the
extra `judgeloop[embed]`. A prompt is taken as it stands: no chat template is put around it. torch is imported on first use.
"""

from __future__ import annotations

import functools
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import diskcache
import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.represent.cache import cached, opened
from judgeloop.represent.causal_model import THREE, CausalModel, Tokens, block_input, load
from judgeloop.represent.layer_search import search_layer
from judgeloop.represent.model_place import find_place, flag

VERSION = (
    "hidden.1"  # to be changed with whatever changes a hidden state, or the layer that is found
)
NAMES = ("middle", "last", "auto")
TOGETHER = 64  # prompts
TOKENS_AT_A_TIME = 16_384  # with the padding, so that long prompts do not fill the memory
KEPT_AT_A_TIME = 1024  # prompts, so that an interrupted run keeps what it had
SEARCH_SEED = 0  # one for all runs: the layer depends on the model and the prompts alone

Layer = str | int
Vectors = NDArray[np.float32]


def hidden_states(
    prompts: Sequence[str], model: str, *, layer: Layer, batch: int = TOGETHER
) -> Vectors:
    """The hidden state of each prompt's last token, shape (prompts, hidden size).

    `model` is a folder or a name on the hub. `layer` is "middle" (half of the layers), "last" (after the last norm), "auto"
    (`layer_search.py`), or k for transformers' `hidden_states[k]`. `batch` prompts at most are run together, which changes no more than
    rounding does. The beginning-of-text token goes before each prompt where the tokenizer has one; of a prompt that is too long for the
    model, the end is read, and a warning says so. Equal to rounding on a CPU and on a GPU, which rounds as the model was saved.

    Raises:
        InputError: the extra is not installed, there is no such model or no such layer, or `prompts` do not suit the tokenizer.
        ValueError: there are no prompts, or `batch` is below 1.
    """
    _check(prompts, model, layer)
    loaded = load(find_place(model))
    number = _searched(loaded, prompts) if layer == "auto" else _number(loaded, layer)
    return _read(loaded, prompts, number, batch)


def hidden_vectors(prompts: Sequence[str], model: str, layer: Layer, cache_folder: Path) -> Vectors:
    """As `hidden_states`, with vectors and the layer found for "auto" kept in `cache_folder`: what is all there loads no model.

    Raises:
        InputError: as `hidden_states`.
        ValueError: there are no prompts.
    """
    _check(prompts, model, layer)
    place = find_place(model)
    loaded = functools.cache(lambda: load(place))
    identity = f"{VERSION}\0{place.identity}"
    try:
        if layer == "auto":
            layer = _layer_kept(
                lambda: _searched(loaded(), prompts), identity, prompts, cache_folder
            )
        remember = cached(
            lambda texts: _read(loaded(), texts, _number(loaded(), layer), TOGETHER),
            model=f"{identity}\0{layer}",
            folder=cache_folder,
        )
        return _in_parts(prompts, lambda texts: np.asarray(remember(texts), dtype=np.float32))
    except (sqlite3.DatabaseError, diskcache.Timeout):
        # The folder cannot be read or written: it is left as it is, and done without.
        number = _searched(loaded(), prompts) if layer == "auto" else _number(loaded(), layer)
        return _read(loaded(), prompts, number, TOGETHER)


def _check(prompts: Sequence[str], model: str, layer: Layer) -> None:
    if not prompts:
        raise ValueError("expected at least one prompt")
    if isinstance(layer, str) and layer not in NAMES:
        raise InputError(
            f"{flag(model)}: expected the layer {', '.join(NAMES)} or a number, found {layer!r}"
        )


def _number(model: CausalModel, layer: Layer) -> int:
    """Which of transformers' `hidden_states` is meant."""
    number = {"middle": model.layers // 2, "last": model.layers}.get(str(layer), layer)
    if not 0 <= int(number) <= model.layers:
        raise InputError(
            f"{flag(model.name)}: expected a layer from 0 (the embeddings) to {model.layers} (the last), found {layer}"
        )
    return int(number)


def _searched(model: CausalModel, prompts: Sequence[str]) -> int:
    """The layer that the search finds; the order of the prompts does not matter."""
    return search_layer(model, sorted(set(prompts)), np.random.default_rng(SEARCH_SEED))


def _layer_kept(
    search: Callable[[], int], identity: str, prompts: Sequence[str], folder: Path
) -> int:
    """The layer in the cache for these prompts; what is no number there is absent."""
    digest = hashlib.sha256(f"{identity}\0auto".encode())
    for text in sorted(set(prompts)):
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"\0%d\0" % len(data))
        digest.update(data)
    with opened(folder) as cache:
        data = cache.get(digest.hexdigest())
        if data is not None and data.isdigit():
            return int(data)
        layer = search()
        cache.set(digest.hexdigest(), b"%d" % layer)
    return layer


def _in_parts(prompts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
    """The vectors of all prompts, some at a time, those of like length together."""
    order = sorted(range(len(prompts)), key=lambda position: len(prompts[position]))
    parts = [
        order[begin : begin + KEPT_AT_A_TIME] for begin in range(0, len(order), KEPT_AT_A_TIME)
    ]
    vectors = np.concatenate([embed([prompts[position] for position in part]) for part in parts])
    return vectors[np.argsort(order)]


def _read(model: CausalModel, prompts: Sequence[str], layer: int, batch: int) -> Vectors:
    """The state of each prompt's last token at `layer`, batch by batch, each moved off the model's device at once."""
    import torch

    if batch < 1:
        raise ValueError(f"expected a batch of at least 1 prompt, found {batch}")
    tokens = model.encode(prompts)
    room = TOKENS_AT_A_TIME if model.blocks is not None else TOKENS_AT_A_TIME // (model.layers + 1)
    parts = list(_batches([len(one) for one in tokens], batch, room))
    with torch.inference_mode():
        vectors = [_ends(model, [tokens[position] for position in part], layer) for part in parts]
    return np.concatenate(vectors)[np.argsort(np.concatenate(parts))]


def _ends(model: CausalModel, tokens: Sequence[Tokens], layer: int) -> Vectors:
    """The state of the last token of each prompt, off the model's device."""
    import torch

    states = _states(model, tokens, layer)
    last = torch.tensor([len(one) - 1 for one in tokens], device=states.device)
    ends = states[torch.arange(len(tokens), device=states.device), last]
    return np.asarray(ends.float().cpu().numpy())


def _batches(lengths: Sequence[int], most: int, room: int) -> Iterator[list[int]]:
    """Positions, the longest prompts first: `most` at a time, or as many as fill `room` with tokens and padding, but one at least."""
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    begin = 0
    while begin < len(order):
        count = min(most, max(1, room // lengths[order[begin]]))
        yield order[begin : begin + count]
        begin += count


class _Reached(Exception):  # noqa: N818 - nothing is wrong
    """The layer to read is reached: the rest of the pass is not needed."""


def _states(model: CausalModel, tokens: Sequence[Tokens], layer: int) -> Any:
    """The model's `hidden_states[layer]` of all tokens; layers above it are not run, and none but it is kept."""
    inputs = model.padded(tokens)
    if model.blocks is None:
        found = model.base(**inputs, output_hidden_states=True).hidden_states
        if len(found) != model.layers + 1 or found[layer].ndim != THREE:
            raise InputError(
                f"{flag(model.name)}: a {model.network.config.model_type} does not give its hidden states layer by layer"
            )
        return found[layer]
    if layer == model.layers:
        return model.base(**inputs).last_hidden_state
    seen = []

    def stop(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.append(block_input(args, kwargs))
        raise _Reached

    hook = model.blocks[layer].register_forward_pre_hook(stop, with_kwargs=True)
    try:
        model.base(**inputs)
    except _Reached:
        return seen[0]
    finally:
        hook.remove()
    raise AssertionError("the layer was there when the model was loaded")

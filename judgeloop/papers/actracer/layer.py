"""The search for the layer that represents prompts: AcTracer's algorithm 2, "Auto Layer".

Huang et al. (2024), appendix A.1.1. Each prompt's state at a layer is patched into a run on only its first and last
token. The nearer the next token's distribution is to that of the whole prompt (Kullback-Leibler divergence), the more
of the prompt the layer holds. The layer at the elbow of the median divergences is taken, found as the elbow of the
inertia is (`clusters.py`). Hooks put the states into the model's layers. torch is imported on first use.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core import work
from judgeloop.core.errors import InputError
from judgeloop.papers.actracer.clusters import elbow
from judgeloop.papers.actracer.hidden import (
    CausalModel,
    Tokens,
    Vectors,
    batches,
    ends,
    find_place,
    flag,
    in_parts,
    load,
)
from judgeloop.papers.vectors import cached

# Part of cache keys: increase it when code changes a divergence.
VERSION = "layer.1"


def auto_layer(prompts: Sequence[str], model: str, cache_folder: Path) -> int:
    """The layer k of `model` to represent `prompts`, for transformers' `hidden_states[k]`.

    The divergences of each prompt are cached in `cache_folder`; an interrupted search goes on where it was.

    Raises:
        InputError: as `hidden_vectors`, or states of this model cannot be patched.
        ValueError: there are no prompts.
    """
    place = find_place(model)
    loaded = functools.cache(lambda: load(place))
    tell = work.Work("prompts of the search for a layer", len(prompts))
    remember = cached(
        lambda texts: divergences(loaded(), texts, tell), model=f"{VERSION}\0{place.identity}", folder=cache_folder
    )
    medians = np.median(in_parts(prompts, remember), axis=0)
    layer = at_elbow(medians)
    if loaded.cache_info().currsize:
        shown = ", ".join(f"{median:.3g}" for median in medians)
        work.found(f"`layer=auto`: layer {layer} of {len(medians)}; median divergence by layer: {shown}")
    return layer


def at_elbow(medians: NDArray[np.floating]) -> int:
    """The layer at the elbow of the divergences, the first of which is layer 1's; the middle without an elbow."""
    layer = elbow(tuple(enumerate(medians.tolist(), start=1))) if np.isfinite(medians).all() else 1
    return layer if layer > 1 else max(1, len(medians) // 2)  # `elbow` returns the first point if there is no elbow


def divergences(model: CausalModel, prompts: Sequence[str], tell: work.Work) -> Vectors:
    """How far a run with only layer k's state of a prompt is from the clean run, shape (prompts, layers), k from 1.

    Algorithm 2, lines 6 to 14. The embeddings, k = 0, are left out: there both states are the same. The clean
    distribution is that of the run into which the last layer's state is patched: nothing else reaches the head.

    Raises:
        InputError: the states of this model cannot be patched.
    """
    import torch

    tokens, layers = model.encode(prompts), range(1, model.layers + 1)
    blocks, found = _blocks(model), np.empty((len(prompts), model.layers), dtype=np.float32)
    tell.done(0)
    for part in batches(model, tokens):
        own = [tokens[position] for position in part]
        with torch.inference_mode():
            states = ends(model, own, layers)
            pairs = [[prompt[0], prompt[-1]] for prompt in own]
            next_ = [_patched(model, blocks, pairs, layer, states[layer - 1]) for layer in layers]
            found[part] = torch.stack([divergence(one, next_[-1]) for one in next_], dim=1).cpu().numpy()
        tell.done(len(part))
    return found


def divergence(logits: Any, others: Any) -> Any:
    """The Kullback-Leibler divergence D(P‖Q) of each row, in nats, shape (rows,).

    P is the distribution of `logits`, Q that of `others`. Algorithm 2 prints KL_divergence(patched, clean), which is
    read as D(P‖Q). A token with probability 0 under P adds nothing; one with probability 0 under Q alone makes the
    divergence infinite.
    """
    p, q = (rows.float().log_softmax(dim=-1) for rows in (logits, others))
    mass = p.exp()
    return (mass * (p - q)).masked_fill(mass == 0, 0.0).sum(dim=-1)


def _patched(model: CausalModel, blocks: Any, pairs: Sequence[Tokens], layer: int, states: Any) -> Any:
    """The logits of the token after each pair, whose last state at `layer` is replaced by `states`."""

    def into_block(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        hidden = (args[0] if args else kwargs["hidden_states"]).clone()
        hidden[:, -1] = states
        return ((hidden, *args[1:]), kwargs) if args else (args, kwargs | {"hidden_states": hidden})

    def into_last(*call: Any) -> None:
        call[-1].last_hidden_state[:, -1] = states

    if layer == model.layers:
        hook = model.base.register_forward_hook(into_last)
    else:
        hook = blocks[layer].register_forward_pre_hook(into_block, with_kwargs=True)
    try:
        return model.network(**model.padded(pairs)).logits[:, -1]
    finally:
        hook.remove()


def _blocks(model: CausalModel) -> Any:
    """The model's layers: the list of modules of which the input of number k is `hidden_states[k]`.

    Found by its length, and by comparing the inputs on a few tokens.

    Raises:
        InputError: there is no such list.
    """
    import torch

    known = min(3, model.network.get_input_embeddings().num_embeddings)
    for blocks in model.base.modules():
        if not isinstance(blocks, torch.nn.ModuleList) or len(blocks) != model.layers:
            continue
        seen: list[Any] = []

        def see(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any], seen: list[Any] = seen) -> None:
            seen.append(args[0] if args else kwargs.get("hidden_states"))

        hooks = [block.register_forward_pre_hook(see, with_kwargs=True) for block in blocks]
        try:
            with torch.inference_mode():
                run = model.base(**model.padded([list(range(known))]), output_hidden_states=True)
        finally:
            for hook in hooks:
                hook.remove()
        inputs, states = [*seen, run.last_hidden_state], run.hidden_states
        if len(inputs) == len(states) and all(
            mine is not None and mine.shape == other.shape and mine.allclose(other, equal_nan=True)
            for mine, other in zip(inputs, states, strict=True)
        ):
            return blocks
    raise InputError(
        f"{flag(model.name)}: `layer=auto` cannot patch the hidden states of a {model.network.config.model_type}; "
        "give the layer: middle, last or a number"
    )

"""Searches the layer of a causal language model that represents prompts: AcTracer's algorithm 2.

Source: Huang et al. 2024, appendix A.1.1. The paper finds no gain over the middle layer (table 3)
and suggests more work on the search. `hidden.py` defines the states of a layer.
torch is imported on first use.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.methods.stats.cluster_search import elbow
from judgeloop.represent.causal_model import CausalModel, Tokens, block_input, flag, watched

PROMPTS = 64  # more prompts change the medians little, and each costs a pass of the model

Floats = NDArray[np.float64]


def search_layer(model: CausalModel, prompts: Sequence[str], rng: np.random.Generator) -> int:
    """Return the layer at the elbow of the median divergences; the middle layer without an elbow.

    The layer is a number k for transformers' `hidden_states[k]`. The paper uses all prompts. Here
    `PROMPTS` prompts are drawn with `rng`, if there are more.

    Raises:
        InputError: the states of this model cannot be replaced during a run.
        ValueError: there are no prompts.
    """
    if not prompts:
        raise ValueError("expected at least one prompt to search a layer with")
    drawn = rng.choice(len(prompts), min(PROMPTS, len(prompts)), replace=False)
    medians = np.median(divergences(model, [prompts[position] for position in drawn]), axis=0)
    return _elbow(medians, otherwise=model.layers // 2)


def divergences(model: CausalModel, prompts: Sequence[str]) -> Floats:
    """Return how far a run with only layer k's last state is from the clean run.

    The result has shape (prompts, layers), k = 1, 2, …, and is the divergence between the
    distributions of the next token. Algorithm 2, lines 6 to 14: a run on only the prompt's first
    and last token gets, at layer k, the prompt's state in place of its last token's own state.
    k = 0, the embeddings, is left out. There both states are the same but for the position.

    Raises:
        InputError: the states of this model cannot be replaced during a run.
    """
    import torch

    if model.blocks is None:
        raise InputError(
            f"{flag(model.name)}: the layer search cannot replace the hidden states of a "
            f"{model.network.config.model_type}; give the layer: middle, last or a number"
        )
    tokens = model.encode(prompts)
    with torch.inference_mode():
        runs = [_clean(model, prompt) for prompt in tokens]
        states = torch.stack([states for states, _ in runs], dim=1)
        clean = np.stack([logits for _, logits in runs])
        ends = [[prompt[0], prompt[-1]] for prompt in tokens]
        found = [
            divergence(_patched(model, ends, layer, states[layer - 1]), clean)
            for layer in range(1, model.layers + 1)
        ]
    return np.stack(found, axis=1)


def divergence(logits: NDArray[np.floating], others: NDArray[np.floating]) -> Floats:
    """Return the Kullback-Leibler divergence D(P‖Q) of each row, in nats.

    P is the distribution of `logits`, Q that of `others`. Algorithm 2 prints
    KL_divergence(patched, clean); read as D(P‖Q), P is the patched run. (The first argument of
    torch's `kl_div` is Q.) A token with probability 0 under P adds nothing. A token with
    probability 0 only under Q makes the divergence infinite.
    """
    from scipy.special import log_softmax

    p, q = (log_softmax(np.asarray(rows, dtype=np.float64), axis=-1) for rows in (logits, others))
    mass = np.exp(p)
    return np.asarray((mass * np.subtract(p, q, out=np.zeros_like(p), where=mass > 0)).sum(axis=-1))


def _elbow(medians: Floats, otherwise: int) -> int:
    """Return the layer at the elbow of the divergences; the first of them is layer 1's.

    Returns `otherwise` if they have no elbow or are not finite.
    """
    if not np.isfinite(medians).all():
        return otherwise
    layer = elbow(tuple(enumerate(medians.tolist(), start=1)))
    return layer if layer > 1 else otherwise  # `elbow` returns the first point if there is no elbow


def _clean(model: CausalModel, tokens: Tokens) -> tuple[Any, NDArray[np.float32]]:
    """Return the last token's state at each layer from 1, and the logits of the next token.

    The states have shape (layers, hidden size).
    """
    import torch

    with watched(model.blocks[1:], lambda hidden: hidden[0, -1].clone()) as seen:
        hook = model.base.register_forward_hook(
            lambda *call: seen.append(call[-1].last_hidden_state[0, -1].clone())
        )
        try:
            logits = _next(model, [tokens])[0]
        finally:
            hook.remove()
    return torch.stack(seen), logits


def _patched(
    model: CausalModel, tokens: Sequence[Tokens], layer: int, states: Any
) -> NDArray[np.float32]:
    """Return the logits of the next token, with each prompt's last state at `layer` replaced.

    All prompts have the same length.
    """

    def into_block(
        _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        hidden = block_input(args, kwargs).clone()
        hidden[:, -1] = states
        return ((hidden, *args[1:]), kwargs) if args else (args, kwargs | {"hidden_states": hidden})

    def into_last(*call: Any) -> None:
        call[-1].last_hidden_state[:, -1] = states

    if layer == model.layers:
        hook = model.base.register_forward_hook(into_last)
    else:
        hook = model.blocks[layer].register_forward_pre_hook(into_block, with_kwargs=True)
    try:
        return _next(model, tokens)
    finally:
        hook.remove()


def _next(model: CausalModel, tokens: Sequence[Tokens]) -> NDArray[np.float32]:
    """Return the logits of the token after each prompt; all prompts have the same length.

    Only the last position's logits are computed, if the model has an option for that.
    """
    choice = (
        {"logits_to_keep": 1}
        if "logits_to_keep" in inspect.signature(model.network.forward).parameters
        else {}
    )
    logits = model.network(**model.padded(tokens), **choice).logits[:, -1]
    return np.asarray(logits.float().cpu().numpy())

"""Which layer of a causal language model to represent prompts by: AcTracer's search (Huang et al. 2024, appendix A.1.1, algorithm 2).

The paper finds no gain over the middle layer (its table 3), and calls the search worth more work. What a layer's states are is said in
`hidden.py`. torch is imported on first use.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.represent.causal_model import CausalModel, Tokens, block_input, watched
from judgeloop.represent.model_place import flag
from judgeloop.stats.cluster_search import elbow

PROMPTS = 64  # a median moves little with more, and each costs a pass of the model

Floats = NDArray[np.float64]


def search_layer(model: CausalModel, prompts: Sequence[str], rng: np.random.Generator) -> int:
    """The layer at the elbow of the divergences, a number k for transformers' `hidden_states[k]`; the middle one if there is none.

    The paper looks at all prompts; here, where there are more than `PROMPTS`, at so many drawn from `rng`.

    Raises:
        InputError: the states of this model cannot be exchanged from outside.
        ValueError: there are no prompts.
    """
    if not prompts:
        raise ValueError("expected at least one prompt to search a layer with")
    drawn = rng.choice(len(prompts), min(PROMPTS, len(prompts)), replace=False)
    medians = np.median(divergences(model, [prompts[position] for position in drawn]), axis=0)
    return _elbow(medians, otherwise=model.layers // 2)


def divergences(model: CausalModel, prompts: Sequence[str]) -> Floats:
    """How far the next token is from the clean run's when only layer k's last state is kept, shape (prompts, layers), k = 1, 2, ….

    Algorithm 2, lines 6 to 14: the state of the prompt's last token goes into a run on the prompt's first and last token alone, in the
    place of the last token's. k = 0, the embeddings, is left out: there the run's own state is the prompt's but for the position.

    Raises:
        InputError: the states of this model cannot be exchanged from outside.
    """
    import torch

    if model.blocks is None:
        raise InputError(
            f"{flag(model.name)}: the layer search cannot reach into a {model.network.config.model_type}; "
            "give the layer: middle, last or a number"
        )
    tokens = model.encode(prompts)
    with torch.inference_mode():
        runs = [_clean(model, one) for one in tokens]
        states = torch.stack([states for states, _ in runs], dim=1)
        clean = np.stack([logits for _, logits in runs])
        ends = [[one[0], one[-1]] for one in tokens]
        found = [
            divergence(_patched(model, ends, layer, states[layer - 1]), clean)
            for layer in range(1, model.layers + 1)
        ]
    return np.stack(found, axis=1)


def divergence(logits: NDArray[np.floating], others: NDArray[np.floating]) -> Floats:
    """The Kullback-Leibler divergence D(P‖Q) of each row in nats: P the distribution of `logits`, Q that of `others`.

    Algorithm 2 prints KL_divergence(patched, clean), which is read in the order of the notation: P is the patched run. (Of torch's
    `kl_div` the first argument is Q.) A token that P rules out adds nothing; one that only Q rules out makes it infinite.
    """
    from scipy.special import log_softmax

    p, q = (log_softmax(np.asarray(one, dtype=np.float64), axis=-1) for one in (logits, others))
    mass = np.exp(p)
    return np.asarray((mass * np.subtract(p, q, out=np.zeros_like(p), where=mass > 0)).sum(axis=-1))


def _elbow(medians: Floats, otherwise: int) -> int:
    """The layer at the elbow of the divergences from layer 1 on; `otherwise`, where they do not bend or are not finite."""
    if not np.isfinite(medians).all():
        return otherwise
    layer = elbow(tuple(enumerate(medians.tolist(), start=1)))
    return layer if layer > 1 else otherwise  # the first is its answer where there is no bend


def _clean(model: CausalModel, tokens: Tokens) -> tuple[Any, NDArray[np.float32]]:
    """The last token's state at each layer from 1, shape (layers, hidden size), and the logits of the next token."""
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
    """The logits of the next token with each prompt's last state at `layer` exchanged; prompts of one length."""

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
    """The logits of the token after each prompt, prompts of one length; of the last position only, where the model lets choose."""
    choice = (
        {"logits_to_keep": 1}
        if "logits_to_keep" in inspect.signature(model.network.forward).parameters
        else {}
    )
    logits = model.network(**model.padded(tokens), **choice).logits[:, -1]
    return np.asarray(logits.float().cpu().numpy())

"""How long the hidden states of many prompts take, beside the plain way: one prompt at a time, and all layers of it.

    python benchmarks/hidden_states.py MODEL [--prompts 4000] [--plain 500] [--layer middle] [--longest 40]

Prompts are random letters, digits and spaces, up to `--longest` of them. The plain way is timed on the first `--plain` prompts; that both
give the same is asserted. Loading the model is timed apart, and is in neither.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from judgeloop.represent.causal_model import CausalModel, load
from judgeloop.represent.hidden import TOGETHER, _number, _read
from judgeloop.represent.model_place import find_place

CHARACTERS = list("abcdefghijklmnopqrstuvwxyz0123456789 ")


def make_prompts(count: int, longest: int, rng: np.random.Generator) -> list[str]:
    """Random prompts of 5 to `longest` characters."""
    lengths = rng.integers(5, longest + 1, count)
    return ["".join(rng.choice(CHARACTERS, length)) for length in lengths]


def plain(model: CausalModel, prompts: list[str], layer: int) -> NDArray[np.float32]:
    """The same by the model with its head, all of its states, and the last token's picked."""
    import torch

    found = []
    for tokens in model.encode(prompts):
        with torch.no_grad():
            out = model.network(**model.padded([tokens]), output_hidden_states=True)
        found.append(out.hidden_states[layer][0, -1].float().cpu().numpy())
    return np.stack(found)


def main() -> None:
    """Print the seconds, and how many times as long the plain way takes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--prompts", type=int, default=4000)
    parser.add_argument("--plain", type=int, default=500, help="prompts to read plainly as well")
    parser.add_argument("--layer", default="middle", help="middle, last or a number")
    parser.add_argument("--longest", type=int, default=40, help="characters of the longest prompt")
    arguments = parser.parse_args()
    prompts = make_prompts(arguments.prompts, arguments.longest, np.random.default_rng(0))
    began = time.perf_counter()
    model = load(find_place(arguments.model))
    layer = _number(model, int(arguments.layer) if arguments.layer.isdigit() else arguments.layer)
    loaded = time.perf_counter()
    ours = _read(model, prompts, layer, TOGETHER)
    read = time.perf_counter()
    theirs = plain(model, prompts[: arguments.plain], layer)
    took, plainly = read - loaded, time.perf_counter() - read
    assert np.allclose(ours[: len(theirs)], theirs, rtol=1e-2, atol=1e-3)
    ratio = (plainly / len(theirs)) / (took / len(ours))
    print(f"layer {layer} of {model.layers}, {ours.shape[1]} wide, on {model.network.device}")
    print(f"loading, and what is imported for it  {loaded - began:>8.2f} s")
    print(f"{len(ours):>5} prompts                         {took:>8.2f} s")
    print(
        f"{len(theirs):>5} prompts, one at a time          {plainly:>8.2f} s   {ratio:.1f} times as long a prompt"
    )


if __name__ == "__main__":
    main()

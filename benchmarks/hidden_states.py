"""How long the hidden states of many prompts take, beside the plain way: one prompt at a time, and all layers of it.

    python benchmarks/hidden_states.py MODEL [--prompts 1000,4000,18000] [--plain 500] [--layer middle] [--longest 40]

Prompts are random letters, digits and spaces, up to `--longest` of them; there is a line for each number of them. The plain way is timed on
the first `--plain` prompts; that both give the same is asserted. Loading the model is timed apart, and is in neither.
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
    parser.add_argument("--prompts", default="1000,4000,18000", help="how many, by commas")
    parser.add_argument("--plain", type=int, default=500, help="prompts to read plainly as well")
    parser.add_argument("--layer", default="middle", help="middle, last or a number")
    parser.add_argument("--longest", type=int, default=40, help="characters of the longest prompt")
    arguments = parser.parse_args()
    numbers = [int(number) for number in arguments.prompts.split(",")]
    prompts = make_prompts(max(numbers), arguments.longest, np.random.default_rng(0))
    began = time.perf_counter()
    model = load(find_place(arguments.model))
    layer = _number(model, int(arguments.layer) if arguments.layer.isdigit() else arguments.layer)
    print(f"layer {layer} of {model.layers}, on {model.network.device}")
    print(f"loading, and what is imported for it  {time.perf_counter() - began:>8.2f} s")
    began = time.perf_counter()
    theirs = plain(model, prompts[: arguments.plain], layer)
    plainly = (time.perf_counter() - began) / len(theirs)
    print(f"{len(theirs):>7,} prompts, one at a time        {plainly * len(theirs):>8.2f} s")
    for number in numbers:
        began = time.perf_counter()
        ours = _read(model, prompts[:number], layer, TOGETHER)
        took = time.perf_counter() - began
        both = min(number, len(theirs))
        assert np.allclose(ours[:both], theirs[:both], rtol=1e-2, atol=1e-3)
        print(
            f"{number:>7,} prompts                        {took:>8.2f} s   one at a time {plainly * number / took:.1f} x"
        )


if __name__ == "__main__":
    main()

r"""Time to compute hidden states of many prompts in batches, against one prompt at a time.

    python benchmarks/hidden_states.py MODEL [--prompts 1000,4000,18000] [--plain 500] \
        [--layer middle] [--longest 40]

MODEL is a folder or a name on the hub. Prompts are random letters, digits and spaces, 5 to
`--longest` characters. The output has a line for each number of prompts. The baseline reads one
prompt at a time and keeps the states of all layers. It is timed on the first `--plain` prompts, and
both results are asserted to be equal up to rounding. The time to load the model is printed apart
and is in neither figure.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.work import Work
from judgeloop.papers.actracer.hidden import CausalModel, _number, _read, find_place, load

CHARACTERS = list("abcdefghijklmnopqrstuvwxyz0123456789 ")


def make_prompts(count: int, longest: int, rng: np.random.Generator) -> list[str]:
    """Return random prompts of 5 to `longest` characters."""
    lengths = rng.integers(5, longest + 1, count)
    return ["".join(rng.choice(CHARACTERS, length)) for length in lengths]


def plain(model: CausalModel, prompts: list[str], layer: int) -> NDArray[np.float32]:
    """Compute the hidden states prompt by prompt, shape (prompts, hidden size): the baseline.

    The full model, with its head, returns the states of all layers and tokens. The last token's
    state at `layer` is taken from them.
    """
    import torch

    found = []
    for tokens in model.encode(prompts):
        with torch.no_grad():
            out = model.network(**model.padded([tokens]), output_hidden_states=True)
        found.append(out.hidden_states[layer][0, -1].float().cpu().numpy())
    return np.stack(found)


def main() -> None:
    """Print the seconds, and how many times as long the baseline takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--prompts", default="1000,4000,18000", help="numbers of prompts, separated by commas")
    parser.add_argument("--plain", type=int, default=500, help="number of prompts for the baseline")
    parser.add_argument("--layer", default="middle", help="middle, last or the number of a layer")
    parser.add_argument("--longest", type=int, default=40, help="maximum number of characters in a prompt, at least 5")
    arguments = parser.parse_args()
    numbers = [int(number) for number in arguments.prompts.split(",")]
    prompts = make_prompts(max(numbers), arguments.longest, np.random.default_rng(0))
    began = time.perf_counter()
    model = load(find_place(arguments.model))
    layer = _number(model, int(arguments.layer) if arguments.layer.isdigit() else arguments.layer)
    print(f"layer {layer} of {model.layers}, on {model.network.device}")
    print(f"imports and loading of the model      {time.perf_counter() - began:>8.2f} s")
    began = time.perf_counter()
    theirs = plain(model, prompts[: arguments.plain], layer)
    plainly = (time.perf_counter() - began) / len(theirs)
    print(f"{len(theirs):>7,} prompts, one at a time        {plainly * len(theirs):>8.2f} s")
    for number in numbers:
        began = time.perf_counter()
        ours = _read(model, prompts[:number], layer, Work("prompts", number))
        took = time.perf_counter() - began
        both = min(number, len(theirs))
        assert np.allclose(ours[:both], theirs[:both], rtol=1e-2, atol=1e-3)
        print(
            f"{number:>7,} prompts                        {took:>8.2f} s   one at a time {plainly * number / took:.1f} x"
        )


if __name__ == "__main__":
    main()

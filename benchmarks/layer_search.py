r"""The layer that AcTracer's algorithm 2 finds for the prompts of a file, and how long that takes.

    python benchmarks/layer_search.py MODEL ITEMS [--prompts N]

MODEL is a folder or a name on the hub, ITEMS a file with a `prompt` in each line (JSONL). Prints the
median divergence at each layer, the layer at their elbow, and the seconds, without those that loading
the model takes. On a busy machine the seconds of the processor say more. Nothing is read from a cache
or kept. Needs the extra `judgeloop[embed]`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from judgeloop.core.work import Work
from judgeloop.formats.rows import read_items
from judgeloop.papers.actracer.hidden import find_place, in_parts, load
from judgeloop.papers.actracer.layer import at_elbow, divergences


def main() -> None:
    """Print the divergences, the layer, and the seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("items", type=Path)
    parser.add_argument("--prompts", type=int, help="number of prompts, the first of the file; all by default")
    arguments = parser.parse_args()
    prompts = [located.row.prompt or "" for located in read_items(arguments.items).rows][: arguments.prompts]
    model = load(find_place(arguments.model))
    began, used, tell = time.perf_counter(), time.process_time(), Work("prompts", len(prompts))
    medians = np.median(in_parts(prompts, lambda texts: divergences(model, texts, tell)), axis=0)
    took, used = time.perf_counter() - began, time.process_time() - used
    print("layer  median divergence, nats")
    for layer, median in enumerate(medians, start=1):
        print(f"{layer:>5}  {median:.4f}")
    seconds = f"{took:.1f} s ({used:.1f} s of a processor) on {model.network.device}"
    print(f"layer {at_elbow(medians)} of {model.layers}: {len(prompts):,} prompts, {seconds}")


if __name__ == "__main__":
    main()

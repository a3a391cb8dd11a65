"""Whether embedding texts by batches on the workers of a Dask cluster is faster than in one process.

    python benchmarks/embed_batches.py FILE.jsonl [--workers 2] [--texts 2000] [--repeats 3]

Needs the extras `embed` and `cluster`. FILE has an output a line, in the field `output`. Each way embeds the
same texts with MiniLM, with the models loaded before. In one process torch uses all cores; the workers share
them. Prints the least seconds of each way, in turns, and the greatest difference between the vectors.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgeloop.papers.vectors import find_model

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH = 64


@cache
def loaded(model: str, threads: int) -> SentenceTransformer:
    """Return the model, loaded once a process."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    return SentenceTransformer(model)


def embedded(texts: list[str], model: str, threads: int) -> npt.NDArray[np.floating]:
    """Return the vectors of texts."""
    return np.asarray(loaded(model, threads).encode(texts, batch_size=BATCH, normalize_embeddings=True))


def main() -> None:
    """Print the seconds of each way."""
    from dask.distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with arguments.file.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["output"] for line in itertools.islice(lines, arguments.texts)]
    cores = os.cpu_count() or 1
    each = partial(embedded, model=find_model(None), threads=max(1, cores // arguments.workers))
    alone = partial(embedded, model=find_model(None), threads=cores)
    batches = [texts[i : i + 4 * BATCH] for i in range(0, len(texts), 4 * BATCH)]
    with LocalCluster(n_workers=arguments.workers, threads_per_worker=1) as cluster, Client(cluster) as client:
        client.run(each, texts[:1])
        alone(texts[:1])
        took: dict[str, list[float]] = {"one process": [], f"{arguments.workers} workers": []}
        for _ in range(arguments.repeats):
            for way, seconds in took.items():
                began = time.perf_counter()
                if way == "one process":
                    first = alone(texts)
                else:
                    second = np.concatenate(client.gather(client.map(each, batches, pure=False)))
                seconds.append(time.perf_counter() - began)
    for way, seconds in took.items():
        print(f"{way:<12}{min(seconds):8.1f} s for {len(texts)} texts")
    print(f"greatest difference of a coordinate: {abs(first - second).max():.1g}")


if __name__ == "__main__":
    main()

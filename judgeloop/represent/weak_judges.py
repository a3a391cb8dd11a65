"""Computes the opinions of weak judges on the systems' outputs, with likelihoods cached on disk.

`methods/stats/weak_opinions.py` defines a weak judge. The folder is opened by `cache.py`. A
lost or corrupt folder costs only computing time, and so does a missing diskcache.
"""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.weak_opinions import likelihoods, opinions
from judgeloop.represent.cache import kept

VERSION = "weak-judges.1"  # part of cache keys: increase it when code changes a likelihood
# Few likelihoods are in memory at a time, and an interrupted run keeps what it has computed.
QUERIES_AT_A_TIME = 256

Texts = tuple[str, ...]  # the outputs of all systems for one query
Likelihoods = NDArray[np.float64]  # shape (weak judges, systems)


def weak_opinions(outputs: Sequence[Sequence[str]], baseline: int, judges: int, folder: Path) -> NDArray[np.int8]:
    """Return weak judges' opinions on each system against `baseline`.

    The shape is (judges, queries, systems). `outputs` holds the texts by system, then by query.
    The k-th of `judges` weak judges uses sequences of k words. An opinion is 1 if the system wins,
    0 for a tie, -1 if it loses. Equal texts tie, and an empty text loses to every other text. The
    baseline ties with itself. The likelihoods are cached in `folder`; they do not depend on the
    baseline.
    """
    queries = list(zip(*outputs, strict=True))
    found = np.empty((judges, len(queries), len(outputs)), dtype=np.int8)
    for begin in range(0, len(queries), QUERIES_AT_A_TIME):
        some = queries[begin : begin + QUERIES_AT_A_TIME]
        for position, likely in enumerate(_likelihoods(some, judges, folder), begin):
            found[:, position] = opinions(likely, baseline)
    return found


def _likelihoods(queries: Sequence[Texts], judges: int, folder: Path) -> list[Likelihoods]:
    """Return the likelihoods of each query, from the cache or computed and stored there."""
    keys = [_key(texts, judges) for texts in queries]
    found = kept(
        dict(zip(keys, queries, strict=True)),
        lambda some: [likelihoods(texts, judges) for texts in some],
        lambda data, texts: _read(data, (judges, len(texts))),
        folder,
    )
    return [found[key] for key in keys]


def _key(texts: Texts, judges: int) -> str:
    """Return a hash of the texts in their order.

    Each text follows its length, so that different lists of texts never give the same bytes.
    """
    digest = hashlib.sha256(f"{VERSION}\0{judges}\0{len(texts)}\0".encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d\0" % len(data))
        digest.update(data)
    return digest.hexdigest()


def _read(data: bytes | None, shape: tuple[int, int]) -> Likelihoods | None:
    """Return the likelihoods that are stored; None of what cannot be some of this shape."""
    if data is None or len(data) != math.prod(shape) * np.dtype(np.float64).itemsize:
        return None
    likely = np.frombuffer(data, dtype=np.float64).reshape(shape)
    # A likelihood is a mean of probabilities, up to rounding.
    return likely if ((likely >= 0) & (likely <= 1 + 1e-9)).all() else None

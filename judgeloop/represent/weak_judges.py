"""Texts to the opinions of weak judges, with what is costly to compute kept on disk.

What a weak judge is stands in `stats/kgrams.py` and `stats/weak.py`. The folder is `cache.py`'s: losing or corrupting it costs time
and nothing else.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import diskcache
import numpy as np
from numpy.typing import NDArray

from judgeloop.represent.cache import opened
from judgeloop.stats.kgrams import likelihoods
from judgeloop.stats.weak import opinions

VERSION = "weak-judges.1"  # to be changed with whatever changes a likelihood
QUERIES_AT_A_TIME = (
    256  # so that few likelihoods are in memory, and an interrupted run keeps what it had
)

Texts = tuple[str, ...]  # the outputs of all systems for one query
Likelihoods = NDArray[np.float64]  # shape (weak judges, systems)


def weak_opinions(
    outputs: Sequence[Sequence[str]], baseline: int, judges: int, folder: Path
) -> NDArray[np.int8]:
    """What `judges` weak judges think of each system against `baseline`, by query; shape (judges, queries, systems).

    `outputs` holds the texts by system, then by query. The k-th judge looks at sequences of k words. 1 says that the system wins, 0 a
    tie, -1 that it loses. Equal texts tie; an empty one loses to every other and ties with an empty one; the baseline ties with
    itself, so that with one system all is 0. The likelihoods are kept in `folder`, whichever system is the baseline.

    Raises:
        ValueError: the systems have outputs for different numbers of queries, or there is no such baseline, or no judge.
    """
    if not 0 <= baseline < len(outputs):
        raise ValueError(f"the baseline is system {baseline} of {len(outputs)}")
    if judges < 1:
        raise ValueError(f"expected at least one weak judge, found {judges}")
    queries = list(zip(*outputs, strict=True))
    try:
        with opened(folder) as cache:
            return _all_opinions(
                queries, baseline, (judges, len(outputs)), partial(_kept, cache=cache)
            )
    except (sqlite3.DatabaseError, diskcache.Timeout):
        # The folder cannot be read or written: it is left as it is, and done without.
        return _all_opinions(queries, baseline, (judges, len(outputs)), _computed)


Find = Callable[[Sequence[Texts], int], Iterator[Likelihoods]]


def _all_opinions(
    queries: Sequence[Texts], baseline: int, shape: tuple[int, int], find: Find
) -> NDArray[np.int8]:
    """The opinions on `queries` for likelihoods of `shape`, which `find` finds."""
    judges, systems = shape
    found = np.empty((judges, len(queries), systems), dtype=np.int8)
    for begin in range(0, len(queries), QUERIES_AT_A_TIME):
        some = queries[begin : begin + QUERIES_AT_A_TIME]
        for position, likely in enumerate(find(some, judges), begin):
            found[:, position] = opinions(likely, baseline)
    return found


def _computed(queries: Sequence[Texts], judges: int) -> Iterator[Likelihoods]:
    return (likelihoods(texts, judges) for texts in queries)


def _kept(
    queries: Sequence[Texts], judges: int, *, cache: diskcache.Cache
) -> Iterator[Likelihoods]:
    """The likelihoods of each query: those in `cache`, and the others computed and put there."""
    keys = [_key(texts, judges) for texts in queries]
    found = _read(cache, dict(zip(keys, ((judges, len(texts)) for texts in queries), strict=True)))
    missing = {k: texts for k, texts in zip(keys, queries, strict=True) if k not in found}
    new = {key: likelihoods(texts, judges) for key, texts in missing.items()}
    if new:
        with cache.transact():
            for key, likely in new.items():
                cache.set(key, likely.tobytes())
    return (found[key] if key in found else new[key] for key in keys)


def _key(texts: Texts, judges: int) -> str:
    """A hash of the texts in their order; each after its length, so that no two lists of texts run into the same bytes."""
    digest = hashlib.sha256(f"{VERSION}\0{judges}\0{len(texts)}\0".encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d\0" % len(data))
        digest.update(data)
    return digest.hexdigest()


def _read(cache: diskcache.Cache, shapes: dict[str, tuple[int, int]]) -> dict[str, Likelihoods]:
    """What `cache` holds under the keys of `shapes`; what cannot be likelihoods of that shape is absent."""
    with cache.transact():
        kept = {key: cache.get(key) for key in shapes}
    found = {}
    for key, data in kept.items():
        judges, systems = shapes[key]
        if data is None or len(data) != judges * systems * np.dtype(np.float64).itemsize:
            continue
        likely = np.frombuffer(data, dtype=np.float64).reshape(judges, systems)
        if ((likely >= 0) & (likely <= 1 + 1e-9)).all():  # a mean of probabilities, up to rounding
            found[key] = likely
    return found

"""Computes the opinions of weak judges on the systems' outputs, with likelihoods cached on disk.

`methods/stats/weak_opinions.py` defines a weak judge. The folder is opened by `cache.py`. A
lost or corrupt folder costs only computing time, and so does a missing diskcache.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.weak_opinions import likelihoods, opinions
from judgeloop.represent.cache import Store, UnusableError, opened

VERSION = "weak-judges.1"  # part of cache keys: increase it when code changes a likelihood
# Few likelihoods are in memory at a time, and an interrupted run keeps what it has computed.
QUERIES_AT_A_TIME = 256

Texts = tuple[str, ...]  # the outputs of all systems for one query
Likelihoods = NDArray[np.float64]  # shape (weak judges, systems)


def weak_opinions(
    outputs: Sequence[Sequence[str]], baseline: int, judges: int, folder: Path
) -> NDArray[np.int8]:
    """Return weak judges' opinions on each system against `baseline`.

    The shape is (judges, queries, systems). `outputs` holds the texts by system, then by query.
    The k-th of `judges` weak judges uses sequences of k words. An opinion is 1 if the system wins,
    0 for a tie, -1 if it loses. Equal texts tie, and an empty text loses to every other text. The
    baseline ties with itself. The likelihoods are cached in `folder`; they do not depend on the
    baseline.

    Raises:
        ValueError: the systems have different numbers of outputs, `baseline` is not the number of a
            system, or `judges` is below 1.
    """
    if not 0 <= baseline < len(outputs):
        raise ValueError(f"the baseline is system {baseline} of {len(outputs)}")
    if judges < 1:
        raise ValueError(f"expected at least one weak judge, found {judges}")
    queries = list(zip(*outputs, strict=True))
    found = np.empty((judges, len(queries), len(outputs)), dtype=np.int8)
    try:
        with opened(folder) as cache:
            for begin in range(0, len(queries), QUERIES_AT_A_TIME):
                some = queries[begin : begin + QUERIES_AT_A_TIME]
                for position, likely in enumerate(_kept(some, judges, cache), begin):
                    found[:, position] = opinions(likely, baseline)
    except UnusableError:
        for position, texts in enumerate(queries):
            found[:, position] = opinions(likelihoods(texts, judges), baseline)
    return found


def _kept(queries: Sequence[Texts], judges: int, cache: Store) -> Iterator[Likelihoods]:
    """Return the likelihoods of each query, from `cache` or computed and stored there."""
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
    """Return a hash of the texts in their order.

    Each text follows its length, so that different lists of texts never give the same bytes.
    """
    digest = hashlib.sha256(f"{VERSION}\0{judges}\0{len(texts)}\0".encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d\0" % len(data))
        digest.update(data)
    return digest.hexdigest()


def _read(cache: Store, shapes: dict[str, tuple[int, int]]) -> dict[str, Likelihoods]:
    """Return the likelihoods in `cache` under the keys of `shapes`.

    An entry that cannot be likelihoods of its shape counts as absent.
    """
    with cache.transact():
        kept = {key: cache.get(key) for key in shapes}
    found = {}
    for key, data in kept.items():
        judges, systems = shapes[key]
        if data is None or len(data) != judges * systems * np.dtype(np.float64).itemsize:
            continue
        likely = np.frombuffer(data, dtype=np.float64).reshape(judges, systems)
        # A likelihood is a mean of probabilities, up to rounding.
        if ((likely >= 0) & (likely <= 1 + 1e-9)).all():
            found[key] = likely
    return found

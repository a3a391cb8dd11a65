"""Weak judges: their opinions on which systems beat the baseline, from k-gram likelihoods of the outputs.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models", section 2.3.1 and appendix D. The
likelihoods are cached on disk (`vectors.py`): a lost or corrupt folder costs only computing time.
"""

import hashlib
import math
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.papers.vectors import kept

VERSION = "weak-judges.1"  # part of cache keys: increase it when code changes a likelihood
# Few likelihoods are in memory at a time, and an interrupted run keeps what it has computed.
QUERIES_AT_A_TIME = 256
SAME = 1e-12  # relative: a smaller difference between likelihoods is rounding
Ints = NDArray[np.int64]
Texts = tuple[str, ...]  # the outputs of all systems for one query
Likelihoods = NDArray[np.float64]  # shape (weak judges, systems)


def likelihoods(texts: Sequence[str], orders: int) -> NDArray[np.float64]:
    """The mean word probability of each text for k = 1 … `orders`, shape (orders, texts): section 2.3.1.

    A word is what stands between white space. Its probability is that of the word after the k - 1 words before it,
    counted over all the texts, without smoothing. A start marker precedes each text's first word. A text without words
    has 0.
    """
    words = [text.split() for text in texts]
    lengths = np.array([len(own) for own in words], dtype=np.int64)
    likely = np.zeros((orders, len(texts)))
    if not lengths.sum():
        return likely
    number: dict[str, int] = {}
    stream = np.array([number.setdefault(word, len(number)) for word in chain.from_iterable(words)])
    text_of = np.repeat(np.arange(len(texts)), lengths)
    first = np.concatenate([[True], text_of[1:] != text_of[:-1]])
    for order, probabilities in enumerate(_probabilities(stream, first, len(number), orders)):
        sums = np.bincount(text_of, weights=probabilities, minlength=len(texts))
        likely[order] = np.divide(sums, lengths, out=np.zeros(len(texts)), where=lengths > 0)
    return likely


def _probabilities(stream: Ints, first: NDArray[np.bool_], words: int, orders: int) -> list[NDArray[np.float64]]:
    """Compute the probability of every word of the stream given those before it, for each order.

    After a context that occurs once, the word is certain. The same holds for all longer contexts
    that end with this context. Only words after a repeated context are therefore counted, and there
    are fewer of them with every order.
    """
    has_next = np.concatenate([~first[1:], [False]])
    starts = np.flatnonzero(first)
    found = []
    places, contexts = np.arange(len(stream)), np.zeros(len(stream), dtype=np.int64)
    for _ in range(orders):
        occurrences = np.bincount(contexts)
        _, gram, counts = np.unique(contexts * words + stream[places], return_inverse=True, return_counts=True)
        probabilities = np.ones(len(stream))
        probabilities[places] = counts[gram] / occurrences[contexts]
        found.append(probabilities)
        followed = has_next[places]
        places = np.concatenate([starts, places[followed] + 1])
        contexts = np.concatenate([np.zeros(len(starts), dtype=np.int64), gram[followed] + 1])
        repeated = np.bincount(contexts)[contexts] > 1
        # The groups that are left are numbered from 0 without gaps.
        places, contexts = places[repeated], np.unique(contexts[repeated], return_inverse=True)[1]
    return found


def opinions(likelihoods: NDArray[np.float64], baseline: int) -> NDArray[np.int8]:
    """Each weak judge's opinion of each system against the baseline (section 2.3.1).

    1 means that the system wins, 0 a tie, -1 that it loses. `likelihoods` has the shape (weak
    judges, systems), and so has the result. The likelier text wins. Equally likely texts tie, so
    the baseline ties with itself and with every copy of its text.
    """
    own = likelihoods[:, [baseline]]
    larger = np.maximum(np.abs(likelihoods), np.abs(own))
    ahead = likelihoods - own
    return np.where(np.abs(ahead) <= SAME * larger, 0, np.sign(ahead)).astype(np.int8)


def weak_opinions(outputs: Sequence[Sequence[str]], baseline: int, judges: int, folder: Path) -> NDArray[np.int8]:
    """Weak judges' opinions on each system against `baseline`.

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
    """The likelihoods of each query, from the cache or computed and stored there."""
    keys = [_key(texts, judges) for texts in queries]
    found = kept(
        dict(zip(keys, queries, strict=True)),
        lambda some: [likelihoods(texts, judges) for texts in some],
        lambda data, texts: _read(data, (judges, len(texts))),
        folder,
    )
    return [found[key] for key in keys]


def _key(texts: Texts, judges: int) -> str:
    """A hash of the texts in their order.

    Each text follows its length, so that different lists of texts never give the same bytes.
    """
    digest = hashlib.sha256(f"{VERSION}\0{judges}\0{len(texts)}\0".encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d\0" % len(data))
        digest.update(data)
    return digest.hexdigest()


def _read(data: bytes | None, shape: tuple[int, int]) -> Likelihoods | None:
    """The likelihoods that are stored; None of what cannot be some of this shape."""
    if data is None or len(data) != math.prod(shape) * np.dtype(np.float64).itemsize:
        return None
    likely = np.frombuffer(data, dtype=np.float64).reshape(shape)
    # A likelihood is a mean of probabilities, up to rounding.
    return likely if ((likely >= 0) & (likely <= 1 + 1e-9)).all() else None

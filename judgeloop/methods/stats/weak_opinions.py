"""Opinions of weak judges on which systems beat the baseline, from k-gram likelihoods of texts.

The weak judges of LLM Selector: Durmazkeser et al. (2025), "Active Model Selection for Large
Language Models", section 2.3.1 and appendix D. `methods/stats/information.py` uses the opinions.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

SAME = 1e-12  # relative: a smaller difference between likelihoods is rounding
Ints = NDArray[np.int64]


def likelihoods(texts: Sequence[str], orders: int) -> NDArray[np.float64]:
    """Compute the mean word probability of each text for k = 1 … `orders`; shape (orders, texts).

    A word is what stands between white space. Its probability is that of the word after the k - 1
    words before it, counted over all the texts, without smoothing. A start marker precedes each
    text's first word. A text's likelihood is the mean of its words' probabilities: Durmazkeser et
    al. (2025), section 2.3.1. A text without words has 0.
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
        places, contexts = places[repeated], _renumbered(contexts[repeated])
    return found


def _renumbered(numbers: Ints) -> Ints:
    """Renumber the groups from 0 without gaps."""
    return np.unique(numbers, return_inverse=True)[1]


def opinions(likelihoods: NDArray[np.float64], baseline: int) -> NDArray[np.int8]:
    """Return each weak judge's opinion of each system against the baseline (section 2.3.1).

    1 means that the system wins, 0 a tie, -1 that it loses. `likelihoods` has the shape (weak
    judges, systems), and so has the result. The likelier text wins. Equally likely texts tie, so
    the baseline ties with itself and with every copy of its text.
    """
    own = likelihoods[:, [baseline]]
    larger = np.maximum(np.abs(likelihoods), np.abs(own))
    ahead = likelihoods - own
    return np.where(np.abs(ahead) <= SAME * larger, 0, np.sign(ahead)).astype(np.int8)


def ensemble(opinions: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the joint opinion of all weak judges: 1 a win, 0 a tie, -1 a loss (appendix D).

    `opinions` has the shape (weak judges, queries, systems), the result (queries, systems). The
    mean of win 1, tie ½ and loss 0 is a win from 2/3 on and a tie from 1/3 on. With s the sum of
    the opinions of z weak judges, that mean is (1 + s/z)/2. So the conditions are 3s ≥ z and 3s ≥
    -z, which integers decide without rounding.
    """
    thrice = 3 * opinions.sum(axis=0, dtype=np.int64)
    judges = len(opinions)
    return np.where(thrice >= judges, 1, np.where(thrice >= -judges, 0, -1)).astype(np.int8)

"""Embeds the texts of a replay: here, or by parts on the workers of its cluster.

Returns vectors. Which texts are embedded is not decided here.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.replay.cluster import results
from judgeloop.represent.embed import BATCH, Sentences, embed_sentences

PART = 4 * BATCH  # texts that a worker embeds at a time


def sentences_of(engine: str | None) -> Sentences:
    """Return what embeds sentences with a model: on the workers of `engine`, or here."""
    return partial(_spread, engine) if engine else embed_sentences


def _spread(engine: str, texts: Sequence[str], model: str) -> NDArray[np.floating]:
    """Return unit vectors of `texts`; each worker needs the model in the same place.

    Texts of like length go together, as they do in one process: shorter ones are padded.
    """
    order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
    parts = [order[begin : begin + PART] for begin in range(0, len(order), PART)]
    calls = [(_part, part, [texts[place] for place in part], model) for part in parts]
    places, vectors = zip(*results(engine, calls, []), strict=True)
    return np.asarray(np.concatenate(vectors)[np.argsort(np.concatenate(places))])


def _part(places: list[int], texts: list[str], model: str) -> tuple[Any, ...]:
    return places, embed_sentences(texts, model)

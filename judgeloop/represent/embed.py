"""Vectors of texts, by the representation that a flag names.

Which texts, and what the vectors are for, is the business of whoever asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Representing(Protocol):
    """A configuration that names a representation."""

    @property
    def represent(self) -> str:
        """`lexical`, `minilm` or `minilm:FOLDER`."""
        ...

    @property
    def seed(self) -> int:
        """Starts all random numbers."""
        ...

    @property
    def cache_dir(self) -> Path:
        """Where a model's vectors are kept."""
        ...


def embed(texts: Sequence[str], config: Representing) -> NDArray[np.floating]:
    """Vectors of `texts` by the representation that `config` names, shape (texts, dimensions)."""
    kind, _, folder = config.represent.partition(":")
    if kind == "lexical":
        from judgeloop.represent.lexical import embed_lexical

        return embed_lexical(texts, config.seed)
    from judgeloop.represent.cache import cached
    from judgeloop.represent.sentence import embed_sentences, find_model

    model = find_model(folder or None)
    remember = cached(
        lambda missing: embed_sentences(missing, model),
        model=model,
        folder=config.cache_dir / "embeddings",
    )
    return remember(texts)

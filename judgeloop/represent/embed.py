"""Vectors of texts, by the name of a representation.

It does not say which texts to represent, nor what the vectors are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def embed(
    texts: Sequence[str], represent: str, *, seed: int, cache_dir: Path
) -> NDArray[np.floating]:
    """Vectors of `texts`, shape (texts, dimensions).

    `represent` is `lexical`, `minilm` or `minilm:FOLDER`; vectors of a model are kept in
    `cache_dir`. `seed` starts the random numbers of a reduction.
    """
    kind, _, folder = represent.partition(":")
    if kind == "lexical":
        from judgeloop.represent.lexical import embed_lexical

        return embed_lexical(texts, seed)
    from judgeloop.represent.cache import cached
    from judgeloop.represent.sentence import embed_sentences, find_model

    model = find_model(folder or None)
    remember = cached(
        lambda missing: embed_sentences(missing, model),
        model=model,
        folder=cache_dir / "embeddings",
    )
    return remember(texts)

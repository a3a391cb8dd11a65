"""Computes vectors of texts in a representation that the user names: lexical or minilm.

`hidden.py` has the representation by hidden states.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def embed(
    texts: Sequence[str], represent: str, *, seed: int, cache_dir: Path
) -> NDArray[np.floating]:
    """Return vectors of `texts`, shape (texts, dimensions).

    `represent` is `lexical`, `minilm` or `minilm:FOLDER`. Vectors of a model are cached in
    `cache_dir`. `seed` seeds the random reduction of `lexical`.
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

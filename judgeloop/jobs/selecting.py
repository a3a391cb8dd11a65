"""The selector that a configuration names, with the vectors that it looks at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.config import CompareConfig, ReplayConfig
from judgeloop.pool import Pool
from judgeloop.protocols import Selector
from judgeloop.selectors.making import Variant, make_selector
from judgeloop.stats.combining import combined


def selector_for(config: CompareConfig, pool: Pool) -> Selector[Any]:
    """The selector, its vectors embedded if it looks at any."""
    variant = Variant(config.combine, config.clustering, config.representative)
    vectors = None if config.selector == "random" else _vectors(config, pool)
    return make_selector(config.selector, vectors, start=config.min_judgments, variant=variant)


def _vectors(config: CompareConfig, pool: Pool) -> NDArray[np.floating]:
    """One vector an item, shape (items, dimensions)."""
    if config.selector == "input-cluster":
        return embed([item.prompt for item in pool.items], config)
    first, second = pool.outputs
    both = embed([*first, *second], config)
    return combined(config.combine, both[: len(pool)], both[len(pool) :])


def embed(texts: Sequence[str], config: CompareConfig | ReplayConfig) -> NDArray[np.floating]:
    """Vectors of `texts` by the representation that `config` names, shape (texts, dimensions)."""
    kind, _, folder = config.represent.partition(":")
    if kind == "lexical":
        from judgeloop.represent.lexical import embed_lexical

        return embed_lexical(texts, config.seed)
    from judgeloop.represent.cache import cached
    from judgeloop.represent.sentence import embed_sentences, find_model

    model = find_model(folder or None)
    remember = cached(
        lambda missing: embed_sentences(missing, model), model=model, folder=config.cache_dir / "embeddings"
    )
    return remember(texts)

"""Computes vectors from word counts: TF-IDF, then truncated SVD. Needs no model and no network.

The vectors ignore meaning: paraphrases without a common word are far apart. scikit-learn is
imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 64
VOCABULARY = 50_000


def embed_lexical(texts: Sequence[str], seed: int) -> NDArray[np.float64]:
    """Return unit vectors of `texts` by latent semantic analysis (Deerwester et al. 1990).

    The shape is (texts, `DIMENSIONS`). With at most `DIMENSIONS` texts or distinct words, the
    TF-IDF weights are returned without reduction, shape (texts, words). A text without words is a
    zero vector; if no text has words, the shape is (texts, 1). `seed` seeds the randomised SVD.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    word = r"(?u)\b\w+\b"
    words = TfidfVectorizer(
        sublinear_tf=True, max_features=VOCABULARY, token_pattern=word, dtype=np.float32
    )
    if not any(words.build_analyzer()(text) for text in texts):
        return np.zeros((len(texts), 1))
    weights = words.fit_transform(texts)
    if min(weights.shape) <= DIMENSIONS:  # nothing to reduce, or too few texts for the SVD
        return np.asarray(weights.toarray(), dtype=np.float64)
    svd = TruncatedSVD(DIMENSIONS, random_state=seed)
    return np.asarray(normalize(svd.fit_transform(weights)), dtype=np.float64)
